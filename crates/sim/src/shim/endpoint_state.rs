//! State of the hosts for the connections of one transport with an endpoint shim. Each end of a connection has an entry; each host has a timer and
//! the list of the ends that wait for it. Transports have separate state, so that they can have different parameters.
//!
//! On a TCP connection with data in both directions a host has the sending end of one direction and the receiving end of the other. A data packet passes
//! the first and the ACK that it carries the second. The handshake passes both.

use super::endpoint::{Balance, End, EndpointShim, Side};
use crate::net::arena::Sharing;
use crate::net::generation::Generation;
use crate::net::packet::{CarriedAck, Codepoint, Extra, Meta, Packet, Wire, flag};
use crate::net::per_host::PerHost;
use forebay_experiment::network::Network;
use forebay_experiment::shim_row::ShimRow;
use forebay_types::{ConnSlot, NodeId, Time};
use std::sync::Arc;

/// One end of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct Entry<E> {
    end: E,
    /// Its host.
    node: NodeId,
    /// True if it is in its host's list.
    listed: bool,
    /// The other direction of a TCP connection with data in both, whose end at this host is of the other side.
    reverse: Option<Reverse>,
}

/// The other direction of a TCP connection.
#[derive(Debug, Clone, Copy)]
struct Reverse {
    slot: ConnSlot,
    generation: Generation,
}

impl Reverse {
    /// The SYN or SYN-ACK `p` as a packet of the other direction, in the ordinary class of service.
    fn own(&self, p: &Packet) -> Packet {
        Packet { conn: self.slot, win: 0, meta: Meta::new(self.generation, Codepoint::NotEct), ..*p }
    }
}

/// The path of a receiving end's packets. The sending end of the other direction sends its packets ahead of a SYN-ACK.
struct AheadOfSynAck<'a, S: EndpointShim, W> {
    rules: &'a S::Rules,
    now: Time,
    sender: Option<(Reverse, &'a mut Entry<S::Sender>)>,
    out: &'a mut W,
}

impl<'a, S: EndpointShim, W> AheadOfSynAck<'a, S, W> {
    fn new(
        rules: &'a S::Rules,
        now: Time,
        reverse: Option<Reverse>,
        senders: &'a mut PerHost<ConnSlot, Entry<S::Sender>>,
        out: &'a mut W,
    ) -> Self {
        AheadOfSynAck { rules, now, sender: reverse.map(|r| (r, &mut senders[r.slot])), out }
    }
}

impl<S: EndpointShim, W: Wire> Wire for AheadOfSynAck<'_, S, W> {
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>) {
        if packet.has(flag::SYN)
            && let Some((reverse, sender)) = &mut self.sender
        {
            sender.end.handshake_egress(self.rules, self.now, &reverse.own(&packet), self.out);
        }
        self.out.emit(packet, extra);
    }
}

/// Keeps the packet that leaves a receiving end.
struct LastPacket(Packet);

impl Wire for LastPacket {
    fn emit(&mut self, packet: Packet, _extra: Option<&Extra>) {
        self.0 = packet;
    }
}

/// State of one host.
#[derive(Debug)]
struct Host<T> {
    state: T,
    /// Slots and generations of the ends that wait, or did at the last tick.
    senders: Vec<(ConnSlot, Generation)>,
    receivers: Vec<(ConnSlot, Generation)>,
    /// Tick phase of its timer, modulo the period.
    phase: Time,
    armed: bool,
}

/// The entries and hosts of one transport.
#[derive(Debug)]
pub struct EndpointState<S: EndpointShim> {
    rules: Arc<S::Rules>,
    /// By node.
    hosts: PerHost<NodeId, Host<S::Host>>,
    /// By slot, as far as slots were used by this transport.
    senders: PerHost<ConnSlot, Entry<S::Sender>>,
    receivers: PerHost<ConnSlot, Entry<S::Receiver>>,
}

/// Runs `$call` with `$end`, the end of a connection at `$side` and `$slot`.
macro_rules! at {
    ($layer:ident, $side:expr, $slot:expr, $entry:ident => $call:expr) => {
        match $side {
            Side::Sender => {
                let $entry = &mut $layer.senders[$slot];
                $call
            }
            Side::Receiver => {
                let $entry = &mut $layer.receivers[$slot];
                $call
            }
        }
    };
}

impl<S: EndpointShim> EndpointState<S> {
    /// Creates the state without connections. `phase` draws the tick phase of a node's timer. Our choice: hosts are not synchronized, or their
    /// repetitions would always collide.
    pub fn new(rules: S::Rules, network: &Network, mut phase: impl FnMut(NodeId, Time) -> Time) -> EndpointState<S> {
        // Rate of each node's first port.
        let mut rates = vec![None; network.nodes.len()];
        for p in &network.ports {
            rates[p.from.index()].get_or_insert(p.rate);
        }
        let mut hosts = PerHost::new();
        for (node, rate) in network.nodes.ids().zip(rates) {
            let (state, phase) = (S::host(&rules, rate), phase(node, S::period(&rules)));
            hosts.put(node, node, Host { state, senders: Vec::new(), receivers: Vec::new(), phase, armed: false });
        }
        EndpointState { rules: Arc::new(rules), hosts, senders: PerHost::new(), receivers: PerHost::new() }
    }

    /// Shares the state with one partition of a run.
    pub(crate) fn share(&mut self, sharing: &Sharing) -> EndpointState<S> {
        EndpointState {
            rules: self.rules.clone(),
            hosts: self.hosts.share(sharing),
            senders: self.senders.share(sharing),
            receivers: self.receivers.share(sharing),
        }
    }

    /// Adds a connection of this transport in `slot`, from host `src` to host `dst`.
    pub fn connect(&mut self, slot: ConnSlot, src: NodeId, dst: NodeId) {
        // Lower slots belong to other transports.
        for unused in (self.senders.len()..slot.index()).map(ConnSlot::from_index) {
            self.senders.put(unused, NodeId::default(), Entry::default());
            self.receivers.put(unused, NodeId::default(), Entry::default());
        }
        self.senders.put(slot, src, Entry { end: S::Sender::with(dst), node: src, listed: false, reverse: None });
        self.receivers.put(slot, dst, Entry { end: S::Receiver::with(src), node: dst, listed: false, reverse: None });
    }

    /// Makes `opener` and `other` the directions of one TCP connection, which the sending host of `opener` opens. Each has the generation of its endpoints;
    /// `isn` is the initial sequence number of `other`.
    pub fn join(&mut self, opener: (ConnSlot, Generation), other: (ConnSlot, Generation), isn: u32) {
        for ((slot, _), (reverse, generation)) in [(opener, other), (other, opener)] {
            let reverse = Some(Reverse { slot: reverse, generation });
            self.senders[slot].reverse = reverse;
            self.receivers[slot].reverse = reverse;
        }
        self.senders[other.0].end.set_answers(isn);
        self.receivers[other.0].end.set_answers(isn);
    }

    /// See [`End::egress`].
    pub fn egress(&mut self, (side, slot): (Side, ConnSlot), now: Time, p: Packet, extra: Option<&Extra>, out: &mut impl Wire) {
        if side == Side::Receiver {
            let entry = &mut self.receivers[slot];
            let mut out = AheadOfSynAck::<S, _>::new(&self.rules, now, entry.reverse, &mut self.senders, out);
            return entry.end.egress(&self.rules, &mut self.hosts[entry.node].state, now, p, extra, &mut out);
        }
        let carried = match extra {
            Some(Extra::Carried(ack)) => Some(Extra::Carried(self.carried_egress(slot, now, *ack))),
            _ => None,
        };
        let entry = &mut self.senders[slot];
        if p.has(flag::SYN)
            && let Some(reverse) = entry.reverse
        {
            self.receivers[reverse.slot].end.handshake_egress(&self.rules, now, &reverse.own(&p), out);
        }
        entry.end.egress(&self.rules, &mut self.hosts[entry.node].state, now, p, carried.as_ref().or(extra), out);
    }

    /// The ACK of the other direction in data of `slot`, as it leaves.
    fn carried_egress(&mut self, slot: ConnSlot, now: Time, ack: CarriedAck) -> CarriedAck {
        let Some(reverse) = self.senders[slot].reverse else { return ack };
        let p = ack.as_packet(reverse.slot, now);
        let mut left = LastPacket(p);
        let entry = &mut self.receivers[reverse.slot];
        entry.end.egress(&self.rules, &mut self.hosts[entry.node].state, now, p, None, &mut left);
        ack.with_fields_of(&left.0)
    }

    /// See [`End::ingress`].
    pub fn ingress(&mut self, (side, slot): (Side, ConnSlot), now: Time, p: &mut Packet) -> bool {
        let (passes, reverse) =
            at!(self, side, slot, e => (e.end.ingress(&self.rules, &mut self.hosts[e.node].state, now, p), e.reverse));
        if let Some(reverse) = reverse
            && p.has(flag::SYN)
        {
            match side {
                Side::Sender => self.receivers[reverse.slot].end.handshake_ingress(&self.rules, now, p),
                Side::Receiver => self.senders[reverse.slot].end.handshake_ingress(&self.rules, now, p),
            }
        }
        passes
    }

    /// Handles an ACK for the data of `slot` that arrives in data of the other direction, and may be changed.
    pub fn carried_ingress(&mut self, slot: ConnSlot, now: Time, ack: &mut CarriedAck) {
        let mut p = ack.as_packet(slot, now);
        let entry = &mut self.senders[slot];
        if entry.end.ingress(&self.rules, &mut self.hosts[entry.node].state, now, &mut p) {
            *ack = ack.with_fields_of(&p);
        }
    }

    /// Lists an end of a connection at its host `node` if it waits after a packet or timer. Returns the time for which the host's timer must be set,
    /// if any.
    pub fn watch(&mut self, (side, slot): (Side, ConnSlot), generation: Generation, node: NodeId, now: Time) -> Option<Time> {
        let wants = at!(self, side, slot, e => {
            let wants = e.end.waiting() && !e.listed;
            e.listed |= wants;
            wants
        });
        if !wants {
            return None;
        }
        let host = &mut self.hosts[node];
        match side {
            Side::Sender => host.senders.push((slot, generation)),
            Side::Receiver => host.receivers.push((slot, generation)),
        }
        self.arm(node, now)
    }

    /// The next tick of a host whose timer does not run.
    fn arm(&mut self, node: NodeId, now: Time) -> Option<Time> {
        let period = S::period(&self.rules);
        let host = &mut self.hosts[node];
        if host.armed {
            return None;
        }
        host.armed = true;
        Some(now + period - (now + period - host.phase) % period)
    }

    /// Handles a tick of host `node` for the ends on one side. `current` returns true if a slot's endpoint still has a generation.
    pub fn tick(
        &mut self,
        side: Side,
        node: NodeId,
        now: Time,
        mut current: impl FnMut(ConnSlot, Generation) -> bool,
        out: &mut impl Wire,
    ) {
        let host = &mut self.hosts[node];
        match side {
            Side::Sender => host.senders.retain(|&(slot, generation)| {
                current(slot, generation) && {
                    let entry = &mut self.senders[slot];
                    entry.end.tick(&self.rules, &mut host.state, now, out);
                    entry.listed = entry.end.waiting();
                    entry.listed
                }
            }),
            Side::Receiver => host.receivers.retain(|&(slot, generation)| {
                current(slot, generation) && {
                    let entry = &mut self.receivers[slot];
                    let mut out = AheadOfSynAck::<S, _>::new(&self.rules, now, entry.reverse, &mut self.senders, out);
                    entry.end.tick(&self.rules, &mut host.state, now, &mut out);
                    entry.listed = entry.end.waiting();
                    entry.listed
                }
            }),
        }
    }

    /// Returns the time of the next tick of host `node` after both sides; `None`: nothing waits there any more.
    pub fn rearm(&mut self, node: NodeId, now: Time) -> Option<Time> {
        let host = &mut self.hosts[node];
        host.armed = false;
        if host.senders.is_empty() && host.receivers.is_empty() {
            return None;
        }
        self.arm(node, now)
    }

    /// Packet counts of the connection in `slot` for the conservation check.
    pub fn balance(&self, slot: ConnSlot) -> Balance {
        let (a, b) = (self.senders[slot].end.balance(), self.receivers[slot].end.balance());
        Balance { sent: a.sent + b.sent, taken: a.taken + b.taken, held: a.held + b.held }
    }

    /// See [`EndpointShim::sender_row`].
    pub fn sender_row(&mut self, slot: ConnSlot, first: bool) -> ShimRow {
        S::sender_row(&mut self.senders[slot].end, first)
    }

    /// See [`EndpointShim::receiver_row`].
    pub fn receiver_row(&self, slot: ConnSlot, first: bool, row: &mut ShimRow) {
        S::receiver_row(&self.receivers[slot].end, first, row);
    }

    /// See [`PerHost::set_running`].
    #[cfg(debug_assertions)]
    pub(crate) fn set_running(&mut self, node: Option<NodeId>) {
        self.hosts.set_running(node);
        self.senders.set_running(node);
        self.receivers.set_running(node);
    }
}
