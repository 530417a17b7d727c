//! One run on several cores: the nodes are divided into partitions, one per thread, each with a shared view of the state (`state/partition.rs`). All
//! threads advance from window to window together.
//!
//! Partitions exchange packets only. A link between two of them is split (`Fabric::split`): its port stays with the sender, packets cross at the end
//! of the window, and packets in flight belong to the receiver. No packet crosses a link in less than a window, so packets are never late; every
//! packet carries its time, so the order of delivery does not matter. All other effects on hosts (`partition_state.rs`) are applied between windows
//! by the leading thread, as in a run on one core. So results do not depend on the number of partitions or threads. Partitions may be in other
//! processes (`ranks.rs`): their packets wait in the sending partition until they are encoded.

pub(super) mod tuning;

mod division;

use super::barrier::Signal;
use super::calendar::Position;
use super::encoding::{Bytes, Encode};
use super::fabric::WORD;
use super::partition_state::PartitionState;
use super::state::{Apps, PartitionResult, SimState};
use super::tiers::{GROUP, Tier};
use crate::net::arena::Sharing;
use crate::net::packet::{Extra, Packet, flag};
use division::partition;
use forebay_types::{IndexVec, NodeId, PortId, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Checks before a waiting thread sleeps: some ten microseconds. That is more than the difference between partitions of a busy window, and less than
/// the time to wake a thread.
const SPINS: u32 = 1_000;

/// Packets for a partition.
#[derive(Default)]
struct Batch {
    /// Packets and the ports that they reach; `extras` holds the SACK blocks of those with [`flag::EXT`], in order.
    packets: Vec<(Packet, PortId)>,
    extras: Vec<Extra>,
    /// Nodes to be activated.
    marks: Vec<(NodeId, Time)>,
}

impl Batch {
    /// Encodes the packets; marks stay in a process.
    fn put(&self, to: &mut Vec<u8>) {
        (self.packets.len() as u32).put(to);
        self.packets.iter().for_each(|it| it.put(to));
        self.extras.iter().for_each(|it| it.put(to));
    }

    /// Decodes the output of [`Batch::put`] and appends it.
    fn take(&mut self, from: &mut Bytes<'_>) {
        let count = u32::get(from);
        self.packets.reserve(count as usize);
        let mut extras = 0;
        for _ in 0..count {
            let (packet, port): (Packet, PortId) = Encode::get(from);
            extras += usize::from(packet.has(flag::EXT));
            self.packets.push((packet, port));
        }
        self.extras.extend((0..extras).map(|_| Extra::get(from)));
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.extras.clear();
    }
}

/// A link to another partition.
struct CutLink {
    port: PortId,
    /// The port that represents its far end.
    far: PortId,
    /// The partition of the far end.
    to: u16,
}

/// A partition.
struct Partition {
    result: PartitionResult,
    state: SimState,
    cuts: Vec<CutLink>,
    /// First word of the cut links in the bitmap of busy inputs.
    word: u32,
    /// Packets that have not been sent, by partition.
    out: Vec<Batch>,
}

/// The partitions of this process, and the state shared by its threads.
pub(super) struct Partitions<'a> {
    parts: Vec<Mutex<Partition>>,
    /// Number of the first of them, among those of all processes.
    first: usize,
    /// Batches for each of them from each of all: for this window, and for the next one. Marks that the leading thread distributes are with those
    /// from the partition itself.
    inboxes: Vec<Vec<[Mutex<Batch>; 2]>>,
    part_of: IndexVec<NodeId, u16>,
    apps: &'a Apps,
    tiers: Option<&'a IndexVec<NodeId, Tier>>,
    /// Words of a bitmap of nodes.
    words: usize,
    /// Number of the round, number of the window, end of the part of it that is run, and end of the full window.
    round: AtomicU64,
    window: AtomicU64,
    end: AtomicU64,
    full_end: AtomicU64,
    /// Rounds that all threads take part in.
    rounds: Signal,
    /// Threads that are running, without the leading one.
    working: Signal,
    over: AtomicBool,
    failed: AtomicBool,
    sharing: Sharing,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Partitions<'a> {
    /// Divides the nodes of `sim` among several processes, of which this is number `place.0` of `place.1`, and in each process among `threads`
    /// partitions, one per thread. Until [`Partitions::join`], `sim` is used between windows only, and only by the leading thread; `sharing` promises
    /// that.
    pub(super) fn divide(
        sim: &mut SimState,
        sharing: Sharing,
        threads: usize,
        place: (usize, usize),
        apps: &'a Apps,
        tiers: Option<&'a IndexVec<NodeId, Tier>>,
    ) -> Partitions<'a> {
        // A thread that waits for one without a core should not spin.
        let spins = if std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= threads) { SPINS } else { 1 };
        let network = sim.network();
        let (first, all) = (place.0 * threads, place.1 * threads);
        let part_of = partition(network, all);
        let words = network.nodes.len().div_ceil(64);
        // Represents all remote nodes: a node in a word that no partition scans.
        let collector = NodeId::from_index(64 * words);
        let mut links: Vec<Vec<PortId>> = vec![Vec::new(); all];
        for (id, p) in network.ports.enumerate().filter(|(_, p)| part_of[p.from] != part_of[p.to]) {
            links[usize::from(part_of[p.from])].push(id);
        }
        let to: Vec<Vec<u16>> = links.iter().map(|l| l.iter().map(|id| part_of[network.ports[*id].to]).collect()).collect();
        let needed: Vec<u32> = links.iter().map(|l| (l.len() as u32).div_ceil(WORD)).collect();
        // All processes split all links, so that their halves have the same numbers everywhere.
        let mut word = sim.reserve_half_links(links.iter().map(Vec::len).sum(), needed.iter().sum());
        let mut cuts: Vec<(u32, Vec<CutLink>)> = Vec::new();
        for ((links, to), needed) in links.iter().zip(&to).zip(&needed) {
            let cut = |((&port, &to), bit)| CutLink { port, far: sim.split(port, collector, word * WORD + bit), to };
            cuts.push((word, links.iter().zip(to).zip(0..).map(cut).collect()));
            word += needed;
        }
        let part = |(word, cuts)| {
            let partition = PartitionState::new(64 * words + 1, sim.calendar().length());
            let out = (0..all).map(|_| Batch::default()).collect();
            // Nodes of two partitions share no items, because links between them are split.
            let state = sim.share(partition, &sharing);
            Mutex::new(Partition { result: PartitionResult::default(), state, cuts, word, out })
        };
        Partitions {
            parts: cuts.into_iter().skip(first).take(threads).map(part).collect(),
            first,
            inboxes: (0..threads).map(|_| (0..all).map(|_| Default::default()).collect()).collect(),
            part_of,
            apps,
            tiers,
            words,
            round: AtomicU64::new(0),
            window: AtomicU64::new(0),
            end: AtomicU64::new(0),
            full_end: AtomicU64::new(0),
            rounds: Signal::new(spins),
            working: Signal::new(spins),
            over: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            sharing,
        }
    }

    /// Index in this process of partition `number` of all, if it is here.
    fn local_index(&self, number: usize) -> Option<usize> {
        number.checked_sub(self.first).filter(|own| *own < self.parts.len())
    }

    /// The process of each node.
    pub(super) fn rank_of(&self) -> IndexVec<NodeId, u16> {
        self.part_of.iter().map(|part| part / self.parts.len() as u16).collect()
    }

    /// Distributes the marks of the whole state to the partitions, which run them in the next window.
    pub(super) fn distribute_marks(&self, sim: &mut SimState) {
        let next = (self.round.load(Relaxed) + 1) % 2;
        sim.calendar().drain_marks(|node, time| {
            let part = usize::from(self.part_of[node]);
            if let Some(own) = self.local_index(part) {
                lock(&self.inboxes[own][part][next as usize]).marks.push((node, time));
            }
        });
    }

    /// Shares the whole state with the partitions again, if it has changed between windows.
    pub(super) fn follow(&self, sim: &mut SimState) {
        if sim.take_changed() {
            for part in &self.parts {
                sim.share_again(&mut lock(part).state, &self.sharing);
            }
        }
    }

    /// Runs the current window of `sim`, or the current part of it, on `threads` threads: each of the others runs the partition of its number, and
    /// the leading thread the remaining ones. Alone it runs all. Returns the result of the partitions of this process.
    pub(super) fn run(&self, sim: &mut SimState, threads: usize) -> PartitionResult {
        let place = sim.calendar().place();
        self.round.fetch_add(1, Relaxed);
        self.window.store(place.window, Relaxed);
        self.end.store(place.end.0, Relaxed);
        self.full_end.store(place.full_end.0, Relaxed);
        let others = threads - 1;
        if others > 0 {
            self.working.set(others as u32);
            self.rounds.raise();
        }
        (0..self.parts.len()).filter(|part| *part == 0 || *part > others).for_each(|part| self.run_partition(part));
        if others > 0 {
            self.working.wait(|threads| threads == 0);
            assert!(!self.failed.load(SeqCst), "a thread of the run failed");
        }
        self.merge_results(sim)
    }

    /// Loop of the other threads, from the first window to the last: they run partition `number`.
    pub(super) fn run_rounds(&self, number: usize) {
        for seen in 0.. {
            self.rounds.wait(|round| round != seen);
            if self.over.load(SeqCst) {
                return;
            }
            let _done = RoundGuard(self);
            self.run_partition(number);
        }
    }

    fn run_partition(&self, number: usize) {
        let round = self.round.load(Relaxed);
        let part = &mut *lock(&self.parts[number]);
        let [end, full_end] = [&self.end, &self.full_end].map(|time| Time(time.load(Relaxed)));
        part.state.calendar().follow(Position { window: self.window.load(Relaxed), end, full_end });
        for from in &self.inboxes[number] {
            part.deliver(&mut lock(&from[(round % 2) as usize]));
        }
        let activations = part.state.run_marked(self.apps, self.words, self.tiers);
        part.collect_packets();
        for (to, out) in part.out.iter_mut().enumerate().filter(|(_, out)| !out.packets.is_empty()) {
            // The batch there has been delivered, and is empty.
            if let Some(own) = self.local_index(to) {
                std::mem::swap(&mut *lock(&self.inboxes[own][self.first + number][((round + 1) % 2) as usize]), out);
            }
        }
        part.result = part.state.partition_result(activations);
    }

    /// Merges the output of the partitions.
    fn merge_results(&self, sim: &mut SimState) -> PartitionResult {
        let mut all = PartitionResult::default();
        for part in &self.parts {
            let part = &mut *lock(part);
            let PartitionResult { next, activations, open, done, worked, has_effects } = part.result;
            all.next = all.next.min(next);
            all.activations += activations;
            all.open += open;
            all.done += done;
            all.worked = all.worked.max(worked);
            all.has_effects |= has_effects;
            if has_effects || sim.merges_rows_each_window() {
                sim.merge(&mut part.state);
            }
        }
        sim.count((all.open, all.done), all.worked);
        all
    }

    /// Encodes the batches for the partitions of process `rank`.
    pub(super) fn encode_batches(&self, rank: usize, to: &mut Vec<u8>) {
        let theirs = rank * self.parts.len()..(rank + 1) * self.parts.len();
        self.parts.iter().for_each(|part| lock(part).out[theirs.clone()].iter().for_each(|batch| batch.put(to)));
    }

    /// Clears the batches, after all have been encoded.
    pub(super) fn clear_batches(&self) {
        self.parts.iter().for_each(|part| lock(part).out.iter_mut().for_each(Batch::clear));
    }

    /// Decodes the batches of process `rank`, for the next window.
    pub(super) fn decode_batches(&self, rank: usize, from: &mut Bytes<'_>) {
        let next = ((self.round.load(Relaxed) + 1) % 2) as usize;
        for part in rank * self.parts.len()..(rank + 1) * self.parts.len() {
            self.inboxes.iter().for_each(|boxes| lock(&boxes[part][next]).take(from));
        }
    }

    /// Returns a guard that ends the other threads when it is dropped, at the end of the run or on failure.
    pub(super) fn stop_guard(&self) -> StopGuard<'_, 'a> {
        StopGuard(self)
    }

    /// Returns everything in the partitions to the whole state.
    pub(super) fn join(self, sim: &mut SimState) {
        let next = ((self.round.into_inner() + 1) % 2) as usize;
        for (part, inboxes) in self.parts.into_iter().zip(self.inboxes) {
            let mut part = part.into_inner().unwrap_or_else(PoisonError::into_inner);
            inboxes.iter().for_each(|from| part.deliver(&mut lock(&from[next])));
            sim.merge_final(part.state);
        }
    }
}

impl Partition {
    /// Delivers a batch.
    fn deliver(&mut self, batch: &mut Batch) {
        let mut extras = batch.extras.iter();
        for some in batch.packets.chunks(GROUP) {
            // Prefetches for a group of packets at a time, as for groups of nodes (`tiers.rs`).
            some.iter().for_each(|(_, port)| self.state.prefetch_port(*port));
            some.iter().for_each(|(_, port)| self.state.prefetch_ring(*port));
            for (packet, port) in some {
                let extra = if packet.has(flag::EXT) { extras.next() } else { None };
                self.state.deliver_to_half(*port, packet, extra);
            }
        }
        for (node, time) in batch.marks.drain(..) {
            self.state.calendar().mark(node, time);
        }
        batch.clear();
    }

    /// Collects the packets for other partitions in batches.
    fn collect_packets(&mut self) {
        for (word, cuts) in (self.word..).zip(self.cuts.chunks(WORD as usize)) {
            let out = &mut self.out;
            self.state.drain_ports(
                word,
                |bit| cuts[bit as usize].port,
                |bit, packet, extra| {
                    let cut = &cuts[bit as usize];
                    let batch = &mut out[usize::from(cut.to)];
                    batch.packets.push((*packet, cut.far));
                    batch.extras.extend(extra);
                },
            );
        }
    }
}

/// See [`Partitions::stop_guard`].
pub(super) struct StopGuard<'a, 'b>(&'a Partitions<'b>);

impl Drop for StopGuard<'_, '_> {
    fn drop(&mut self) {
        self.0.over.store(true, SeqCst);
        self.0.rounds.raise();
    }
}

/// Signals that a thread has run its partition or failed, so that the leading thread does not wait for it.
struct RoundGuard<'a, 'b>(&'a Partitions<'b>);

impl Drop for RoundGuard<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, SeqCst);
        }
        self.0.working.lower();
    }
}
