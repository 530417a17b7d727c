//! What is kept of connections that have ended, whose slots others have now.

use forebay_units::{AppId, GroupId, IndexVec};

/// Sums over them.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Packets sent by either endpoint.
    sent: u64,
    /// Packets taken in by either endpoint.
    received: u64,
    /// Packets lost in the network.
    dropped: u64,
    groups: usize,
    /// Payload that arrived, of each workload per transport.
    arrived: Vec<u64>,
}

impl Ended {
    /// None yet, of so many workloads and transports.
    pub(super) fn new(workloads: usize, groups: usize) -> Ended {
        Ended { groups, arrived: vec![0; workloads * groups], ..Ended::default() }
    }

    /// A connection of application `app` with transport `group` has ended, on which `payload` bytes arrived. Its packets are in the order of
    /// the fields.
    pub(super) fn book(&mut self, (app, group): (AppId, GroupId), payload: u64, (sent, received, dropped): (u64, u64, u64)) {
        self.arrived[app.index() * self.groups + group.index()] += payload;
        self.sent += sent;
        self.received += received;
        self.dropped += dropped;
    }

    /// The network dropped a packet of one of them.
    pub(super) fn drop_one(&mut self) {
        self.dropped += 1;
    }

    /// Payload that arrived, of each workload per transport: all transports of the first workload, then those of the second.
    pub(super) fn arrived(&self) -> &[u64] {
        &self.arrived
    }

    /// Payload that arrived, per transport.
    pub(super) fn arrived_by_group(&self) -> IndexVec<GroupId, u64> {
        let of = |group| self.arrived.iter().skip(group).step_by(self.groups).sum();
        (0..self.groups).map(of).collect()
    }

    /// Whether their packets add up, with `late` ones that reached a host or are still on the way.
    pub(super) fn adds_up(&self, late: u64) -> bool {
        self.sent == self.received + self.dropped + late
    }
}
