//! What is kept of connections that have ended, whose slots others have now.

use forebay_units::{GroupId, IndexVec, SumId};

/// Sums over them.
#[derive(Debug, Default)]
pub(super) struct ClosedConnections {
    /// Packets sent by either endpoint, less those taken in by either; modulo 2^64.
    sent: u64,
    /// Packets lost in the network.
    dropped: u64,
    /// Payload that arrived, as it is summed up over time,
    arrived: IndexVec<SumId, u64>,
    /// and per transport.
    arrived_by_group: IndexVec<GroupId, u64>,
}

impl ClosedConnections {
    /// None yet, of so many transports.
    pub(super) fn new(groups: usize) -> ClosedConnections {
        ClosedConnections { arrived_by_group: IndexVec::repeat(0, groups), ..ClosedConnections::default() }
    }

    /// A connection with transport `group` has ended, on which `payload` bytes arrived, which count for `sum`. Its packets are in the order of
    /// the fields.
    pub(super) fn add(&mut self, (sum, group): (SumId, GroupId), payload: u64, (sent, dropped): (u64, u64)) {
        while self.arrived.len() <= sum.index() {
            self.arrived.push(0);
        }
        self.arrived[sum] += payload;
        self.arrived_by_group[group] += payload;
        self.sent = self.sent.wrapping_add(sent);
        self.dropped += dropped;
    }

    /// The network dropped a packet of one of them.
    pub(super) fn add_drop(&mut self) {
        self.dropped += 1;
    }

    /// Payload that arrived, as it is summed up over time. Sums that are missing are zero.
    pub(super) fn arrived(&self) -> &IndexVec<SumId, u64> {
        &self.arrived
    }

    /// Payload that arrived, per transport.
    pub(super) fn arrived_by_group(&self) -> &IndexVec<GroupId, u64> {
        &self.arrived_by_group
    }

    /// Packets sent beyond those received, dropped, and `late`: that reached a host or are still on the way.
    pub(super) fn difference(&self, late: u64) -> u64 {
        self.sent.wrapping_sub(self.dropped + late)
    }
}
