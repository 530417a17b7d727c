//! All connections by slot: their identity, their state at both ends, and the slots.
//!
//! State of an endpoint belongs to its host, and only that host touches it within a window ([`PerHost`]). Slots are allocated and released between
//! windows only.

use crate::engine::closed_connections::ClosedConnections;
use crate::engine::connection::{Connection, IncomingMessages, OutgoingMessages, ReceivedRanges};
use crate::engine::connection_slots::ConnectionSlots;
use crate::net::arena::{Arena, Sharing};
use crate::net::generation::Generation;
use crate::net::per_host::PerHost;
use crate::net::prefetch;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use forebay_types::{ConnSlot, GroupId, IndexVec, NodeId, SumId};

/// More cache lines than an endpoint has.
const ALL_LINES: usize = 16;

/// A slot for a new connection.
pub(super) struct NewSlot {
    pub slot: ConnSlot,
    /// Number of the connection in order of creation.
    pub conn_id: u64,
    /// Initial sequence number.
    pub isn: u32,
    /// Number of the slot's generation.
    pub generation: u8,
    /// True if the slot has never been used.
    pub fresh: bool,
}

/// A TCP connection with data in both directions, seen from one of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reverse {
    /// The other direction.
    pub conn: ConnSlot,
    /// This is the direction of the host that opens.
    pub opens: bool,
    /// A shim is below both ends.
    pub has_shim: bool,
}

/// The connections of a run.
pub(super) struct ConnectionTable {
    /// Generation of each slot, which all hosts may read within a window. Free slots are retired.
    generations: Arena<ConnSlot, Generation>,
    identities: Arena<ConnSlot, Connection>,
    senders: PerHost<ConnSlot, Sender>,
    outgoing: PerHost<ConnSlot, OutgoingMessages>,
    receivers: PerHost<ConnSlot, Receiver>,
    incoming: PerHost<ConnSlot, IncomingMessages>,
    /// The other direction of connections with data in both. Empty without such connections; may end before the last slot.
    reverses: Arena<ConnSlot, Option<Reverse>>,
    slots: ConnectionSlots,
    closed: ClosedConnections,
}

impl ConnectionTable {
    /// Creates an empty table for a run with this seed and this many transports.
    pub(super) fn new(seed: u64, groups: usize) -> ConnectionTable {
        ConnectionTable {
            generations: Arena::new(Vec::new()),
            identities: Arena::new(Vec::new()),
            senders: PerHost::new(),
            outgoing: PerHost::new(),
            receivers: PerHost::new(),
            incoming: PerHost::new(),
            reverses: Arena::new(Vec::new()),
            slots: ConnectionSlots::new(seed),
            closed: ClosedConnections::new(groups),
        }
    }

    /// Shares the connections with one partition of a run, which neither opens nor closes any.
    pub(super) fn share(&mut self, seed: u64, sharing: &Sharing) -> ConnectionTable {
        ConnectionTable {
            generations: self.generations.share(sharing),
            identities: self.identities.share(sharing),
            senders: self.senders.share(sharing),
            outgoing: self.outgoing.share(sharing),
            receivers: self.receivers.share(sharing),
            incoming: self.incoming.share(sharing),
            reverses: self.reverses.share(sharing),
            slots: ConnectionSlots::new(seed),
            closed: ClosedConnections::new(0),
        }
    }

    /// Shares the connections again with `part`, after connections were opened between windows.
    pub(super) fn share_again(&mut self, part: &mut ConnectionTable, sharing: &Sharing) {
        part.generations = self.generations.share(sharing);
        part.identities = self.identities.share(sharing);
        part.senders = self.senders.share(sharing);
        part.outgoing = self.outgoing.share(sharing);
        part.receivers = self.receivers.share(sharing);
        part.incoming = self.incoming.share(sharing);
        part.reverses = self.reverses.share(sharing);
    }

    /// Reserves memory for `more` connections. Growing by doubling would leave holes that the allocator keeps.
    pub(super) fn reserve(&mut self, more: usize) {
        self.generations.reserve_exact(more);
        self.identities.reserve_exact(more);
        self.senders.reserve_exact(more);
        self.outgoing.reserve_exact(more);
        self.receivers.reserve_exact(more);
        self.incoming.reserve_exact(more);
    }

    /// Sets the host that runs; `None` at the end of the window.
    #[cfg(debug_assertions)]
    pub(super) fn set_running(&mut self, node: Option<NodeId>) {
        self.senders.set_running(node);
        self.outgoing.set_running(node);
        self.receivers.set_running(node);
        self.incoming.set_running(node);
    }

    /// Number of slots.
    pub(super) fn len(&self) -> usize {
        self.identities.len()
    }

    /// All slots.
    pub(super) fn ids(&self) -> impl Iterator<Item = ConnSlot> + use<> {
        self.identities.ids()
    }

    /// The connections that are open or about to open.
    pub(super) fn live(&self) -> impl Iterator<Item = (ConnSlot, &Connection)> {
        self.identities.enumerate().filter(|(_, c)| c.live)
    }

    /// Maximum number of connections that were open at the same time.
    pub(super) fn peak(&self) -> u64 {
        self.slots.peak()
    }

    /// Allocates a slot. `isn` is the initial sequence number; `None`: a random one.
    pub(super) fn allocate(&mut self, isn: Option<u32>) -> NewSlot {
        let next = self.identities.next_id();
        let (slot, conn_id) = self.slots.allocate(next);
        let isn = isn.unwrap_or_else(|| self.slots.sequence_number());
        let fresh = slot == next;
        let generation = if fresh { 0 } else { (self.identities[slot].generation + 1) & 0x3F };
        NewSlot { slot, conn_id, isn, generation, fresh }
    }

    /// Fills a slot with the endpoints that `make` creates; it gets the sender that had the slot before, to reuse its memory.
    pub(super) fn fill(
        &mut self,
        new: &NewSlot,
        (src, dst): (NodeId, NodeId),
        generation: Generation,
        outgoing: OutgoingMessages,
        make: impl FnOnce(Option<&mut Sender>) -> (Sender, Receiver),
    ) {
        let slot = new.slot;
        let (sender, receiver) = if new.fresh {
            self.identities.push(Connection::default());
            self.generations.push(generation);
            make(None)
        } else {
            self.generations[slot] = generation;
            make(Some(&mut self.senders[slot]))
        };
        self.senders.put(slot, src, sender);
        self.outgoing.put(slot, src, outgoing);
        self.receivers.put(slot, dst, receiver);
        self.incoming.put(slot, dst, IncomingMessages::default());
    }

    /// Closes a connection, on which the receiver here got `arrived` bytes of payload, and releases its slot. `sent` is the number of packets that
    /// its endpoints sent less those that they received.
    pub(super) fn close(&mut self, conn: ConnSlot, arrived: u64, sent: u64) {
        let (connection, group) = (&mut self.identities[conn], self.senders[conn].group());
        self.closed.add((connection.sum, group), arrived, (sent, connection.dropped));
        (connection.live, connection.job) = (false, None);
        self.generations[conn] = Generation::RETIRED;
        self.slots.release(conn);
    }

    /// Counts a packet dropped in the network for its connection, of this generation, or for the closed ones.
    pub(super) fn count_drop(&mut self, conn: ConnSlot, generation: u8) {
        let connection = &mut self.identities[conn];
        if connection.live && connection.generation == generation {
            connection.dropped += 1;
        } else {
            self.closed.add_drop();
        }
    }

    /// Counters of closed connections.
    pub(super) fn closed(&self) -> &ClosedConnections {
        &self.closed
    }

    /// Frees the memory of the endpoints at the end of the run.
    pub(super) fn free_endpoints(&mut self) {
        (self.senders, self.receivers) = (PerHost::new(), PerHost::new());
        (self.outgoing, self.incoming) = (PerHost::new(), PerHost::new());
    }

    /// Generation of a slot.
    #[inline(always)]
    pub(super) fn generation(&self, conn: ConnSlot) -> Generation {
        self.generations[conn]
    }

    /// Makes `opener` and `other`, which are not open yet, the two directions of one TCP connection, which the sending host of `opener` opens.
    pub(super) fn join(&mut self, opener: ConnSlot, other: ConnSlot, has_shim: bool) {
        while self.reverses.len() <= opener.index().max(other.index()) {
            self.reverses.push(None);
        }
        for (slot, conn, opens) in [(opener, other, true), (other, opener, false)] {
            self.reverses[slot] = Some(Reverse { conn, opens, has_shim });
            let generation = self.generations[slot].with_reverse();
            self.generations[slot] = generation;
            self.senders[slot].set_generation(generation);
            self.receivers[slot].set_generation(generation);
        }
    }

    /// The other direction of a connection with data in both. Panics for others.
    pub(super) fn reverse(&self, conn: ConnSlot) -> Reverse {
        self.reverses[conn].expect("the generation says that there is one")
    }

    /// Sender of `conn` and receiver of its other direction `reverse`, which are at one host.
    pub(super) fn socket(&mut self, conn: ConnSlot, reverse: ConnSlot) -> (&mut Sender, &mut Receiver) {
        (&mut self.senders[conn], &mut self.receivers[reverse])
    }

    /// Identity of a connection.
    #[inline(always)]
    pub(super) fn get(&self, conn: ConnSlot) -> &Connection {
        &self.identities[conn]
    }

    /// Identity of a connection, to be changed between windows.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, conn: ConnSlot) -> &mut Connection {
        &mut self.identities[conn]
    }

    /// Sender of a connection.
    #[inline(always)]
    pub(super) fn sender(&self, conn: ConnSlot) -> &Sender {
        &self.senders[conn]
    }

    /// Sender of a connection.
    #[inline(always)]
    pub(super) fn sender_mut(&mut self, conn: ConnSlot) -> &mut Sender {
        &mut self.senders[conn]
    }

    /// Identity and sender of a connection.
    #[inline(always)]
    pub(super) fn with_sender(&mut self, conn: ConnSlot) -> (&Connection, &mut Sender) {
        (&self.identities[conn], &mut self.senders[conn])
    }

    /// Messages of a connection at its sending host.
    #[inline(always)]
    pub(super) fn outgoing(&self, conn: ConnSlot) -> &OutgoingMessages {
        &self.outgoing[conn]
    }

    /// Messages of a connection at its sending host.
    #[inline(always)]
    pub(super) fn outgoing_mut(&mut self, conn: ConnSlot) -> &mut OutgoingMessages {
        &mut self.outgoing[conn]
    }

    /// Messages and sender of a connection.
    #[inline(always)]
    pub(super) fn sending_half(&mut self, conn: ConnSlot) -> (&mut OutgoingMessages, &mut Sender) {
        (&mut self.outgoing[conn], &mut self.senders[conn])
    }

    /// Receiver of a connection.
    #[inline(always)]
    pub(super) fn receiver(&self, conn: ConnSlot) -> &Receiver {
        &self.receivers[conn]
    }

    /// Receiver of a connection.
    #[inline(always)]
    pub(super) fn receiver_mut(&mut self, conn: ConnSlot) -> &mut Receiver {
        &mut self.receivers[conn]
    }

    /// Messages and receiver of a connection.
    #[inline(always)]
    pub(super) fn receiving_half(&mut self, conn: ConnSlot) -> (&mut IncomingMessages, &mut Receiver) {
        (&mut self.incoming[conn], &mut self.receivers[conn])
    }

    /// Returns true if a timer at host `node` belongs to the current sender of `conn`. Generations repeat after 64 connections in a slot, so that a
    /// late timer may have the generation of a connection at another host.
    #[inline]
    pub(super) fn is_of_sender(&self, node: NodeId, conn: ConnSlot, generation: Generation) -> bool {
        let own = self.generations[conn] == generation && self.identities[conn].src == node;
        own && self.senders[conn].generation() == generation
    }

    /// As [`ConnectionTable::is_of_sender`], for receivers. A receiver lives until the end of a window, so that the slot's generation suffices.
    #[inline]
    pub(super) fn is_of_receiver(&self, node: NodeId, conn: ConnSlot, generation: Generation) -> bool {
        self.generations[conn] == generation && self.identities[conn].dst == node
    }

    /// Prefetches the sender of a connection.
    #[inline]
    pub(super) fn prefetch_sender(&self, conn: ConnSlot) {
        prefetch::prefetch_lines(self.senders.peek(conn), ALL_LINES);
    }

    /// Prefetches the receiver of a connection.
    #[inline]
    pub(super) fn prefetch_receiver(&self, conn: ConnSlot) {
        prefetch::prefetch_lines(self.receivers.peek(conn), ALL_LINES);
    }

    /// Byte ranges that the receiver of a connection has. A FIN above a gap is no payload.
    pub(super) fn received(&self, conn: ConnSlot) -> ReceivedRanges {
        let (receiver, written) = (&self.receivers[conn], self.senders[conn].written());
        let beyond = receiver.out_of_order().map(|(start, end)| (start, end.min(written)));
        ReceivedRanges { in_order: receiver.delivered(), beyond: beyond.filter(|(start, end)| start < end).collect() }
    }

    /// Bytes of payload that the receiver of a connection has.
    fn payload(&self, conn: ConnSlot) -> u64 {
        let (receiver, written) = (&self.receivers[conn], self.senders[conn].written());
        receiver.delivered() + receiver.out_of_order().map(|(start, end)| end.min(written).saturating_sub(start)).sum::<u64>()
    }

    /// Payload that has reached receivers, in order or not, per transport. Open connections count if `is_local` is true for the receiving host.
    pub(super) fn arrived_by_group(&self, is_local: impl Fn(NodeId) -> bool) -> IndexVec<GroupId, u64> {
        let mut arrived = self.closed.arrived_by_group().clone();
        for (conn, _) in self.live().filter(|(_, c)| is_local(c.dst)) {
            arrived[self.senders[conn].group()] += self.payload(conn);
        }
        arrived
    }

    /// As [`ConnectionTable::arrived_by_group`], added up in `sums` of the table `deliveries`, which are zero.
    pub(super) fn arrived_by_sum(
        &self,
        mut sums: IndexVec<SumId, u64>,
        is_local: impl Fn(NodeId) -> bool,
    ) -> IndexVec<SumId, u64> {
        self.closed.arrived().enumerate().for_each(|(sum, bytes)| sums[sum] = *bytes);
        for (conn, connection) in self.live().filter(|(_, c)| is_local(c.dst)) {
            sums[connection.sum] += self.payload(conn);
        }
        sums
    }
}
