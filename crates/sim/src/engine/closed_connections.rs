//! Sums over closed connections, whose slots have been reused.

use forebay_types::{GroupId, IndexVec, SumId};

/// Counters of closed connections.
#[derive(Debug, Default)]
pub(super) struct ClosedConnections {
    /// Packets sent by either endpoint, less those received by either; modulo 2^64.
    sent: u64,
    /// Packets lost in the network.
    dropped: u64,
    /// Payload that arrived, per sum of the table `deliveries`.
    arrived: IndexVec<SumId, u64>,
    /// Payload that arrived, per transport.
    arrived_by_group: IndexVec<GroupId, u64>,
}

impl ClosedConnections {
    /// Creates empty counters for this many transports.
    pub(super) fn new(groups: usize) -> ClosedConnections {
        ClosedConnections { arrived_by_group: IndexVec::repeat(0, groups), ..ClosedConnections::default() }
    }

    /// Adds a closed connection of transport `group`, on which `payload` bytes arrived, which count for `sum`.
    pub(super) fn add(&mut self, (sum, group): (SumId, GroupId), payload: u64, (sent, dropped): (u64, u64)) {
        while self.arrived.len() <= sum.index() {
            self.arrived.push(0);
        }
        self.arrived[sum] += payload;
        self.arrived_by_group[group] += payload;
        self.sent = self.sent.wrapping_add(sent);
        self.dropped += dropped;
    }

    /// Counts a packet of a closed connection that the network dropped.
    pub(super) fn add_drop(&mut self) {
        self.dropped += 1;
    }

    /// Payload that arrived, per sum of the table `deliveries`. Missing sums are zero.
    pub(super) fn arrived(&self) -> &IndexVec<SumId, u64> {
        &self.arrived
    }

    /// Payload that arrived, per transport.
    pub(super) fn arrived_by_group(&self) -> &IndexVec<GroupId, u64> {
        &self.arrived_by_group
    }

    /// Packets that are unaccounted for: sent, but neither received, nor dropped, nor among the `late` ones that arrived after the connection had
    /// closed or are still in flight.
    pub(super) fn unaccounted(&self, late: u64) -> u64 {
        self.sent.wrapping_sub(self.dropped + late)
    }
}
