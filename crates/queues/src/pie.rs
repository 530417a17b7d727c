//! PIE (RFC 8033): arriving packets are dropped or marked with a probability that a proportional integral controller updates every few milliseconds
//! from the queueing delay and its trend (`pi.rs`). PIE is always active: activation by queue length (section 5.3, optional) is not modeled.

use crate::pi::{Delay, Gains, PiController, PiParams};
use crate::{
    Buffered, BufferedDiscipline, Discipline, DropReason, Effects, Handle, Marking, PortState, Queue, QueueEntry, QueueError,
    Queued, Verdict,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use forebay_types::param::{Entry, Kind, Param, Values};
use forebay_types::{Rate, Rng, Time};

/// RFC 8033 section 5.2: bytes that leave in one measurement of the rate.
const DQ_THRESHOLD: u64 = 1 << 14;
/// RFC 8033 section 5.2: weight of a measurement, `DQ_THRESHOLD` / 2^16.
const DQ_WEIGHT: f64 = 0.25;
/// RFC 8033 section 4.1: below this probability a short queue gets no signals.
const SAFE_PROBABILITY: f64 = 0.2;
/// RFC 8033 section 5.4: limits on the sum of probabilities since the last drop, below which there is no drop and at which there is one.
const DERANDOMIZE: (f64, f64) = (0.85, 8.5);
/// Size of a full packet on the wire, if the network is unknown.
const FULL_PACKET: u64 = 1500;

/// The parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Params {
    /// MAX_BURST.
    burst: Time,
    ecn: bool,
    /// Probability up to which packets are marked instead of dropped.
    mark_up_to: f64,
    derandomize: bool,
    /// True if the queueing delay is estimated from the departure rate.
    from_rate: bool,
    /// A queue of two packets of this size gets no signals.
    mean_packet: Option<u64>,
}

/// Measurement of the time in which `DQ_THRESHOLD` bytes leave (RFC 8033 section 5.2, in the order of appendix B). It starts at a departure, which
/// does not count; the end of one measurement may start the next.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct DrainTime {
    /// Start of the running measurement, and bytes that have left since.
    running: Option<(Time, u64)>,
    /// Average, ps; 0 before the first measurement.
    average: f64,
}

impl DrainTime {
    /// Notes that a packet of `wire` bytes leaves at `now`, and `backlog` bytes remain.
    fn on_departure(&mut self, now: Time, wire: u64, backlog: u64) {
        if let Some((start, bytes)) = &mut self.running {
            *bytes += wire;
            if *bytes >= DQ_THRESHOLD {
                let time = (now - *start).0 as f64;
                self.average = if self.average == 0.0 { time } else { DQ_WEIGHT * time + (1.0 - DQ_WEIGHT) * self.average };
                self.running = None;
            }
        }
        if self.running.is_none() && backlog >= DQ_THRESHOLD {
            self.running = Some((now, 0));
        }
    }

    /// Time in which `backlog` bytes leave.
    fn time_for(&self, backlog: u64) -> Time {
        Time((backlog as f64 * self.average / DQ_THRESHOLD as f64) as u64)
    }
}

/// A FIFO with PIE.
#[derive(Debug, Clone, PartialEq)]
pub struct Pie {
    params: Params,
    backlog: VecDeque<Queued>,
    bytes: u64,
    rng: Rng,
    pi: PiController,
    /// Sum of the probabilities since the last signal (RFC 8033 section 5.4).
    accumulated: f64,
    /// Time for which packets get no signal (RFC 8033 section 4.4).
    burst_allowance: Time,
    /// Sojourn time of the last packet that left.
    last_sojourn: Time,
    drain: DrainTime,
}

impl Pie {
    fn new(params: Params, pi: PiParams) -> Pie {
        Pie {
            params,
            backlog: VecDeque::new(),
            bytes: 0,
            rng: Rng::stream(0, &[]),
            pi: PiController::new(pi),
            accumulated: 0.0,
            burst_allowance: params.burst,
            last_sojourn: Time::ZERO,
            drain: DrainTime::default(),
        }
    }

    /// Current queueing delay (RFC 8033 section 4.3).
    fn delay(&self) -> Time {
        if self.params.from_rate { self.drain.time_for(self.bytes) } else { self.last_sojourn }
    }

    /// Runs the updates that are due at `now`.
    #[inline(always)]
    fn catch_up(&mut self, now: Time) {
        if self.pi.is_due(now) {
            self.run_updates(now);
        }
    }

    #[inline(never)]
    fn run_updates(&mut self, now: Time) {
        let due = self.pi.run_due(now, Delay::Constant(self.delay()));
        // Section 4.4.
        let time = Time(due.saturating_mul(self.pi.params.period.0));
        self.burst_allowance = self.burst_allowance.saturating_sub(time);
    }

    /// Returns true if an arriving packet gets a congestion signal (RFC 8033 section 4.1, `drop_early`).
    fn signals(&mut self) -> bool {
        let p = self.params;
        let (probability, old_delay) = (self.pi.probability, self.pi.old_delay);
        let half = |t: Time| t < Time(self.pi.params.target.0 / 2);
        if probability == 0.0 && half(self.delay()) && half(old_delay) {
            self.burst_allowance = p.burst;
        }
        if self.burst_allowance > Time::ZERO {
            return false;
        }
        if half(old_delay) && probability < SAFE_PROBABILITY || self.bytes <= 2 * p.mean_packet.unwrap_or(FULL_PACKET) {
            return false;
        }
        if p.derandomize {
            self.accumulated = if probability == 0.0 { 0.0 } else { self.accumulated + probability };
            if self.accumulated < DERANDOMIZE.0 {
                return false;
            }
            if self.accumulated >= DERANDOMIZE.1 {
                self.accumulated = 0.0;
                return true;
            }
        }
        let signal = self.rng.unit() < probability;
        if signal {
            self.accumulated = 0.0;
        }
        signal
    }

    fn decide(&mut self, port: &PortState, packet: &Queued) -> Verdict {
        if !port.fits(packet.packet.wire) {
            self.accumulated = 0.0;
            return Verdict::Drop(DropReason::Overflow);
        }
        if !self.signals() {
            return Verdict::Accept;
        }
        // Section 5.1: above this probability packets are dropped even if they are ECN-capable. The text and Linux mark at exactly this probability;
        // the pseudocode drops.
        Verdict::signal_if(self.params.ecn && self.pi.probability <= self.params.mark_up_to, packet.packet.ecn)
    }
}

/// Access to the state, for the comparison with `sch_pie`.
#[cfg(inspect)]
impl Pie {
    /// Addresses: probability, accumulated probability, allowance, delay at the last update, last sojourn time, bytes, next update, generator.
    pub fn state(&mut self) -> [*mut u64; 8] {
        [
            (&raw mut self.pi.probability).cast(),
            (&raw mut self.accumulated).cast(),
            &raw mut self.burst_allowance.0,
            &raw mut self.pi.old_delay.0,
            &raw mut self.last_sojourn.0,
            &raw mut self.bytes,
            &raw mut self.pi.next_update.0,
            (&raw mut self.rng).cast(),
        ]
    }

    /// Runs the updates that are due.
    pub fn update(&mut self, now: Time) {
        self.catch_up(now);
    }
}

impl Discipline for Pie {
    fn start(&mut self, _rate: Rate, rng: Rng) {
        self.rng = rng;
    }

    fn set_defaults(&mut self, _senders: u64, packet: u64) {
        self.params.mean_packet = self.params.mean_packet.or(Some(packet));
    }

    fn marks(&self) -> bool {
        self.params.ecn
    }
}

impl Buffered for Pie {
    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        if let Some(verdict) = self.try_push(port, &packet) {
            packet.admit(verdict, effects);
        }
    }

    #[inline(always)]
    fn try_push(&mut self, port: &PortState, packet: &Queued) -> Option<Verdict> {
        self.catch_up(port.now);
        let verdict = self.decide(port, packet);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.bytes += u64::from(packet.packet.wire);
            self.backlog.push_back(*packet);
        }
        Some(verdict)
    }

    #[inline(always)]
    fn pop(&mut self, now: Time, _effects: &mut impl Effects) -> Option<Handle> {
        self.catch_up(now);
        let packet = self.backlog.pop_front()?;
        self.bytes -= u64::from(packet.packet.wire);
        // An empty queue has no delay, regardless of the last packet's (Linux, `pie_process_dequeue`).
        self.last_sojourn = if self.backlog.is_empty() { Time::ZERO } else { packet.sojourn(now) };
        self.drain.on_departure(now, u64::from(packet.packet.wire), self.bytes);
        Some(packet.handle)
    }

    fn len(&self) -> usize {
        self.backlog.len()
    }
}

fn build(v: &Values) -> Result<Queue, QueueError> {
    let time = |key: &'static str| match v.time(key) {
        Time::ZERO => Err(QueueError::new(key, "is zero; it must be longer")),
        t => Ok(t),
    };
    let pi = PiParams {
        target: time("target")?,
        period: time("update")?,
        alpha: v.float("alpha"),
        beta: v.float("beta"),
        gains: Gains::Scaled { cap: v.bool("cap") },
    };
    let params = Params {
        burst: v.time("burst"),
        ecn: v.bool("ecn"),
        mark_up_to: v.float("mark-ecnth"),
        derandomize: v.bool("derandomize"),
        from_rate: v.text("delay") == "rate",
        mean_packet: v.opt_bytes("mean-packet").map(|b| b.0),
    };
    Ok(Queue::Buffered(BufferedDiscipline::Pie(Box::new(Pie::new(params, pi)))))
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "pie",
        summary: "drops or marks arriving packets with a probability that a controller derives from the queueing delay (PIE, RFC 8033)",
        params: &[
            Param { key: "target", kind: Kind::Time, default: Some("15ms"), doc: "target queueing delay (QDELAY_REF)" },
            Param { key: "update", kind: Kind::Time, default: Some("15ms"), doc: "period of the controller (T_UPDATE)" },
            Param {
                key: "alpha",
                kind: Kind::Float(0.0, 1e6),
                default: Some("0.125"),
                doc: "weight of the distance to the target, 1/s (RFC 8033 section 4.2 and appendix A)",
            },
            Param {
                key: "beta",
                kind: Kind::Float(0.0, 1e6),
                default: Some("1.25"),
                doc: "weight of the change since the last update, 1/s (RFC 8033 section 4.2 and appendix A)",
            },
            Param {
                key: "burst",
                kind: Kind::Time,
                default: Some("150ms"),
                doc: "time for which a burst into an uncongested queue gets neither drops nor marks (MAX_BURST, RFC 8033 section 4.4)",
            },
            Param {
                key: "ecn",
                kind: Kind::Bool,
                default: Some("false"),
                doc: "mark ECN-capable packets instead of dropping them (RFC 8033 section 5.1)",
            },
            Param {
                key: "mark-ecnth",
                kind: Kind::Float(0.0, 1.0),
                default: Some("0.1"),
                doc: "probability above which packets are dropped even with `ecn` (mark_ecnth, RFC 8033 section 5.1)",
            },
            Param {
                key: "derandomize",
                kind: Kind::Bool,
                default: Some("false"),
                doc: "limits the distance between drops from below and above (RFC 8033 section 5.4, optional there, used by Linux)",
            },
            Param {
                key: "cap",
                kind: Kind::Bool,
                default: Some("false"),
                doc: "limits the increase of probabilities of 0.1 and more to 0.02 per update (RFC 8033 section 5.5, optional there, used by Linux)",
            },
            Param {
                key: "delay",
                kind: Kind::Choice(&["timestamps", "rate"]),
                default: Some("timestamps"),
                doc: "queueing delay: \"timestamps\": sojourn time of the last packet; \"rate\": backlog over the measured departure rate (RFC 8033 sections 4.3 and 5.2)",
            },
            Param {
                key: "mean-packet",
                kind: Kind::Bytes,
                default: Some(""),
                doc: "packet size; a backlog of up to two such packets gets no signals (RFC 8033 section 4.1). Default: a full packet on the wire",
            },
        ],
    },
    marking: Marking::IfSet,
    thresholds: &[],
    example: "{ kind = \"pie\", target = \"100us\", update = \"100us\", burst = \"1ms\", ecn = true }",
    build: |v, _| build(v),
};

#[cfg(test)]
#[path = "pie_tests.rs"]
mod tests;
