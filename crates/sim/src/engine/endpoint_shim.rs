//! Shims between the endpoints and the interfaces of their hosts (`shim/endpoint.rs`): those of all transports, and the way out through one.

use super::nic::Nic;
use crate::net::generation::Generation;
use crate::net::packet::{Extra, Packet, Wire};
use crate::shim::endpoint::{Balance, Side};
use crate::shim::endpoint_shims::EndpointStates;
use crate::tcp::config::TcpConfig;
use forebay_experiment::network::Network;
use forebay_experiment::shim_row::ShimRow;
use forebay_experiment::streams::Draws;
use forebay_units::{ConnSlot, GroupId, IndexVec, NodeId, Time};

/// An endpoint whose packets and timers are at work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Endpoint {
    pub conn: ConnSlot,
    pub side: Side,
    /// Index of its transport.
    pub group: GroupId,
    /// Node of its host.
    pub node: NodeId,
}

/// An endpoint's way to the network through its shim.
pub(super) struct ShimNic<'a> {
    layers: Option<&'a mut EndpointStates>,
    at: Endpoint,
    nic: Nic<'a>,
}

impl<'a> ShimNic<'a> {
    /// The way of endpoint `at`, which ends at `nic`.
    pub(super) fn new(shims: &'a mut EndpointShims, at: Endpoint, nic: Nic<'a>) -> ShimNic<'a> {
        ShimNic { layers: shims.of(at.group), at, nic }
    }
}

impl Wire for ShimNic<'_> {
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>) {
        match &mut self.layers {
            Some(l) => l.egress((self.at.side, self.at.conn), self.nic.now, packet, extra, &mut self.nic),
            None => self.nic.emit(packet, extra),
        }
    }

    fn alarm(&mut self, conn: ConnSlot, generation: Generation, time: Time) {
        self.nic.alarm(conn, generation, time);
    }

    fn departure(&self) -> Time {
        self.nic.departure()
    }
}

/// The endpoint shims of all transports.
pub(super) struct EndpointShims(IndexVec<GroupId, Option<EndpointStates>>);

impl EndpointShims {
    /// No connection yet.
    pub(super) fn new(network: &Network, tcp: &[TcpConfig], seed: u64) -> EndpointShims {
        let of = |(group, c): (usize, &TcpConfig)| {
            let phase = |node: NodeId, period: Time| {
                Time(Draws::ShimPhase.stream(seed, &[group as u64, u64::from(node.get())]).below(period.0))
            };
            c.shims.endpoint.as_ref().map(|shim| shim.layers(c, network, phase))
        };
        EndpointShims(tcp.iter().enumerate().map(of).collect())
    }

    /// The same for one part of a run.
    ///
    /// # Safety
    /// As [`Arena::share`](crate::net::arena::Arena::share).
    pub(super) unsafe fn share(&mut self) -> EndpointShims {
        // SAFETY: the caller's promise is that of `Arena::share`.
        EndpointShims(self.0.iter_mut().map(|l| l.as_mut().map(|l| unsafe { l.share() })).collect())
    }

    /// That of transport `group`.
    pub(super) fn of(&mut self, group: GroupId) -> Option<&mut EndpointStates> {
        self.0[group].as_mut()
    }

    /// A new connection of transport `group` in `slot` between hosts `src` and `dst`: the generation of its endpoints, whose number is
    /// `number`.
    pub(super) fn connect(&mut self, group: GroupId, slot: ConnSlot, (src, dst): (NodeId, NodeId), number: u8) -> Generation {
        let generation = Generation::new(number);
        match self.of(group) {
            None => generation,
            Some(layers) => {
                layers.connect(slot, src, dst);
                generation.with_shim()
            }
        }
    }

    /// What conservation has to know about the connection of transport `group` in `slot`.
    pub(super) fn balance(&self, group: GroupId, slot: ConnSlot) -> Balance {
        self.0[group].as_ref().map_or(Balance::default(), |l| l.balance(slot))
    }

    /// What the sending host says in the row of a message of the connection of transport `group` in `slot`; `first`: it is the connection's
    /// first.
    pub(super) fn sender_row(&mut self, group: GroupId, slot: ConnSlot, first: bool) -> Option<Box<ShimRow>> {
        self.of(group).map(|l| Box::new(l.sender_row(slot, first)))
    }

    /// What the receiving host adds to it. Between windows.
    pub(super) fn receiver_row(&self, group: GroupId, slot: ConnSlot, first: bool, row: &mut ShimRow) {
        if let Some(layers) = &self.0[group] {
            layers.receiver_row(slot, first, row);
        }
    }

    /// From now on host `node` is run; `None`: the window is over.
    #[cfg(debug_assertions)]
    pub(super) fn set_running(&mut self, node: Option<NodeId>) {
        self.0.iter_mut().flatten().for_each(|l| l.set_running(node));
    }
}
