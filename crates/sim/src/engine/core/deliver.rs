//! A packet or a timer meets an endpoint: the host side of the packet path.

use super::Core;
use super::calls::Call;
use super::shims::{Direct, Shimmed, Way, rarely};
use crate::engine::endpoint_shim::Endpoint;
use crate::engine::hosts::Wake;
use crate::engine::lane::Handover;
use crate::engine::nic::Nic;
use crate::net::generation::Generation;
use crate::net::packet::{Extra, Packet};
use crate::shim::endpoint::Side;
use crate::tcp::sender::Phase;
use forebay_experiment::transport::Metrics;
use forebay_traffic::Job;
use forebay_units::{ConnSlot, NodeId, Time, TimeOrNever};
use std::sync::PoisonError;

impl Core {
    /// An ACK reached host `node`; `extra` is what it carries besides. The usual one is dealt with here, all others out of line.
    #[inline(always)]
    pub(super) fn deliver_ack<'a>(&mut self, node: NodeId, p: &Packet, extra: impl FnOnce() -> Option<&'a Extra>) {
        let (now, conn, generation) = (p.arrival, p.conn, self.generations[p.conn]);
        let host = &mut self.hosts[node];
        host.note(now, p);
        if !generation.receives(p.generation()) {
            return rarely(move || {
                if generation.receives_through_shim(p.generation()) && self.senders[conn].generation() == generation {
                    self.senders[conn].note_received();
                    return self.take_ack::<Shimmed>(node, p, extra());
                }
                self.lane.stale += 1;
            });
        }
        let sender = &mut self.senders[conn];
        sender.note_received();
        let Some(acked) = sender.fast_path_ack(p) else { return self.take_ack::<Direct>(node, p, extra()) };
        let c = &self.tcp[sender.group()];
        if sender.on_fast_ack(c, now, p, acked, &mut Nic::of_sender((&mut self.fabric, &mut self.lane), host, now, c)) {
            self.transmit_more(node, conn, now);
        }
        self.usual_ack_done(node, conn, now);
    }

    #[inline(never)]
    fn take_ack<W: Way>(&mut self, node: NodeId, p: &Packet, extra: Option<&Extra>) {
        let (now, conn) = (p.arrival, p.conn);
        let (host, sender) = (&mut self.hosts[node], &mut self.senders[conn]);
        let group = sender.group();
        let at = Endpoint { conn, side: Side::Sender, group, node };
        let mut copy = Packet::default();
        let Some(p) = W::ingress(&mut self.endpoint_shims, at, p, &mut copy) else { return };
        let c = &self.tcp[group];
        if !W::SHIM && sender.is_fast_duplicate(c, p) {
            if sender.on_fast_duplicate(c) {
                self.transmit_more(node, conn, now);
            }
            return self.usual_ack_done(node, conn, now);
        }
        let mut out = W::wire(&mut self.endpoint_shims, at, || Nic::of_sender((&mut self.fabric, &mut self.lane), host, now, c));
        if W::SHIM {
            sender.on_packet(c, now, p, extra, &mut out);
        } else {
            sender.on_packet_with_scoreboard(c, now, p, extra, &mut out);
        }
        drop(out);
        W::settle(self, at, now);
        self.ack_done(node, conn, now);
    }

    /// The usual ACK of `conn` leaves something to do.
    #[inline(never)]
    fn transmit_more(&mut self, node: NodeId, conn: ConnSlot, now: Time) {
        let (host, sender) = (&mut self.hosts[node], &mut self.senders[conn]);
        let c = &self.tcp[sender.group()];
        sender.transmit(c, now, &mut Nic::of_sender((&mut self.fabric, &mut self.lane), host, now, c));
    }

    /// Sees to what an ACK has changed, behind the sender.
    #[inline(always)]
    fn ack_done(&mut self, node: NodeId, conn: ConnSlot, now: Time) {
        let done = self.senders[conn].phase() == Phase::Done;
        self.usual_ack_done(node, conn, now);
        if done && self.senders[conn].generation() != Generation::RETIRED {
            self.end_sender(conn, node);
        }
    }

    /// The same of an ACK that does not end the connection.
    #[inline(always)]
    fn usual_ack_done(&mut self, node: NodeId, conn: ConnSlot, now: Time) {
        let sender = &self.senders[conn];
        let una = sender.snd_una();
        if sender.needs_timer_entry() {
            self.arm_sender(conn, node);
        }
        if una >= self.senders[conn].message_end() {
            self.message_acked(conn, now);
        }
        if self.recorder.samples() {
            self.sample(conn, now);
        }
    }

    /// A packet of the data direction reached host `node`. The usual one is dealt with here, all others out of line.
    #[inline(always)]
    pub(super) fn deliver_data(&mut self, node: NodeId, p: &Packet) {
        if self.window_shims.any() {
            self.show_window_shim(node, p);
        }
        let (now, conn, generation) = (p.arrival, p.conn, self.generations[p.conn]);
        let host = &mut self.hosts[node];
        host.note(now, p);
        if !generation.receives(p.generation()) {
            return rarely(move || {
                if generation.receives_through_shim(p.generation()) {
                    return self.take_data::<Shimmed>(node, p);
                }
                self.lane.stale += 1;
            });
        }
        let receiver = &mut self.receivers[conn];
        receiver.note_received();
        if !receiver.is_usual(p) {
            return self.take_data::<Direct>(node, p);
        }
        receiver.take_usual(p, &mut Nic::at_once((&mut self.fabric, &mut self.lane), host, now));
        if receiver.delivered() >= receiver.deliver_at {
            self.message_delivered(conn, now);
        }
    }

    #[inline(never)]
    fn take_data<W: Way>(&mut self, node: NodeId, p: &Packet) {
        let (now, conn) = (p.arrival, p.conn);
        let (host, receiver) = (&mut self.hosts[node], &mut self.receivers[conn]);
        if !W::SHIM && receiver.is_plain(p) {
            receiver.take_plain(now, p, &mut Nic::at_once((&mut self.fabric, &mut self.lane), host, now));
            return self.data_done(node, conn, now);
        }
        let group = receiver.group();
        let at = Endpoint { conn, side: Side::Receiver, group, node };
        let mut copy = Packet::default();
        let Some(p) = W::ingress(&mut self.endpoint_shims, at, p, &mut copy) else { return };
        let mut out = W::wire(&mut self.endpoint_shims, at, || Nic::at_once((&mut self.fabric, &mut self.lane), host, now));
        if W::SHIM {
            receiver.on_packet(&self.tcp[group], now, p, &mut out);
        } else {
            receiver.on_any_packet(&self.tcp[group], now, p, &mut out);
        }
        drop(out);
        W::settle(self, at, now);
        self.data_done(node, conn, now);
    }

    /// The receiver's delayed-ACK timer came due.
    #[inline(always)]
    fn receiver_timer<W: Way>(&mut self, node: NodeId, conn: ConnSlot, now: Time) {
        let receiver = &mut self.receivers[conn];
        let group = receiver.group();
        let at = Endpoint { conn, side: Side::Receiver, group, node };
        if receiver.delivered() < receiver.deliver_at
            && let Some(held) = receiver.held_back(&self.tcp[group], now)
        {
            self.lane.hand_over(node, Handover::LateAck { conn, time: now, held });
        }
        let mut out = W::wire(&mut self.endpoint_shims, at, || {
            Nic::at_once((&mut self.fabric, &mut self.lane), &mut self.hosts[node], now)
        });
        receiver.on_timer(&self.tcp[group], now, &mut out);
        drop(out);
        W::settle(self, at, now);
        // A host that joins segments hands them over by this timer: they may end a message, and a delayed ACK may still be due later.
        self.data_done(node, conn, now);
    }

    /// Sees to what data that was handed over has changed, behind the receiver.
    #[inline(always)]
    fn data_done(&mut self, node: NodeId, conn: ConnSlot, now: Time) {
        let receiver = &self.receivers[conn];
        let delivered = receiver.delivered() >= receiver.deliver_at;
        let entry = receiver.new_entry(|group| &self.tcp[group], now);
        // A timer that is set for a later slot of a wheel goes there at once, behind those that were there before it.
        if entry < receiver.armed || (entry > receiver.armed && receiver.is_in_new_slot()) {
            self.arm_receiver(conn, node, entry);
        }
        if delivered {
            self.message_delivered(conn, now);
        }
    }

    #[inline(never)]
    fn arm_receiver(&mut self, conn: ConnSlot, host: NodeId, entry: TimeOrNever) {
        let r = &mut self.receivers[conn];
        r.armed = entry;
        if r.is_in_its_place(&self.tcp[r.group()], entry) {
            return;
        }
        let (generation, slots) = (r.generation(), r.has_slots());
        self.set_own_timer(host, entry.or_never(), Wake::Receiver { conn, generation }, slots);
    }

    /// Whether a timer at host `node` is one of the sender that `conn` has now. Generations repeat after so many connections in a slot, so
    /// that a late timer can meet its own again at another host.
    pub(super) fn is_of_sender(&self, node: NodeId, conn: ConnSlot, generation: Generation) -> bool {
        let own = self.generations[conn] == generation && self.streams[conn].src == node;
        own && self.senders[conn].generation() == generation
    }

    /// As [`Core::is_of_sender`]. A receiver ends with the window, so that the slot's generation says it all.
    pub(super) fn is_of_receiver(&self, node: NodeId, conn: ConnSlot, generation: Generation) -> bool {
        self.generations[conn] == generation && self.streams[conn].dst == node
    }

    /// Notes in the fingerprint of host `node` what happens at `now`, beside packets.
    fn note_event(&mut self, node: NodeId, now: Time, what: u64) {
        self.hosts[node].mix(now, what);
        if let Some(tape) = &mut self.tape {
            tape.event(node, now, what);
        }
    }

    /// A timer entry at `node` came due. Application timers are the caller's.
    pub(super) fn on_wake(&mut self, node: NodeId, now: Time, wake: Wake) {
        match wake {
            Wake::Open { conn } => {
                let (s, sender) = (&self.streams[conn], &mut self.senders[conn]);
                let c = &self.tcp[sender.group()];
                if c.metrics != Metrics::Off {
                    self.paths.read().unwrap_or_else(PoisonError::into_inner).recall((s.src, s.dst), c, sender);
                }
                self.with_sender(conn, now, Call::Open);
                let s = &self.streams[conn];
                let first = if s.endless { Some(Job::ENDLESS) } else { s.job.as_deref().copied() };
                if let Some(job) = first {
                    self.write_message(conn, now, job);
                }
            }
            Wake::Sender { conn, generation } => {
                if !self.is_of_sender(node, conn, generation) || self.senders[conn].armed() != now.into() {
                    return;
                }
                let s = &mut self.senders[conn];
                s.set_armed(TimeOrNever::NEVER);
                if s.timer_due().has_come(now) {
                    self.note_event(node, now, 1 << 40);
                    self.fired += 1;
                    self.sender_timer(conn, now);
                } else {
                    self.arm_sender(conn, node);
                }
            }
            Wake::Receiver { conn, generation } => {
                if !self.is_of_receiver(node, conn, generation) || self.receivers[conn].armed != now.into() {
                    return;
                }
                let r = &mut self.receivers[conn];
                r.armed = TimeOrNever::NEVER;
                let c = &self.tcp[r.group()];
                r.leave_slot(c, now);
                let entry = r.entry(|_| c, now);
                if r.timer_due.has_come(now) && generation.has_shim() {
                    rarely(move || self.receiver_timer::<Shimmed>(node, conn, now));
                } else if r.timer_due.has_come(now) {
                    self.receiver_timer::<Direct>(node, conn, now);
                } else if !entry.is_never() {
                    self.arm_receiver(conn, node, entry);
                }
            }
            Wake::Law { conn, generation } => {
                if self.is_of_sender(node, conn, generation) {
                    self.note_event(node, now, 2 << 40);
                    self.with_sender(conn, now, Call::Alarm);
                }
            }
            Wake::Shim { group } => self.shim_tick(node, group, now),
            Wake::Interface => {
                let host = &mut self.hosts[node];
                host.interface_armed = false;
                // Arrivals at this instant came first; what starts at it starts now.
                self.fabric.serve(&mut self.lane, host.nic, now + Time(1));
                host.arm_interface(self.fabric.ports[host.nic].next_start(), &mut self.lane);
            }
            Wake::App { .. } => {}
        }
    }
}
