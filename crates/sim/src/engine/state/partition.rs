//! A part of a run on several cores (`engine/parts.rs`): some of the hosts and switches, run through a core of their own, and what they have
//! produced, which joins the whole between windows.

use super::{Apps, SimState};
use crate::engine::closed_connections::ClosedConnections;
use crate::engine::connection_slots::ConnectionSlots;
use crate::engine::node_set::NodeSet;
use crate::engine::partition::state::PartitionState;
use crate::engine::tiers::{Tier, take_group};
use crate::net::packet::{Extra, Packet};
use crate::net::prefetch;
use forebay_experiment::deliveries::Deliveries;
use forebay_experiment::network::Network;
use forebay_units::{IndexVec, NodeId, PortId, TimeOrNever};

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
                generations: self.generations.share(),
                streams: self.streams.share(),
                senders: self.senders.share(),
                outgoing: self.outgoing.share(),
                receivers: self.receivers.share(),
                incoming: self.incoming.share(),
                slots: ConnectionSlots::new(self.seed),
                partition,
                recorder: self.recorder.for_partition(),
                seed: self.seed,
                host_bits: self.host_bits.share(),
                network: self.network.clone(),
                closed: ClosedConnections::new(0),
                deliveries: Deliveries::default(),
                way: Vec::new(),
                endpoint_shims: self.endpoint_shims.share(),
                paths: self.paths.clone(),
                measuring: self.measuring,
                measured_from: self.measured_from,
                arrived_before: IndexVec::new(),
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
            part.generations = self.generations.share();
            part.streams = self.streams.share();
            part.senders = self.senders.share();
            part.outgoing = self.outgoing.share();
            part.receivers = self.receivers.share();
            part.incoming = self.incoming.share();
            part.endpoint_shims = self.endpoint_shims.share();
            part.window_shims = self.window_shims.share();
        }
        part.measuring = self.measuring;
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

    /// Runs the nodes that are marked for the current window, of a network of `words` times 64 nodes at most, one by one, or in groups where
    /// there are `tiers`. Returns how many they were.
    #[inline(always)]
    pub(in crate::engine) fn run_marked(&mut self, apps: &Apps, words: usize, tiers: Option<&IndexVec<NodeId, Tier>>) -> u64 {
        let before = self.partition.activations;
        match tiers {
            Some(tiers) => self.run_in_groups(apps, words, tiers),
            None => self.run_one_by_one(apps, words),
        }
        self.partition.calendar.finish();
        self.set_running(None);
        self.partition.activations - before
    }

    #[inline(always)]
    fn run_one_by_one(&mut self, apps: &Apps, words: usize) {
        for word in 0..words {
            let bits = self.partition.calendar.take(word);
            let hosts = self.host_bits[word as u32];
            self.run_nodes(apps, NodeSet::new(word, bits & hosts), NodeSet::new(word, bits & !hosts));
        }
    }

    #[inline(never)]
    fn run_in_groups(&mut self, apps: &Apps, words: usize, tiers: &IndexVec<NodeId, Tier>) {
        let mut from = 0;
        while let Some(some) = self.partition.calendar.next_words(from, words) {
            from = some.end;
            for word in some {
                let mut bits = self.partition.calendar.take(word);
                while bits != 0 {
                    let (group, tier) = take_group(tiers, word, &mut bits);
                    self.run_group(apps, group, tier);
                }
            }
        }
    }

    /// Works off what some nodes have in the current window, in a network that is not run in groups: so it is not wide.
    #[inline(always)]
    pub(in crate::engine) fn run_nodes(&mut self, apps: &Apps, hosts: NodeSet, switches: NodeSet) {
        if !hosts.is_empty() {
            self.run_hosts(apps, hosts);
        }
        if !switches.is_empty() {
            self.fabric.forward::<false>(&mut self.partition, switches);
        }
    }

    /// The same of one.
    #[cfg(debug_assertions)]
    pub(in crate::engine) fn run_one(&mut self, apps: &Apps, node: NodeId) {
        let (one, none) = (NodeSet::one(node), NodeSet::new(0, 0));
        let (hosts, switches) = if self.is_host(node) { (one, none) } else { (none, one) };
        self.run_nodes(apps, hosts, switches);
    }

    /// The link behind `port` is cut in two ([`Fabric::split`](crate::engine::fabric::Fabric::split)).
    pub(in crate::engine) fn split(&mut self, port: PortId, collector: NodeId, input: u32) -> PortId {
        let to = self.network.ports[port].to;
        let far = self.fabric.split(port, collector, input);
        if self.is_host(to) {
            self.hosts[to].input = far;
        }
        far
    }

    /// The network, for whoever divides the run, and what it needs of the parts side by side.
    pub(in crate::engine) fn network(&self) -> &Network {
        &self.network
    }
}
