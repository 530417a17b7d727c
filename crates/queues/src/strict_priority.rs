//! Strict priority: two to eight FIFOs, of which the most urgent non-empty one is served first.
//!
//! The defaults are those of PIAS (`proboscis.md` 6): eight queues, a common buffer, drops from the lowest queue, and, with `k`, marking on the sum
//! of all queues. `queues = 2` with `buffer-scope = "queue"` is PRIN's `strict` (`incast-prin.md` 3.3).

use crate::class_queues::{CLASSES, map, thresholds};
use crate::ring_buffer::RingBuffer;
use crate::{
    Arrival, Buffered, BufferedDiscipline, Discipline, DropReason, Effects, Handle, K, Marking, PacketRef, PortState, Queue,
    QueueEntry, QueueError, QueueState, Queued, Verdict,
};
use alloc::string::String;
use alloc::vec::Vec;
use forebay_types::param::{Entry, Kind, Param, Values};
use forebay_types::{QueueLen, Time};

/// A queue without the packet in service.
#[derive(Debug, Clone, PartialEq, Default)]
struct PriorityQueue {
    packets: RingBuffer<PacketRef>,
    /// Wire bytes of its packets.
    bytes: u64,
    /// Its own limit, which includes the packet in service.
    limit: Option<QueueState>,
    /// Marking threshold on its own length, instead of the common one.
    k: Option<QueueState>,
}

/// Queues in order of priority, queue 0 first.
#[derive(Debug, Clone, PartialEq)]
pub struct StrictPriority {
    /// Queue of each class.
    map: [u8; CLASSES],
    queues: Vec<PriorityQueue>,
    /// Bit set of non-empty queues.
    busy: u32,
    /// Queue of the packet in service; valid if the length of single queues matters.
    serving: usize,
    k: QueueState,
    k_of_queue: bool,
    buffer_of_queue: bool,
    tail_drop: bool,
    /// True if only the sum of all queues matters.
    common: bool,
}

impl StrictPriority {
    /// Sets the derived field `common`.
    fn with_common(self) -> StrictPriority {
        let own = self.queues.iter().any(|l| l.limit.is_some() || l.k.is_some());
        StrictPriority { common: !(own || self.buffer_of_queue || self.k_of_queue), ..self }
    }

    /// Decision about a packet for queue `q`; `None` if packets of other queues must be dropped for it.
    #[inline]
    fn decide(&self, port: &PortState, packet: &Arrival, q: usize) -> Option<Verdict> {
        if self.common {
            return port.fits(packet.wire).then(|| Verdict::step(port.queue, self.k, packet.ecn));
        }
        // Copies, so that the caller can keep its values in registers.
        let (port, packet) = (*port, *packet);
        self.decide_by_queue(&port, &packet, q)
    }

    /// As [`StrictPriority::decide`], if the length of the queue matters.
    #[inline(never)]
    fn decide_by_queue(&self, port: &PortState, packet: &Arrival, q: usize) -> Option<Verdict> {
        let own = self.own(port, q);
        let default = if self.buffer_of_queue { port.limit } else { QueueState::UNLIMITED };
        if !own.fits(packet.wire, self.queues[q].limit.unwrap_or(default)) {
            return Some(Verdict::Drop(DropReason::Overflow));
        }
        self.shared(port).fits(packet.wire).then(|| self.step(port, packet, q, own))
    }

    /// Length of queue `q`, with the packet in service.
    #[inline]
    fn own(&self, port: &PortState, q: usize) -> QueueState {
        let queue = &self.queues[q];
        let mut own = QueueState { packets: queue.packets.len() as u32, bytes: queue.bytes };
        if port.serving > 0 && self.serving == q {
            own.add(port.serving);
        }
        own
    }

    /// The port with the limits on the sum of all queues: if each queue has its own buffer, only the switch's shared memory.
    fn shared(&self, port: &PortState) -> PortState {
        if self.buffer_of_queue { PortState { limit: QueueState::UNLIMITED, ..*port } } else { *port }
    }

    /// Notes that a packet joins queue `q`.
    #[inline]
    fn join(&mut self, packet: &Queued, q: usize) {
        let queue = &mut self.queues[q];
        queue.bytes += u64::from(packet.packet.wire);
        queue.packets.push_back(packet.packet_ref());
        self.busy |= 1 << q;
    }

    /// Decision about a packet that fits into queue `q`, whose length is `own`: accept or mark.
    fn step(&self, port: &PortState, packet: &Arrival, q: usize, own: QueueState) -> Verdict {
        match self.queues[q].k {
            Some(k) => Verdict::step(own, k, packet.ecn),
            None => Verdict::step(if self.k_of_queue { own } else { port.queue }, self.k, packet.ecn),
        }
    }

    fn queue_of(&self, class: u8) -> usize {
        usize::from(self.map[usize::from(class) % CLASSES])
    }

    /// Drops the newest packets of the lowest queues below `q` until one of `wire` bytes fits; none if that is not enough.
    fn make_space(&mut self, port: &PortState, wire: u32, q: usize, effects: &mut impl Effects) -> bool {
        if self.tail_drop {
            return false;
        }
        let mut freed = QueueState::default();
        let below = self.queues[q + 1..].iter().rev().flat_map(|l| l.packets.newest_first());
        let enough = below.map(|w| w.wire).any(|w| {
            freed.add(w);
            port.fits_without(freed, wire)
        });
        for (place, queue) in self.queues.iter_mut().enumerate().skip(q + 1).rev() {
            while enough && freed.packets > 0 {
                let Some(w) = queue.packets.pop_back() else { break };
                queue.bytes -= u64::from(w.wire);
                freed.remove(w.wire);
                w.evict(effects);
            }
            self.busy &= !(u32::from(queue.packets.is_empty()) << place);
        }
        enough
    }
}

impl Discipline for StrictPriority {
    fn marks(&self) -> bool {
        self.k != QueueState::UNLIMITED || self.queues.iter().any(|l| l.k.is_some())
    }

    fn reads_priority(&self) -> bool {
        true
    }

    fn marking_threshold(&self) -> Option<QueueState> {
        // A threshold on single queues is none on the whole queue.
        (!self.k_of_queue).then_some(self.k)
    }

    fn thresholds(&self) -> Vec<(String, QueueState)> {
        let common = if self.k_of_queue { self.k } else { QueueState::UNLIMITED };
        thresholds(self.queues.iter().map(|l| l.k.unwrap_or(common)))
    }
}

impl Buffered for StrictPriority {
    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        let q = self.queue_of(packet.packet.class);
        let verdict = self.decide(port, &packet.packet, q).unwrap_or_else(|| {
            match self.make_space(&self.shared(port), packet.packet.wire, q, effects) {
                true => self.step(port, &packet.packet, q, self.own(port, q)),
                false => Verdict::Drop(DropReason::Overflow),
            }
        });
        if packet.admit(verdict, effects) {
            self.join(&packet, q);
        }
    }

    const HAS_FAST_PUSH: bool = true;

    #[inline(always)]
    fn takes_fast_push(&self, port: &PortState, packet: &Queued) -> bool {
        let queue = &self.queues[self.queue_of(packet.packet.class)];
        self.common && queue.packets.has_capacity() && port.fits(packet.packet.wire)
    }

    #[inline(always)]
    fn try_push(&mut self, port: &PortState, packet: &Queued) -> Option<Verdict> {
        let q = self.queue_of(packet.packet.class);
        let verdict = self.decide(port, &packet.packet, q)?;
        if !matches!(verdict, Verdict::Drop(_)) {
            self.join(packet, q);
        }
        Some(verdict)
    }

    #[inline(always)]
    fn push_idle(&mut self, port: &PortState, packet: &Arrival) -> Option<Verdict> {
        let q = self.queue_of(packet.class);
        let verdict = self.decide(port, packet, q);
        if !self.common {
            self.serving = q;
        }
        verdict
    }

    fn accepts_idle(&self) -> bool {
        self.common && !QueueState::default().reaches(self.k)
    }

    #[inline(always)]
    fn pop(&mut self, _now: Time, _effects: &mut impl Effects) -> Option<Handle> {
        let q = self.busy.trailing_zeros() as usize;
        let queue = self.queues.get_mut(q)?;
        let packet = queue.packets.pop_front()?;
        queue.bytes -= u64::from(packet.wire);
        self.busy &= !(u32::from(queue.packets.is_empty()) << q);
        self.serving = q;
        Some(packet.handle)
    }

    fn len(&self) -> usize {
        self.queues.iter().map(|l| l.packets.len()).sum()
    }
}

fn build(v: &Values, buffer: Option<QueueLen>) -> Result<Queue, QueueError> {
    let count = v.int("queues") as usize;
    let map = map(v, count)?;
    let buffer_of_queue = v.text("buffer-scope") == "queue";
    let mut queues = vec![PriorityQueue::default(); count];
    let limits = v.opt_queue_lens("limits").unwrap_or_default();
    if limits.len() > count {
        return Err(QueueError::new("limits", format!("has {} entries for {count} queues", limits.len())));
    }
    for (queue, &limit) in queues.iter_mut().zip(&limits) {
        if limit.amount() == 0 {
            return Err(QueueError::new("limits", "a limit of zero drops every packet of its queue; the minimum is \"1pkt\""));
        }
        let same = |b: &QueueLen| core::mem::discriminant(b) == core::mem::discriminant(&limit);
        if let Some(b) = buffer.filter(|b| !buffer_of_queue && same(b) && limit.amount() > b.amount()) {
            let message = format!("{limit} is never reached, as all queues share a buffer of {b}; legal: at most {b}");
            return Err(QueueError::new("limits", message + ", or buffer-scope = \"queue\""));
        }
        queue.limit = Some(QueueState::limit(limit));
    }
    let thresholds = v.opt_queue_lens("ks").unwrap_or_default();
    if thresholds.len() > count {
        return Err(QueueError::new("ks", format!("has {} entries for {count} queues", thresholds.len())));
    }
    for (queue, &k) in queues.iter_mut().zip(&thresholds) {
        queue.k = Some(QueueState::limit(k));
    }
    let k = QueueState::threshold(v.opt_queue_len("k"));
    if k == QueueState::UNLIMITED && v.text("k-scope") == "queue" {
        return Err(QueueError::new("k-scope", "requires `k`: it chooses the queue that is compared with `k`"));
    }
    Ok(Queue::Buffered(BufferedDiscipline::StrictPriority(
        StrictPriority {
            map,
            queues,
            busy: 0,
            serving: 0,
            k,
            k_of_queue: v.text("k-scope") == "queue",
            buffer_of_queue,
            tail_drop: v.text("overflow") == "tail",
            common: false,
        }
        .with_common(),
    )))
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "strict-priority",
        summary: "several queues by class of service, the most urgent served first (802.1p; PRIN; with `k` the defaults are those of PIAS)",
        params: &[
            Param { key: "queues", kind: Kind::Int(2, 8), default: Some("8"), doc: "number of queues; queue 0 is served first" },
            Param {
                key: "map",
                kind: Kind::Ints(0, 7),
                default: Some(""),
                doc: "eight entries, the queues of classes 0 to 7 (PCP, or class selectors of DSCP). Default: evenly, class 7 to queue 0",
            },
            Param {
                key: "buffer-scope",
                kind: Kind::Choice(&["port", "queue"]),
                default: Some("port"),
                doc: "scope of the link's `buffer`: it limits the sum of all queues, or each queue",
            },
            Param {
                key: "limits",
                kind: Kind::QueueLens,
                default: Some(""),
                doc: "limits of queues 0, 1, ..., each including its packet in service; default: as set by `buffer-scope`",
            },
            Param {
                key: "overflow",
                kind: Kind::Choice(&["lowest", "tail"]),
                default: Some("lowest"),
                doc: "packet to drop when the common buffer is full: \"lowest\": the newest of the lowest queue, if that is below the arriving packet's; \"tail\": the arriving packet",
            },
            K,
            Param {
                key: "k-scope",
                kind: Kind::Choice(&["port", "queue"]),
                default: Some("port"),
                doc: "length compared with `k`: the sum of all queues, or the packet's own queue",
            },
            Param {
                key: "ks",
                kind: Kind::QueueLens,
                default: Some(""),
                doc: "thresholds of queues 0, 1, ... instead of `k`, each compared with its own queue; default: `k`",
            },
        ],
    },
    marking: Marking::IfSet,
    thresholds: &["k"],
    example: "{ kind = \"strict-priority\", queues = 3, k = \"8pkt\" }",
    build,
};

#[cfg(test)]
#[path = "strict_priority_tests.rs"]
mod tests;
