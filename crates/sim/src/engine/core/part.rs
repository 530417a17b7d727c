//! A part of a run on several cores (`engine/parts.rs`): some of the hosts and switches, run through a core of their own, and what they have
//! produced, which joins the whole between windows.

use super::{Apps, Core};
use crate::engine::ended::Ended;
use crate::engine::lane::Lane;
use crate::engine::nodes::Nodes;
use crate::engine::slots::Slots;
use crate::engine::tiers::{Tier, take_group};
use crate::net::packet::{Extra, Packet};
use crate::net::prefetch;
use forebay_experiment::deliveries::Deliveries;
use forebay_experiment::network::Network;
use forebay_units::{IndexVec, NodeId, PortId, TimeOrNever};

/// What a part says of its window to the thread that leads.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct PartResult {
    /// When it has something to do next, or brings somebody something.
    pub next: TimeOrNever,
    /// Nodes that were run.
    pub activations: u64,
    /// See [`Lane`].
    pub open: i64,
    /// See [`Lane`].
    pub done: u64,
    /// Something in its lane takes effect at the end of the window.
    pub waits: bool,
}

impl Default for PartResult {
    fn default() -> PartResult {
        PartResult { next: TimeOrNever::NEVER, activations: 0, open: 0, done: 0, waits: false }
    }
}

impl Core {
    /// A core for one part of the run, which produces into `lane`. It reaches everything that this one reaches; what changes between windows
    /// only, and belongs to no host, is empty in it.
    ///
    /// # Safety
    /// Until its last use, or [`Core::share_again`], nothing is added to this core; and while it is used, no item of a host or switch that it
    /// runs is touched by another core.
    pub(in crate::engine) unsafe fn share(&mut self, lane: Lane) -> Core {
        // SAFETY: the caller's promise is that of each of them.
        unsafe {
            Core {
                fabric: self.fabric.share(),
                hosts: self.hosts.share(),
                tcp: self.tcp.share(),
                generations: self.generations.share(),
                streams: self.streams.share(),
                senders: self.senders.share(),
                outgoing: self.outgoing.share(),
                receivers: self.receivers.share(),
                incoming: self.incoming.share(),
                slots: Slots::new(self.seed),
                lane,
                recorder: self.recorder.of_part(),
                seed: self.seed,
                host_bits: self.host_bits.share(),
                network: self.network.clone(),
                ended: Ended::new(0),
                deliveries: Deliveries::default(),
                way: Vec::new(),
                endpoint_shims: self.endpoint_shims.share(),
                paths: self.paths.clone(),
                measuring: self.measuring,
                measured_from: self.measured_from,
                arrived_before: IndexVec::new(),
                window_shims: self.window_shims.share(),
                failures: None,
                elsewhere: self.elsewhere.clone(),
                grown: false,
            }
        }
    }

    /// Whether anything was added since this was last asked.
    pub(in crate::engine) fn has_grown(&mut self) -> bool {
        std::mem::take(&mut self.grown)
    }

    /// Something may have been added to this core, from which `part` was shared: it follows.
    ///
    /// # Safety
    /// As [`Core::share`].
    pub(in crate::engine) unsafe fn share_again(&mut self, part: &mut Core) {
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
    pub(in crate::engine) fn result_of_part(&mut self, activations: u64) -> PartResult {
        let lane = &mut self.lane;
        let (open, done) = (std::mem::take(&mut lane.open), std::mem::take(&mut lane.done));
        PartResult { next: lane.wheel.next(), activations, open, done, waits: lane.waits() }
    }

    /// Adds what a part has counted.
    pub(in crate::engine) fn count(&mut self, (open, done): (i64, u64)) {
        self.lane.open += open;
        self.lane.done += done;
    }

    /// Asks for the memory of a port that packets will be brought to: what [`Core::expect_next`] looks at,
    #[inline]
    pub(in crate::engine) fn expect_first(&self, port: PortId) {
        prefetch::prefetch(&self.fabric.ports[port]);
    }

    /// and what [`Core::bring`] writes to.
    #[inline]
    pub(in crate::engine) fn expect_next(&self, port: PortId) {
        let ring = &self.fabric.ports[port].ring;
        prefetch::line(ring.place(ring.tail()).cast());
    }

    /// See [`Fabric::bring`](crate::engine::fabric::Fabric::bring).
    #[inline]
    pub(in crate::engine) fn bring(&mut self, port: PortId, packet: &Packet, extra: Option<&Extra>) {
        self.fabric.bring(&mut self.lane, port, packet, extra);
    }

    /// See [`Fabric::take_out`](crate::engine::fabric::Fabric::take_out).
    #[inline]
    pub(in crate::engine) fn take_out(
        &mut self,
        word: u32,
        port: impl Fn(u32) -> PortId,
        take: impl FnMut(u32, &Packet, Option<&Extra>),
    ) {
        self.fabric.take_out(word, port, take);
    }

    /// See [`Fabric::make_room`](crate::engine::fabric::Fabric::make_room).
    pub(in crate::engine) fn make_room_for_halves(&mut self, halves: usize, words: u32) -> u32 {
        self.fabric.make_room(halves, words)
    }

    /// Takes over what a part has produced in the window that has ended. Nothing of it has taken effect yet.
    pub(in crate::engine) fn absorb(&mut self, part: &mut Core) {
        let rows = self.recorder.absorb(&mut part.recorder);
        self.lane.absorb(&mut part.lane, rows);
    }

    /// The run is over: takes over what has not been asked for before.
    pub(in crate::engine) fn absorb_last(&mut self, mut part: Core) {
        self.absorb(&mut part);
        self.recorder.absorb_series(&mut part.recorder);
    }

    /// Runs the nodes that are marked for the current window, of a network of `words` times 64 nodes at most, one by one, or in groups where
    /// there are `tiers`. Returns how many they were.
    #[inline(always)]
    pub(in crate::engine) fn run_marked(&mut self, apps: &Apps, words: usize, tiers: Option<&IndexVec<NodeId, Tier>>) -> u64 {
        let before = self.lane.activations;
        match tiers {
            Some(tiers) => self.run_in_groups(apps, words, tiers),
            None => self.run_one_by_one(apps, words),
        }
        self.lane.wheel.finish();
        self.run_by(None);
        self.lane.activations - before
    }

    #[inline(always)]
    fn run_one_by_one(&mut self, apps: &Apps, words: usize) {
        for word in 0..words {
            let bits = self.lane.wheel.take(word);
            let hosts = self.host_bits[word as u32];
            self.run_nodes(apps, Nodes::new(word, bits & hosts), Nodes::new(word, bits & !hosts));
        }
    }

    #[inline(never)]
    fn run_in_groups(&mut self, apps: &Apps, words: usize, tiers: &IndexVec<NodeId, Tier>) {
        let mut from = 0;
        while let Some(some) = self.lane.wheel.next_words(from, words) {
            from = some.end;
            for word in some {
                let mut bits = self.lane.wheel.take(word);
                while bits != 0 {
                    let (group, tier) = take_group(tiers, word, &mut bits);
                    self.run_group(apps, group, tier);
                }
            }
        }
    }

    /// Works off what some nodes have in the current window, in a network that is not run in groups: so it is not wide.
    #[inline(always)]
    pub(in crate::engine) fn run_nodes(&mut self, apps: &Apps, hosts: Nodes, switches: Nodes) {
        if !hosts.are_none() {
            self.run_hosts(apps, hosts);
        }
        if !switches.are_none() {
            self.fabric.forward::<false>(&mut self.lane, switches);
        }
    }

    /// The same of one.
    #[cfg(debug_assertions)]
    pub(in crate::engine) fn run_one(&mut self, apps: &Apps, node: NodeId) {
        let (one, none) = (Nodes::one(node), Nodes::new(0, 0));
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
