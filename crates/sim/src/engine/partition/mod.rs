//! One run on several cores: the nodes are divided into parts, one for each thread, with a core of its own (`core/part.rs`), and all threads go from
//! window to window together.
//!
//! Parts reach each other by mail alone. A link between two of them is cut in two (`Fabric::split`): its port stays with the sender, the packets
//! go by mail at the end of the window, and what flies towards the receiver is the receiver's. No packet crosses a link in less than a window,
//! so mail is never late; and as every packet carries its time, it does not matter in which order mail from several parts is opened. All else
//! that concerns somebody else (`engine/partition.rs`) is settled between windows by the thread that leads, as in a run on one core. So results do not
//! depend on the number of parts or threads, nor on who runs what. Some of the parts may be in other processes (`ranks.rs`): mail to those waits in the
//! part that it comes from until it is put into a message.

pub(super) mod state;
pub(super) mod tuning;

mod division;

use super::barrier::Signal;
use super::calendar::Position;
use super::encoding::{Bytes, Encode};
use super::fabric::WORD;
use super::state::{Apps, PartitionResult, SimState};
use super::tiers::{GROUP, Tier};
use crate::net::packet::{Extra, Packet, flag};
use division::partition;
use forebay_units::{IndexVec, NodeId, PortId, Time};
use state::PartitionState;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often a thread looks whether the others are ready before it sleeps: some ten microseconds, which is more than the parts of a busy window
/// differ by, and less than what it would take to wake it.
const LOOKS: u32 = 1_000;

/// What goes from one part to another, and from the whole to a part.
#[derive(Default)]
struct Batch {
    /// Packets, and the ports that they reach; behind each with [`flag::EXT`], in order, what it carries besides.
    packets: Vec<(Packet, PortId)>,
    extras: Vec<Extra>,
    /// Nodes that are to be looked at.
    marks: Vec<(NodeId, Time)>,
}

impl Batch {
    /// Writes the packets; marks stay in a process.
    fn put(&self, to: &mut Vec<u8>) {
        (self.packets.len() as u32).put(to);
        self.packets.iter().for_each(|it| it.put(to));
        self.extras.iter().for_each(|it| it.put(to));
    }

    /// Reads what [`Batch::put`] wrote, behind what is there.
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

/// A link to another part.
struct Cut {
    port: PortId,
    /// The port that stands for its other end,
    far: PortId,
    /// in this part.
    to: u16,
}

/// Some of the nodes.
struct Partition {
    result: PartitionResult,
    core: SimState,
    cuts: Vec<Cut>,
    /// First word of these links in the bitmap of busy inputs.
    word: u32,
    /// Mail that has not been sent, by part.
    out: Vec<Batch>,
}

/// The parts of a run that are in this process, and what its threads share.
pub(super) struct Partitions<'a> {
    parts: Vec<Mutex<Partition>>,
    /// Number of the first of them, among those of all processes.
    first: usize,
    /// Mail for each of them from each of all: to be opened in this window, and in the next. Marks that the whole hands out are with those from itself.
    inboxes: Vec<Vec<[Mutex<Batch>; 2]>>,
    part_of: IndexVec<NodeId, u16>,
    apps: &'a Apps,
    tiers: Option<&'a IndexVec<NodeId, Tier>>,
    /// Words of a bitmap of nodes.
    words: usize,
    /// Number of the round, number of the window, end of the part of it that is run, and end of the whole window.
    round: AtomicU64,
    window: AtomicU64,
    end: AtomicU64,
    full_end: AtomicU64,
    /// Rounds that all threads take part in.
    rounds: Signal,
    /// Threads that are at work, but for the leading one.
    working: Signal,
    over: AtomicBool,
    failed: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Partitions<'a> {
    /// Divides what `whole` runs into so many parts, each for a thread, in each of several processes, of which this is number `place.0` of `place.1`.
    ///
    /// # Safety
    /// Until [`Partitions::join`], `whole` is used between windows only, and by the thread alone that leads.
    pub(super) unsafe fn divide(
        whole: &mut SimState,
        threads: usize,
        place: (usize, usize),
        apps: &'a Apps,
        tiers: Option<&'a IndexVec<NodeId, Tier>>,
    ) -> Partitions<'a> {
        // Who waits for a thread that has no core to run on should not keep one busy.
        let looks = if std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= threads) { LOOKS } else { 1 };
        let network = whole.network();
        let (first, all) = (place.0 * threads, place.1 * threads);
        let part_of = partition(network, all);
        let words = network.nodes.len().div_ceil(64);
        // Stands for all that is elsewhere: a node of a word that no part looks at.
        let collector = NodeId::from_index(64 * words);
        let mut links: Vec<Vec<PortId>> = vec![Vec::new(); all];
        for (id, p) in network.ports.enumerate().filter(|(_, p)| part_of[p.from] != part_of[p.to]) {
            links[usize::from(part_of[p.from])].push(id);
        }
        let to: Vec<Vec<u16>> = links.iter().map(|l| l.iter().map(|id| part_of[network.ports[*id].to]).collect()).collect();
        let needed: Vec<u32> = links.iter().map(|l| (l.len() as u32).div_ceil(WORD)).collect();
        // All processes cut all links, so that their halves have the same numbers everywhere.
        let mut word = whole.reserve_half_links(links.iter().map(Vec::len).sum(), needed.iter().sum());
        let mut cuts: Vec<(u32, Vec<Cut>)> = Vec::new();
        for ((links, to), needed) in links.iter().zip(&to).zip(&needed) {
            let cut = |((&port, &to), bit)| Cut { port, far: whole.split(port, collector, word * WORD + bit), to };
            cuts.push((word, links.iter().zip(to).zip(0..).map(cut).collect()));
            word += needed;
        }
        let part = |(word, cuts)| {
            let partition = PartitionState::new(64 * words + 1, whole.calendar().length());
            let out = (0..all).map(|_| Batch::default()).collect();
            // SAFETY: the caller's promise; nodes of two parts share no items, as links between them have two halves.
            let core = unsafe { whole.share(partition) };
            Mutex::new(Partition { result: PartitionResult::default(), core, cuts, word, out })
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
            rounds: Signal::new(looks),
            working: Signal::new(looks),
            over: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// Which of the parts of this process part `number` of all is, if it is one.
    fn here(&self, number: usize) -> Option<usize> {
        number.checked_sub(self.first).filter(|own| *own < self.parts.len())
    }

    /// Which process runs each node.
    pub(super) fn rank_of(&self) -> IndexVec<NodeId, u16> {
        self.part_of.iter().map(|part| part / self.parts.len() as u16).collect()
    }

    /// What the whole core has marked for later goes to the parts, which run it in the window that begins.
    pub(super) fn distribute_marks(&self, whole: &mut SimState) {
        let next = (self.round.load(Relaxed) + 1) % 2;
        whole.calendar().drain_marks(|node, time| {
            let part = usize::from(self.part_of[node]);
            if let Some(own) = self.here(part) {
                lock(&self.inboxes[own][part][next as usize]).marks.push((node, time));
            }
        });
    }

    /// The parts follow what has been added to the whole core between windows.
    ///
    /// # Safety
    /// As [`Partitions::divide`].
    pub(super) unsafe fn follow(&self, whole: &mut SimState) {
        if whole.take_changed() {
            for part in &self.parts {
                // SAFETY: the caller's promise.
                unsafe { whole.share_again(&mut lock(part).core) };
            }
        }
    }

    /// Runs the current window of `whole`, or the current part of it, on the leading thread, with the other threads or without. Returns the result
    /// of the partitions of this process.
    pub(super) fn run(&self, whole: &mut SimState, together: bool) -> PartitionResult {
        let place = whole.calendar().place();
        self.round.fetch_add(1, Relaxed);
        self.window.store(place.window, Relaxed);
        self.end.store(place.end.0, Relaxed);
        self.full_end.store(place.full_end.0, Relaxed);
        if together {
            self.working.set(self.parts.len() as u32 - 1);
            self.rounds.raise();
            self.run_partition(0);
            self.working.wait(|threads| threads == 0);
            assert!(!self.failed.load(SeqCst), "a thread of the run has failed");
        } else {
            (0..self.parts.len()).for_each(|part| self.run_partition(part));
        }
        self.gather(whole)
    }

    /// What threads but the leading one do, from the first window to the last: they run part `number`.
    pub(super) fn run_rounds(&self, number: usize) {
        for seen in 0.. {
            self.rounds.wait(|round| round != seen);
            if self.over.load(SeqCst) {
                return;
            }
            let _done = Done(self);
            self.run_partition(number);
        }
    }

    fn run_partition(&self, number: usize) {
        let round = self.round.load(Relaxed);
        let part = &mut *lock(&self.parts[number]);
        let [end, full_end] = [&self.end, &self.full_end].map(|time| Time(time.load(Relaxed)));
        part.core.calendar().follow(Position { window: self.window.load(Relaxed), end, full_end });
        for from in &self.inboxes[number] {
            part.open(&mut lock(&from[(round % 2) as usize]));
        }
        let activations = part.core.run_marked(self.apps, self.words, self.tiers);
        part.collect();
        for (to, out) in part.out.iter_mut().enumerate().filter(|(_, out)| !out.packets.is_empty()) {
            // What is there has been opened, and is empty.
            if let Some(own) = self.here(to) {
                std::mem::swap(&mut *lock(&self.inboxes[own][self.first + number][((round + 1) % 2) as usize]), out);
            }
        }
        part.result = part.core.partition_result(activations);
    }

    /// What the parts have produced in the window joins the whole.
    fn gather(&self, whole: &mut SimState) -> PartitionResult {
        let mut all = PartitionResult::default();
        for part in &self.parts {
            let part = &mut *lock(part);
            let PartitionResult { next, activations, open, done, waits } = part.result;
            all.next = all.next.min(next);
            all.activations += activations;
            all.open += open;
            all.done += done;
            all.waits |= waits;
            if waits {
                whole.merge(&mut part.core);
            }
        }
        whole.count((all.open, all.done));
        all
    }

    /// Puts the mail of the parts here for those of process `rank` into a message.
    pub(super) fn encode_batches(&self, rank: usize, to: &mut Vec<u8>) {
        let theirs = rank * self.parts.len()..(rank + 1) * self.parts.len();
        self.parts.iter().for_each(|part| lock(part).out[theirs.clone()].iter().for_each(|mail| mail.put(to)));
    }

    /// All of it has been put into messages.
    pub(super) fn clear_batches(&self) {
        self.parts.iter().for_each(|part| lock(part).out.iter_mut().for_each(Batch::clear));
    }

    /// Takes over the mail of process `rank`, to be opened in the next window.
    pub(super) fn decode_batches(&self, rank: usize, from: &mut Bytes<'_>) {
        let next = ((self.round.load(Relaxed) + 1) % 2) as usize;
        for part in rank * self.parts.len()..(rank + 1) * self.parts.len() {
            self.inboxes.iter().for_each(|boxes| lock(&boxes[part][next]).take(from));
        }
    }

    /// The other threads end when this is dropped, as it is when the run is over or has failed.
    pub(super) fn ending(&self) -> Ending<'_, 'a> {
        Ending(self)
    }

    /// The whole core gets back all that the parts had.
    pub(super) fn join(self, whole: &mut SimState) {
        let next = ((self.round.into_inner() + 1) % 2) as usize;
        for (part, inboxes) in self.parts.into_iter().zip(self.inboxes) {
            let mut part = part.into_inner().unwrap_or_else(PoisonError::into_inner);
            inboxes.iter().for_each(|from| part.open(&mut lock(&from[next])));
            whole.merge_final(part.core);
        }
    }
}

impl Partition {
    /// Opens the mail that has come.
    fn open(&mut self, mail: &mut Batch) {
        let mut extras = mail.extras.iter();
        for some in mail.packets.chunks(GROUP) {
            // As for groups of nodes (`tiers.rs`): the memory that a step needs has been asked for in the step before.
            some.iter().for_each(|(_, port)| self.core.prefetch_port(*port));
            some.iter().for_each(|(_, port)| self.core.prefetch_ring(*port));
            for (packet, port) in some {
                let extra = if packet.has(flag::EXT) { extras.next() } else { None };
                self.core.deliver_to_half(*port, packet, extra);
            }
        }
        for (node, time) in mail.marks.drain(..) {
            self.core.calendar().mark(node, time);
        }
        mail.clear();
    }

    /// Puts what was sent to other parts into mail.
    fn collect(&mut self) {
        for (word, cuts) in (self.word..).zip(self.cuts.chunks(WORD as usize)) {
            let out = &mut self.out;
            self.core.drain_ports(
                word,
                |bit| cuts[bit as usize].port,
                |bit, packet, extra| {
                    let cut = &cuts[bit as usize];
                    let mail = &mut out[usize::from(cut.to)];
                    mail.packets.push((*packet, cut.far));
                    mail.extras.extend(extra);
                },
            );
        }
    }
}

/// See [`Partitions::ending`].
pub(super) struct Ending<'a, 'b>(&'a Partitions<'b>);

impl Drop for Ending<'_, '_> {
    fn drop(&mut self) {
        self.0.over.store(true, SeqCst);
        self.0.rounds.raise();
    }
}

/// A thread has done its part, or failed: the leading one must not wait for it.
struct Done<'a, 'b>(&'a Partitions<'b>);

impl Drop for Done<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, SeqCst);
        }
        self.0.working.lower();
    }
}
