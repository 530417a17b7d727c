//! Endpoint shims of all transports (`shim/endpoint.rs`), and the path through a shim to the interface.

use super::nic::Nic;
use crate::net::arena::Sharing;
use crate::net::generation::Generation;
use crate::net::packet::{Extra, Packet, Unread, Wire};
use crate::shim::endpoint::{Balance, Side};
use crate::shim::endpoint_shims::EndpointStates;
use crate::tcp::config::TcpConfig;
use forebay_experiment::network::Network;
use forebay_experiment::shim_row::ShimRow;
use forebay_experiment::streams::RngStream;
use forebay_types::{ConnSlot, GroupId, IndexVec, NodeId, Time};

/// An endpoint that handles a packet or a timer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Endpoint {
    pub conn: ConnSlot,
    pub side: Side,
    /// Index of its transport.
    pub group: GroupId,
    /// Its host.
    pub node: NodeId,
}

/// Path from an endpoint through its shim to the interface.
pub(super) struct ShimNic<'a> {
    states: Option<&'a mut EndpointStates>,
    nic: Nic<'a>,
}

impl<'a> ShimNic<'a> {
    /// Creates the path of the endpoints of transport `group`, which ends at `nic`.
    pub(super) fn new(shims: &'a mut EndpointShims, group: GroupId, nic: Nic<'a>) -> ShimNic<'a> {
        ShimNic { states: shims.of(group), nic }
    }
}

impl Wire for ShimNic<'_> {
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>) {
        match &mut self.states {
            Some(l) => l.egress((Side::of(&packet), packet.conn), self.nic.now, packet, extra, &mut self.nic),
            None => self.nic.emit(packet, extra),
        }
    }

    fn alarm(&mut self, conn: ConnSlot, generation: Generation, time: Time) {
        self.nic.alarm(conn, generation, time);
    }

    fn departure(&self) -> Time {
        self.nic.departure()
    }

    fn event_time(&self, time: Time) -> Time {
        self.nic.event_time(time)
    }

    fn defer_write(&mut self, conn: ConnSlot) -> bool {
        self.nic.defer_write(conn)
    }

    fn unread(&self, conn: ConnSlot) -> Option<u32> {
        self.nic.unread(conn)
    }

    fn unread_segments(&self, conn: ConnSlot) -> u32 {
        self.nic.unread_segments(conn)
    }

    fn unread_room(&self, conn: ConnSlot) -> u16 {
        self.nic.unread_room(conn)
    }

    fn defer_read(&mut self, conn: ConnSlot, more: Unread) {
        self.nic.defer_read(conn, more);
    }

    fn holds_departures(&self) -> bool {
        self.nic.holds_departures()
    }

    fn hold(&mut self, packet: &Packet) {
        self.nic.hold(packet);
    }
}

/// The endpoint shims of all transports.
pub(super) struct EndpointShims(IndexVec<GroupId, Option<EndpointStates>>);

impl EndpointShims {
    /// Creates the shims without connections.
    pub(super) fn new(network: &Network, tcp: &[TcpConfig], seed: u64) -> EndpointShims {
        let of = |(group, c): (usize, &TcpConfig)| {
            let phase = |node: NodeId, period: Time| {
                Time(RngStream::ShimPhase.stream(seed, &[group as u64, u64::from(node.get())]).below(period.0))
            };
            c.shims.endpoint.as_ref().map(|shim| shim.states(c, network, phase))
        };
        EndpointShims(tcp.iter().enumerate().map(of).collect())
    }

    /// Shares the shims with one partition of a run.
    pub(super) fn share(&mut self, sharing: &Sharing) -> EndpointShims {
        EndpointShims(self.0.iter_mut().map(|l| l.as_mut().map(|l| l.share(sharing))).collect())
    }

    /// The shim of transport `group`.
    pub(super) fn of(&mut self, group: GroupId) -> Option<&mut EndpointStates> {
        self.0[group].as_mut()
    }

    /// Adds a connection of transport `group` in `slot` between hosts `src` and `dst`. Returns the generation of its endpoints, whose number is
    /// `number`.
    pub(super) fn connect(&mut self, group: GroupId, slot: ConnSlot, (src, dst): (NodeId, NodeId), number: u8) -> Generation {
        let generation = Generation::new(number);
        match self.of(group) {
            None => generation,
            Some(states) => {
                states.connect(slot, src, dst);
                generation.with_shim()
            }
        }
    }

    /// Makes `opener` and `other`, connections of transport `group`, the directions of one TCP connection. Each has the number of its generation; `isn`
    /// is the initial sequence number of `other`. Returns true if the transport has a shim.
    pub(super) fn join(&mut self, group: GroupId, opener: (ConnSlot, u8), other: (ConnSlot, u8), isn: u32) -> bool {
        let end = |(slot, number)| (slot, Generation::new(number));
        self.of(group).map(|l| l.join(end(opener), end(other), isn)).is_some()
    }

    /// Packet counts of the shim for the connection of transport `group` in `slot`, for the conservation check.
    pub(super) fn balance(&self, group: GroupId, slot: ConnSlot) -> Balance {
        self.0[group].as_ref().map_or(Balance::default(), |l| l.balance(slot))
    }

    /// The sending host's columns in the row of a message; `first`: the message is the connection's first.
    pub(super) fn sender_row(&mut self, group: GroupId, slot: ConnSlot, first: bool) -> Option<Box<ShimRow>> {
        self.of(group).map(|l| Box::new(l.sender_row(slot, first)))
    }

    /// Adds the receiving host's columns. Between windows only.
    pub(super) fn receiver_row(&self, group: GroupId, slot: ConnSlot, first: bool, row: &mut ShimRow) {
        if let Some(states) = &self.0[group] {
            states.receiver_row(slot, first, row);
        }
    }

    /// Sets the host that runs; `None` at the end of the window.
    #[cfg(debug_assertions)]
    pub(super) fn set_running(&mut self, node: Option<NodeId>) {
        self.0.iter_mut().flatten().for_each(|l| l.set_running(node));
    }
}
