//! Random early detection (Floyd and Jacobson, 1993) with all options: `coexistence.md` 1.3.

use crate::{
    Arrival, Codepoint, Discipline, DropReason, Fifo, FifoDiscipline, Marking, PortState, Queue, QueueEntry, QueueError,
    QueueState, Verdict,
};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use forebay_types::param::{Entry, Kind, Param, Values, choices};
use forebay_types::{QueueLen, Rate, Rng, Time, math};

/// Use of the number of packets since the last signal.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Count {
    /// The publication: gaps between signals are uniform.
    On,
    /// Independent signals: gaps are geometric.
    Off,
    /// ns-2's `wait`: none before 1 / p packets, then uniform.
    Wait,
}

const COUNTS: &[(&str, Count)] = &[("on", Count::On), ("off", Count::Off), ("wait", Count::Wait)];
const COUNT_WORDS: [&str; 3] = choices(COUNTS);

/// Average queue and signal probability, used by RED and CHOKe.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RedControl {
    /// Thresholds on the average, packets or bytes.
    min: f64,
    max: f64,
    /// True if they are bytes. The probability does not depend on the packet's size (RFC 7141 section 2.2; Linux sch_red), unlike in the byte mode of
    /// the publication.
    bytes: bool,
    p_max: f64,
    weight: f64,
    /// Factor of the average at each sample, `1 - weight`, and its natural logarithm.
    decay: f64,
    log_decay: f64,
    gentle: bool,
    drop_above: bool,
    count_rule: Count,
    in_service: bool,
    mean_packet: u64,
    /// Average queue, in the unit of the thresholds, before decaying for `idle`.
    pub(crate) avg: f64,
    /// Idle time of the port for which the average has not decayed yet.
    idle: Time,
    /// End of the idle time that is included in `idle` or in the average; valid while the port is idle.
    counted: Time,
    /// Packets since the last signal; -1: not counting.
    count: i64,
    /// Transmission time of a packet of mean size, ps.
    service: f64,
    rng: Rng,
}

impl RedControl {
    /// See [`Queue::thresholds`].
    pub(crate) fn thresholds(&self) -> Vec<(String, QueueState)> {
        // They are integers in the scenario.
        let length = |v: f64| QueueState::limit(if self.bytes { QueueLen::Bytes(v as u64) } else { QueueLen::Packets(v as u64) });
        [("min", self.min), ("max", self.max)].map(|(name, v)| (format!("{name} of the average"), length(v))).into()
    }

    pub(crate) fn start(&mut self, rate: Rate, rng: Rng) {
        self.service = rate.tx_time(self.mean_packet).0 as f64;
        self.rng = rng;
    }

    /// Updates the average for an arrival, dropped or not.
    #[inline(always)]
    pub(crate) fn update(&mut self, port: &PortState) {
        if port.serving > 0 {
            self.age();
            self.avg = self.next(port);
        } else {
            self.add_idle(port.now - port.idle_since.max(self.counted));
        }
    }

    /// The average after an arrival at a busy port, if no idle time is pending.
    #[inline(always)]
    fn next(&self, port: &PortState) -> f64 {
        let queue = if self.in_service { port.queue } else { port.waiting() };
        let now = if self.bytes { queue.bytes as f64 } else { f64::from(queue.packets) };
        self.decay * self.avg + self.weight * now
    }

    /// Returns true if the average is below `min` and stays there after an arrival, without decay for idle time.
    #[inline(always)]
    pub(crate) fn stays_below_min(&self, port: &PortState) -> bool {
        self.idle == Time::ZERO && !self.is_min(self.avg) && port.serving > 0 && !self.is_min(self.next(port))
    }

    /// Returns true if an average is `min` or more.
    #[inline(always)]
    fn is_min(&self, avg: f64) -> bool {
        avg >= self.min
    }

    /// Adds idle time of the port before an arrival.
    #[inline(always)]
    pub(crate) fn add_idle(&mut self, time: Time) {
        self.idle += time;
    }

    /// Returns true if a packet that arrives at an idle port is accepted without a change of state.
    #[inline(always)]
    pub(crate) fn is_idle_safe(&self) -> bool {
        self.avg < self.min && self.count == -1
    }

    /// Returns true if the average is `min` or more.
    #[inline(always)]
    pub(crate) fn reaches_min(&mut self) -> bool {
        // Idle time only lowers the average.
        self.is_min(self.avg) && {
            self.age();
            self.is_min(self.avg)
        }
    }

    /// Decays the average for the idle time, as if m packets of the mean size had arrived at an empty queue.
    #[inline(always)]
    pub(crate) fn age(&mut self) {
        if self.idle > Time::ZERO {
            let m = core::mem::take(&mut self.idle).0 as f64 / self.service;
            self.avg *= power(self.log_decay, m);
        }
    }

    /// Notes a drop because the buffer is full.
    pub(crate) fn on_overflow(&mut self, port: &PortState) {
        self.count = 0;
        self.on_drop(port);
    }

    /// Notes the drop of the arriving packet. An idle port stays idle, and the next packet counts idle time from now on. In Linux, the empty dequeue
    /// that follows starts another idle period (`red_dequeue`).
    #[inline(always)]
    fn on_drop(&mut self, port: &PortState) {
        if port.serving == 0 {
            self.counted = port.now;
        }
    }

    /// Decision about a packet that fits.
    #[inline(always)]
    pub(crate) fn decide(&mut self, port: &PortState, ecn: Codepoint) -> Verdict {
        if self.reaches_min() { self.decide_above_min(port, ecn) } else { self.decide_below_min() }
    }

    /// Decision while the average is below `min`.
    #[inline(always)]
    pub(crate) fn decide_below_min(&mut self) -> Verdict {
        self.count = -1;
        Verdict::Accept
    }

    /// Decision while the average is `min` or more.
    #[inline(never)]
    pub(crate) fn decide_above_min(&mut self, port: &PortState, ecn: Codepoint) -> Verdict {
        let verdict = self.verdict_above_min(ecn);
        if matches!(verdict, Verdict::Drop(_)) {
            self.on_drop(port);
        }
        verdict
    }

    #[inline(always)]
    fn verdict_above_min(&mut self, ecn: Codepoint) -> Verdict {
        let above = if self.gentle { 2.0 * self.max } else { self.max };
        if self.avg >= above {
            self.count = 0;
            // The publication marks, ns-2 without `gentle` drops, and RFC 3168 section 7 allows both.
            return Verdict::signal_if(!self.drop_above, ecn);
        }
        self.count += 1;
        let p = if self.avg < self.max {
            self.p_max * (self.avg - self.min) / (self.max - self.min)
        } else {
            self.p_max + (1.0 - self.p_max) * (self.avg - self.max) / self.max
        };
        if self.rng.unit() < self.spread_probability(p) {
            self.count = 0;
            return Verdict::signal(ecn);
        }
        Verdict::Accept
    }

    /// Probability for this packet, given the number of packets since the last signal.
    fn spread_probability(&self, p: f64) -> f64 {
        let expected = self.count as f64 * p;
        match self.count_rule {
            Count::Off => p,
            Count::On if expected < 1.0 => p / (1.0 - expected),
            Count::Wait if expected < 1.0 => 0.0,
            Count::Wait if expected < 2.0 => p / (2.0 - expected),
            Count::On | Count::Wait => 1.0,
        }
    }
}

/// Access to the state, for the comparison with `sch_red` and `sch_choke`.
#[cfg(inspect)]
impl RedControl {
    /// Addresses: average, count, probability below `max`.
    pub(crate) fn state(&mut self) -> [*mut u64; 3] {
        [(&raw mut self.avg).cast(), (&raw mut self.count).cast(), (&raw mut self.p_max).cast()]
    }
}

#[cfg(inspect)]
impl Red {
    /// See [`RedControl::state`].
    pub fn state(&mut self) -> [*mut u64; 3] {
        self.0.state()
    }

    /// See [`RedControl::age`].
    pub fn decay(&mut self) {
        self.0.age();
    }

    /// Decides about an ECN-capable packet that fits; true for a mark.
    pub fn marks_capable(&mut self, port: &PortState) -> bool {
        self.0.decide(port, Codepoint::Ect0) == Verdict::Mark
    }
}

/// Natural logarithm of a number in [0, 1]; `math::ln` is defined for normal numbers only.
fn log(base: f64) -> f64 {
    if base < f64::MIN_POSITIVE { f64::NEG_INFINITY } else { math::ln(base) }
}

/// The number with the logarithm `log`, to the power `m` >= 0.
#[inline(never)]
fn power(log: f64, m: f64) -> f64 {
    let x = if log == f64::NEG_INFINITY { log } else { m * log };
    // Factors below e^-700 reduce any average to 0.
    if x < -700.0 { 0.0 } else { math::exp(x) }
}

/// A FIFO with RED.
#[derive(Debug, Clone, PartialEq)]
pub struct Red(RedControl);

impl Discipline for Red {
    fn start(&mut self, rate: Rate, rng: Rng) {
        self.0.start(rate, rng);
    }

    fn marks(&self) -> bool {
        true
    }

    fn thresholds(&self) -> Vec<(String, QueueState)> {
        self.0.thresholds()
    }
}

impl Fifo for Red {
    fn fast_path_limit(&self) -> QueueState {
        // Every arrival updates the average.
        QueueState::default()
    }

    fn is_step(&self) -> bool {
        false
    }

    #[inline(always)]
    fn on_arrival(&mut self, port: &PortState, packet: &Arrival) -> Verdict {
        self.0.update(port);
        if !port.fits(packet.wire) {
            self.0.on_overflow(port);
            return Verdict::Drop(DropReason::Overflow);
        }
        self.0.decide(port, packet.ecn)
    }
}

/// Builds the state from checked parameters.
pub(crate) fn control(v: &Values) -> Result<RedControl, QueueError> {
    let (min, max) = (v.queue_len("min"), v.queue_len("max"));
    if core::mem::discriminant(&min) != core::mem::discriminant(&max) {
        return Err(QueueError::new("max", format!("{max} and `min` = {min} must both be packets or both bytes")));
    }
    if min.amount() >= max.amount() {
        return Err(QueueError::new(
            "max",
            format!("{max} must be above `min` = {min}; for a single threshold use `dctcp-step`"),
        ));
    }
    Ok(RedControl {
        min: min.amount() as f64,
        max: max.amount() as f64,
        bytes: matches!(min, QueueLen::Bytes(_)),
        p_max: v.float("p-max"),
        weight: v.float("weight"),
        decay: 1.0 - v.float("weight"),
        log_decay: log(1.0 - v.float("weight")),
        gentle: v.bool("gentle"),
        drop_above: v.text("above-max") == "drop",
        count_rule: v.choice("count", COUNTS),
        in_service: v.bool("in-service"),
        mean_packet: v.bytes("mean-packet").0,
        avg: 0.0,
        idle: Time::ZERO,
        counted: Time::ZERO,
        count: -1,
        service: 1.0,
        rng: Rng::stream(0, &[]),
    })
}

/// Parameters of RED.
pub(crate) const PARAMS: [Param; 9] = [
    Param { key: "min", kind: Kind::QueueLen, default: None, doc: "average queue from which on packets are marked" },
    Param {
        key: "max",
        kind: Kind::QueueLen,
        default: None,
        doc: "average queue from which on every packet is marked, in the unit of `min`",
    },
    Param {
        key: "p-max",
        kind: Kind::Float(1e-6, 1.0),
        default: Some("0.02"),
        doc: "probability just below `max`; it grows linearly from 0 at `min`",
    },
    Param { key: "weight", kind: Kind::Float(1e-9, 1.0), default: Some("0.002"), doc: "weight of a sample in the average queue" },
    Param {
        key: "gentle",
        kind: Kind::Bool,
        default: Some("false"),
        doc: "raises the probability from `p-max` to 1 between `max` and twice `max`, instead of 1 above `max`",
    },
    Param {
        key: "above-max",
        kind: Kind::Choice(&["mark", "drop"]),
        default: Some("mark"),
        doc: "treatment of ECN-capable packets where the probability is 1; others are dropped. ns-2 drops both",
    },
    Param {
        key: "count",
        kind: Kind::Choice(&COUNT_WORDS),
        default: Some("on"),
        doc: "packets since the last mark raise the probability: \"on\" as published, \"wait\" as ns-2 with `wait_`",
    },
    Param { key: "in-service", kind: Kind::Bool, default: Some("false"), doc: "the average includes the packet in service" },
    Param {
        key: "mean-packet",
        kind: Kind::Bytes,
        default: Some("1500B"),
        doc: "packet size for the decay of the average while the port is idle",
    },
];

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "red",
        summary: "random early detection on the average queue (Floyd and Jacobson 1993); marks ECN-capable packets, drops others",
        params: &PARAMS,
    },
    marking: Marking::Always,
    thresholds: &["min", "max"],
    example: "{ kind = \"red\", min = \"4pkt\", max = \"16pkt\", p-max = 0.1, weight = 0.1 }",
    build: |v, _| control(v).map(|l| Queue::Fifo(FifoDiscipline::Red(Box::new(Red(l))))),
};

#[cfg(test)]
#[path = "red_tests.rs"]
pub(crate) mod tests;
