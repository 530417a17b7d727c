//! PIE (RFC 8033): arriving packets are dropped or marked with a probability that a proportional integral controller updates every few milliseconds
//! from the queueing delay and its trend.
//!
//! The controller has no timer event. Its input does not change between two packets, so the updates that are due run when the next packet arrives or
//! leaves, with the same result. Our choice: an update that is due at that time runs first. The first update is due one period after the start of the
//! simulation. PIE is always active: activation by queue length (section 5.3, optional) is not modeled.

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
/// RFC 8033 section 4.2: factor of the probability in every update without any queue.
const DECAY: f64 = 0.98;
/// Resolution of the random numbers, 2^-53. A decaying probability below it is 0.
const NEGLIGIBLE: f64 = f64::EPSILON / 2.0;
/// RFC 8033 section 5.4: limits on the sum of probabilities since the last drop, below which there is no drop and at which there is one.
const DERANDOMIZE: (f64, f64) = (0.85, 8.5);
/// RFC 8033 section 5.5: largest increase of a probability of 0.1 or more.
const CAP: f64 = 0.02;
/// Size of a full packet on the wire, if the network is unknown.
const FULL_PACKET: u64 = 1500;

/// The parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Params {
    /// QDELAY_REF.
    target: Time,
    /// T_UPDATE.
    update: Time,
    /// 1/s.
    alpha: f64,
    /// 1/s.
    beta: f64,
    /// MAX_BURST.
    burst: Time,
    ecn: bool,
    /// Probability up to which packets are marked instead of dropped.
    mark_up_to: f64,
    derandomize: bool,
    cap: bool,
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
    probability: f64,
    /// Sum of the probabilities since the last signal (RFC 8033 section 5.4).
    accumulated: f64,
    /// Time for which packets get no signal (RFC 8033 section 4.4).
    burst_allowance: Time,
    next_update: Time,
    /// Queueing delay at the last update.
    old_delay: Time,
    /// Sojourn time of the last packet that left.
    last_sojourn: Time,
    drain: DrainTime,
}

impl Pie {
    fn new(params: Params) -> Pie {
        Pie {
            params,
            backlog: VecDeque::new(),
            bytes: 0,
            rng: Rng::stream(0, &[]),
            probability: 0.0,
            accumulated: 0.0,
            burst_allowance: params.burst,
            next_update: params.update,
            old_delay: Time::ZERO,
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
        if self.next_update <= now {
            self.run_updates(now);
        }
    }

    /// Runs the updates that are due, at least one. Between two packets the delay is constant, so only the first update has a trend, and the others
    /// repeat one step until the probability stops changing. Equal steps are computed together, with bit-identical results. The work is bounded for
    /// any number of updates: see [`Pie::repeat_step`].
    #[inline(never)]
    fn run_updates(&mut self, now: Time) {
        let period = self.params.update.0;
        let due = (now - self.next_update).0 / period + 1;
        self.next_update = Time(self.next_update.0.saturating_add(due.saturating_mul(period)));
        // Section 4.4.
        self.burst_allowance = self.burst_allowance.saturating_sub(Time(due.saturating_mul(period)));
        let delay = self.delay();
        self.probability = self.next_probability(self.probability, delay);
        self.old_delay = delay;
        if due > 1 {
            self.repeat_step(due - 1, delay);
        }
    }

    /// Runs `left` updates without a trend. While the queue is empty, each reduces the probability by 2 %, until it is 0 after at most 1819
    /// updates (`NEGLIGIBLE`). Otherwise the probability moves in one direction by a constant step. It ends at 0, at 1, or when the step is
    /// below the precision of the probability, after at most a few computed steps in each of some 70 binades and ranges of [`scale`].
    #[inline(never)]
    fn repeat_step(&mut self, mut left: u64, delay: Time) {
        let mut p = self.probability;
        let mut older = None;
        while left > 0 {
            let next = self.next_probability(p, delay);
            left -= 1;
            if next == p {
                break;
            }
            // Two steps that end in one segment are rounded to the same grid, including ties to even, so the second one repeats.
            let constant = delay > Time::ZERO && segment(p) == segment(next) && older.is_some_and(|o| segment(o) == segment(p));
            (older, p) = (Some(p), next);
            if let (true, Some(previous)) = (constant, older) {
                let many = equal_steps(previous, p).min(left);
                // Exact: a multiple of the last bit of `p` that fits into its binade.
                p += many as f64 * (p - previous);
                left -= many;
                older = None;
            }
        }
        self.probability = p;
    }

    /// Probability after an update at this delay, if it was `probability` before (RFC 8033 section 4.2).
    fn next_probability(&self, probability: f64, delay: Time) -> f64 {
        let seconds = |t: Time| t.0 as f64 * 1e-12;
        let p = self.params;
        let error = seconds(delay) - seconds(p.target);
        let trend = seconds(delay) - seconds(self.old_delay);
        let mut step = (p.alpha * error + p.beta * trend) / scale(probability);
        if p.cap && probability >= 0.1 {
            step = step.min(CAP);
        }
        let mut next = probability + step;
        if delay == Time::ZERO && self.old_delay == Time::ZERO {
            next *= DECAY;
            if next < NEGLIGIBLE {
                next = 0.0;
            }
        }
        next.clamp(0.0, 1.0)
    }

    /// Returns true if an arriving packet gets a congestion signal (RFC 8033 section 4.1, `drop_early`).
    fn signals(&mut self) -> bool {
        let p = self.params;
        let half = |t: Time| t < Time(p.target.0 / 2);
        if self.probability == 0.0 && half(self.delay()) && half(self.old_delay) {
            self.burst_allowance = p.burst;
        }
        if self.burst_allowance > Time::ZERO {
            return false;
        }
        if half(self.old_delay) && self.probability < SAFE_PROBABILITY || self.bytes <= 2 * p.mean_packet.unwrap_or(FULL_PACKET) {
            return false;
        }
        if p.derandomize {
            self.accumulated = if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
            if self.accumulated < DERANDOMIZE.0 {
                return false;
            }
            if self.accumulated >= DERANDOMIZE.1 {
                self.accumulated = 0.0;
                return true;
            }
        }
        let signal = self.rng.unit() < self.probability;
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
        let mark = self.params.ecn && packet.packet.ecn.is_capable() && self.probability <= self.params.mark_up_to;
        if mark { Verdict::Mark } else { Verdict::Drop(DropReason::Early) }
    }
}

/// Access to the state, for the comparison with `sch_pie`.
#[cfg(inspect)]
impl Pie {
    /// Addresses: probability, accumulated probability, allowance, delay at the last update, last sojourn time, bytes, next update, generator.
    pub fn state(&mut self) -> [*mut u64; 8] {
        [
            (&raw mut self.probability).cast(),
            (&raw mut self.accumulated).cast(),
            &raw mut self.burst_allowance.0,
            &raw mut self.old_delay.0,
            &raw mut self.last_sojourn.0,
            &raw mut self.bytes,
            &raw mut self.next_update.0,
            (&raw mut self.rng).cast(),
        ]
    }

    /// Runs the updates that are due.
    pub fn update(&mut self, now: Time) {
        self.catch_up(now);
    }
}

/// Divisor of steps, which are smaller at small probabilities (RFC 8033 section 4.2).
fn scale(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

/// The range of probabilities around `p` with equal scale of steps and equal weight of the last bit: its exponent and its scale.
fn segment(p: f64) -> (u64, f64) {
    (p.to_bits() >> 52, scale(p))
}

/// Number of further steps of the size from `previous` to `p` that stay in the segment of both.
fn equal_steps(previous: f64, p: f64) -> u64 {
    let step = p - previous;
    let exponent = p.to_bits() >> 52;
    let binade = (f64::from_bits(exponent << 52), f64::from_bits((exponent + 1) << 52));
    let edges = [1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1];
    let room = if step > 0.0 {
        let end = edges.into_iter().find(|&e| e > p).unwrap_or(1.0);
        end.min(binade.1) - p
    } else {
        let end = edges.into_iter().rfind(|&e| e <= p).unwrap_or(0.0);
        p - end.max(binade.0)
    };
    // The quotient is rounded, and the last step must end within the segment.
    ((room / step.abs()) as u64).saturating_sub(2)
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
    let params = Params {
        target: time("target")?,
        update: time("update")?,
        alpha: v.float("alpha"),
        beta: v.float("beta"),
        burst: v.time("burst"),
        ecn: v.bool("ecn"),
        mark_up_to: v.float("mark-ecnth"),
        derandomize: v.bool("derandomize"),
        cap: v.bool("cap"),
        from_rate: v.text("delay") == "rate",
        mean_packet: v.opt_bytes("mean-packet").map(|b| b.0),
    };
    Ok(Queue::Buffered(BufferedDiscipline::Pie(Box::new(Pie::new(params)))))
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
