//! A FIFO that loses packets at random, as a bad optic, a loose cable or a faulty line card does. DCTCP's step marking is
//! optional.

use crate::{
    Arrival, Discipline, DropReason, Fifo, FifoDiscipline, K, Marking, PortState, Queue, QueueEntry, QueueState, Verdict,
};
use alloc::boxed::Box;
use forebay_types::param::{Entry, Kind, Param};
use forebay_types::{Rate, Rng};

/// Loses each packet with the same probability, independently of all others.
///
/// Our choice: a packet is lost before its transmission, so that it takes no time on the link; a corrupted packet would. At the loss rates of bad
/// links, far below 1 %, the difference is negligible.
#[derive(Debug, Clone, PartialEq)]
pub struct Lossy {
    p: f64,
    k: QueueState,
    rng: Rng,
}

impl Discipline for Lossy {
    fn start(&mut self, _rate: Rate, rng: Rng) {
        self.rng = rng;
    }

    fn marks(&self) -> bool {
        self.k != QueueState::UNLIMITED
    }

    fn marking_threshold(&self) -> Option<QueueState> {
        Some(self.k)
    }
}

impl Fifo for Lossy {
    /// None: every packet needs a decision.
    fn fast_path_limit(&self) -> QueueState {
        QueueState::default()
    }

    fn is_step(&self) -> bool {
        false
    }

    fn on_arrival(&mut self, port: &PortState, packet: &Arrival) -> Verdict {
        if self.rng.unit() < self.p {
            return Verdict::Drop(DropReason::Early);
        }
        if !port.fits(packet.wire) {
            return Verdict::Drop(DropReason::Overflow);
        }
        Verdict::step(port.queue, self.k, packet.ecn)
    }
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "lossy",
        summary: "first in, first out, on a bad link: each packet is lost with the same probability",
        params: &[
            Param {
                key: "p",
                kind: Kind::Float(1e-12, 1.0),
                default: None,
                doc: "probability that a packet is lost; the port counts it as dropped early",
            },
            K,
        ],
    },
    marking: Marking::IfSet,
    thresholds: &["k"],
    example: "{ kind = \"lossy\", p = 0.001, k = \"8pkt\" }",
    build: |v, _| {
        let k = QueueState::threshold(v.opt_queue_len("k"));
        Ok(Queue::Fifo(FifoDiscipline::Lossy(Box::new(Lossy { p: v.float("p"), k, rng: Rng::stream(0, &[]) }))))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build_with, busy, packet};
    use forebay_types::QueueLen;
    use forebay_types::param::Value;

    #[test]
    fn loss_rate_and_step_marking() {
        let k = Value::QueueLen(QueueLen::Packets(5));
        let mut d = build_with(&ENTRY, &[("p", Value::Float(0.01)), ("k", k)]);
        d.start(Rate(1_000_000_000), Rng::stream(7, &[1]));
        let Queue::Fifo(mut d) = d else { panic!("it is a FIFO") };
        let mut at = |packets: u32| {
            d.on_arrival(&busy(QueueState { packets, bytes: u64::from(packets) * 1500 }, 10), &packet(1500, 0, 0, 0))
        };
        let lost = (0..100_000).filter(|_| at(0) == Verdict::Drop(DropReason::Early)).count();
        // Four standard deviations of a binomial distribution: 4 sqrt(100000 * 0.01 * 0.99).
        assert!(lost.abs_diff(1000) < 126, "{lost}");
        let of = |verdict: Verdict, n: usize| (n as f64 / 1000.0 - 0.99).abs() < 0.02 || panic!("{verdict:?} {n}");
        assert!(of(Verdict::Mark, (0..1000).filter(|_| at(5) == Verdict::Mark).count()));
        assert!(of(
            Verdict::Drop(DropReason::Overflow),
            (0..1000).filter(|_| at(10) == Verdict::Drop(DropReason::Overflow)).count()
        ));
    }
}
