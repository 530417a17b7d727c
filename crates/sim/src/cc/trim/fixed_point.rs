//! TRIM in the kernel's whole numbers (`arithmetic = "linux"`): times in microseconds, windows in segments with the fraction that reductions leave in
//! 1/65536. Equal to the bit to the C core `crates/kernel/bpf/trim`; the branches are shared by both arithmetics.

use super::threshold::Policy;
use crate::cc::fixed_point::{ONE, fixed, segments};
use crate::cc::{Path, Window};
use forebay_types::{Rng, Time};

/// Maximum RTT, us (67 s).
const RTT_MAX: u64 = (1 << 26) - 1;
/// ps in a microsecond.
const US: u64 = 1_000_000;

/// `t` in whole microseconds.
pub(super) fn microseconds(t: Time) -> Time {
    Time::from_us(t.as_us())
}

/// An RTT in whole microseconds.
pub(super) fn sample(rtt: Time) -> Time {
    Time::from_us(rtt.as_us().min(RTT_MAX))
}

/// The bottleneck, in whole numbers; an unlimited buffer has no drain time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bottleneck {
    /// Time of a full packet, ps.
    packet: u64,
    /// Time that the full buffer takes to drain, us.
    buffer: Option<u64>,
    /// Minimum distance of K from the RTT of the empty path, us.
    guard: u64,
}

/// State of one connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FixedPoint {
    /// Smoothed RTT in us/16; 0 before the first sample.
    smooth: u64,
    /// Fraction of the window, in 1/65536.
    fraction: u64,
    bottleneck: Option<Bottleneck>,
}

impl FixedPoint {
    pub(super) fn take_path(&mut self, path: &Path, guard: f64) {
        let packet = 1e12 / path.packets_per_s;
        self.bottleneck = Some(Bottleneck {
            packet: packet as u64,
            buffer: path.buffer.is_finite().then_some((path.buffer * packet / 1e6) as u64),
            guard: (guard * packet / 1e6).ceil() as u64,
        });
    }

    /// Adds a sample to the smoothed RTT.
    pub(super) fn take_sample(&mut self, weight: f64, rtt: Time) {
        let (rtt, weight, old) = (rtt.as_us() << 4, u64::from(fixed(weight)), self.smooth);
        let new = if old == 0 {
            rtt
        } else if rtt >= old {
            old + (((rtt - old) * weight) >> 16)
        } else {
            old - (((old - rtt) * weight) >> 16)
        };
        self.smooth = new.max(1);
    }

    /// Returns true if `pause` is longer than the smoothed RTT.
    pub(super) fn is_shorter_than(&self, pause: Time) -> bool {
        self.smooth > 0 && pause.as_us() << 4 > self.smooth
    }

    /// The smoothed RTT for timers.
    pub(super) fn smooth(&self) -> Time {
        Time::from_us(self.smooth >> 4)
    }

    /// K in ps for an RTT of `d` on the empty path (Eq. 26).
    pub(super) fn threshold(&self, policy: Policy, d: Time) -> f64 {
        let Some(Bottleneck { packet, buffer, guard }) = self.bottleneck else { return f64::INFINITY };
        let d = d.as_us().min(RTT_MAX);
        // Packets with 16 bits behind the point: C D, and (sqrt(2 C D) - 1)^2, the square of a number of flows: of less than none it would be
        // above C D again (`threshold::interval`).
        let pipe = (((d * US) << 16) / packet).min(1 << 40);
        let distance = (pipe << 17).isqrt().saturating_sub(u64::from(ONE));
        let packets = ((distance * distance) >> 16).max(pipe);
        let lower = ((packets * packet) >> 16) / US;
        let upper = buffer.map(|b| b.saturating_add(d) / 2);
        let k = match (policy, upper) {
            (Policy::Explicit(k), _) => Time(k as u64).as_us(),
            (_, None) => lower,
            (Policy::Upper, Some(upper)) => upper,
            (_, Some(upper)) if lower >= upper => upper,
            (Policy::Mid, Some(upper)) => (lower + upper) / 2,
            (Policy::Lower, Some(_)) => lower,
        };
        k.max(d.saturating_add(guard)).saturating_mul(US) as f64
    }

    /// The window after a sample above `k` (Eq. 2 and 3), not below `floor`, and never a larger one.
    pub(super) fn cut(&mut self, cwnd: f64, rtt: Time, k: f64, floor: f64) -> f64 {
        let (cwnd, rtt, floor) = (segments(cwnd), rtt.as_us(), floor.ceil() as u32);
        let share = ((rtt - Time(k as u64).as_us()) << 15) / rtt;
        let window = (u64::from(cwnd) << 16) | self.fraction;
        let window = window - ((window * share) >> 16);
        if window >> 16 >= u64::from(floor) {
            self.fraction = window & 0xffff;
            (window >> 16) as f64
        } else {
            self.fraction = 0;
            f64::from(cwnd.min(floor))
        }
    }

    /// Clears the fraction after another change of the window.
    pub(super) fn forget_fraction(&mut self) {
        self.fraction = 0;
    }

    /// Eq. 1: the part of `saved` segments that is reused, at least `floor`.
    pub(super) fn reuse(saved: f64, rtt: Time, least: Time, floor: f64) -> f64 {
        let (saved, least) = (u64::from(segments(saved)), least.as_us());
        let rtt = rtt.as_us().max(least);
        let cwnd = if 2 * least > rtt { saved * (2 * least - rtt) / least } else { 0 };
        (cwnd as f64).max(floor)
    }

    /// Uniform in [0, most], whole microseconds.
    pub(super) fn random(rng: &mut Rng, most: Time) -> Time {
        Time::from_us(((rng.next_u64() >> 32) * (most.as_us() + 1)) >> 32)
    }

    /// The longest wait after probes with an RTT of `mean`, for a window that sends `left_segments`: (N - 1) W / C with N = C RTT / 2.
    pub(super) fn longest_wait(&self, w: &Window, mean: Time, left_segments: u64) -> Option<Time> {
        let packet = self.bottleneck?.packet;
        let others = (((mean.as_us() * US) << 15) / packet).saturating_sub(u64::from(ONE)).min(1 << 40);
        let packets = ((others * u64::from(segments(w.cwnd)).min(left_segments).min(1 << 20)) >> 16).min(1 << 20);
        Some(sample(Time::from_us(packets * packet / US)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::trim::threshold::threshold;

    /// The smoothed RTT moves by an eighth of its distance to a sample, down and up.
    #[test]
    fn smoothed_rtt_moves_by_weight() {
        let mut fixed_point = FixedPoint::default();
        let after = |us| {
            fixed_point.take_sample(0.125, Time::from_us(us));
            fixed_point.smooth()
        };
        assert_eq!([1000, 200, 1700].map(after), [1000, 900, 1000].map(Time::from_us));
    }

    /// K equals that of real numbers except for rounding, from a pipe of a fiftieth of a packet to one of a thousand.
    #[test]
    fn threshold_matches_real_arithmetic() {
        for pipe in [0.02, 0.1, 0.16, 0.3, 1.0, 2.14, 5.8, 6.0, 17.0, 150.0, 1000.0] {
            for (policy, buffer) in
                [(Policy::Lower, f64::INFINITY), (Policy::Lower, 100.0), (Policy::Mid, 100.0), (Policy::Upper, 100.0)]
            {
                let (d, packet) = (Time::from_us(100_000), 1e11 / pipe);
                let path = Path {
                    idle_rtt: d,
                    handshake_deficit: Time::ZERO,
                    packet: 1460.0,
                    packets_per_s: 1e12 / packet,
                    buffer,
                    rng: Rng::stream(0, &[]),
                };
                let mut fixed_point = FixedPoint::default();
                fixed_point.take_path(&path, 0.0);
                let (got, real) = (fixed_point.threshold(policy, d), threshold(policy, 1.0 / packet, d.0 as f64, buffer, 0.0));
                assert!((got / real - 1.0).abs() < 1e-3, "{pipe} {policy:?} {buffer}: {got} instead of {real}");
            }
        }
    }
}
