//! Delivery of packets and timers to endpoints.

use super::SimState;
use super::host_tx::SenderCall;
use super::shims::{Direct, EndpointPath, Shimmed, cold_path};
use crate::engine::accept_queue::Handshake;
use crate::engine::endpoint_shim::Endpoint;
use crate::engine::host::{TimerKind, TimerOrder};
use crate::engine::nic::Nic;
use crate::engine::partition_state::DeferredEffect;
use crate::net::generation::Generation;
use crate::net::packet::{Extra, Packet};
use crate::shim::endpoint::Side;
use crate::tcp::sender::Phase;
use forebay_apps::Job;
use forebay_experiment::transport::Metrics;
use forebay_types::{ConnSlot, NodeId, Time, TimeOrNever};
use std::sync::PoisonError;

impl SimState {
    /// Delivers an ACK to host `node`; `extra` holds its SACK blocks. The fast path is here, everything else out of line.
    #[inline(always)]
    pub(super) fn receive_ack<'a>(&mut self, node: NodeId, p: &Packet, extra: impl FnOnce() -> Option<&'a Extra>) {
        let (now, conn, generation) = (p.arrival, p.conn, self.connections.generation(p.conn));
        let host = &mut self.hosts[node];
        host.note(now, p);
        if !generation.receives(p.generation()) {
            return cold_path(move || {
                if generation.receives_both_ways(p.generation()) {
                    return self.receive_two_way_ack(node, p, extra());
                }
                if generation.receives_through_shim(p.generation()) && self.connections.sender(conn).generation() == generation {
                    self.connections.sender_mut(conn).note_received();
                    return self.process_ack::<Shimmed>(node, p, extra());
                }
                self.partition.late_packets += 1;
            });
        }
        let sender = self.connections.sender_mut(conn);
        sender.note_received();
        let Some(acked) = sender.fast_path_ack(p) else { return self.process_ack::<Direct>(node, p, extra()) };
        let c = &self.tcp[sender.group()];
        if sender.on_fast_ack(c, now, p, acked, &mut Nic::of_sender((&mut self.fabric, &mut self.partition), host, now, c)) {
            self.transmit_more(node, conn, now);
        }
        self.after_fast_ack(node, conn, now);
    }

    #[inline(never)]
    fn process_ack<W: EndpointPath>(&mut self, node: NodeId, p: &Packet, extra: Option<&Extra>) {
        let (now, conn) = (p.arrival, p.conn);
        let (host, sender) = (&mut self.hosts[node], self.connections.sender_mut(conn));
        let group = sender.group();
        let at = Endpoint { conn, side: Side::Sender, group, node };
        let mut copy = Packet::default();
        let Some(p) = W::ingress(&mut self.endpoint_shims, at, p, &mut copy) else { return };
        let c = &self.tcp[group];
        if !W::SHIM && sender.is_fast_duplicate(c, p) {
            if sender.on_fast_duplicate(c) {
                self.transmit_more(node, conn, now);
            }
            return self.after_fast_ack(node, conn, now);
        }
        let mut out =
            W::wire(&mut self.endpoint_shims, at, || Nic::of_sender((&mut self.fabric, &mut self.partition), host, now, c));
        if W::SHIM {
            sender.on_packet(c, now, p, extra, &mut out);
        } else {
            sender.on_packet_unless_plain(c, now, p, extra, &mut out);
        }
        drop(out);
        W::set_shim_timers(self, at, now);
        self.after_ack(node, conn, now);
    }

    /// Sends what a fast-path ACK allows.
    #[inline(never)]
    fn transmit_more(&mut self, node: NodeId, conn: ConnSlot, now: Time) {
        let (host, sender) = (&mut self.hosts[node], self.connections.sender_mut(conn));
        let c = &self.tcp[sender.group()];
        sender.transmit(c, now, &mut Nic::of_sender((&mut self.fabric, &mut self.partition), host, now, c));
    }

    /// Handles the effects of an ACK beyond its sender.
    #[inline(always)]
    pub(super) fn after_ack(&mut self, node: NodeId, conn: ConnSlot, now: Time) {
        let done = self.connections.sender(conn).phase() == Phase::Done;
        self.after_fast_ack(node, conn, now);
        if done && self.connections.sender(conn).generation() != Generation::RETIRED {
            self.end_sender(conn, node);
        }
    }

    /// As [`SimState::after_ack`], for an ACK that does not end the connection.
    #[inline(always)]
    fn after_fast_ack(&mut self, node: NodeId, conn: ConnSlot, now: Time) {
        let sender = self.connections.sender(conn);
        let una = sender.snd_una();
        if sender.needs_timer_entry() || sender.awaits_wheel_count() {
            self.arm_sender(conn, node, false);
        }
        if una >= self.connections.sender(conn).message_end() {
            self.message_acked(conn, now);
        }
        if self.recorder.samples() {
            self.sample(conn, now);
        }
    }

    /// Delivers a packet of the data direction to host `node`. The fast path is here, everything else out of line.
    #[inline(always)]
    pub(super) fn receive_data<'a>(&mut self, node: NodeId, p: &Packet, extra: impl FnOnce() -> Option<&'a Extra>) {
        if self.window_shims.any() {
            self.show_window_shim(node, p);
        }
        let (now, conn, generation) = (p.arrival, p.conn, self.connections.generation(p.conn));
        let host = &mut self.hosts[node];
        host.note(now, p);
        if !generation.receives(p.generation()) {
            return cold_path(move || {
                if generation.receives_both_ways(p.generation()) {
                    return self.receive_two_way_data(node, p, extra());
                }
                if generation.receives_through_shim(p.generation()) {
                    return self.process_data::<Shimmed>(node, p);
                }
                self.partition.late_packets += 1;
            });
        }
        let receiver = self.connections.receiver_mut(conn);
        receiver.count_received();
        if !receiver.takes_fast_path(p) {
            return self.process_data::<Direct>(node, p);
        }
        receiver.receive_fast(p, &mut Nic::at_once((&mut self.fabric, &mut self.partition), host, now));
        if receiver.delivered() >= receiver.deliver_at() {
            self.message_delivered(conn, now);
        }
    }

    #[inline(never)]
    fn process_data<W: EndpointPath>(&mut self, node: NodeId, p: &Packet) {
        if self.accept_queues.any() && !self.listener_takes(node, p, 1) {
            return;
        }
        let (now, conn) = (p.arrival, p.conn);
        self.partition.end_awaited(p);
        let (host, receiver) = (&mut self.hosts[node], self.connections.receiver_mut(conn));
        if !W::SHIM && receiver.takes_unordered_fast_path(p) {
            let c = &self.tcp[receiver.group()];
            receiver.receive_fast_unordered(c, now, p, &mut Nic::at_once((&mut self.fabric, &mut self.partition), host, now));
            return self.after_data(node, conn, now);
        }
        let group = receiver.group();
        let at = Endpoint { conn, side: Side::Receiver, group, node };
        let mut copy = Packet::default();
        let Some(p) = W::ingress(&mut self.endpoint_shims, at, p, &mut copy) else { return };
        let mut out = W::wire(&mut self.endpoint_shims, at, || Nic::at_once((&mut self.fabric, &mut self.partition), host, now));
        if W::SHIM {
            receiver.on_packet(&self.tcp[group], now, p, &mut out);
        } else {
            receiver.process_packet(&self.tcp[group], now, p, &mut out);
        }
        drop(out);
        W::set_shim_timers(self, at, now);
        self.after_data(node, conn, now);
    }

    /// Returns true if the listening socket of a connection takes `segments`, which have been counted, and the first of which is `p`; others are dropped.
    #[cold]
    pub(super) fn listener_takes(&mut self, node: NodeId, p: &Packet, segments: u32) -> bool {
        let handshake = match self.connections.receiver(p.conn) {
            receiver if !receiver.has_answered_syn() => Handshake::Listen,
            receiver if receiver.awaits_handshake_ack() => Handshake::SynReceived,
            _ => Handshake::Established,
        };
        let app = self.connections.get(p.conn).app;
        self.accept_queues.takes(app, node, (p, segments), handshake)
    }

    /// Runs the receiver's delayed-ACK timer.
    #[inline(always)]
    fn receiver_timer<W: EndpointPath>(&mut self, node: NodeId, conn: ConnSlot, now: Time) {
        let receiver = self.connections.receiver_mut(conn);
        let group = receiver.group();
        let at = Endpoint { conn, side: Side::Receiver, group, node };
        if receiver.delivered() < receiver.deliver_at()
            && let Some(held) = receiver.ack_wait(&self.tcp[group], now)
        {
            self.partition.defer(node, DeferredEffect::LateAck { conn, time: now, held });
        }
        let mut out = W::wire(&mut self.endpoint_shims, at, || {
            Nic::at_once((&mut self.fabric, &mut self.partition), &mut self.hosts[node], now)
        });
        receiver.on_timer(&self.tcp[group], now, &mut out);
        drop(out);
        W::set_shim_timers(self, at, now);
        self.after_data(node, conn, now);
    }

    /// Handles the effects of delivered data beyond the receiver.
    #[inline(always)]
    pub(super) fn after_data(&mut self, node: NodeId, conn: ConnSlot, now: Time) {
        let receiver = self.connections.receiver(conn);
        let delivered = receiver.delivered() >= receiver.deliver_at();
        let entry = receiver.new_timer_entry(|group| &self.tcp[group], now);
        // A timer for a later slot of a timer wheel is queued in that slot at once, behind the earlier ones.
        if entry < receiver.armed() || (entry > receiver.armed() && receiver.has_unregistered_slot()) {
            self.arm_receiver(conn, node, entry);
        }
        // Processes take their messages in the order in which they were woken.
        if delivered && !self.partition.woken.has_pending_read(conn) {
            self.message_delivered(conn, now);
        }
    }

    #[inline(never)]
    fn arm_receiver(&mut self, conn: ConnSlot, host: NodeId, entry: TimeOrNever) {
        let r = self.connections.receiver_mut(conn);
        r.set_armed(entry);
        if r.keeps_wheel_slot(&self.tcp[r.group()], entry) {
            return;
        }
        let generation = r.generation();
        let order = match r.uses_timer_wheel(&self.tcp[r.group()], entry) {
            true => TimerOrder::NewestFirst,
            false => TimerOrder::OldestFirst,
        };
        self.hosts.set_own_timer(&mut self.partition, host, entry.or_never(), TimerKind::Receiver { conn, generation }, order);
    }

    /// Performs the transmissions of host `node` that are due at `now`. Packets that arrived at this instant were queued before; transmissions that
    /// start at it start now.
    fn serve_interface(&mut self, node: NodeId, now: Time) {
        let host = &mut self.hosts[node];
        self.fabric.serve_host(&mut self.partition, host.nic, now + Time(1));
        host.arm_interface(self.fabric.ports[host.nic].next_host_start(), &mut self.partition);
    }

    /// Runs a timer of host `node`. Timers of applications are handled by the caller.
    pub(super) fn run_host_timer(&mut self, node: NodeId, now: Time, wake: TimerKind) {
        match wake {
            TimerKind::Open { conn } => {
                let (s, sender) = self.connections.with_sender(conn);
                let c = &self.tcp[sender.group()];
                if c.metrics != Metrics::Off {
                    self.metrics.read().unwrap_or_else(PoisonError::into_inner).apply((s.src, s.dst), c, sender);
                }
                if !self.opens_with_reverse(conn) {
                    self.with_sender(conn, now, SenderCall::Open);
                }
                let s = self.connections.get(conn);
                let first = if s.endless { Some(Job::ENDLESS) } else { s.job.as_deref().copied() };
                if let Some(job) = first {
                    self.write_message(conn, now, job);
                }
            }
            TimerKind::Sender { conn, generation } => {
                if !self.connections.is_of_sender(node, conn, generation) || self.connections.sender(conn).armed() != now.into() {
                    return;
                }
                let s = self.connections.sender_mut(conn);
                s.set_armed(TimeOrNever::NEVER);
                if s.timer_due().is_due(now) {
                    self.hosts[node].mix(now, 1 << 40);
                    self.sender_timer(conn, now);
                } else {
                    self.arm_sender(conn, node, false);
                }
            }
            TimerKind::Receiver { conn, generation } => {
                if !self.connections.is_of_receiver(node, conn, generation)
                    || self.connections.receiver(conn).armed() != now.into()
                {
                    return;
                }
                let r = self.connections.receiver_mut(conn);
                r.set_armed(TimeOrNever::NEVER);
                let c = &self.tcp[r.group()];
                r.leave_wheel_slot(c, now);
                let entry = r.timer_entry(|_| c, now);
                let due = r.timer_due().is_due(now);
                if due && generation.is_special() && self.is_shimmed(conn, generation) {
                    cold_path(move || self.receiver_timer::<Shimmed>(node, conn, now));
                } else if due {
                    self.receiver_timer::<Direct>(node, conn, now);
                } else if !entry.is_never() {
                    self.arm_receiver(conn, node, entry);
                }
            }
            TimerKind::CongestionControl { conn, generation } => {
                if self.connections.is_of_sender(node, conn, generation) {
                    self.hosts[node].mix(now, 2 << 40);
                    let host = &self.hosts[node];
                    if host.interface_armed || self.fabric.ports[host.nic].has_transmit_ring() {
                        // When a packet leaves, the queue discipline runs before the connection sends more: NET_TX_SOFTIRQ (net_tx_action) comes
                        // before TASKLET_SOFTIRQ (tcp_tsq_workfn). Byte queue limits count the departure before that (netdev_tx_completed_queue).
                        self.serve_interface(node, now);
                    }
                    self.with_sender(conn, now, SenderCall::Alarm);
                }
            }
            TimerKind::Shim { group } => self.run_shim_timer(node, group, now),
            TimerKind::Interface => {
                self.hosts[node].interface_armed = false;
                self.serve_interface(node, now);
            }
            TimerKind::App { .. } => {}
        }
    }
}
