//! Interrupts of hosts with interrupt moderation ([`Host::interrupt_time`](crate::engine::host::Host)): the host takes all frames that have arrived,
//! merges segments (GRO), and passes them to their endpoints. It takes no time.

use super::SimState;
use super::host_tx::SenderCall;
use super::shims::{Direct, EndpointPath, Shimmed, cold_path};
use crate::engine::endpoint_shim::Endpoint;
use crate::engine::nic::Nic;
use crate::engine::woken_processes::Call;
use crate::net::packet::{CarriedAck, Packet, Unread, flag};
use crate::net::ring::Ring;
use crate::shim::endpoint::Side;
use crate::tcp::gro::SuperSegment;
use forebay_types::{ConnSlot, NodeId, Time};

impl SimState {
    /// Handles the interrupt of host `node` at `now`.
    #[inline(never)]
    pub(super) fn interrupt(&mut self, node: NodeId, now: Time) {
        let (input, inspects) = (self.hosts[node].input, self.hosts[node].inspects_packets);
        let mut single = true;
        loop {
            let ring = &mut self.fabric.ports[input].ring;
            if ring.is_empty() {
                break;
            }
            let (head, place) = (ring.head(), ring.place(ring.head()));
            // SAFETY: the ring releases the packet but keeps it until packets are added, which only the node at the far end does.
            let p = unsafe { &*place };
            if p.arrival > now {
                break;
            }
            ring.advance(Ring::behind(head, p));
            let is_last = ring.is_empty() || ring.packet(ring.head()).arrival > now;
            // SAFETY: as above.
            if inspects && self.inspect(node, p, || unsafe { Ring::extra_behind(place) }) {
                continue;
            }
            let frame = Packet { arrival: now, ..*p };
            let alone = single && is_last;
            if single && !is_last {
                self.partition.woken.begin();
            }
            single = false;
            // SAFETY: as above.
            let extra = || unsafe { Ring::extra_behind(place) };
            if p.has(flag::ACK) {
                if !self.gro.is_empty() && self.connections.generation(p.conn).receives_both_ways(p.generation()) {
                    self.end_reverse_flow(node, p.conn);
                }
                self.receive_ack(node, &frame, extra);
            } else if alone {
                self.receive_data(node, &frame, extra);
            } else {
                self.merge_data(node, &frame, CarriedAck::of(extra()));
            }
        }
        while let Some(segment) = self.gro.flush() {
            self.deliver(node, &segment);
        }
        self.run_woken(node, now);
    }

    /// Makes the calls of the processes that the packets of an interrupt have woken.
    fn run_woken(&mut self, node: NodeId, now: Time) {
        self.partition.woken.end();
        let mut number = 0;
        while let Some(call) = self.partition.woken.call(number) {
            number += 1;
            match call {
                Call::Write(conn) => self.with_sender(conn, now, SenderCall::Resume),
                Call::Read(conn, unread) if self.is_shimmed(conn, self.connections.receiver(conn).generation()) => {
                    cold_path(|| self.read::<Shimmed>(node, conn, now, unread));
                }
                Call::Read(conn, unread) => self.read::<Direct>(node, conn, now, unread),
            }
        }
        self.partition.woken.clear();
    }

    fn read<W: EndpointPath>(&mut self, node: NodeId, conn: ConnSlot, now: Time, unread: Unread) {
        let (host, receiver) = (&mut self.hosts[node], self.connections.receiver_mut(conn));
        let group = receiver.group();
        let at = Endpoint { conn, side: Side::Receiver, group, node };
        let mut out = W::wire(&mut self.endpoint_shims, at, || Nic::at_once((&mut self.fabric, &mut self.partition), host, now));
        receiver.read(&self.tcp[group], now, &unread, &mut out);
        drop(out);
        W::set_shim_timers(self, at, now);
        self.after_data(node, conn, now);
    }

    /// Passes on the data that GRO holds of the direction back of `conn`, because an ACK that follows it has no data.
    #[cold]
    fn end_reverse_flow(&mut self, node: NodeId, conn: ConnSlot) {
        if let Some(segment) = self.gro.end_flow(self.connections.reverse(conn).conn) {
            self.deliver(node, &segment);
        }
    }

    /// Receives a frame of the data direction, with the ACK that it carries, through GRO.
    #[inline(never)]
    fn merge_data(&mut self, node: NodeId, p: &Packet, ack: Option<CarriedAck>) {
        if self.window_shims.any() {
            self.show_window_shim(node, p);
        }
        self.hosts[node].note(p.arrival, p);
        let generation = self.connections.generation(p.conn);
        let has_shim = generation.receives_through_shim(p.generation());
        let both_ways = generation.receives_both_ways(p.generation());
        if !has_shim && !both_ways && !generation.receives(p.generation()) {
            self.partition.late_packets += 1;
            return;
        }
        let group = self.connections.receiver(p.conn).group();
        let mut copy = Packet::default();
        let (mut p, mut ack) = (p, ack);
        if has_shim || (both_ways && self.connections.reverse(p.conn).has_shim) {
            let at = Endpoint { conn: p.conn, side: Side::Receiver, group, node };
            let Some(seen) = Shimmed::ingress(&mut self.endpoint_shims, at, p, &mut copy) else { return };
            p = seen;
            if let Some(ack) = &mut ack {
                let reverse = self.connections.reverse(p.conn).conn;
                Shimmed::carried_ingress(&mut self.endpoint_shims, reverse, group, p.arrival, ack);
            }
        }
        let receiver = self.connections.receiver_mut(p.conn);
        receiver.count_received();
        let (c, host) = (&self.tcp[group], &self.hosts[node]);
        let pushed = receiver.ends_write(c, p);
        let merged = self.gro.receive(host.rss_hash(p), c, (p, ack), pushed);
        if let Some(segment) = &merged.complete {
            self.deliver(node, segment);
        }
        if merged.passes {
            self.deliver(node, &SuperSegment::of(p, ack));
        }
    }

    /// Passes segments that have been counted to their endpoint.
    fn deliver(&mut self, node: NodeId, segment: &SuperSegment) {
        let (conn, number) = (segment.packet().conn, segment.packet().generation());
        let generation = self.connections.generation(conn);
        if generation.receives(number) {
            self.deliver_by::<Direct>(node, segment);
        } else if generation.receives_through_shim(number) {
            cold_path(move || self.deliver_by::<Shimmed>(node, segment));
        } else if generation.receives_both_ways(number) {
            cold_path(move || self.process_two_way_data(node, segment));
        } else {
            self.partition.late_packets += u64::from(segment.segments());
        }
    }

    fn deliver_by<W: EndpointPath>(&mut self, node: NodeId, segment: &SuperSegment) {
        let p = segment.packet();
        if self.accept_queues.any() && !self.listener_takes(node, p, segment.segments()) {
            return;
        }
        let (now, conn) = (p.arrival, p.conn);
        let (host, receiver) = (&mut self.hosts[node], self.connections.receiver_mut(conn));
        let group = receiver.group();
        let at = Endpoint { conn, side: Side::Receiver, group, node };
        let mut out = W::wire(&mut self.endpoint_shims, at, || Nic::at_once((&mut self.fabric, &mut self.partition), host, now));
        receiver.on_segments(&self.tcp[group], now, segment, &mut out);
        drop(out);
        W::set_shim_timers(self, at, now);
        self.after_data(node, conn, now);
    }
}
