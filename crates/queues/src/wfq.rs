//! Self-clocked weighted fair queueing (Golestani, INFOCOM 1994). The finish tag of a packet is its size over the weight of its queue, added to the
//! tag of the packet before it, or to the tag in service if the queue was empty. The smallest tag is served first.

use crate::class_queues::{ClassQueues, PARAMS};
use crate::{
    Buffered, BufferedDiscipline, Discipline, Effects, Handle, Marking, PortState, Queue, QueueEntry, QueueError, QueueState,
    Queued, Verdict,
};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use forebay_types::Time;
use forebay_types::param::{Entry, Values};

/// Fraction bits of a tag, a fixed-point number. Tags would overflow after 2^28 packets of 2^16 bytes; they are reset whenever the port is idle.
const FRACTION: u32 = 20;

/// The queues and their tags.
#[derive(Debug, Clone, PartialEq)]
pub struct Wfq {
    queues: ClassQueues,
    /// Start tag of the oldest packet of each queue: the finish tag of the one before it, or the virtual time of its arrival at an empty queue.
    start: Vec<u64>,
    /// Finish tag of the packet in service: the virtual time.
    now: u64,
}

impl Wfq {
    /// Finish tag of the oldest packet of a queue.
    fn finish(&self, q: usize) -> Option<u64> {
        let wire = self.queues.head(q)?;
        Some(self.start[q] + (u64::from(wire) << FRACTION) / u64::from(self.queues.weight(q)))
    }
}

impl Wfq {
    /// Resets the tags when a busy period begins.
    #[inline]
    fn reset_if_idle(&mut self, port: &PortState) {
        if port.queue.packets == 0 {
            self.now = 0;
            self.start.fill(0);
        }
    }

    /// Notes that a packet has been appended to queue `q`.
    #[inline]
    fn on_joined(&mut self, q: usize) {
        if self.queues.packets(q) == 1 {
            self.start[q] = self.start[q].max(self.now);
        }
    }
}

impl Discipline for Wfq {
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

impl Buffered for Wfq {
    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        self.reset_if_idle(port);
        if let Some(q) = self.queues.push(port, packet, effects) {
            self.on_joined(q);
        }
    }

    #[inline(always)]
    fn try_push(&mut self, port: &PortState, packet: &Queued) -> Option<Verdict> {
        self.reset_if_idle(port);
        let (verdict, q) = self.queues.try_push(port, packet)?;
        self.on_joined(q);
        Some(verdict)
    }

    /// Serves the smallest tag; of equal ones that of the first queue.
    #[inline(always)]
    fn pop(&mut self, _now: Time, _effects: &mut impl Effects) -> Option<Handle> {
        let tags = (0..self.queues.count()).filter_map(|q| Some((self.finish(q)?, q)));
        let (finish, q) = tags.min()?;
        self.now = finish;
        self.start[q] = finish;
        self.queues.take(q)
    }

    fn len(&self) -> usize {
        self.queues.len()
    }
}

fn build(v: &Values) -> Result<Queue, QueueError> {
    let queues = ClassQueues::new(v)?;
    let start = vec![0; queues.count()];
    Ok(Queue::Buffered(BufferedDiscipline::Wfq(Box::new(Wfq { queues, start, now: 0 }))))
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "wfq",
        summary: "several queues by class of service, served by weight packet by packet (self-clocked fair queueing, Golestani 1994)",
        params: &PARAMS,
    },
    marking: Marking::IfSet,
    thresholds: &["k"],
    example: "{ kind = \"wfq\", weights = [3, 1], k = \"8pkt\" }",
    build: |v, _| build(v),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Port, build_with, packet};
    use forebay_types::QueueLen;
    use forebay_types::param::Value;

    fn port(weights: &[i64]) -> Port {
        let Queue::Buffered(d) = build_with(&ENTRY, &[("weights", Value::Ints(weights.to_vec()))]) else {
            panic!("it is buffered")
        };
        Port::new(d, QueueState::limit(QueueLen::Packets(100_000)))
    }

    /// Worked by hand from the definition, weights 2 and 1, packets of 1000 bytes: tags 500, 1000, 1500 and 1000, 2000; of equal tags the
    /// first queue's.
    #[test]
    fn tags_by_hand() {
        let mut p = port(&[2, 1]);
        for class in [7, 7, 7, 0, 0] {
            p.arrive(packet(1000, class, 0, 0));
        }
        let order: Vec<u32> = core::iter::from_fn(|| p.serve()).collect();
        assert_eq!(order, [0, 1, 3, 2, 4]);
    }

    /// A queue that becomes busy again has neither credit nor debt.
    #[test]
    fn returning_queue_starts_at_current_tag() {
        let mut p = port(&[1, 1]);
        (0..6).for_each(|_| _ = p.arrive(packet(1000, 7, 0, 0)));
        (0..3).for_each(|i| assert_eq!(p.serve(), Some(i)));
        // The tag in service is 3000: the newcomers get 4000 and 5000, as the waiting ones have.
        (0..2).for_each(|_| _ = p.arrive(packet(1000, 0, 0, 0)));
        let order: Vec<u32> = core::iter::from_fn(|| p.serve()).collect();
        assert_eq!(order, [3, 6, 4, 7, 5]);
    }

    /// Theorem 1 of Golestani: while both are backlogged, |S1/w1 - S2/w2| <= L1/w1 + L2/w2 at all times.
    #[test]
    fn unfairness_stays_within_the_bound() {
        let mut p = port(&[3, 1]);
        for i in 0..3000 {
            p.arrive(packet(1500 - 400 * (i % 3), 7, 0, 0));
            p.arrive(packet(300 + 500 * (i % 2), 0, 0, 1));
        }
        let mut sent = [0.0f64; 2];
        for _ in 0..2000 {
            p.serve();
            let s = p.serving.unwrap().packet;
            sent[usize::from(s.class == 0)] += f64::from(s.wire);
            assert!((sent[0] / 3.0 - sent[1]).abs() <= 1500.0 / 3.0 + 800.0, "{sent:?}");
        }
    }

    /// All backlogs of three packets in each of two queues of weights 1 and 2. While both wait, their shares differ by at most a largest packet of each
    /// (the bound of self-clocked fair queueing, Golestani 1994).
    #[test]
    fn exhaustive_backlogs_stay_within_the_bound() {
        crate::testing::each_sequence(3, 6, |word| {
            let mut p = port(&[1, 2]);
            for (class, three) in [7, 0].into_iter().zip(word.chunks(3)) {
                for letter in three {
                    p.arrive(packet(500 * (u32::from(*letter) + 1), class, 0, 0));
                }
            }
            let mut bytes = [0_u64; 2];
            while [7, 0].iter().all(|class| p.backlog.iter().any(|q| q.packet.class == *class)) {
                p.serve();
                let s = p.serving.unwrap().packet;
                bytes[usize::from(s.class == 0)] += u64::from(s.wire);
                let difference = (bytes[0] as f64 - bytes[1] as f64 / 2.0).abs();
                assert!(difference <= 1500.0 + 1500.0 / 2.0, "{word:?}: {bytes:?}");
            }
        });
    }
}
