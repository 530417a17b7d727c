//! Fair queue of Linux (`net/sched/sch_fq.c`): a queue for each connection, served by deficit round robin, new ones first. A packet that finds no
//! queue busy takes a short path, a FIFO of at most eight packets.
//!
//! Linux also holds each packet in this queue until its departure time (EDT), which its TCP has computed from the pacing rate. Here the sender stores
//! such packets (`HeldPackets`), announces each ([`Buffered::hold`]), and passes it on at its departure time. It never takes the short path. Its
//! connection has its place among the others from the announcement on. If its turn comes too early, it leaves its list (fq_flow_set_throttled) and
//! returns behind the other old ones (fq_flow_unset_throttled). All packets have the default priority, of the second of the kernel's three bands. A connection that sends for the first time is in the first band until its first turn ends,
//! because fq_enqueue puts it into a list before it sets the band.

use crate::{
    Arrival, Buffered, BufferedDiscipline, Discipline, DropReason, Effects, Handle, Marking, PortState, Queue, QueueEntry,
    QueueError, Queued, Verdict,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use forebay_types::param::{Entry, Kind, Param, Values};
use forebay_types::{Rate, Rng, Time, mix};

/// No packet, or no connection.
const NONE: u32 = u32::MAX;
/// Packets of the short path (fq_fastpath_check).
const SHORT_PATH: usize = 8;
/// Lists of connections (`fq_trees_log`).
const BUCKETS: usize = 1024;
/// Flows of packets without a full socket (`orphan_mask`, fq_init).
const ORPHANS: u64 = 1024;
/// Time after which an idle connection may be forgotten (`FQ_GC_AGE`), and number of those that one packet removes (`FQ_GC_MAX`).
const FORGET_AFTER: Time = Time::from_secs(3);
const FORGET_MAX: u32 = 8;
/// Pause after which a connection has the credit of a turn at least (`flow_refill_delay`).
const REFILL_AFTER: Time = Time::from_ms(40);
/// Largest quanta (fq_init), and the smallest one.
const MOST: u64 = 1 << 20;
const LEAST: u64 = 256;

/// The queue of a connection in one direction (`struct fq_flow`).
#[derive(Debug, Clone, PartialEq)]
struct Flow {
    id: u64,
    /// The next one of its bucket, or of the unused ones.
    next: u32,
    /// Handles of the oldest and the newest packet.
    head: u32,
    tail: u32,
    packets: u32,
    /// Packets that the sender holds.
    held: u32,
    /// Bytes that it may send in its turn.
    credit: i64,
    band: usize,
    place: Place,
}

/// Place of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a list of queues to serve.
    Listed,
    /// It has no packet since this time (`age`).
    Detached(Time),
    /// Its next packet leaves later (fq_flow_is_throttled).
    Throttled,
}

impl Flow {
    /// Returns true if its turn may come before the departure time of its next packet.
    fn waits(&self) -> bool {
        self.place == Place::Listed && self.packets == 0 && self.held > 0
    }
}

/// Bytes that each band may send in its turn (fq_init), and the band of the default priority (sch_default_prio2band).
const BAND_QUANTA: [i64; 3] = [9 << 16, 3 << 16, 1 << 16];
const DEFAULT_BAND: usize = 1;

/// A band (`struct fq_perband_flows`): queues that have become busy, and the other busy queues, in order of service.
#[derive(Debug, Clone, PartialEq, Default)]
struct Band {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Bytes that it may send in its turn.
    credit: i64,
}

/// Fair queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Fq {
    limit: u32,
    flow_limit: u32,
    /// Bytes of a turn, and of the first turn of a connection; `None` until the network is known.
    quantum: Option<u64>,
    initial_quantum: Option<u64>,
    /// Packets of the short path (`internal`).
    short: VecDeque<Queued>,
    flows: Vec<Flow>,
    /// First connection of each bucket, none until the first packet, and the first unused one.
    buckets: Vec<u32>,
    unused: u32,
    bands: [Band; 3],
    /// The band whose turn it is.
    turn: usize,
    /// Packets of all queues by handle, each with the next one of its queue.
    links: Vec<(Queued, u32)>,
    /// Packets of all queues, without those of the short path (`band_pkt_count`).
    queued: u32,
    /// Packets that senders hold, and connections with [`Flow::waits`].
    held: u32,
    waiting: u32,
    /// Random number in the hash of packets without a full socket.
    perturbation: u64,
}

impl Fq {
    /// The queue of a packet, by its `flow`. SYN-ACKs with the same lowest bits of their hash share one, because they have no full socket (fq_classify).
    fn flow_id(&self, flow: u64) -> u64 {
        let flow = flow & !Arrival::RELEASED;
        if flow & Arrival::ORPHAN == 0 {
            return flow;
        }
        // The hash of fq_codel, whose upper 32 bits are those of a packet (`sk_txhash`).
        Arrival::ORPHAN | ((mix(flow ^ Arrival::ORPHAN ^ self.perturbation) >> 32) % ORPHANS)
    }

    fn quantum(&self) -> i64 {
        self.quantum.unwrap_or(LEAST) as i64
    }

    /// Returns true if a packet takes the short path (fq_fastpath_check): all queues are empty or throttled, and few packets are on that path.
    fn is_short(&self) -> bool {
        self.queued == 0 && self.waiting == 0 && self.short.len() < SHORT_PATH
    }

    fn bucket(id: u64) -> usize {
        mix(id) as usize % BUCKETS
    }

    /// The queue of connection `id`, if it has one. The search removes long idle ones of the same bucket (fq_classify, fq_gc).
    fn find(&mut self, id: u64, now: Time) -> Option<u32> {
        let bucket = Fq::bucket(id);
        let (mut before, mut at, mut forgotten) = (NONE, self.buckets.get(bucket).copied().unwrap_or(NONE), 0);
        while at != NONE {
            let flow = &self.flows[at as usize];
            let next = flow.next;
            if flow.id == id {
                return Some(at);
            }
            if forgotten < FORGET_MAX && matches!(flow.place, Place::Detached(since) if now > since + FORGET_AFTER) {
                match self.flows.get_mut(before as usize) {
                    Some(flow) => flow.next = next,
                    None => self.buckets[bucket] = next,
                }
                self.flows[at as usize].next = self.unused;
                self.unused = at;
                forgotten += 1;
            } else {
                before = at;
            }
            at = next;
        }
        None
    }

    /// The queue of connection `id` (fq_classify).
    fn classify(&mut self, id: u64, now: Time) -> u32 {
        if let Some(found) = self.find(id, now) {
            return found;
        }
        if self.buckets.is_empty() {
            self.buckets = vec![NONE; BUCKETS];
        }
        let bucket = Fq::bucket(id);
        let credit = self.initial_quantum.unwrap_or_default() as i64;
        // As if it had been detached just now: no refill.
        let next = self.buckets[bucket];
        let flow = Flow { id, next, head: NONE, tail: NONE, packets: 0, held: 0, credit, band: 0, place: Place::Detached(now) };
        let index = match self.flows.get_mut(self.unused as usize) {
            Some(place) => {
                let index = core::mem::replace(&mut self.unused, place.next);
                *place = flow;
                index
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as u32 - 1
            }
        };
        self.buckets[bucket] = index;
        index
    }

    /// Passes the turn to the next band whose credit is positive after a quantum.
    fn next_band(&mut self) {
        loop {
            self.turn = (self.turn + 1) % BAND_QUANTA.len();
            let (band, quantum) = (&mut self.bands[self.turn], BAND_QUANTA[self.turn]);
            band.credit = (band.credit + quantum).min(quantum);
            if band.credit > 0 {
                return;
            }
        }
    }

    /// Decides about a packet, and enqueues it if it is accepted (fq_enqueue).
    #[inline(always)]
    fn enqueue(&mut self, port: &PortState, packet: &Queued) -> Verdict {
        let released = packet.packet.flow & Arrival::RELEASED != 0;
        if released {
            self.release(packet.packet.flow & !Arrival::RELEASED, port.now);
        }
        if self.queued >= self.limit || !port.fits(packet.packet.wire) {
            return Verdict::Drop(DropReason::Overflow);
        }
        if !released && self.is_short() {
            self.short.push_back(*packet);
            return Verdict::Accept;
        }
        self.enqueue_flow(port.now, packet)
    }

    /// Ends the wait of the first packet that the sender of connection `id` holds (fq_check_throttled).
    fn release(&mut self, id: u64, now: Time) {
        let index = self.classify(id, now);
        let flow = &mut self.flows[index as usize];
        if flow.held == 0 {
            return;
        }
        let waited = flow.waits();
        flow.held -= 1;
        self.held -= 1;
        if flow.place == Place::Throttled {
            flow.place = Place::Listed;
            self.bands[flow.band].old.push_back(index);
        }
        self.waiting += u32::from(flow.waits());
        self.waiting -= u32::from(waited);
    }

    /// As [`Fq::enqueue`], in the queue of the connection.
    #[inline(never)]
    fn enqueue_flow(&mut self, now: Time, packet: &Queued) -> Verdict {
        let index = self.classify(self.flow_id(packet.packet.flow), now);
        let quantum = self.quantum();
        let flow = &mut self.flows[index as usize];
        if flow.packets >= self.flow_limit {
            return Verdict::Drop(DropReason::Overflow);
        }
        self.waiting -= u32::from(flow.waits());
        Fq::list(&mut self.bands, (index, flow), quantum, now);
        let (handle, at) = (packet.handle.0, packet.handle.0 as usize);
        if self.links.len() <= at {
            self.links.resize(at + 1, (*packet, NONE));
        }
        self.links[at] = (*packet, NONE);
        if flow.packets == 0 {
            flow.head = handle;
        } else {
            self.links[flow.tail as usize].1 = handle;
        }
        flow.tail = handle;
        flow.packets += 1;
        self.queued += 1;
        Verdict::Accept
    }
}

impl Fq {
    /// Lists a connection as a new one unless it has a place already (fq_enqueue).
    fn list(bands: &mut [Band; 3], (index, flow): (u32, &mut Flow), quantum: i64, now: Time) {
        if let Place::Detached(since) = flow.place {
            flow.place = Place::Listed;
            bands[flow.band].new.push_back(index);
            if now > since + REFILL_AFTER {
                flow.credit = flow.credit.max(quantum);
            }
        }
        flow.band = DEFAULT_BAND;
    }
}

impl Discipline for Fq {
    fn start(&mut self, _rate: Rate, mut rng: Rng) {
        self.perturbation = rng.next_u64();
    }

    fn set_defaults(&mut self, _senders: u64, packet: u64) {
        self.quantum = self.quantum.or(Some((2 * packet).clamp(LEAST, MOST)));
        self.initial_quantum = self.initial_quantum.or(Some((10 * packet).min(MOST)));
    }

    fn marks(&self) -> bool {
        false
    }

    fn holds_departures(&self) -> bool {
        true
    }
}

impl Buffered for Fq {
    #[inline(always)]
    fn try_push(&mut self, port: &PortState, packet: &Queued) -> Option<Verdict> {
        Some(self.enqueue(port, packet))
    }

    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        let verdict = self.enqueue(port, &packet);
        packet.admit(verdict, effects);
    }

    /// A packet that finds nothing queued takes the short path, which changes no state. While senders hold packets, the search for the next one does.
    fn accepts_idle(&self) -> bool {
        self.held == 0
    }

    fn hold(&mut self, flow: u64, now: Time) {
        let (index, quantum) = (self.classify(flow, now), self.quantum());
        let flow = &mut self.flows[index as usize];
        let waited = flow.waits();
        flow.held += 1;
        self.held += 1;
        Fq::list(&mut self.bands, (index, flow), quantum, now);
        self.waiting += u32::from(flow.waits()) - u32::from(waited);
    }

    fn extend(&mut self, handle: Handle, wire: u32) -> bool {
        match self.short.back_mut().filter(|q| q.handle == handle) {
            Some(newest) => newest.packet.wire += wire,
            None => self.links[handle.0 as usize].0.packet.wire += wire,
        }
        true
    }

    /// Chooses the next packet (fq_dequeue).
    #[inline(always)]
    fn pop(&mut self, now: Time, _effects: &mut impl Effects) -> Option<Handle> {
        if let Some(first) = self.short.pop_front() {
            return Some(first.handle);
        }
        // An empty queue changes nothing: its connections keep their places and turns.
        if self.queued == 0 && self.held == 0 {
            return None;
        }
        let (quantum, mut idle_bands) = (self.quantum(), 0);
        loop {
            let band = &mut self.bands[self.turn];
            let from_new = !band.new.is_empty();
            let list = if from_new { &mut band.new } else { &mut band.old };
            let Some(&index) = list.front().filter(|_| band.credit > 0) else {
                idle_bands += 1;
                if idle_bands > BAND_QUANTA.len() {
                    return None;
                }
                self.next_band();
                continue;
            };
            idle_bands = 0;
            let flow = &mut self.flows[index as usize];
            if flow.credit > 0 && flow.packets > 0 {
                let (packet, next) = self.links[flow.head as usize];
                flow.head = next;
                flow.packets -= 1;
                self.queued -= 1;
                flow.credit -= i64::from(packet.packet.wire);
                band.credit -= i64::from(packet.packet.wire);
                self.waiting += u32::from(flow.waits());
                return Some(packet.handle);
            }
            list.pop_front();
            if flow.credit <= 0 {
                flow.credit += quantum;
                self.bands[flow.band].old.push_back(index);
            } else if flow.held > 0 {
                flow.place = Place::Throttled;
                self.waiting -= 1;
            } else if from_new {
                // An empty new queue becomes an old one, so that it cannot return as new immediately and starve others.
                self.bands[flow.band].old.push_back(index);
            } else {
                flow.place = Place::Detached(now);
            }
        }
    }

    fn len(&self) -> usize {
        self.queued as usize + self.short.len()
    }
}

fn build(v: &Values) -> Result<Queue, QueueError> {
    let bytes = |key: &'static str| match v.opt_bytes(key).map(|b| b.0) {
        Some(0) => Err(QueueError::new(key, "is zero; it must be positive")),
        // A larger one would serve no packet before it is used up.
        Some(bytes) => Ok(Some(bytes.min(MOST))),
        None => Ok(None),
    };
    Ok(Queue::Buffered(BufferedDiscipline::Fq(Box::new(Fq {
        limit: v.int("limit") as u32,
        flow_limit: v.int("flow-limit") as u32,
        quantum: bytes("quantum")?,
        initial_quantum: bytes("initial-quantum")?,
        short: VecDeque::with_capacity(SHORT_PATH),
        flows: Vec::new(),
        buckets: Vec::new(),
        unused: NONE,
        bands: Default::default(),
        turn: 0,
        links: Vec::new(),
        queued: 0,
        held: 0,
        waiting: 0,
        perturbation: 0,
    }))))
}

const PARAMS: &[Param] = &[
    Param {
        key: "limit",
        kind: Kind::Int(1, 10_000_000),
        default: Some("10000"),
        doc: "maximum number of packets in all queues, in addition to the link's `buffer`; in a host with segmentation offload a burst counts as one",
    },
    Param {
        key: "flow-limit",
        kind: Kind::Int(1, 10_000_000),
        default: Some("100"),
        doc: "maximum number of packets in the queue of a connection",
    },
    Param {
        key: "quantum",
        kind: Kind::Bytes,
        default: Some(""),
        doc: "bytes that a connection may send in a turn, at most 1 MiB. Default: two full packets on the wire",
    },
    Param {
        key: "initial-quantum",
        kind: Kind::Bytes,
        default: Some(""),
        doc: "bytes that a connection may send in its first turn, at most 1 MiB. Default: ten full packets on the wire",
    },
];

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "fq",
        summary: "a queue for each connection, served round robin, new ones first, without AQM (Linux sch_fq); senders pace their packets themselves",
        params: PARAMS,
    },
    marking: Marking::Never,
    thresholds: &[],
    example: "{ kind = \"fq\", flow-limit = 20 }",
    build: |v, _| build(v),
};

#[cfg(test)]
#[path = "fq_tests.rs"]
mod tests;
