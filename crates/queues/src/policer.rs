//! A token bucket that polices: packets above the rate are dropped, not delayed, as by `tc ... action police` and by providers' policers.

use crate::{
    Arrival, Discipline, DropReason, Fifo, FifoDiscipline, K, Marking, PortState, Queue, QueueEntry, QueueError, QueueState,
    Verdict,
};
use alloc::boxed::Box;
use alloc::format;
use forebay_types::param::{Entry, Kind, Param};
use forebay_types::{Rate, Rng, Time};

/// A FIFO behind a token bucket (RFC 2697 with one rate and one burst, act_police.c).
#[derive(Debug, Clone, PartialEq)]
pub struct Policer {
    rate: Rate,
    /// Time that a byte takes at the rate, in units of 2^-16 ps.
    ps_per_byte: u64,
    /// Time at the rate of a full bucket.
    burst: Time,
    /// Time at which the bucket would be full again. The bucket holds `burst` less the time until then.
    full_at: Time,
    k: QueueState,
}

impl Discipline for Policer {
    fn start(&mut self, _rate: Rate, _rng: Rng) {
        self.full_at = Time::ZERO;
    }

    fn marks(&self) -> bool {
        self.k != QueueState::UNLIMITED
    }

    fn policing_rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn marking_threshold(&self) -> Option<QueueState> {
        Some(self.k)
    }
}

impl Fifo for Policer {
    /// None: every packet takes tokens.
    fn fast_path_limit(&self) -> QueueState {
        QueueState::default()
    }

    fn is_step(&self) -> bool {
        false
    }

    fn on_arrival(&mut self, port: &PortState, packet: &Arrival) -> Verdict {
        // As the generic cell rate algorithm: a packet conforms if the bucket holds its bytes.
        let cost = Time((u64::from(packet.wire) * self.ps_per_byte) >> 16);
        let full_at = self.full_at.max(port.now) + cost;
        if full_at > port.now + self.burst {
            return Verdict::Drop(DropReason::Early);
        }
        if !port.fits(packet.wire) {
            return Verdict::Drop(DropReason::Overflow);
        }
        self.full_at = full_at;
        Verdict::step(port.queue, self.k, packet.ecn)
    }
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "policer",
        summary: "first in, first out, behind a token bucket that drops packets above a rate (policing)",
        params: &[
            Param { key: "rate", kind: Kind::Rate, default: None, doc: "rate of the tokens, in bytes on the wire" },
            Param {
                key: "burst",
                kind: Kind::Bytes,
                default: None,
                doc: "bytes of the full bucket, which the policer lets pass at once, at least one packet; the port counts dropped packets as dropped early",
            },
            K,
        ],
    },
    marking: Marking::IfSet,
    thresholds: &["k"],
    example: "{ kind = \"policer\", rate = \"1Gbps\", burst = \"100KB\" }",
    build: |v, _| {
        let (rate, bytes) = (v.rate("rate"), v.bytes("burst").0);
        let burst = rate.tx_time(bytes);
        if burst > MAX_BURST {
            return Err(QueueError::new("burst", format!("is {burst} at {rate}; legal: at most {MAX_BURST}")));
        }
        let k = QueueState::threshold(v.opt_queue_len("k"));
        let policer = Policer { rate, ps_per_byte: rate.ps_per_byte_q16(), burst, full_at: Time::ZERO, k };
        Ok(Queue::Fifo(FifoDiscipline::Policer(Box::new(policer))))
    },
};

/// Longest time to fill a bucket. Our choice: far above that of any policer, and no overflow.
const MAX_BURST: Time = Time::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build_with, busy, packet};
    use forebay_types::Bytes;
    use forebay_types::param::Value;

    #[test]
    fn bucket_passes_burst_then_rate() {
        let params = [("rate", Value::Rate(Rate(120_000_000))), ("burst", Value::Bytes(Bytes(15_000)))];
        let Queue::Fifo(mut d) = build_with(&ENTRY, &params) else { panic!("it is a FIFO") };
        let mut at = |us: u64| {
            let port = PortState { now: Time::from_us(us), ..busy(QueueState { packets: 1, bytes: 1500 }, 100) };
            d.on_arrival(&port, &packet(1500, 0, 0, 0)) == Verdict::Accept
        };
        // Ten packets fill the bucket; then one every 100 us.
        assert_eq!((0..20).filter(|_| at(1_000_000)).count(), 10);
        assert_eq!((1..=100).filter(|i| at(1_000_000 + 10 * i)).count(), 10);
        // Idle time fills it up to the burst and no further.
        assert_eq!((0..20).filter(|_| at(9_000_000)).count(), 10);
        assert_eq!(Queue::Fifo(d).policing_rate(), Some(Rate(120_000_000)));
    }

    /// All patterns of six packets of one to three units at distances of zero to three. Between any two packets that pass, the bytes are at most the
    /// burst and what the rate allows in between. A packet is dropped only if it would exceed that.
    #[test]
    fn exhaustive_arrivals_keep_the_token_bucket() {
        // A byte takes 1000 ps; the bucket holds four units of 1000 bytes.
        let params = [("rate", Value::Rate(Rate(8_000_000_000))), ("burst", Value::Bytes(Bytes(4000)))];
        crate::testing::each_sequence(12, 6, |word| {
            let Queue::Fifo(mut d) = build_with(&ENTRY, &params) else { panic!("it is a FIFO") };
            // Units of a microsecond and of 1000 bytes: one unit of time refills one unit of the bucket.
            let (mut now, mut passed) = (0, Vec::<(u64, u64)>::new());
            for letter in word {
                now += u64::from(letter / 3);
                let units = u64::from(letter % 3) + 1;
                let port = PortState { now: Time::from_us(100 + now), ..busy(QueueState { packets: 1, bytes: 1 }, 100) };
                let accepted = d.on_arrival(&port, &packet(1000 * units as u32, 0, 0, 0)) == Verdict::Accept;
                let sum_since = |first: usize| passed[first..].iter().map(|p| p.1).sum::<u64>() + units;
                let conforms = units <= 4 && (0..passed.len()).all(|first| sum_since(first) <= 4 + now - passed[first].0);
                assert_eq!(accepted, conforms, "{word:?} at {now}");
                if accepted {
                    passed.push((now, units));
                }
            }
        });
    }
}
