//! Sharing of the state with the partitions of a run on several cores, and merging of their results between windows (`engine/partition/mod.rs`).

use super::SimState;
use crate::engine::link_changes::LinkChanges;
use crate::engine::partition_state::PartitionState;
use crate::net::arena::Sharing;
use crate::net::packet::{Extra, Packet};
use crate::net::prefetch;
use forebay_experiment::faults::Faults;
use forebay_experiment::network::Network;
use forebay_types::{NodeId, PortId, Time, TimeOrNever};

/// Result of a partition's window, for the leading thread.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct PartitionResult {
    /// Time of its next activation, or of its next packet for another partition.
    pub next: TimeOrNever,
    /// Nodes that were run.
    pub activations: u64,
    /// See [`PartitionState`].
    pub open: i64,
    /// See [`PartitionState`].
    pub done: u64,
    /// See [`PartitionState`].
    pub worked: Time,
    /// True if the partition has deferred effects.
    pub has_effects: bool,
}

impl Default for PartitionResult {
    fn default() -> PartitionResult {
        PartitionResult { next: TimeOrNever::NEVER, activations: 0, open: 0, done: 0, worked: Time::ZERO, has_effects: false }
    }
}

impl SimState {
    /// Returns true if the run can be divided among several cores. Links that fail, damage or lose packets, or are captured, are accessed from
    /// both ends, and in the table of packets the numbers of a connection count from the first packet seen by any host.
    pub(in crate::engine) fn can_be_divided(&self) -> bool {
        self.failures.is_none()
            && self.network.faults.links_are_perfect()
            && !self.recorder.records_packets()
            && !self.fabric.is_captured()
    }

    /// Reason why the run cannot be divided among several processes, if there is one. In addition to the reasons for cores: both ends of a shim fill
    /// the same rows of messages.
    pub(in crate::engine) fn reason_for_one_process(&self) -> Option<&'static str> {
        let shims = self.tcp.ids().any(|group| self.tcp[group].shims.endpoint.is_some());
        match self {
            _ if self.failures.is_some() => Some("links fail in it"),
            _ if !self.network.faults.links_are_perfect() => Some("links damage or lose packets in it"),
            _ if self.recorder.records_packets() => Some("it records every packet"),
            _ if self.fabric.is_captured() => Some("it captures packets"),
            _ if shims => Some("both ends of a shim fill its rows"),
            _ if self.accept_queues.any() => Some("its listening sockets have accept queues"),
            _ => None,
        }
    }

    /// Shares the state with a partition, whose output goes to `partition`. The partition reaches all state of hosts and switches; state that changes
    /// between windows only is empty in it.
    pub(in crate::engine) fn share(&mut self, partition: PartitionState, sharing: &Sharing) -> SimState {
        SimState {
            fabric: self.fabric.share(sharing),
            hosts: self.hosts.share(sharing),
            tcp: self.tcp.share(sharing),
            connections: self.connections.share(self.seed, sharing),
            partition,
            recorder: self.recorder.for_partition(),
            seed: self.seed,
            end: self.end,
            network: self.network.clone(),
            gro: Box::default(),
            route: Vec::new(),
            endpoint_shims: self.endpoint_shims.share(sharing),
            metrics: self.metrics.clone(),
            measurement: self.measurement.for_partition(),
            accept_queues: self.accept_queues.share(sharing),
            writes: self.writes.clone(),
            awaits_datagrams: self.awaits_datagrams.clone(),
            window_shims: self.window_shims.share(sharing),
            failures: None,
            link_changes: LinkChanges::new(&Faults::default()),
            remote: self.remote.clone(),
            changed: false,
        }
    }

    /// Returns true if connections were added or the warm-up ended since the last call.
    pub(in crate::engine) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Shares the state again with `part`, after it has changed.
    pub(in crate::engine) fn share_again(&mut self, part: &mut SimState, sharing: &Sharing) {
        self.connections.share_again(&mut part.connections, sharing);
        part.endpoint_shims = self.endpoint_shims.share(sharing);
        part.window_shims = self.window_shims.share(sharing);
        part.measurement.active = self.measurement.active;
    }

    /// Returns the result of the window that this partition has run, and resets its counters.
    pub(in crate::engine) fn partition_result(&mut self, activations: u64) -> PartitionResult {
        let partition = &mut self.partition;
        let (open, done) = (std::mem::take(&mut partition.open), std::mem::take(&mut partition.done));
        let (next, worked, has_effects) = (partition.calendar.next(), partition.worked(), partition.has_effects());
        PartitionResult { next, activations, open, done, worked, has_effects }
    }

    /// Adds the counters of a partition.
    pub(in crate::engine) fn count(&mut self, (open, done): (i64, u64), worked: Time) {
        self.partition.open += open;
        self.partition.done += done;
        self.partition.end_work(worked);
    }

    /// Prefetches a port that will receive packets, for [`SimState::prefetch_ring`].
    #[inline]
    pub(in crate::engine) fn prefetch_port(&self, port: PortId) {
        prefetch::prefetch(&self.fabric.ports[port]);
    }

    /// Prefetches the ring of a port, for [`SimState::deliver_to_half`].
    #[inline]
    pub(in crate::engine) fn prefetch_ring(&self, port: PortId) {
        let ring = &self.fabric.ports[port].ring;
        prefetch::line(ring.place(ring.tail()).cast());
    }

    /// See [`Fabric::deliver_to_half`](crate::engine::fabric::Fabric::deliver_to_half).
    #[inline]
    pub(in crate::engine) fn deliver_to_half(&mut self, port: PortId, packet: &Packet, extra: Option<&Extra>) {
        self.fabric.deliver_to_half(&mut self.partition, port, packet, extra);
    }

    /// See [`Fabric::drain_ports`](crate::engine::fabric::Fabric::drain_ports).
    #[inline]
    pub(in crate::engine) fn drain_ports(
        &mut self,
        word: u32,
        port: impl Fn(u32) -> PortId,
        take: impl FnMut(u32, &Packet, Option<&Extra>),
    ) {
        self.fabric.drain_ports(word, port, take);
    }

    /// See [`Fabric::make_room`](crate::engine::fabric::Fabric::make_room).
    pub(in crate::engine) fn reserve_half_links(&mut self, halves: usize, words: u32) -> u32 {
        self.fabric.make_room(halves, words)
    }

    /// Requests that the rows of partitions are merged after each window, not only after those with effects on other hosts.
    pub(in crate::engine) fn merge_rows_each_window(&mut self) {
        self.recorder.merge_each_window();
    }

    /// See [`SimState::merge_rows_each_window`].
    #[inline]
    pub(in crate::engine) fn merges_rows_each_window(&self) -> bool {
        self.recorder.merges_each_window()
    }

    /// Merges the output of a partition's window. Its effects have not been applied yet.
    pub(in crate::engine) fn merge(&mut self, part: &mut SimState) {
        let rows = self.recorder.merge(&mut part.recorder);
        self.partition.merge(&mut part.partition, rows);
    }

    /// Merges everything that is left in a partition at the end of the run.
    pub(in crate::engine) fn merge_final(&mut self, mut part: SimState) {
        self.merge(&mut part);
        self.recorder.merge_series(&mut part.recorder);
    }

    /// Splits the link behind `port` ([`Fabric::split`](crate::engine::fabric::Fabric::split)).
    pub(in crate::engine) fn split(&mut self, port: PortId, collector: NodeId, input: u32) -> PortId {
        let to = self.network.ports[port].to;
        let far = self.fabric.split(port, collector, input);
        if self.hosts.is_host(to) {
            self.hosts[to].input = far;
        }
        far
    }

    /// The network.
    pub(in crate::engine) fn network(&self) -> &Network {
        &self.network
    }
}
