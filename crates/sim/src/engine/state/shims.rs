//! Packets and timers of shims.
//!
//! There are two paths between an endpoint and the interface of its host: direct, or through the shim of its transport. The code is generic over
//! [`EndpointPath`]. The generation of a packet, which is checked for every packet anyway, selects the path
//! ([`Generation`](crate::net::generation::Generation)), so that connections without shim have no cost.

use super::SimState;
use crate::engine::endpoint_shim::{Endpoint, EndpointShims, ShimNic};
use crate::engine::host::TimerKind;
use crate::engine::nic::Nic;
use crate::net::generation::Generation;
use crate::net::packet::{CarriedAck, Packet, Wire, flag};
use crate::shim::endpoint::Side;
use forebay_types::{ConnSlot, GroupId, NodeId, Time};

/// A path between endpoints and the interfaces of their hosts.
pub(super) trait EndpointPath {
    /// True if the path leads through the shim.
    const SHIM: bool;

    /// Sink of the endpoint's packets.
    type Wire<'a>: Wire;

    /// Returns an arriving packet as the endpoint sees it, possibly changed in `copy`. `None`: the shim has consumed it.
    fn ingress<'p>(shims: &mut EndpointShims, at: Endpoint, p: &'p Packet, copy: &'p mut Packet) -> Option<&'p Packet>;

    /// Shows the ACK for data of connection `conn`, which arrives in data of the other direction.
    fn carried_ingress(shims: &mut EndpointShims, conn: ConnSlot, group: GroupId, now: Time, ack: &mut CarriedAck);

    /// Creates the outgoing path. It ends at the interface that `nic` creates in place, because it is used for every packet.
    fn wire<'a>(shims: &'a mut EndpointShims, at: Endpoint, nic: impl FnOnce() -> Nic<'a>) -> Self::Wire<'a>;

    /// Sets the shim's timer after a packet or timer of the endpoint.
    fn set_shim_timers(state: &mut SimState, at: Endpoint, now: Time);
}

/// The direct path.
pub(super) struct Direct;

/// The path through the shim.
pub(super) struct Shimmed;

impl EndpointPath for Direct {
    const SHIM: bool = false;

    type Wire<'a> = Nic<'a>;

    #[inline(always)]
    fn ingress<'p>(_: &mut EndpointShims, _: Endpoint, p: &'p Packet, _: &'p mut Packet) -> Option<&'p Packet> {
        Some(p)
    }

    #[inline(always)]
    fn carried_ingress(_: &mut EndpointShims, _: ConnSlot, _: GroupId, _: Time, _: &mut CarriedAck) {}

    #[inline(always)]
    fn wire<'a>(_shims: &'a mut EndpointShims, _at: Endpoint, nic: impl FnOnce() -> Nic<'a>) -> Nic<'a> {
        nic()
    }

    #[inline(always)]
    fn set_shim_timers(_state: &mut SimState, _at: Endpoint, _now: Time) {}
}

impl EndpointPath for Shimmed {
    const SHIM: bool = true;

    type Wire<'a> = ShimNic<'a>;

    fn ingress<'p>(shims: &mut EndpointShims, at: Endpoint, p: &'p Packet, copy: &'p mut Packet) -> Option<&'p Packet> {
        *copy = *p;
        let passes = shims.of(at.group).is_none_or(|l| l.ingress((at.side, at.conn), p.arrival, copy));
        passes.then_some(copy)
    }

    fn carried_ingress(shims: &mut EndpointShims, conn: ConnSlot, group: GroupId, now: Time, ack: &mut CarriedAck) {
        if let Some(states) = shims.of(group) {
            states.carried_ingress(conn, now, ack);
        }
    }

    fn wire<'a>(shims: &'a mut EndpointShims, at: Endpoint, nic: impl FnOnce() -> Nic<'a>) -> ShimNic<'a> {
        ShimNic::new(shims, at.group, nic())
    }

    fn set_shim_timers(state: &mut SimState, at: Endpoint, now: Time) {
        let generation = match at.side {
            Side::Sender => state.connections.sender(at.conn).generation(),
            Side::Receiver => state.connections.receiver(at.conn).generation(),
        };
        let tick = state.endpoint_shims.of(at.group).and_then(|l| l.watch((at.side, at.conn), generation, at.node, now));
        state.set_shim_timer(at.node, at.group, tick);
    }
}

/// Runs code that only connections with shims need, out of line.
#[cold]
#[inline(never)]
pub(super) fn cold_path<T>(f: impl FnOnce() -> T) -> T {
    f()
}

impl SimState {
    fn set_shim_timer(&mut self, node: NodeId, group: GroupId, time: Option<Time>) {
        if let Some(time) = time {
            self.hosts.set_timer(&mut self.partition, (node, node), time, TimerKind::Shim { group });
        }
    }

    /// Returns true if the endpoints of `conn`, which have `generation`, have a shim below them.
    pub(super) fn is_shimmed(&self, conn: ConnSlot, generation: Generation) -> bool {
        generation.has_shim() || (generation.has_reverse() && self.connections.reverse(conn).has_shim)
    }

    /// Runs the timer of a host's shim.
    pub(super) fn run_shim_timer(&mut self, node: NodeId, group: GroupId, now: Time) {
        let Some(states) = self.endpoint_shims.of(group) else { return };
        let host = &mut self.hosts[node];
        let connections = &self.connections;
        let mut nic = Nic::of_sender((&mut self.fabric, &mut self.partition), host, now, &self.tcp[group]);
        states.tick(Side::Sender, node, now, |conn, g| connections.is_of_sender(node, conn, g), &mut nic);
        let mut nic = Nic::at_once((&mut self.fabric, &mut self.partition), host, now);
        states.tick(Side::Receiver, node, now, |conn, g| connections.is_of_receiver(node, conn, g), &mut nic);
        let next = states.rearm(node, now);
        self.set_shim_timer(node, group, next);
    }

    /// Adds a new connection to the shim of its receiver's host, if there is one.
    #[cold]
    pub(super) fn join_window_shim(&mut self, conn: ConnSlot, src: NodeId, dst: NodeId, group: GroupId) {
        if self.tcp[group].shims.window.is_none() {
            return;
        }
        let back = self.small_packet_latency(dst, src, group);
        let rate = self.network.ports[self.hosts[dst].network_input].rate;
        if let Some(window) = self.connections.receiver_mut(conn).window_shim() {
            self.window_shims.of_new(dst, self.network.nodes.len()).join(window, rate, back);
        }
    }

    /// Removes a closed connection.
    pub(super) fn leave_window_shim(&mut self, conn: ConnSlot) {
        if !self.window_shims.any() {
            return;
        }
        let host = self.connections.get(conn).dst;
        let hosts = self.window_shims.of(host);
        if let (Some(hosts), Some(window)) = (hosts, self.connections.receiver_mut(conn).take_window_shim()) {
            hosts.leave(&window);
        }
    }

    /// Shows a packet of the data direction to the shim at `node`, before its endpoint.
    #[cold]
    #[inline(never)]
    pub(super) fn show_window_shim(&mut self, node: NodeId, p: &Packet) {
        let Some(hosts) = self.window_shims.of(node) else { return };
        let now = p.arrival;
        hosts.packet_arrived(now, u64::from(p.wire));
        let generation = self.connections.generation(p.conn);
        let current = generation.receives(p.generation()) || generation.receives_through_shim(p.generation());
        if current
            && let Some(window) = self.connections.receiver_mut(p.conn).window_shim()
            && p.len > 0
            && p.flags & (flag::SYN | flag::PROBE) == 0
        {
            let forward = now.since(p.ts);
            hosts.data_arrived(window, now, u64::from(p.len), forward);
        }
    }
}
