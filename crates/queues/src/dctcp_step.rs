//! DCTCP's step marking: one threshold on the instantaneous queue, without averaging and randomness (DCTCP slides, "Two Key Ideas").

use crate::{Arrival, Discipline, DropReason, Fifo, FifoDiscipline, Marking, PortState, Queue, QueueEntry, QueueState, Verdict};
use forebay_types::QueueLen;
use forebay_types::param::{Entry, Kind, Param};

/// Sets CE on every ECN-capable packet that arrives at a queue of at least K.
///
/// The comparison uses the queue before the arriving packet is added, the packet in service included: mark if queue >= K,
/// equivalent to "length after enqueue > K" when counting packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DctcpStep {
    k: QueueState,
    drop_non_ect: bool,
}

impl DctcpStep {
    /// Marks from `k` on; `drop_non_ect` drops packets that are not ECN-capable instead of accepting them.
    pub fn new(k: QueueLen, drop_non_ect: bool) -> DctcpStep {
        DctcpStep { k: QueueState::limit(k), drop_non_ect }
    }

    /// K; the other unit is unlimited.
    pub fn k(&self) -> QueueState {
        self.k
    }

    /// Returns true if packets that are not ECN-capable are dropped from K on.
    pub fn drops_non_ect(&self) -> bool {
        self.drop_non_ect
    }
}

impl Discipline for DctcpStep {
    fn marks(&self) -> bool {
        true
    }

    fn marking_threshold(&self) -> Option<QueueState> {
        Some(self.k)
    }
}

impl Fifo for DctcpStep {
    fn fast_path_limit(&self) -> QueueState {
        self.k
    }

    fn is_step(&self) -> bool {
        !self.drop_non_ect
    }

    fn on_arrival(&mut self, port: &PortState, packet: &Arrival) -> Verdict {
        if !port.fits(packet.wire) {
            return Verdict::Drop(DropReason::Overflow);
        }
        if port.queue.reaches(self.k) && !packet.ecn.is_capable() && self.drop_non_ect {
            return Verdict::Drop(DropReason::Early);
        }
        Verdict::step(port.queue, self.k, packet.ecn)
    }
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "dctcp-step",
        summary: "marks CE when the instantaneous queue is at least K (DCTCP)",
        params: &[
            Param {
                key: "k",
                kind: Kind::QueueLen,
                default: None,
                doc: "marking threshold, compared with the queue length on arrival (waiting and in service)",
            },
            Param {
                key: "drop-non-ect-above-k",
                kind: Kind::Bool,
                default: Some("false"),
                doc: "above K, drop packets that are not ECN-capable, as some switches do, instead of accepting them",
            },
        ],
    },
    marking: Marking::Always,
    thresholds: &["k"],
    example: "{ kind = \"dctcp-step\", k = \"8pkt\" }",
    build: |v, _| {
        let step = DctcpStep::new(v.queue_len("k"), v.bool("drop-non-ect-above-k"));
        Ok(Queue::Fifo(FifoDiscipline::DctcpStep(step)))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codepoint, testing};

    fn verdict(step: &DctcpStep, packets: u32, ect: bool) -> Verdict {
        let queue = QueueState { packets, bytes: u64::from(packets) * 1500 };
        let ecn = if ect { Codepoint::Ect0 } else { Codepoint::NotEct };
        let (arrival, mut step) = (Arrival { wire: 1500, ecn, ..Arrival::default() }, FifoDiscipline::DctcpStep(*step));
        step.on_arrival(&testing::busy(queue, 100), &arrival)
    }

    #[test]
    fn marks_from_k_on() {
        let step = DctcpStep::new(QueueLen::Packets(20), false);
        assert_eq!(verdict(&step, 19, true), Verdict::Accept);
        assert_eq!(verdict(&step, 20, true), Verdict::Mark);
        assert_eq!(verdict(&step, 20, false), Verdict::Accept);
        let step = DctcpStep::new(QueueLen::Bytes(30_000), true);
        assert_eq!(verdict(&step, 19, true), Verdict::Accept);
        assert_eq!(verdict(&step, 20, true), Verdict::Mark);
        assert_eq!(verdict(&step, 20, false), Verdict::Drop(DropReason::Early));
        assert_eq!(verdict(&step, 100, true), Verdict::Drop(DropReason::Overflow));
    }

    /// All queues up to 40 packets, thresholds up to 20 and both codepoints: marked exactly from the threshold on.
    #[test]
    fn exhaustive_queues_mark_from_k() {
        for k in 1..=20 {
            for drop_non_ect in [false, true] {
                let step = DctcpStep::new(QueueLen::Packets(k), drop_non_ect);
                for packets in 0..=40 {
                    let above = u64::from(packets) >= k;
                    let marked = verdict(&step, packets, true);
                    assert_eq!(marked, if above { Verdict::Mark } else { Verdict::Accept }, "{packets} with k {k}");
                    let dropped = matches!(verdict(&step, packets, false), Verdict::Drop(_));
                    assert_eq!(dropped, above && drop_non_ect, "{packets} with k {k}");
                }
            }
        }
    }
}
