//! TCP connections with data in both directions: two connections of the simulator, whose sender and receiver at one host are one socket.
//!
//! Every packet that the sender sends carries the ACK of the receiver. A packet that arrives is handled by the receiver first, and its ACK by the
//! sender then. An ACK that the receiver sends by itself is not sent if the sender sends data at the same instant.
//!
//! Not modeled: SACK blocks in segments with data (they would make the segments shorter).
//!
//! The generation of a connection selects this path, as for shims, so one-way connections have no extra cost. A shim is below both directions: a data
//! packet passes the shim end of its own direction first, and then the shim end of the direction that the carried ACK belongs to.

use super::SimState;
use super::host_tx::SenderCall;
use super::shims::{Direct, EndpointPath, Shimmed};
use crate::engine::endpoint_shim::Endpoint;
use crate::engine::nic::Nic;
use crate::net::generation::Generation;
use crate::net::packet::{CarriedAck, Extra, Packet, Unread, Wire, flag};
use crate::shim::endpoint::Side;
use crate::tcp::config::TcpConfig;
use crate::tcp::gro::SuperSegment;
use crate::tcp::offered_shift;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Phase;
use forebay_types::{ConnSlot, NodeId, Time};

/// Interface for a sender whose packets carry the ACKs of `receiver`.
struct Carrying<'a, W> {
    nic: &'a mut W,
    receiver: &'a mut Receiver,
    c: &'a TcpConfig,
    now: Time,
    /// Data has carried an ACK.
    carried: bool,
    /// A SYN has the scale of the windows of `receiver`, which shims read. The endpoints have it from their configuration.
    announces_scale: bool,
}

impl<W: Wire> Wire for Carrying<'_, W> {
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>) {
        if packet.has(flag::SYN) {
            let len = if self.announces_scale { u16::from(offered_shift(self.c)) } else { packet.len };
            let mut syn = Packet { len, ..packet };
            syn.set_ace(packet.ace());
            return self.nic.emit(syn, extra);
        }
        let ack = self.receiver.carry_ack(self.c, self.now, packet.len > 0);
        self.carried = true;
        self.nic.emit(Packet { flags: packet.flags | flag::EXT, ..packet }, Some(&Extra::Carried(ack)));
    }

    fn alarm(&mut self, conn: ConnSlot, generation: Generation, time: Time) {
        self.nic.alarm(conn, generation, time);
    }

    fn departure(&self) -> Time {
        self.nic.departure()
    }

    fn defer_write(&mut self, conn: ConnSlot) -> bool {
        self.nic.defer_write(conn)
    }

    fn holds_departures(&self) -> bool {
        self.nic.holds_departures()
    }

    fn hold(&mut self, packet: &Packet) {
        self.nic.hold(packet);
    }
}

/// Interface for a receiver whose last ACK is held back, in case data carries it.
struct Holding<'a, W> {
    nic: &'a mut W,
    held: Option<(Packet, Option<Extra>)>,
}

impl<W: Wire> Holding<'_, W> {
    fn release(&mut self) {
        if let Some((packet, extra)) = self.held.take() {
            self.nic.emit(packet, extra.as_ref());
        }
    }
}

impl<W: Wire> Wire for Holding<'_, W> {
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>) {
        self.release();
        self.held = Some((packet, extra.copied()));
    }

    fn unread(&self, conn: ConnSlot) -> Option<u32> {
        self.nic.unread(conn)
    }

    fn unread_room(&self, conn: ConnSlot) -> u16 {
        self.nic.unread_room(conn)
    }

    fn defer_read(&mut self, conn: ConnSlot, more: Unread) {
        self.nic.defer_read(conn, more);
    }
}

impl SimState {
    /// Returns true if `conn` opens together with its other direction, whose sending host opens both.
    pub(super) fn opens_with_reverse(&self, conn: ConnSlot) -> bool {
        let sender = self.connections.sender(conn);
        sender.generation().has_reverse() && self.tcp[sender.group()].handshake && !self.connections.reverse(conn).opens
    }

    /// Initial sequence number of the direction of `p`, and true if `p` carries data and an ECN echo.
    #[cold]
    pub(super) fn of_reverse(&self, p: &Packet, extra: Option<&Extra>) -> (u32, bool) {
        let isn = match p.has(flag::ACK) {
            true => self.connections.sender(p.conn).initial_number(),
            false => self.connections.receiver(p.conn).initial_number(),
        };
        (isn, matches!(extra, Some(Extra::Carried(ack)) if ack.ece))
    }

    /// Calls the sender of `conn` and sets its timer.
    pub(super) fn call_two_way_sender(&mut self, conn: ConnSlot, now: Time, call: SenderCall) {
        match self.connections.reverse(conn).has_shim {
            false => self.call_sender_both_ways::<Direct>(conn, now, call),
            true => self.call_sender_both_ways::<Shimmed>(conn, now, call),
        }
    }

    fn call_sender_both_ways<W: EndpointPath>(&mut self, conn: ConnSlot, now: Time, call: SenderCall) {
        let node = self.connections.get(conn).src;
        let reverse = self.connections.reverse(conn).conn;
        let (sender, receiver) = self.connections.socket(conn, reverse);
        let at = Endpoint { conn, side: Side::Sender, group: sender.group(), node };
        let c = &self.tcp[at.group];
        let mut nic = W::wire(&mut self.endpoint_shims, at, || {
            Nic::of_sender((&mut self.fabric, &mut self.partition), &mut self.hosts[node], now, c)
        });
        call.make(sender, c, now, &mut Carrying { nic: &mut nic, receiver, c, now, carried: false, announces_scale: W::SHIM });
        drop(nic);
        self.set_socket_shim_timers::<W>(at, reverse, now);
        self.arm_sender(conn, node, matches!(call, SenderCall::Timer));
    }

    /// Sets the timer of the shim below endpoint `at` and the endpoint of the same host for direction `reverse`.
    fn set_socket_shim_timers<W: EndpointPath>(&mut self, at: Endpoint, reverse: ConnSlot, now: Time) {
        let other = match at.side {
            Side::Sender => Side::Receiver,
            Side::Receiver => Side::Sender,
        };
        W::set_shim_timers(self, at, now);
        W::set_shim_timers(self, Endpoint { conn: reverse, side: other, ..at }, now);
    }

    /// Delivers an ACK without data to host `node`.
    pub(super) fn receive_two_way_ack(&mut self, node: NodeId, p: &Packet, extra: Option<&Extra>) {
        match self.connections.reverse(p.conn).has_shim {
            false => self.receive_ack_both_ways::<Direct>(node, p, extra),
            true => self.receive_ack_both_ways::<Shimmed>(node, p, extra),
        }
    }

    fn receive_ack_both_ways<W: EndpointPath>(&mut self, node: NodeId, p: &Packet, extra: Option<&Extra>) {
        let (now, conn) = (p.arrival, p.conn);
        let reverse = self.connections.reverse(conn).conn;
        let (sender, receiver) = self.connections.socket(conn, reverse);
        sender.note_received();
        let at = Endpoint { conn, side: Side::Sender, group: sender.group(), node };
        let mut copy = Packet::default();
        let Some(p) = W::ingress(&mut self.endpoint_shims, at, p, &mut copy) else { return };
        let c = &self.tcp[at.group];
        if p.has(flag::SYN) && sender.phase() == Phase::SynSent {
            receiver.connect(c, now, p, sender.last_sent().get().unwrap_or(now));
        } else {
            receiver.on_ack_echo(c, now, p.echo());
        }
        let mut nic = W::wire(&mut self.endpoint_shims, at, || {
            Nic::of_sender((&mut self.fabric, &mut self.partition), &mut self.hosts[node], now, c)
        });
        sender.on_packet(
            c,
            now,
            p,
            extra,
            &mut Carrying { nic: &mut nic, receiver, c, now, carried: false, announces_scale: W::SHIM },
        );
        drop(nic);
        self.set_socket_shim_timers::<W>(at, reverse, now);
        self.after_ack(node, conn, now);
    }

    /// Delivers a packet with data to host `node`, or the last one of a handshake, and the ACK that it carries.
    pub(super) fn receive_two_way_data(&mut self, node: NodeId, p: &Packet, extra: Option<&Extra>) {
        match self.connections.reverse(p.conn).has_shim {
            false => self.receive_data_both_ways::<Direct>(node, p, extra),
            true => self.receive_data_both_ways::<Shimmed>(node, p, extra),
        }
    }

    fn receive_data_both_ways<W: EndpointPath>(&mut self, node: NodeId, p: &Packet, extra: Option<&Extra>) {
        let at = Endpoint { conn: p.conn, side: Side::Receiver, group: self.connections.receiver(p.conn).group(), node };
        let mut copy = Packet::default();
        let Some(p) = W::ingress(&mut self.endpoint_shims, at, p, &mut copy) else { return };
        self.connections.receiver_mut(p.conn).count_received();
        let mut ack = CarriedAck::of(extra);
        if let Some(ack) = &mut ack {
            let reverse = self.connections.reverse(p.conn).conn;
            W::carried_ingress(&mut self.endpoint_shims, reverse, at.group, p.arrival, ack);
        }
        self.process_data_both_ways::<W>(node, &SuperSegment::of(p, ack));
    }

    /// Processes consecutive segments that have been counted and have passed the shim, and the ACK that they carry.
    pub(super) fn process_two_way_data(&mut self, node: NodeId, segment: &SuperSegment) {
        match self.connections.reverse(segment.packet().conn).has_shim {
            false => self.process_data_both_ways::<Direct>(node, segment),
            true => self.process_data_both_ways::<Shimmed>(node, segment),
        }
    }

    fn process_data_both_ways<W: EndpointPath>(&mut self, node: NodeId, segment: &SuperSegment) {
        let p = segment.packet();
        if self.accept_queues.any() && !self.listener_takes(node, p, segment.segments()) {
            return;
        }
        let (now, conn) = (p.arrival, p.conn);
        let reverse = self.connections.reverse(conn).conn;
        let (sender, receiver) = self.connections.socket(reverse, conn);
        let at = Endpoint { conn, side: Side::Receiver, group: sender.group(), node };
        let c = &self.tcp[at.group];
        let mut nic = W::wire(&mut self.endpoint_shims, at, || {
            Nic::at_once((&mut self.fabric, &mut self.partition), &mut self.hosts[node], now)
        });
        if p.has(flag::SYN) {
            receiver.process_packet(c, now, p, &mut nic);
            drop(nic);
            sender.on_syn_ack_sent(now);
            self.set_socket_shim_timers::<W>(at, reverse, now);
            return self.after_data(node, conn, now);
        }
        if let Some((srtt, rto)) = sender.round_trip(c) {
            receiver.set_rtt(srtt, rto);
        }
        let echo = receiver.echo();
        let mut ack_wire = Holding { nic: &mut nic, held: None };
        receiver.process_segments(c, now, segment, &mut ack_wire);
        if let Some(ack) = segment.ack() {
            let accepts = (receiver.has_answered_syn() || !c.handshake) && sender.accept(c, now, ack.window, receiver.feedback());
            if receiver.echo() != echo {
                sender.echo_data(Receiver::tick_of(c, now, p.ts));
            }
            let option = Extra::Carried(*ack);
            let option = c.ecn.is_accurate().then_some(&option);
            let ack = ack.as_packet(reverse, now);
            let news = !sender.repeats_last_ack(&ack);
            if !accepts && (news || sender.sees_all_acks()) {
                if ack_wire.held.as_ref().is_some_and(|held| held.0.ack_number() != receiver.ack_number()) {
                    // DCTCP's ACK of the segments before this one.
                    ack_wire.release();
                }
                let mut held = ack_wire.held.take();
                drop(nic);
                let mut nic = W::wire(&mut self.endpoint_shims, at, || {
                    Nic::of_sender((&mut self.fabric, &mut self.partition), &mut self.hosts[node], now, c)
                });
                let mut wire = Carrying { nic: &mut nic, receiver, c, now, carried: false, announces_scale: W::SHIM };
                sender.on_packet(c, now, &ack, option, &mut wire);
                if wire.carried && held.take().is_some() {
                    receiver.withdraw_ack();
                }
                drop(nic);
                if let Some((packet, extra)) = held {
                    let mut nic = W::wire(&mut self.endpoint_shims, at, || {
                        Nic::at_once((&mut self.fabric, &mut self.partition), &mut self.hosts[node], now)
                    });
                    nic.emit(packet, extra.as_ref());
                }
                self.set_socket_shim_timers::<W>(at, reverse, now);
                match news {
                    true => self.after_ack(node, reverse, now),
                    false => self.arm_sender(reverse, node, false),
                }
                return self.after_data(node, conn, now);
            }
        }
        ack_wire.release();
        drop(nic);
        self.set_socket_shim_timers::<W>(at, reverse, now);
        self.after_data(node, conn, now);
    }
}
