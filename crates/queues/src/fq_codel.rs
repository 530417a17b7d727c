//! FQ-CoDel (RFC 8290; Linux `net/sched/sch_fq_codel.c`): a queue for each hash bucket of flows, served by deficit round robin, new flows first, each
//! with CoDel. Linux's memory limit is not modeled, because packets have no memory overhead here.

use crate::codel::{CodelControl, Packets, Params, params};
use crate::heap::IndexedHeap;
use crate::{
    Buffered, BufferedDiscipline, Discipline, Effects, Handle, Marking, PortState, Queue, QueueEntry, QueueError, QueueState,
    Queued, Verdict,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use forebay_types::param::{Entry, Kind, Param, Values};
use forebay_types::{Rate, Rng, Time, mix};

/// No packet.
const NONE: u32 = u32::MAX;

/// The queue of the flows that share a bucket of the hash table.
#[derive(Debug, Clone, PartialEq)]
struct Flow {
    /// Handles of the oldest and the newest packet.
    head: u32,
    tail: u32,
    bytes: u64,
    /// Bytes that it may send in this round.
    deficit: i64,
    /// True if it is in the list `new` or `old`.
    listed: bool,
    /// True if it has changed since the last overflow.
    changed: bool,
    control: CodelControl,
}

impl Flow {
    const EMPTY: Flow =
        Flow { head: NONE, tail: NONE, bytes: 0, deficit: 0, listed: false, changed: false, control: CodelControl::NEW };
}

/// A packet and the next one of its queue.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Link {
    packet: Queued,
    next: u32,
}

/// Packets of all queues: linked lists through one table indexed by handle.
#[derive(Debug, Clone, PartialEq, Default)]
struct Chains {
    links: Vec<Option<Link>>,
    total: QueueState,
}

/// The packets of one queue.
struct Chain<'a> {
    chains: &'a mut Chains,
    head: &'a mut u32,
    tail: &'a mut u32,
    bytes: &'a mut u64,
}

impl Chain<'_> {
    fn append(&mut self, packet: Queued) {
        let (index, at) = (packet.handle.0, packet.handle.0 as usize);
        if self.chains.links.len() <= at {
            self.chains.links.resize(at + 1, None);
        }
        self.chains.links[at] = Some(Link { packet, next: NONE });
        match self.chains.links.get_mut(*self.tail as usize) {
            Some(Some(last)) if *self.head != NONE => last.next = index,
            _ => *self.head = index,
        }
        *self.tail = index;
        *self.bytes += u64::from(packet.packet.wire);
        self.chains.total.add(packet.packet.wire);
    }
}

impl Packets for Chain<'_> {
    fn take(&mut self) -> Option<Queued> {
        let link = self.chains.links.get_mut(*self.head as usize)?.take()?;
        *self.head = link.next;
        *self.bytes -= u64::from(link.packet.packet.wire);
        self.chains.total.remove(link.packet.packet.wire);
        Some(link.packet)
    }

    /// Bytes in all queues (RFC 8289 section 4.4; Linux): the last packet of a flow may be dropped while other flows have packets.
    fn bytes(&self) -> u64 {
        self.chains.total.bytes
    }
}

/// FQ-CoDel.
#[derive(Debug, Clone, PartialEq)]
pub struct FqCodel {
    params: Params,
    limit: u32,
    quantum: i64,
    batch: u32,
    /// Number of queues, and the queues: none until the first packet, since most hosts have no backlog.
    count: usize,
    flows: Vec<Flow>,
    /// Queues that have become busy recently, and the other busy queues, in order of service (RFC 8290 section 4.2).
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    chains: Chains,
    /// Non-empty queues at the last overflow, by [`FqCodel::fatness`], and queues that have changed since. They are sorted on overflow only.
    fattest: IndexedHeap,
    changed: Vec<u32>,
    /// Seed of the hash, so that different flows share a queue in each run (RFC 8290 section 4.1).
    perturbation: u64,
}

impl FqCodel {
    /// Queue of a flow (RFC 8290 section 4.1).
    fn bucket(&self, flow: u64) -> u32 {
        let hash = mix(flow ^ self.perturbation);
        ((u128::from(hash) * self.count as u128) >> 64) as u32
    }

    fn chain(&mut self, flow: u32) -> (&mut CodelControl, Chain<'_>) {
        let Flow { head, tail, bytes, control, .. } = &mut self.flows[flow as usize];
        (control, Chain { chains: &mut self.chains, head, tail, bytes })
    }

    /// Sort key: bytes, then the lowest bucket. Buckets take 16 bits (`flows` in the registry entry).
    fn fatness(flow: u32, bytes: u64) -> u64 {
        bytes << 16 | u64::from(0xFFFF - flow)
    }

    /// Notes that the queue of `flow` has changed.
    fn mark_changed(&mut self, flow: u32) {
        if !core::mem::replace(&mut self.flows[flow as usize].changed, true) {
            self.changed.push(flow);
        }
    }

    /// Queue with the most bytes, unless all are empty.
    fn fattest(&mut self) -> Option<u32> {
        while let Some(flow) = self.changed.pop() {
            let f = &mut self.flows[flow as usize];
            f.changed = false;
            match f.bytes {
                0 => self.fattest.remove(flow),
                bytes => self.fattest.set(flow, FqCodel::fatness(flow, bytes)),
            }
        }
        self.fattest.first()
    }

    /// Drops packets from the head of the queue with the most bytes until half of its bytes are dropped, but at most a batch (RFC 8290 section 4.1).
    /// Bytes are counted as in Linux (`fq_codel_drop`); the RFC drops half of the packets.
    fn drop_from_fattest(&mut self, effects: &mut impl Effects, mut dropped: impl FnMut(&Queued)) -> bool {
        let Some(fattest) = self.fattest() else { return false };
        let half = self.flows[fattest as usize].bytes / 2;
        let batch = self.batch;
        let (control, mut chain) = self.chain(fattest);
        let (mut count, mut bytes) = (0, 0);
        while let Some(q) = chain.take() {
            q.evict(effects);
            dropped(&q);
            count += 1;
            bytes += u64::from(q.packet.wire);
            if count >= batch || bytes >= half {
                break;
            }
        }
        control.add_drops(count);
        self.mark_changed(fattest);
        true
    }
}

/// Access to the state, for the comparison with `sch_fq_codel`.
#[cfg(inspect)]
impl FqCodel {
    /// See [`CodelControl::state`].
    pub fn state(&self, flow: usize) -> [u64; 5] {
        self.flows[flow].control.state()
    }

    /// See [`CodelControl::set_drop_next`].
    pub fn set_drop_next(&mut self, flow: usize, time: Time) {
        self.flows[flow].control.set_drop_next(time);
    }

    /// Packets and bytes of all queues, and the seed of the hash.
    pub fn totals(&self) -> (QueueState, u64) {
        (self.chains.total, self.perturbation)
    }
}

impl Discipline for FqCodel {
    fn start(&mut self, _rate: Rate, mut rng: Rng) {
        self.perturbation = rng.next_u64();
    }

    fn set_defaults(&mut self, _senders: u64, packet: u64) {
        self.params.set_defaults(packet);
    }

    fn marks(&self) -> bool {
        self.params.marks()
    }
}

impl FqCodel {
    /// Appends a packet to the queue of its flow.
    #[inline]
    fn join(&mut self, packet: Queued) {
        if self.flows.is_empty() {
            self.add_flows();
        }
        let index = self.bucket(packet.packet.flow);
        self.chain(index).1.append(packet);
        self.mark_changed(index);
        let flow = &mut self.flows[index as usize];
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(index);
        }
    }
}

impl FqCodel {
    #[cold]
    #[inline(never)]
    fn add_flows(&mut self) {
        self.flows = vec![Flow::EMPTY; self.count];
    }

    /// Skips rounds in which no queue may send, and adds their quanta: every deficit stays at zero or below. `new` is empty.
    #[cold]
    #[inline(never)]
    fn skip_rounds(&mut self) {
        let FqCodel { flows, old, quantum, .. } = self;
        let rounds = old.iter().map(|&i| -flows[i as usize].deficit / *quantum).min().unwrap_or(0);
        if rounds > 0 {
            old.iter().for_each(|&i| flows[i as usize].deficit += rounds * *quantum);
        }
    }
}

impl Buffered for FqCodel {
    #[inline(always)]
    fn try_push(&mut self, port: &PortState, packet: &Queued) -> Option<Verdict> {
        if self.chains.total.packets >= self.limit || !port.fits(packet.packet.wire) {
            return None;
        }
        self.join(*packet);
        Some(Verdict::Accept)
    }

    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        self.join(packet);
        // The arriving packet is in its queue already, and may be dropped, but the port does not count it yet.
        let (mut freed, mut refused) = (QueueState::default(), false);
        while !refused && (self.chains.total.packets > self.limit || !port.fits_without(freed, packet.packet.wire)) {
            let dropped = |q: &Queued| {
                if q.handle == packet.handle { refused = true } else { freed.add(q.packet.wire) }
            };
            if !self.drop_from_fattest(effects, dropped) {
                break;
            }
        }
    }

    /// RFC 8290 section 4.2.
    #[inline(always)]
    fn pop(&mut self, now: Time, effects: &mut impl Effects) -> Option<Handle> {
        // Turns without a packet. After one turn of each queue all of them are old.
        let mut turns = 0;
        loop {
            let from_new = !self.new.is_empty();
            let index = *if from_new { &self.new } else { &self.old }.front()?;
            let flow = &mut self.flows[index as usize];
            let mut packet = None;
            // A queue with a deficit of zero waits, as in Linux; in the RFC only negative ones wait.
            let spent = flow.deficit <= 0;
            if spent {
                flow.deficit += self.quantum;
                turns += 1;
            } else {
                let params = self.params;
                let (control, mut chain) = self.chain(index);
                packet = control.pop(&params, now, &mut chain, effects);
                self.mark_changed(index);
            }
            if let Some(q) = packet {
                self.flows[index as usize].deficit -= i64::from(q.packet.wire);
                return Some(q.handle);
            }
            if from_new { &mut self.new } else { &mut self.old }.pop_front();
            // An empty new queue becomes an old one, so that it cannot return as new immediately and starve others. Linux removes it if there are no
            // old queues (fq_codel_dequeue).
            if spent || (from_new && !self.old.is_empty()) {
                self.old.push_back(index);
                if turns > self.new.len() + self.old.len() {
                    self.skip_rounds();
                    turns = 0;
                }
            } else {
                self.flows[index as usize].listed = false;
            }
        }
    }

    fn can_bypass(&self) -> bool {
        true
    }

    fn extend(&mut self, handle: Handle, wire: u32) -> bool {
        let Some(Some(link)) = self.chains.links.get_mut(handle.0 as usize) else { return false };
        link.packet.packet.wire += wire;
        let flow = link.packet.packet.flow;
        let index = self.bucket(flow);
        self.flows[index as usize].bytes += u64::from(wire);
        self.chains.total.bytes += u64::from(wire);
        self.mark_changed(index);
        true
    }

    fn len(&self) -> usize {
        self.chains.total.packets as usize
    }
}

fn build(v: &Values) -> Result<Queue, QueueError> {
    let quantum = v.bytes("quantum").0;
    if quantum == 0 {
        return Err(QueueError::new("quantum", "is zero; it must be positive"));
    }
    Ok(Queue::Buffered(BufferedDiscipline::FqCodel(Box::new(FqCodel {
        params: Params::new(v)?,
        limit: v.int("limit") as u32,
        quantum: i64::try_from(quantum).unwrap_or(i64::MAX),
        batch: v.int("drop-batch") as u32,
        fattest: IndexedHeap::default(),
        changed: Vec::new(),
        count: v.int("flows") as usize,
        flows: Vec::new(),
        new: VecDeque::new(),
        old: VecDeque::new(),
        chains: Chains::default(),
        perturbation: 0,
    }))))
}

/// CoDel's parameters and those of the queues.
const fn all_params() -> [Param; 9] {
    let codel = params("true");
    let own = [
        Param {
            key: "flows",
            kind: Kind::Int(1, 65_536),
            default: Some("1024"),
            doc: "number of queues, among which a hash distributes the flows (RFC 8290 section 5.2.5)",
        },
        Param {
            key: "quantum",
            kind: Kind::Bytes,
            default: Some("1514B"),
            doc: "bytes that a queue may send in a round (RFC 8290 section 5.2.4)",
        },
        Param {
            key: "limit",
            kind: Kind::Int(1, 10_000_000),
            default: Some("10240"),
            doc: "maximum number of packets in all queues, in addition to the link's `buffer` (RFC 8290 section 5.2.3); beyond it packets of the fattest queue are dropped",
        },
        Param {
            key: "drop-batch",
            kind: Kind::Int(1, 1_000_000),
            default: Some("64"),
            doc: "maximum number of packets dropped by an overflow, which drops half of the bytes of the fattest queue (RFC 8290 section 4.1; Linux)",
        },
    ];
    let mut all = [own[0]; 9];
    let mut i = 0;
    while i < 9 {
        all[i] = if i < 5 { codel[i] } else { own[i - 5] };
        i += 1;
    }
    all
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "fq-codel",
        summary: "a queue for each flow, served round robin, thin and new flows first, each with CoDel (FQ-CoDel, RFC 8290)",
        params: &all_params(),
    },
    marking: Marking::IfSet,
    thresholds: &[],
    example: "{ kind = \"fq-codel\", target = \"100us\", interval = \"2ms\" }",
    build: |v, _| build(v),
};

#[cfg(test)]
#[path = "fq_codel_tests.rs"]
mod tests;
