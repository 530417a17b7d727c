//! Deficit weighted round robin (Shreedhar and Varghese, SIGCOMM 1995): queues by class take turns; in each turn a queue may send its quantum and its
//! unused credit of the last turn.

use crate::class_queues::{ClassQueues, PARAMS};
use crate::{
    Buffered, BufferedDiscipline, Discipline, Effects, Handle, Marking, PortState, Queue, QueueEntry, QueueError, QueueState,
    Queued, Verdict,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use forebay_types::Time;
use forebay_types::param::{Entry, Kind, Param, Values};

/// The queues and the order of their turns.
#[derive(Debug, Clone, PartialEq)]
pub struct Dwrr {
    queues: ClassQueues,
    /// Non-empty queues in the order of their turns (the active list of section 3).
    active: VecDeque<u8>,
    /// Bytes that each queue may still send in its turn.
    deficit: Vec<u64>,
    /// True if the first of the active queues has had its quantum for this turn.
    has_quantum: bool,
    /// Bytes of a turn with weight 1; 0: not set.
    quantum: u64,
}

impl Dwrr {
    fn quantum_of(&self, q: usize) -> u64 {
        self.quantum.max(1) * u64::from(self.queues.weight(q))
    }
}

impl Discipline for Dwrr {
    /// With a quantum of at least a full packet, every turn sends a packet, so that the work for each packet is constant (section 3, theorem 4.2).
    fn set_defaults(&mut self, _senders: u64, packet: u64) {
        if self.quantum == 0 {
            self.quantum = packet;
        }
    }

    fn marks(&self) -> bool {
        self.queues.marks()
    }

    fn reads_priority(&self) -> bool {
        true
    }

    fn thresholds(&self) -> Vec<(String, QueueState)> {
        self.queues.thresholds()
    }
}

impl Buffered for Dwrr {
    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        if let Some(q) = self.queues.push(port, packet, effects) {
            self.activate(q);
        }
    }

    #[inline(always)]
    fn try_push(&mut self, port: &PortState, packet: &Queued) -> Option<Verdict> {
        let (verdict, q) = self.queues.try_push(port, packet)?;
        self.activate(q);
        Some(verdict)
    }

    #[inline(always)]
    fn pop(&mut self, _now: Time, _effects: &mut impl Effects) -> Option<Handle> {
        // Turns without a packet.
        let mut passed = 0;
        loop {
            let q = usize::from(*self.active.front()?);
            let head = self.queues.head(q);
            if head.is_some() && !self.has_quantum {
                self.deficit[q] += self.quantum_of(q);
                self.has_quantum = true;
            }
            match head {
                Some(wire) if u64::from(wire) <= self.deficit[q] => {
                    let packet = self.queues.take(q);
                    self.deficit[q] -= u64::from(wire);
                    if self.queues.head(q).is_none() {
                        self.deactivate(q);
                    }
                    return packet;
                }
                Some(_) => {
                    self.active.rotate_left(1);
                    self.has_quantum = false;
                    passed += 1;
                    if passed > self.active.len() {
                        self.skip_rounds();
                        passed = 0;
                    }
                }
                None => self.deactivate(q),
            }
        }
    }

    fn len(&self) -> usize {
        self.queues.len()
    }
}

impl Dwrr {
    /// Queue `q` holds a packet.
    #[inline]
    fn activate(&mut self, q: usize) {
        // A queue that has been emptied by evictions leaves the list when its turn comes.
        if !self.active.contains(&(q as u8)) {
            self.active.push_back(q as u8);
            self.deficit[q] = 0;
        }
    }

    /// Skips rounds in which no queue may send, and adds their quanta: every deficit stays below the size of its queue's first packet.
    #[cold]
    #[inline(never)]
    fn skip_rounds(&mut self) {
        let until = |q: usize| {
            let missing = self.queues.head(q).map_or(0, |wire| u64::from(wire).saturating_sub(self.deficit[q]));
            missing.saturating_sub(1) / self.quantum_of(q)
        };
        let rounds = self.active.iter().map(|&q| until(usize::from(q))).min().unwrap_or(0);
        for i in 0..self.active.len() {
            let q = usize::from(self.active[i]);
            self.deficit[q] += rounds * self.quantum_of(q);
        }
    }

    /// Removes the first of the active queues, which is empty, and its credit.
    fn deactivate(&mut self, q: usize) {
        self.active.pop_front();
        self.deficit[q] = 0;
        self.has_quantum = false;
    }
}

fn build(v: &Values) -> Result<Queue, QueueError> {
    let queues = ClassQueues::new(v)?;
    let quantum = v.opt_bytes("quantum").map_or(0, |b| b.0);
    if v.opt_bytes("quantum").is_some_and(|b| b.0 == 0) {
        return Err(QueueError::new("quantum", "is zero; it must be positive"));
    }
    let deficit = vec![0; queues.count()];
    Ok(Queue::Buffered(BufferedDiscipline::Dwrr(Box::new(Dwrr {
        queues,
        active: VecDeque::with_capacity(deficit.len()),
        deficit,
        has_quantum: false,
        quantum,
    }))))
}

/// The common parameters and the quantum.
const fn all_params() -> [Param; 8] {
    let quantum = Param {
        key: "quantum",
        kind: Kind::Bytes,
        default: Some(""),
        doc: "bytes that a queue of weight 1 may send in its turn. Default: a full packet on the wire",
    };
    let mut all = [quantum; 8];
    let mut i = 0;
    while i < PARAMS.len() {
        all[i] = PARAMS[i];
        i += 1;
    }
    all
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "dwrr",
        summary: "several queues by class of service, which take turns by weight (deficit round robin, Shreedhar and Varghese 1995)",
        params: &all_params(),
    },
    marking: Marking::IfSet,
    thresholds: &["k"],
    example: "{ kind = \"dwrr\", weights = [3, 1], k = \"8pkt\" }",
    build: |v, _| build(v),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Effect, Port, build_with, packet};
    use crate::{DropReason, Handle, QueueState, Verdict};
    use forebay_types::param::Value;
    use forebay_types::{Bytes, QueueLen};

    fn port(sets: &[(&'static str, Value)], buffer: u64) -> Port {
        let Queue::Buffered(d) = build_with(&ENTRY, sets) else { panic!("it is buffered") };
        Port::new(d, QueueState::limit(QueueLen::Packets(buffer)))
    }

    fn weights(list: &[i64]) -> (&'static str, Value) {
        ("weights", Value::Ints(list.to_vec()))
    }

    fn quantum(bytes: u64) -> (&'static str, Value) {
        ("quantum", Value::Bytes(Bytes(bytes)))
    }

    /// The example of the publication, figures 2 and 3. The quantum is 500. Packets of the first queue are 200, 750, 20; of the second 500, 500; of
    /// the third 200, 600, 100; of the fourth 50, 700, 180. In the first round the queues send 200, 500, 200 and 50, and 300, 0, 300 and 450 are left
    /// over. In the second round the first queue has 800 and sends 750 and 20.
    #[test]
    fn example_of_the_publication() {
        let mut p = port(&[("queues", Value::Int(4)), quantum(500)], 100);
        let sizes: [&[u32]; 4] = [&[200, 750, 20], &[500, 500], &[200, 600, 100], &[50, 700, 180]];
        // Classes 7, 5, 3, 1 are queues 0, 1, 2, 3.
        for (class, sizes) in [7, 5, 3, 1].into_iter().zip(sizes) {
            for &wire in sizes {
                assert_eq!(p.arrive(packet(wire, class, 0, 0)), Verdict::Accept);
            }
        }
        let order: Vec<u32> = core::iter::from_fn(|| p.serve()).collect();
        // By number of arrival: 0 1 2 of the first queue, 3 4 of the second, 5 6 7, 8 9 10.
        assert_eq!(order, [0, 3, 5, 8, 1, 2, 4, 6, 7, 9, 10]);
    }

    /// Lemma 1 and theorem 4.1 there: after any number of whole turns a queue has sent its share but for less than a full packet.
    #[test]
    fn shares_follow_weights_for_any_sizes() {
        let mut p = port(&[weights(&[3, 1]), quantum(1500)], 100_000);
        for _ in 0..4000 {
            p.arrive(packet(1500, 7, 0, 0));
            p.arrive(packet(300, 0, 0, 1));
        }
        let mut bytes = [0u64; 2];
        while p.backlog.iter().any(|q| q.packet.class == 7) && p.backlog.iter().any(|q| q.packet.class == 0) {
            p.serve();
            let s = p.serving.unwrap().packet;
            bytes[usize::from(s.class == 0)] += u64::from(s.wire);
        }
        let (a, b) = (bytes[0] as f64 / 3.0, bytes[1] as f64);
        // The bound of theorem 4.1: quanta and two full packets, over the weights.
        assert!((a - b).abs() <= 1500.0 + 1500.0 + 1500.0, "{bytes:?}");
        assert!(bytes[1] > 300 * 900, "{bytes:?}");
    }

    #[test]
    fn single_queue_keeps_no_credit() {
        let mut p = port(&[quantum(1500)], 100);
        (0..10).for_each(|_| _ = p.arrive(packet(1500, 0, 0, 0)));
        (0..10).for_each(|i| assert_eq!(p.serve(), Some(i)));
        assert_eq!(p.serve(), None);
        // Both queues start without credit: turns alternate.
        (0..4).for_each(|i| _ = p.arrive(packet(1500, if i < 2 { 0 } else { 7 }, 0, 0)));
        let order: Vec<u32> = core::iter::from_fn(|| p.serve()).collect();
        assert_eq!(order, [10, 12, 11, 13]);
    }

    #[test]
    fn full_buffer_drops_from_longest_queue() {
        let mut p = port(&[quantum(1500)], 4);
        (0..4).for_each(|_| assert_eq!(p.arrive(packet(1500, 0, 0, 0)), Verdict::Accept));
        assert_eq!(p.arrive(packet(1500, 7, 0, 0)), Verdict::Accept);
        assert_eq!(p.effects, [Effect::Drop(Handle(3), DropReason::Overflow)]);
        assert_eq!(p.arrive(packet(1500, 0, 0, 0)), Verdict::Drop(DropReason::Overflow), "its own is the longest");
        let mut p = port(&[quantum(1500), ("overflow", Value::Text("tail".into()))], 1);
        p.arrive(packet(1500, 0, 0, 0));
        assert_eq!(p.arrive(packet(1500, 7, 0, 0)), Verdict::Drop(DropReason::Overflow));
    }

    #[test]
    fn each_queue_has_its_own_threshold() {
        let k = |n| QueueLen::Packets(n);
        let mut p = port(&[("k", Value::QueueLen(k(2))), ("ks", Value::QueueLens(vec![k(1)]))], 100);
        for expected in [Verdict::Accept, Verdict::Accept, Verdict::Mark] {
            assert_eq!(p.arrive(packet(1500, 0, 0, 0)), expected);
        }
        assert_eq!(p.arrive(packet(1500, 7, 0, 0)), Verdict::Accept);
        assert_eq!(p.arrive(packet(1500, 7, 0, 0)), Verdict::Mark);
    }

    /// The queues of the packets in the order in which single rounds serve `sizes` of each queue.
    fn round_by_round(quanta: &[u64], mut sizes: Vec<VecDeque<u32>>) -> Vec<usize> {
        let mut deficits = vec![0; quanta.len()];
        let mut order = Vec::new();
        while sizes.iter().any(|s| !s.is_empty()) {
            for q in 0..quanta.len() {
                deficits[q] = if sizes[q].is_empty() { 0 } else { deficits[q] + quanta[q] };
                while let Some(&wire) = sizes[q].front().filter(|&&wire| u64::from(wire) <= deficits[q]) {
                    deficits[q] -= u64::from(wire);
                    sizes[q].pop_front();
                    order.push(q);
                }
            }
        }
        order
    }

    #[test]
    fn skipped_rounds_keep_the_order() {
        let mut rng = forebay_types::Rng::stream(5, &[]);
        for _ in 0..200 {
            let small = 1 + rng.below(40);
            let list: Vec<i64> = (0..4).map(|_| 1 + rng.below(9) as i64).collect();
            let mut p = port(&[("queues", Value::Int(4)), weights(&list), quantum(small)], 1000);
            let sizes: Vec<VecDeque<u32>> =
                (0..4).map(|_| (0..1 + rng.below(20)).map(|_| 40 + rng.below(9000) as u32).collect()).collect();
            for (class, sizes) in [7, 5, 3, 1].into_iter().zip(&sizes) {
                sizes.iter().for_each(|&wire| assert_eq!(p.arrive(packet(wire, class, 0, 0)), Verdict::Accept));
            }
            let quanta: Vec<u64> = list.iter().map(|&w| small * w as u64).collect();
            let order: Vec<usize> =
                core::iter::from_fn(|| p.serve().map(|_| (7 - usize::from(p.serving.unwrap().packet.class)) / 2)).collect();
            assert_eq!(order, round_by_round(&quanta, sizes));
        }
    }

    /// Turns of one byte for packets of 4 GB: 4 000 000 000 rounds.
    #[test]
    fn tiny_quantum_takes_bounded_work() {
        let mut p = port(&[quantum(1)], 100);
        (0..4).for_each(|i| _ = p.arrive(packet(4_000_000_000 + i, [7, 0][i as usize % 2], 0, 0)));
        let order: Vec<u32> = core::iter::from_fn(|| p.serve()).collect();
        assert_eq!(order, [0, 1, 2, 3]);
    }

    /// All backlogs of three packets in each of two queues, with quanta below, at and above the sizes: the same order as round by round.
    #[test]
    fn exhaustive_backlogs_keep_the_order() {
        for (small, first, second) in [(100, 1, 1), (100, 1, 2), (150, 2, 1), (300, 1, 3)] {
            crate::testing::each_sequence(3, 6, |word| {
                let wire = |letter: &u8| 100 * (u32::from(*letter) + 1);
                let sizes: Vec<VecDeque<u32>> = word.chunks(3).map(|three| three.iter().map(wire).collect()).collect();
                let mut p = port(&[weights(&[first, second]), quantum(small)], 100);
                for (class, sizes) in [7, 0].into_iter().zip(&sizes) {
                    sizes.iter().for_each(|&wire| assert_eq!(p.arrive(packet(wire, class, 0, 0)), Verdict::Accept));
                }
                let order: Vec<usize> =
                    core::iter::from_fn(|| p.serve().map(|_| usize::from(p.serving.unwrap().packet.class == 0))).collect();
                let quanta = [small * first as u64, small * second as u64];
                assert_eq!(order, round_by_round(&quanta, sizes), "{word:?} with quanta {quanta:?}");
            });
        }
    }
}
