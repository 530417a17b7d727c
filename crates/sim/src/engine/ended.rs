//! What is kept of connections that have ended, whose slots others have now.

use forebay_units::{GroupId, IndexVec};

/// Sums over them.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Packets sent by either endpoint.
    sent: u64,
    /// Packets taken in by either endpoint.
    received: u64,
    /// Packets lost in the network.
    dropped: u64,
    /// Payload that arrived, per transport.
    arrived: IndexVec<GroupId, u64>,
}

impl Ended {
    /// None yet, of `groups` transports.
    pub(super) fn new(groups: usize) -> Ended {
        Ended { arrived: IndexVec::repeat(0, groups), ..Ended::default() }
    }

    /// A connection of transport `group` has ended, on which `payload` bytes arrived. Its packets are in the order of the fields.
    pub(super) fn book(&mut self, group: GroupId, payload: u64, (sent, received, dropped): (u64, u64, u64)) {
        self.arrived[group] += payload;
        self.sent += sent;
        self.received += received;
        self.dropped += dropped;
    }

    /// The network dropped a packet of one of them.
    pub(super) fn drop_one(&mut self) {
        self.dropped += 1;
    }

    /// Payload that arrived, per transport.
    pub(super) fn arrived(&self) -> &IndexVec<GroupId, u64> {
        &self.arrived
    }

    /// Whether their packets add up, with `late` ones that reached a host or are still on the way.
    pub(super) fn adds_up(&self, late: u64) -> bool {
        self.sent == self.received + self.dropped + late
    }
}
