//! TCP connections with data in both directions: two connections of the simulator, whose sender and receiver at one host are one socket.
//!
//! Every packet that the sender sends carries the ACK of the receiver. A packet that arrives is handled by the receiver first, and its ACK by the
//! sender then. An ACK that the receiver sends by itself is not sent if the sender sends data at the same instant.
//!
//! Not modeled: SACK blocks in segments with data (they would make the segments shorter).
//!
//! The generation of the connections selects this path, as for shims, so that others pay nothing.

use super::SimState;
use super::host_tx::SenderCall;
use crate::engine::nic::Nic;
use crate::net::generation::Generation;
use crate::net::packet::{CarriedAck, Extra, Packet, Unread, Wire, flag};
use crate::tcp::config::TcpConfig;
use crate::tcp::gro::SuperSegment;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Phase;
use forebay_types::{ConnSlot, NodeId, Time};

/// Interface for a sender whose packets carry the ACKs of `receiver`.
struct Carrying<'a, 'n> {
    nic: &'a mut Nic<'n>,
    receiver: &'a mut Receiver,
    c: &'a TcpConfig,
    now: Time,
    /// Data has carried an ACK.
    carried: bool,
}

impl Wire for Carrying<'_, '_> {
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>) {
        if packet.has(flag::SYN) {
            return self.nic.emit(packet, extra);
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
struct Holding<'a, 'n> {
    nic: &'a mut Nic<'n>,
    held: Option<(Packet, Option<Extra>)>,
}

impl Holding<'_, '_> {
    fn release(&mut self) {
        if let Some((packet, extra)) = self.held.take() {
            self.nic.emit(packet, extra.as_ref());
        }
    }
}

impl Wire for Holding<'_, '_> {
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>) {
        self.release();
        self.held = Some((packet, extra.copied()));
    }

    fn unread(&self, conn: ConnSlot) -> Option<u32> {
        self.nic.unread(conn)
    }

    fn defer_read(&mut self, conn: ConnSlot, more: Unread) {
        self.nic.defer_read(conn, more);
    }
}

impl SimState {
    /// Returns true if `conn` opens together with its other direction, whose sending host opens both.
    pub(super) fn opens_with_reverse(&self, conn: ConnSlot) -> bool {
        let sender = self.connections.sender(conn);
        sender.generation().has_reverse() && self.tcp[sender.group()].handshake && !self.connections.reverse(conn).1
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
        let node = self.connections.get(conn).src;
        let reverse = self.connections.reverse(conn).0;
        let (sender, receiver) = self.connections.socket(conn, reverse);
        let c = &self.tcp[sender.group()];
        let mut nic = Nic::of_sender((&mut self.fabric, &mut self.partition), &mut self.hosts[node], now, c);
        call.make(sender, c, now, &mut Carrying { nic: &mut nic, receiver, c, now, carried: false });
        self.arm_sender(conn, node, matches!(call, SenderCall::Timer));
    }

    /// Delivers an ACK without data to host `node`.
    pub(super) fn receive_two_way_ack(&mut self, node: NodeId, p: &Packet, extra: Option<&Extra>) {
        let (now, conn) = (p.arrival, p.conn);
        let reverse = self.connections.reverse(conn).0;
        let (sender, receiver) = self.connections.socket(conn, reverse);
        sender.note_received();
        let c = &self.tcp[sender.group()];
        if p.has(flag::SYN) && sender.phase() == Phase::SynSent {
            let agrees = p.has(flag::ECE) && !p.has(flag::CWR);
            receiver.connect(c, now, p, sender.last_sent().get().unwrap_or(now), agrees);
        } else {
            receiver.on_ack_echo(c, now, p.echo());
        }
        let mut nic = Nic::of_sender((&mut self.fabric, &mut self.partition), &mut self.hosts[node], now, c);
        sender.on_packet(c, now, p, extra, &mut Carrying { nic: &mut nic, receiver, c, now, carried: false });
        self.after_ack(node, conn, now);
    }

    /// Delivers a packet with data to host `node`, or the last one of a handshake, and the ACK that it carries.
    pub(super) fn receive_two_way_data(&mut self, node: NodeId, p: &Packet, extra: Option<&Extra>) {
        self.connections.receiver_mut(p.conn).count_received();
        self.process_two_way_data(node, &SuperSegment::of(p, CarriedAck::of(extra)));
    }

    /// Processes consecutive segments that have been counted, and the ACK that they carry.
    pub(super) fn process_two_way_data(&mut self, node: NodeId, segment: &SuperSegment) {
        let p = segment.packet();
        if self.accept_queues.any() && !self.listener_takes(node, p, segment.segments()) {
            return;
        }
        let (now, conn) = (p.arrival, p.conn);
        let reverse = self.connections.reverse(conn).0;
        let (sender, receiver) = self.connections.socket(reverse, conn);
        let c = &self.tcp[sender.group()];
        let mut nic = Nic::at_once((&mut self.fabric, &mut self.partition), &mut self.hosts[node], now);
        if p.has(flag::SYN) {
            receiver.process_packet(c, now, p, &mut nic);
            sender.on_syn_ack_sent(now);
            return self.after_data(node, conn, now);
        }
        if let Some((srtt, rto)) = sender.round_trip(c) {
            receiver.set_rtt(srtt, rto);
        }
        let echo = receiver.echo();
        let mut ack_wire = Holding { nic: &mut nic, held: None };
        receiver.process_segments(c, now, segment, &mut ack_wire);
        if let Some(ack) = segment.ack() {
            let accepts = (receiver.has_answered_syn() || !c.handshake) && sender.accept(c, now, ack.window, receiver.has_ecn());
            if receiver.echo() != echo {
                sender.echo_data(Receiver::tick_of(c, now, p.ts));
            }
            let ack = ack.as_packet(reverse, now);
            let news = !sender.knows_ack(&ack);
            if !accepts && (news || sender.sees_all_acks()) {
                if ack_wire.held.as_ref().is_some_and(|held| held.0.ack_number() != receiver.ack_number()) {
                    // DCTCP's ACK of the segments before this one.
                    ack_wire.release();
                }
                let mut held = ack_wire.held.take();
                let mut nic = Nic::of_sender((&mut self.fabric, &mut self.partition), &mut self.hosts[node], now, c);
                let mut wire = Carrying { nic: &mut nic, receiver, c, now, carried: false };
                sender.on_packet(c, now, &ack, None, &mut wire);
                if wire.carried && held.take().is_some() {
                    receiver.withdraw_ack();
                }
                if let Some((packet, extra)) = held {
                    Nic::at_once((&mut self.fabric, &mut self.partition), &mut self.hosts[node], now)
                        .emit(packet, extra.as_ref());
                }
                match news {
                    true => self.after_ack(node, reverse, now),
                    false => self.arm_sender(reverse, node, false),
                }
                return self.after_data(node, conn, now);
            }
        }
        ack_wire.release();
        self.after_data(node, conn, now);
    }
}
