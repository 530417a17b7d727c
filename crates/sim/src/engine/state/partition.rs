//! A part of a run on several cores (`engine/parts.rs`): some of the hosts and switches, run through a core of their own, and what they have
//! produced, which joins the whole between windows.

use super::SimState;
use crate::engine::partition::state::PartitionState;
use crate::net::packet::{Extra, Packet};
use crate::net::prefetch;
use forebay_experiment::network::Network;
use forebay_units::{NodeId, PortId, TimeOrNever};

/// What a part says of its window to the thread that leads.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct PartitionResult {
    /// When it has something to do next, or brings somebody something.
    pub next: TimeOrNever,
    /// Nodes that were run.
    pub activations: u64,
    /// See [`PartitionState`].
    pub open: i64,
    /// See [`PartitionState`].
    pub done: u64,
    /// Something in its lane takes effect at the end of the window.
    pub waits: bool,
}

impl Default for PartitionResult {
    fn default() -> PartitionResult {
        PartitionResult { next: TimeOrNever::NEVER, activations: 0, open: 0, done: 0, waits: false }
    }
}

impl SimState {
    /// Whether the run can be divided among several cores: links that fail or damage packets are looked at from both of their ends, and in the rows
    /// of packets a connection's numbers count from the first packet that any host sees.
    pub(in crate::engine) fn can_be_divided(&self) -> bool {
        self.failures.is_none() && self.network.faults.corruption.is_empty() && !self.recorder.wants_packets()
    }

    /// The reason why the run is not divided among several processes, if there is one: those above, and shims whose rows of messages both ends fill.
    pub(in crate::engine) fn why_in_one_process(&self) -> Option<&'static str> {
        let shims = self.tcp.ids().any(|group| self.tcp[group].shims.endpoint.is_some());
        match self {
            _ if self.failures.is_some() => Some("links fail in it"),
            _ if !self.network.faults.corruption.is_empty() => Some("links damage packets in it"),
            _ if self.recorder.wants_packets() => Some("it records every packet"),
            _ if shims => Some("both ends of a shim fill its rows"),
            _ => None,
        }
    }

    /// A core for one part of the run, which produces into `partition`. It reaches everything that this one reaches; what changes between windows
    /// only, and belongs to no host, is empty in it.
    ///
    /// # Safety
    /// Until its last use, or [`SimState::share_again`], nothing is added to this core; and while it is used, no item of a host or switch that it
    /// runs is touched by another core.
    pub(in crate::engine) unsafe fn share(&mut self, partition: PartitionState) -> SimState {
        // SAFETY: the caller's promise is that of each of them.
        unsafe {
            SimState {
                fabric: self.fabric.share(),
                hosts: self.hosts.share(),
                tcp: self.tcp.share(),
                connections: self.connections.share(self.seed),
                partition,
                recorder: self.recorder.for_partition(),
                seed: self.seed,
                network: self.network.clone(),
                route: Vec::new(),
                endpoint_shims: self.endpoint_shims.share(),
                metrics: self.metrics.clone(),
                measurement: self.measurement.for_partition(),
                window_shims: self.window_shims.share(),
                failures: None,
                remote: self.remote.clone(),
                changed: false,
            }
        }
    }

    /// Whether anything was added since this was last asked.
    pub(in crate::engine) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Something may have been added to this core, from which `part` was shared: it follows.
    ///
    /// # Safety
    /// As [`SimState::share`].
    pub(in crate::engine) unsafe fn share_again(&mut self, part: &mut SimState) {
        // SAFETY: the caller's promise is that of each of them.
        unsafe {
            self.connections.share_again(&mut part.connections);
            part.endpoint_shims = self.endpoint_shims.share();
            part.window_shims = self.window_shims.share();
        }
        part.measurement.active = self.measurement.active;
    }

    /// What there is to say of the window that this core, that of a part, has run. What it counted is given away.
    pub(in crate::engine) fn partition_result(&mut self, activations: u64) -> PartitionResult {
        let partition = &mut self.partition;
        let (open, done) = (std::mem::take(&mut partition.open), std::mem::take(&mut partition.done));
        PartitionResult { next: partition.calendar.next(), activations, open, done, waits: partition.waits() }
    }

    /// Adds what a part has counted.
    pub(in crate::engine) fn count(&mut self, (open, done): (i64, u64)) {
        self.partition.open += open;
        self.partition.done += done;
    }

    /// Asks for the memory of a port that packets will be brought to: what [`SimState::prefetch_ring`] looks at,
    #[inline]
    pub(in crate::engine) fn prefetch_port(&self, port: PortId) {
        prefetch::prefetch(&self.fabric.ports[port]);
    }

    /// and what [`SimState::deliver_to_half`] writes to.
    #[inline]
    pub(in crate::engine) fn prefetch_ring(&self, port: PortId) {
        let ring = &self.fabric.ports[port].ring;
        prefetch::line(ring.place(ring.tail()).cast());
    }

    /// See [`Fabric::deliver_to_half`](crate::engine::fabric::Fabric::bring).
    #[inline]
    pub(in crate::engine) fn deliver_to_half(&mut self, port: PortId, packet: &Packet, extra: Option<&Extra>) {
        self.fabric.deliver_to_half(&mut self.partition, port, packet, extra);
    }

    /// See [`Fabric::drain_ports`](crate::engine::fabric::Fabric::take_out).
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

    /// Takes over what a part has produced in the window that has ended. Nothing of it has taken effect yet.
    pub(in crate::engine) fn merge(&mut self, part: &mut SimState) {
        let rows = self.recorder.merge(&mut part.recorder);
        self.partition.merge(&mut part.partition, rows);
    }

    /// The run is over: takes over what has not been asked for before.
    pub(in crate::engine) fn merge_final(&mut self, mut part: SimState) {
        self.merge(&mut part);
        self.recorder.merge_series(&mut part.recorder);
    }

    /// The link behind `port` is cut in two ([`Fabric::split`](crate::engine::fabric::Fabric::split)).
    pub(in crate::engine) fn split(&mut self, port: PortId, collector: NodeId, input: u32) -> PortId {
        let to = self.network.ports[port].to;
        let far = self.fabric.split(port, collector, input);
        if self.hosts.is_host(to) {
            self.hosts[to].input = far;
        }
        far
    }

    /// The network, for whoever divides the run, and what it needs of the parts side by side.
    pub(in crate::engine) fn network(&self) -> &Network {
        &self.network
    }
}
