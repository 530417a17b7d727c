//! The two ways between an endpoint and the interface of its host: straight, or through the shim of its transport (`shim/endpoint.rs`). What
//! happens on the way is written once, generic over [`Way`]. Which one it is says the check of a packet's generation, which every packet
//! goes through anyway ([`Generation`]): connections without shim pay nothing.

use super::core::{Core, Nic};
use super::hosts::Wake;
use crate::config::{Network, TcpConfig};
use crate::net::generation::Generation;
use crate::net::packet::{Packet, SackBlocks, Wire};
use crate::observe::ShimRow;
use crate::shim::endpoint::{Balance, Layers, Side};
use crate::streams::Draws;
use forebay_units::NodeId;

/// An endpoint whose packets and timers are at work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Endpoint {
    pub conn: u32,
    pub side: Side,
    /// Index of its transport.
    pub group: u32,
    /// Node of its host.
    pub node: NodeId,
}

/// A way between endpoints and the interfaces of their hosts.
pub(super) trait Way {
    /// Where the endpoint hands its packets over.
    type Wire<'a>: Wire;

    /// A packet that arrived as the endpoint gets to see it, possibly changed in `copy`. `None`: it does not reach the endpoint.
    fn ingress<'p>(shims: &mut EndpointShims, at: Endpoint, p: &'p Packet, copy: &'p mut Packet) -> Option<&'p Packet>;

    /// The way out.
    fn wire<'a>(shims: &'a mut EndpointShims, at: Endpoint, nic: Nic<'a>) -> Self::Wire<'a>;

    /// Sees to what is on the way when a packet or timer of the endpoint has been dealt with.
    fn settle(core: &mut Core, at: Endpoint, now: u64);
}

/// Straight to the interface.
pub(super) struct Direct;

/// Through the shim.
pub(super) struct Shimmed;

impl Way for Direct {
    type Wire<'a> = Nic<'a>;

    #[inline(always)]
    fn ingress<'p>(_: &mut EndpointShims, _: Endpoint, p: &'p Packet, _: &'p mut Packet) -> Option<&'p Packet> {
        Some(p)
    }

    #[inline(always)]
    fn wire<'a>(_shims: &'a mut EndpointShims, _at: Endpoint, nic: Nic<'a>) -> Nic<'a> {
        nic
    }

    #[inline(always)]
    fn settle(_core: &mut Core, _at: Endpoint, _now: u64) {}
}

impl Way for Shimmed {
    type Wire<'a> = Through<'a>;

    fn ingress<'p>(shims: &mut EndpointShims, at: Endpoint, p: &'p Packet, copy: &'p mut Packet) -> Option<&'p Packet> {
        *copy = *p;
        let passes = shims.of(at.group).is_none_or(|l| l.ingress((at.side, at.conn), p.arrival, copy));
        passes.then_some(copy)
    }

    fn wire<'a>(shims: &'a mut EndpointShims, at: Endpoint, nic: Nic<'a>) -> Through<'a> {
        Through { layers: shims.of(at.group), at, nic }
    }

    fn settle(core: &mut Core, at: Endpoint, now: u64) {
        let generation = match at.side {
            Side::Sender => core.senders[at.conn].generation(),
            Side::Receiver => core.receivers[at.conn].generation(),
        };
        let tick = core.endpoint_shims.of(at.group).and_then(|l| l.watch((at.side, at.conn), generation, at.node.get(), now));
        core.set_shim_timer(at.node, at.group, tick);
    }
}

/// Does what connections without shim never come to, away from their path.
#[cold]
#[inline(never)]
pub(super) fn rarely<T>(f: impl FnOnce() -> T) -> T {
    f()
}

/// An endpoint's way to the network through its shim.
pub(super) struct Through<'a> {
    layers: Option<&'a mut Layers>,
    at: Endpoint,
    nic: Nic<'a>,
}

impl Wire for Through<'_> {
    fn emit(&mut self, packet: Packet, sack: Option<&SackBlocks>) {
        match &mut self.layers {
            Some(l) => l.egress((self.at.side, self.at.conn), self.nic.now, packet, sack, &mut self.nic),
            None => self.nic.emit(packet, sack),
        }
    }

    fn alarm(&mut self, conn: u32, generation: Generation, time: u64) {
        self.nic.alarm(conn, generation, time);
    }

    fn departure(&self) -> u64 {
        self.nic.departure()
    }
}

/// The endpoint shims of all transports.
pub(super) struct EndpointShims(Vec<Option<Layers>>);

impl EndpointShims {
    /// No connection yet.
    pub fn new(network: &Network, tcp: &[TcpConfig], seed: u64) -> EndpointShims {
        let of = |(group, c): (usize, &TcpConfig)| {
            Layers::new(c, network, |node, period| Draws::ShimPhase.stream(seed, &[group as u64, node as u64]).below(period))
        };
        EndpointShims(tcp.iter().enumerate().map(of).collect())
    }

    fn of(&mut self, group: u32) -> Option<&mut Layers> {
        self.0[group as usize].as_mut()
    }

    /// A new connection of transport `group` in `slot`: the generation of its endpoints, whose number is `number`.
    pub fn connect(&mut self, group: u32, slot: u32, number: u8) -> Generation {
        let generation = Generation::new(number);
        match self.of(group) {
            None => generation,
            Some(layers) => {
                layers.connect(slot);
                generation.with_shim()
            }
        }
    }

    /// What conservation has to know about the connection of transport `group` in `slot`.
    pub fn balance(&self, group: u16, slot: u32) -> Balance {
        self.0[usize::from(group)].as_ref().map_or(Balance::default(), |l| l.balance(slot))
    }

    /// What the row of a message of the connection of transport `group` in `slot` says; `first`: it is the connection's first.
    pub fn row(&mut self, group: u32, slot: u32, first: bool) -> Option<Box<ShimRow>> {
        self.of(group).map(|l| Box::new(l.row(slot, first)))
    }
}

impl Core {
    fn set_shim_timer(&mut self, node: NodeId, group: u32, time: Option<u64>) {
        if let Some(time) = time {
            self.wake(node, node, time, Wake::Shim { group });
        }
    }

    /// The timer of a host's shim came due.
    pub(super) fn shim_tick(&mut self, node: NodeId, group: u32, now: u64) {
        let Some(layers) = self.endpoint_shims.of(group) else { return };
        let host = &mut self.hosts[node.get()];
        let mut nic = Nic::of_sender(&mut self.fabric, host, now, &self.tcp[group]);
        layers.tick(Side::Sender, node.get(), now, |conn, g| self.senders.whosever(conn).generation() == g, &mut nic);
        let mut nic = Nic::at_once(&mut self.fabric, host, now);
        layers.tick(Side::Receiver, node.get(), now, |conn, g| self.receivers.whosever(conn).generation() == g, &mut nic);
        let next = layers.rearm(node.get(), now);
        self.set_shim_timer(node, group, next);
    }
}
