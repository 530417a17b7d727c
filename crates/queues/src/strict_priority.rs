//! Strict priority: two to eight FIFOs, of which the most urgent one that holds a packet is served first.
//!
//! The defaults are PIAS's port (`proboscis.md` 6): eight queues, one buffer for all, drops from the lowest, and, with `k`, marking on the
//! sum of all queues. `queues = 2` with `buffer-of = "queue"` is PRIN's `strict` (`incast-prin.md` 3.3).

use crate::by_class::{CLASSES, map, packed, thresholds};
use crate::plain::length;
use crate::{
    Arrival, Buffered, BufferedDiscipline, Discipline, DropReason, Effects, K, Marking, Plain, PortState, Queue, QueueEntry,
    QueueError, QueueState, Queued, Verdict,
};
use forebay_param::{Entry, Kind, Param, Values};
use forebay_units::{QueueLen, Time};
use std::collections::VecDeque;

/// One queue, without the packet in service.
#[derive(Debug, Clone, PartialEq, Default)]
struct Level {
    packets: VecDeque<Queued>,
    state: QueueState,
    /// Its own limit, if it has one, on its packets in service too.
    limit: Option<QueueState>,
    /// Its own marking threshold instead of the common one, on its own packets.
    k: Option<QueueState>,
}

/// Queues in order of service, the first one first.
#[derive(Debug, Clone, PartialEq)]
pub struct StrictPriority {
    /// Queue of each class.
    map: [u8; CLASSES],
    levels: Vec<Level>,
    /// Which of them hold a packet, a bit each.
    busy: u8,
    /// Queue of the packet in service.
    serving: usize,
    k: QueueState,
    k_of_queue: bool,
    buffer_of_queue: bool,
    tail_drop: bool,
}

impl StrictPriority {
    fn decide(&mut self, port: &PortState, packet: &Arrival, effects: &mut impl Effects) -> Verdict {
        let q = self.queue_of(packet.class);
        let mut own = self.levels[q].state;
        if port.serving > 0 && self.serving == q {
            own.add(port.serving);
        }
        let default = if self.buffer_of_queue { port.limit } else { QueueState::UNLIMITED };
        if !own.fits(packet.wire, self.levels[q].limit.unwrap_or(default)) {
            return Verdict::Drop(DropReason::Overflow);
        }
        // A buffer of each queue is no limit on their sum; a shared memory of the switch is.
        let shared = if self.buffer_of_queue { PortState { limit: QueueState::UNLIMITED, ..*port } } else { *port };
        if !shared.fits(packet.wire) && !self.make_space(&shared, packet.wire, q, effects) {
            return Verdict::Drop(DropReason::Overflow);
        }
        self.step(port, packet, q, own)
    }

    /// Whether a packet for queue `q`, which it fits into and which holds `own`, is marked.
    fn step(&self, port: &PortState, packet: &Arrival, q: usize, own: QueueState) -> Verdict {
        match self.levels[q].k {
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
        let below = self.levels[q + 1..].iter().rev().flat_map(|l| l.packets.iter().rev());
        let enough = below.map(|w| w.packet.wire).any(|w| {
            freed.add(w);
            port.fits_without(freed, wire)
        });
        for (place, level) in self.levels.iter_mut().enumerate().skip(q + 1).rev() {
            while enough && freed.packets > 0 {
                let Some(w) = level.packets.pop_back() else { break };
                level.state.remove(w.packet.wire);
                freed.remove(w.packet.wire);
                w.evict(effects);
            }
            self.busy &= !(u8::from(level.packets.is_empty()) << place);
        }
        enough
    }
}

impl Discipline for StrictPriority {
    fn marks(&self) -> bool {
        self.k != QueueState::UNLIMITED || self.levels.iter().any(|l| l.k.is_some())
    }

    fn reads_tags(&self) -> bool {
        true
    }

    fn marks_from(&self) -> Option<QueueState> {
        // A threshold of each level is none of the whole queue.
        (!self.k_of_queue).then_some(self.k)
    }

    fn levels(&self) -> Vec<(String, QueueState)> {
        let common = if self.k_of_queue { self.k } else { QueueState::UNLIMITED };
        thresholds(self.levels.iter().map(|l| l.k.unwrap_or(common)))
    }

    fn plain(&self) -> Option<Plain> {
        if self.levels.iter().any(|l| l.k.is_some()) {
            return None;
        }
        let mut numbers = vec![packed(self.map), self.levels.len() as u64, u64::from(self.tail_drop)];
        numbers.extend([length(self.k), u64::from(self.k_of_queue), u64::from(self.buffer_of_queue)]);
        // A limit of zero is none: nothing else could be meant.
        numbers.extend((0..CLASSES).map(|q| self.levels.get(q).and_then(|l| l.limit).map_or(0, length)));
        Plain::new("strict-priority", numbers)
    }
}

impl Buffered for StrictPriority {
    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        let verdict = self.decide(port, &packet.packet, effects);
        if packet.admit(verdict, effects) {
            let q = self.queue_of(packet.packet.class);
            self.levels[q].state.add(packet.packet.wire);
            self.levels[q].packets.push_back(packet);
            self.busy |= 1 << q;
        }
    }

    fn pass(&mut self, port: &PortState, packet: &Arrival) -> Option<Verdict> {
        let (q, own) = (self.queue_of(packet.class), QueueState::default());
        if !port.fits(packet.wire) || self.levels[q].limit.is_some_and(|limit| !own.fits(packet.wire, limit)) {
            return None;
        }
        self.serving = q;
        Some(self.step(port, packet, q, own))
    }

    fn pop(&mut self, _now: Time, _effects: &mut impl Effects) -> Option<Queued> {
        let q = self.busy.trailing_zeros() as usize;
        let level = self.levels.get_mut(q)?;
        let packet = level.packets.pop_front()?;
        level.state.remove(packet.packet.wire);
        self.busy &= !(u8::from(level.packets.is_empty()) << q);
        self.serving = q;
        Some(packet)
    }

    fn len(&self) -> usize {
        self.levels.iter().map(|l| l.packets.len()).sum()
    }
}

fn build(v: &Values, buffer: Option<QueueLen>) -> Result<Queue, QueueError> {
    let count = v.int("queues") as usize;
    let map = map(v, count)?;
    let buffer_of_queue = v.text("buffer-of") == "queue";
    let mut levels = vec![Level::default(); count];
    let limits = v.opt_queue_lens("limits").unwrap_or_default();
    if limits.len() > count {
        return Err(QueueError::new("limits", format!("has {} entries for {count} queues", limits.len())));
    }
    for (level, &limit) in levels.iter_mut().zip(&limits) {
        if limit.amount() == 0 {
            return Err(QueueError::new("limits", "a limit of zero drops every packet of its queue; the least is \"1pkt\""));
        }
        let same = |b: &QueueLen| std::mem::discriminant(b) == std::mem::discriminant(&limit);
        if let Some(b) = buffer.filter(|b| !buffer_of_queue && same(b) && limit.amount() > b.amount()) {
            let message = format!("{limit} is never reached, as all queues share a buffer of {b}; legal: at most {b}");
            return Err(QueueError::new("limits", message + ", or buffer-of = \"queue\""));
        }
        level.limit = Some(QueueState::limit(limit));
    }
    let thresholds = v.opt_queue_lens("ks").unwrap_or_default();
    if thresholds.len() > count {
        return Err(QueueError::new("ks", format!("has {} entries for {count} queues", thresholds.len())));
    }
    for (level, &k) in levels.iter_mut().zip(&thresholds) {
        level.k = Some(QueueState::limit(k));
    }
    let k = QueueState::threshold(v.opt_queue_len("k"));
    if k == QueueState::UNLIMITED && v.text("k-of") == "queue" {
        return Err(QueueError::new("k-of", "says which queue is compared with `k`, and `k` is not set"));
    }
    Ok(Queue::Buffered(BufferedDiscipline::StrictPriority(StrictPriority {
        map,
        levels,
        busy: 0,
        serving: 0,
        k,
        k_of_queue: v.text("k-of") == "queue",
        buffer_of_queue,
        tail_drop: v.text("overflow") == "tail",
    })))
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "strict-priority",
        summary: "several queues by class of service, the most urgent served first (802.1p; PRIN; PIAS are the defaults with `k`)",
        params: &[
            Param { key: "queues", kind: Kind::Int(2, 8), default: Some("8"), doc: "number of queues; queue 0 is served first" },
            Param {
                key: "map",
                kind: Kind::Ints(0, 7),
                default: Some(""),
                doc: "eight entries, the queues of classes 0 to 7 (PCP, or class selectors of DSCP). Default: evenly, class 7 to queue 0",
            },
            Param {
                key: "buffer-of",
                kind: Kind::Choice(&["port", "queue"]),
                default: Some("port"),
                doc: "whether the link's `buffer` limits all queues together or each by itself",
            },
            Param {
                key: "limits",
                kind: Kind::QueueLens,
                default: Some(""),
                doc: "limits of queues 0, 1, ... by themselves, in service included; queues without an entry have what `buffer-of` says",
            },
            Param {
                key: "overflow",
                kind: Kind::Choice(&["lowest", "tail"]),
                default: Some("lowest"),
                doc: "when the common buffer is full: drop the newest packet of the lowest queue, if that is below the arriving packet's, or the arriving packet",
            },
            K,
            Param {
                key: "k-of",
                kind: Kind::Choice(&["port", "queue"]),
                default: Some("port"),
                doc: "whether `k` is compared with the sum of all queues or with the packet's own",
            },
            Param {
                key: "ks",
                kind: Kind::QueueLens,
                default: Some(""),
                doc: "thresholds of queues 0, 1, ... instead of `k`, each compared with its own queue; queues without an entry go by `k`",
            },
        ],
    },
    marking: Marking::IfSet,
    thresholds: &["k"],
    example: "{ kind = \"strict-priority\", queues = 3, k = \"8pkt\" }",
    build,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Handle;
    use crate::by_class::even_map;
    use crate::testing::{Effect, Port, built, packet};
    use forebay_param::Value;

    fn strict(queues: usize) -> StrictPriority {
        StrictPriority {
            map: even_map(queues),
            levels: vec![Level::default(); queues],
            busy: 0,
            serving: 0,
            k: QueueState::UNLIMITED,
            k_of_queue: false,
            buffer_of_queue: false,
            tail_drop: false,
        }
    }

    fn port(s: StrictPriority, buffer: u64) -> Port {
        Port::new(BufferedDiscipline::StrictPriority(s), QueueState::limit(QueueLen::Packets(buffer)))
    }

    fn arrive(p: &mut Port, class: u8) -> Verdict {
        p.arrive(packet(1500, class, 0, 0))
    }

    const FULL: Verdict = Verdict::Drop(DropReason::Overflow);

    #[test]
    fn even_maps() {
        assert_eq!(even_map(2), [1, 1, 1, 1, 0, 0, 0, 0]);
        assert_eq!(even_map(4), [3, 3, 2, 2, 1, 1, 0, 0]);
        assert_eq!(even_map(8), [7, 6, 5, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn urgent_first_and_first_come_inside_a_queue() {
        let mut p = port(strict(8), 100);
        for class in [0, 7, 3, 7, 0] {
            assert_eq!(arrive(&mut p, class), Verdict::Accept);
        }
        let order: Vec<_> = std::iter::from_fn(|| p.serve()).collect();
        assert_eq!(order, [1, 3, 2, 0, 4]);
    }

    #[test]
    fn overflow_drops_the_newest_of_the_lowest() {
        let mut p = port(strict(4), 4);
        for class in [3, 0, 0, 7] {
            assert_eq!(arrive(&mut p, class), Verdict::Accept);
        }
        // The lowest queue holds 1 and 2.
        assert_eq!(arrive(&mut p, 7), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop(Handle(2), DropReason::Overflow)]);
        assert_eq!(arrive(&mut p, 0), FULL);
        assert_eq!(p.effects, []);
        assert_eq!(arrive(&mut p, 3), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop(Handle(1), DropReason::Overflow)]);
        assert_eq!(arrive(&mut p, 7), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop(Handle(6), DropReason::Overflow)]);
        let mut s = strict(4);
        s.tail_drop = true;
        let mut p = port(s, 1);
        assert_eq!((arrive(&mut p, 0), arrive(&mut p, 7)), (Verdict::Accept, FULL));
    }

    #[test]
    fn bytes_evict_as_many_as_needed_or_none() {
        let mut p = Port::new(BufferedDiscipline::StrictPriority(strict(2)), QueueState::limit(QueueLen::Bytes(3000)));
        p.arrive(packet(1500, 7, 0, 0));
        p.arrive(packet(500, 0, 0, 0));
        p.arrive(packet(1000, 0, 0, 0));
        assert_eq!(p.arrive(packet(1501, 7, 0, 0)), FULL);
        assert_eq!((p.effects.len(), p.backlog.len()), (0, 3));
        assert_eq!(p.arrive(packet(1200, 7, 0, 0)), Verdict::Accept);
        assert_eq!(p.effects.len(), 2);
    }

    #[test]
    fn the_packet_in_service_counts_in_its_own_queue_and_stays() {
        let mut s = strict(2);
        s.levels[0].limit = Some(QueueState { packets: 2, bytes: u64::MAX });
        s.buffer_of_queue = true;
        let mut p = port(s, 3);
        assert_eq!(arrive(&mut p, 7), Verdict::Accept);
        assert_eq!(p.serve(), Some(0));
        assert_eq!((arrive(&mut p, 7), arrive(&mut p, 7)), (Verdict::Accept, FULL));
        // The ordinary queue has three places of its own.
        for expected in [Verdict::Accept, Verdict::Accept, Verdict::Accept, FULL] {
            assert_eq!(arrive(&mut p, 0), expected);
        }
        assert_eq!(p.serve(), Some(1));
        assert_eq!(p.serve(), Some(3));
        assert_eq!((arrive(&mut p, 0), arrive(&mut p, 7)), (FULL, Verdict::Accept));
        let mut p = port(strict(2), 1);
        arrive(&mut p, 0);
        p.serve();
        assert_eq!(arrive(&mut p, 7), FULL, "the packet in service cannot be evicted");
    }

    #[test]
    fn marks_on_the_sum_or_on_the_own_queue() {
        let mut s = strict(2);
        s.k = QueueState { packets: 2, bytes: u64::MAX };
        let mut p = port(s.clone(), 100);
        for expected in [Verdict::Accept, Verdict::Accept, Verdict::Mark] {
            assert_eq!(arrive(&mut p, 0), expected);
        }
        assert_eq!(arrive(&mut p, 7), Verdict::Mark);
        s.k_of_queue = true;
        let mut p = port(s, 100);
        for expected in [Verdict::Accept, Verdict::Accept, Verdict::Mark] {
            assert_eq!(arrive(&mut p, 0), expected);
        }
        assert_eq!(arrive(&mut p, 7), Verdict::Accept);
    }

    #[test]
    fn thresholds_of_single_queues_go_before_the_common_one() {
        let lens = |list: &[u64]| Value::QueueLens(list.iter().map(|n| QueueLen::Packets(*n)).collect());
        let given = [("queues", Value::Int(3)), ("k", Value::QueueLen(QueueLen::Packets(4))), ("ks", lens(&[1, 3]))];
        let queue = built(&ENTRY, &given);
        assert!(queue.marks() && queue.plain().is_none());
        let Queue::Buffered(d) = queue else { panic!("it is buffered") };
        let mut p = Port::new(d, QueueState::limit(QueueLen::Packets(100)));
        // Queue 0 marks from its second packet on, queue 1 from its fourth, and queue 2 by the sum of all.
        let verdicts = [7, 7, 4, 4, 4, 4, 0].map(|class| arrive(&mut p, class));
        use Verdict::{Accept, Mark};
        assert_eq!(verdicts, [Accept, Mark, Accept, Accept, Accept, Mark, Mark]);
        assert!(!built(&ENTRY, &[]).marks() && built(&ENTRY, &[("ks", lens(&[1]))]).marks());
    }
}
