//! DualPI2, the Dual-Queue Coupled AQM of RFC 9332 appendix A, with the overload handling of appendix A.2. Packets with ECT(1) or CE enter the L
//! (low latency) queue, the others the C (classic) queue. A PI controller (`pi.rs`) computes the base probability p' from the larger queueing delay.
//! Classic packets are dropped or marked with probability p'^2, L4S packets are marked with k p', or by a ramp on their own sojourn time if that is
//! more.
//!
//! Our choices where the appendix is silent: the ramp is applied to the sojourn time of the packet that leaves, as in Linux (`do_step_aqm`). The
//! scheduler is weighted round robin by bytes, as recommended, and its credit ends when one queue is empty; Linux (`dequeue_packet`) keeps it until
//! both are. Not modeled: Linux gives no signals while the backlog is below two packets (`must_drop`).

use crate::pi::{Delay, Gains, PiController, PiParams};
use crate::{
    Buffered, BufferedDiscipline, Codepoint, Discipline, DropReason, Effects, Handle, Marking, PortState, Queue, QueueEntry,
    QueueError, Queued, Verdict,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use forebay_types::Time;
use forebay_types::param::{Entry, Kind, Param, Values};

/// Picoseconds in a second.
const SECOND: f64 = 1e12;
/// RFC 9332 appendix A.1: probability from which on the marking of L4S packets is saturated (p_Lmax).
const L_MAX: f64 = 1.0;

/// The parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Params {
    /// k.
    coupling: f64,
    /// p_Cmax: from this probability on, packets of the C queue are dropped even if they are ECN-capable.
    c_max: f64,
    /// Sojourn time at which the ramp begins (minTh).
    ramp_start: Time,
    /// Its length; zero: a step.
    ramp: Time,
    /// Packets behind the one that leaves up to which the ramp does not mark (Th_len).
    ramp_packets: usize,
    /// Share of the C queue in the link while both queues have packets.
    c_share: f64,
}

/// A FIFO, and the accumulator of `recur`.
#[derive(Debug, Clone, PartialEq, Default)]
struct SubQueue {
    packets: VecDeque<Queued>,
    /// Sum of the likelihoods since the last signal.
    count: f64,
}

impl SubQueue {
    /// RFC 9332 appendix A.1, `recur`: true with this likelihood, at regular distances.
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let signal = self.count > 1.0;
        if signal {
            self.count -= 1.0;
        }
        signal
    }
}

/// Two coupled queues.
#[derive(Debug, Clone, PartialEq)]
pub struct Dualpi2 {
    params: Params,
    l: SubQueue,
    c: SubQueue,
    /// Its probability is p'.
    pi: PiController,
    /// Bytes that the scheduler owes to the C queue.
    owed: f64,
}

impl Dualpi2 {
    fn new(params: Params, pi: PiParams) -> Dualpi2 {
        Dualpi2 { params, l: SubQueue::default(), c: SubQueue::default(), pi: PiController::new(pi), owed: 0.0 }
    }

    /// p_C = p'^2 (RFC 9332 section 2.4, equation 2).
    fn classic(&self) -> f64 {
        self.pi.probability * self.pi.probability
    }

    /// p_CL = k p' (RFC 9332 section 2.4, equation 3).
    fn coupled(&self) -> f64 {
        self.params.coupling * self.pi.probability
    }

    /// Runs the updates that are due at `now`. Both queues have been as they are since the last packet arrived or left.
    #[inline(always)]
    fn catch_up(&mut self, now: Time) {
        if self.pi.is_due(now) {
            self.run_updates(now);
        }
    }

    #[inline(never)]
    fn run_updates(&mut self, now: Time) {
        // RFC 9332 appendix A.2, figure 8: the larger of the two delays, so that overload of either queue is controlled.
        let oldest = [&self.l, &self.c].into_iter().filter_map(|q| q.packets.front()).map(|q| q.since).min();
        self.pi.run_due(now, oldest.map_or(Delay::Constant(Time::ZERO), Delay::Since));
    }

    /// RFC 9332 appendix A.1, `laqm`: the ramp, for a packet with this sojourn time. Appendix A.2, lines 5a to 5d: none in a short queue.
    fn ramp(&self, sojourn: Time) -> f64 {
        let p = self.params;
        if self.l.packets.len() <= p.ramp_packets {
            return 0.0;
        }
        match sojourn {
            t if t >= p.ramp_start.saturating_add(p.ramp) => 1.0,
            t if t > p.ramp_start => (t - p.ramp_start).0 as f64 / p.ramp.0 as f64,
            _ => 0.0,
        }
    }

    /// Returns true if the next packet is one of the L queue. While both have packets, the C queue gets its share in bytes.
    fn serves_l(&mut self) -> bool {
        let (Some(_), Some(c)) = (self.l.packets.front(), self.c.packets.front()) else {
            self.owed = 0.0;
            return self.c.packets.is_empty();
        };
        self.owed < f64::from(c.packet.wire) * (1.0 - self.params.c_share)
    }

    /// Removes the packet that the scheduler chooses. True: from the L queue.
    fn take(&mut self) -> Option<(Queued, bool)> {
        let l = self.serves_l();
        let both = !self.l.packets.is_empty() && !self.c.packets.is_empty();
        let packet = if l { self.l.packets.pop_front() } else { self.c.packets.pop_front() }?;
        if both {
            let wire = f64::from(packet.packet.wire);
            self.owed += if l { wire * self.params.c_share } else { -wire * (1.0 - self.params.c_share) };
        }
        Some((packet, l))
    }

    /// Signal to a packet of the L queue that leaves (RFC 9332 appendix A.2).
    fn signal_l(&mut self, sojourn: Time) -> Verdict {
        let coupled = self.coupled();
        if coupled < L_MAX {
            let likelihood = self.ramp(sojourn).max(coupled);
            return if self.l.recur(likelihood) { Verdict::Mark } else { Verdict::Accept };
        }
        // Overload: the marking is saturated, so that drops as in the C queue are the signal. "All remaining packets will be marked": `recur` with a
        // likelihood above 1, as in lines 8h and 8i, would accumulate the rest and drop more than p_C, against RFC 9331 section 5.1.
        let classic = self.classic();
        if self.l.recur(classic) { Verdict::Drop(DropReason::Early) } else { Verdict::Mark }
    }

    /// Signal to a packet of the C queue that leaves.
    fn signal_c(&mut self, ecn: Codepoint) -> Verdict {
        let classic = self.classic();
        if !self.c.recur(classic) {
            return Verdict::Accept;
        }
        // Overload disables ECN (RFC 9332 appendix A.2, line 12b).
        Verdict::signal_if(classic < self.params.c_max, ecn)
    }
}

impl Discipline for Dualpi2 {
    fn marks(&self) -> bool {
        true
    }
}

impl Buffered for Dualpi2 {
    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        if let Some(verdict) = self.try_push(port, &packet) {
            packet.admit(verdict, effects);
        }
    }

    #[inline(always)]
    fn try_push(&mut self, port: &PortState, packet: &Queued) -> Option<Verdict> {
        self.catch_up(port.now);
        if !port.fits(packet.packet.wire) {
            return Some(Verdict::Drop(DropReason::Overflow));
        }
        // RFC 9331 section 5.1: ECT(1) and CE are L4S.
        let queue = match packet.packet.ecn {
            Codepoint::Ect1 | Codepoint::Ce => &mut self.l,
            Codepoint::NotEct | Codepoint::Ect0 => &mut self.c,
        };
        queue.packets.push_back(*packet);
        Some(Verdict::Accept)
    }

    #[inline(always)]
    fn pop(&mut self, now: Time, effects: &mut impl Effects) -> Option<Handle> {
        self.catch_up(now);
        loop {
            let (packet, l) = self.take()?;
            let verdict = if l { self.signal_l(packet.sojourn(now)) } else { self.signal_c(packet.packet.ecn) };
            if packet.admit(verdict, effects) {
                return Some(packet.handle);
            }
        }
    }

    fn len(&self) -> usize {
        self.l.packets.len() + self.c.packets.len()
    }
}

fn build(v: &Values) -> Result<Queue, QueueError> {
    let positive = |key: &'static str, time: Time| match time {
        Time::ZERO => Err(QueueError::new(key, "is zero; it must be longer")),
        t => Ok(t),
    };
    let target = positive("target", v.time("target"))?;
    let rtt_max = positive("rtt-max", v.time("rtt-max"))?;
    // RFC 9332 appendix A.1, `dualpi2_params_init`.
    let update = v.opt_time("update").unwrap_or(target.min(rtt_max / 3).max(MIN_UPDATE));
    if update < MIN_UPDATE {
        return Err(QueueError::new("update", format!("is {update}; it must be at least {MIN_UPDATE}")));
    }
    let seconds = |t: Time| t.0 as f64 / SECOND;
    let coupling = v.float("coupling");
    let pi = PiParams {
        target,
        period: update,
        alpha: v.opt_float("alpha").unwrap_or(0.1 * seconds(update) / (seconds(rtt_max) * seconds(rtt_max))),
        beta: v.opt_float("beta").unwrap_or(0.3 / seconds(rtt_max)),
        gains: Gains::Fixed,
    };
    let params = Params {
        coupling,
        c_max: (1.0 / (coupling * coupling)).min(1.0),
        ramp_start: v.time("l4s-threshold"),
        ramp: v.time("l4s-range"),
        ramp_packets: v.int("l4s-packets") as usize,
        c_share: v.float("classic-share"),
    };
    Ok(Queue::Buffered(BufferedDiscipline::Dualpi2(Box::new(Dualpi2::new(params, pi)))))
}

/// Shortest period of the controller.
const MIN_UPDATE: Time = Time::from_us(1);

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "dualpi2",
        summary: "two coupled queues: packets with ECT(1) or CE wait in a short one and are marked early, the others are under PI2 (DualQ Coupled AQM, RFC 9332)",
        params: &[
            Param {
                key: "target",
                kind: Kind::Time,
                default: Some("15ms"),
                doc: "target delay of the classic queue (RFC 9332 appendix A.1)",
            },
            Param {
                key: "rtt-max",
                kind: Kind::Time,
                default: Some("100ms"),
                doc: "largest expected RTT (RTT_max), from which `update`, `alpha` and `beta` follow",
            },
            Param {
                key: "update",
                kind: Kind::Time,
                default: Some(""),
                doc: "period of the controller (Tupdate), at least 1us. Default: `target`, or a third of `rtt-max` if that is less",
            },
            Param {
                key: "alpha",
                kind: Kind::Float(0.0, 1e6),
                default: Some(""),
                doc: "integral gain, 1/s: weight of the distance to the target. Default: 0.1 `update` / `rtt-max`^2, here 0.15",
            },
            Param {
                key: "beta",
                kind: Kind::Float(0.0, 1e6),
                default: Some(""),
                doc: "proportional gain, 1/s: weight of the change since the last update. Default: 0.3 / `rtt-max`, here 3",
            },
            Param {
                key: "coupling",
                kind: Kind::Float(0.1, 100.0),
                default: Some("2"),
                doc: "coupling factor k: L4S packets are marked with k p', classic packets with p'^2 (RFC 9332 section 2.4)",
            },
            Param {
                key: "l4s-threshold",
                kind: Kind::Time,
                default: Some("800us"),
                doc: "sojourn time from which on the L4S queue marks by itself (minTh)",
            },
            Param {
                key: "l4s-range",
                kind: Kind::Time,
                default: Some("400us"),
                doc: "length of the ramp above `l4s-threshold`, at the end of which every L4S packet is marked (range). Zero: a step, as in Linux",
            },
            Param {
                key: "l4s-packets",
                kind: Kind::Int(0, 1_000_000),
                default: Some("1"),
                doc: "the L4S queue marks by itself only if more packets than this remain in it (Th_len)",
            },
            Param {
                key: "classic-share",
                kind: Kind::Float(0.0, 0.5),
                default: Some("0.0625"),
                doc: "share of the classic queue in the link while both queues have packets, in bytes (weighted round robin). 1/16 is the example of RFC 9332 appendix A.2. Linux: 0.1",
            },
        ],
    },
    marking: Marking::Always,
    thresholds: &[],
    example: "{ kind = \"dualpi2\", target = \"200us\", rtt-max = \"1ms\", l4s-threshold = \"20us\", l4s-range = \"10us\" }",
    build: |v, _| build(v),
};

#[cfg(test)]
#[path = "dualpi2_tests.rs"]
mod tests;
