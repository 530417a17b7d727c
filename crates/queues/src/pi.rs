//! Proportional integral controller of PIE (RFC 8033 section 4.2) and DualPI2 (RFC 9332 appendix A.1): a probability that follows the queueing delay
//! and its trend, with an update in every period.
//!
//! The controller has no timer event. Between two packets its input is known, so the updates that are due run when the next packet arrives or leaves,
//! with the same result. Our choice: an update that is due at that time runs first. The first update is due one period after the start of the
//! simulation.

use forebay_types::Time;

/// RFC 8033 section 4.2: factor of the probability in every update without any queue.
const DECAY: f64 = 0.98;
/// Resolution of the random numbers, 2^-53. A decaying probability below it is 0.
const NEGLIGIBLE: f64 = f64::EPSILON / 2.0;
/// RFC 8033 section 5.5: largest increase of a probability of 0.1 or more.
const CAP: f64 = 0.02;
/// Probabilities at which the scale of PIE's steps changes (RFC 8033 section 4.2).
const EDGES: [f64; 6] = [1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1];
/// Updates with a growing delay that are computed one by one. Further ones are computed together, with the rounding error of a sum.
const SINGLE: u64 = 4096;

/// Steps of the probability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gains {
    /// Alpha and beta as they are (RFC 9332 appendix A.1).
    Fixed,
    /// Alpha and beta are divided by a scale that depends on the probability, which also decays while there is no queue (RFC 8033 section 4.2).
    Scaled {
        /// Limits increases (RFC 8033 section 5.5).
        cap: bool,
    },
}

/// The parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PiParams {
    /// Target of the queueing delay.
    pub(crate) target: Time,
    /// Time between two updates.
    pub(crate) period: Time,
    /// Integral gain, 1/s.
    pub(crate) alpha: f64,
    /// Proportional gain, 1/s.
    pub(crate) beta: f64,
    pub(crate) gains: Gains,
}

/// Queueing delay at the updates that are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delay {
    /// The same at all of them.
    Constant(Time),
    /// That of a packet that has waited since this time.
    Since(Time),
}

/// The controller.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PiController {
    pub(crate) params: PiParams,
    pub(crate) probability: f64,
    /// Queueing delay at the last update.
    pub(crate) old_delay: Time,
    pub(crate) next_update: Time,
}

fn seconds(t: Time) -> f64 {
    t.0 as f64 * 1e-12
}

impl PiController {
    /// A controller of an empty queue.
    pub(crate) fn new(params: PiParams) -> PiController {
        PiController { params, probability: 0.0, old_delay: Time::ZERO, next_update: params.period }
    }

    /// Returns true if an update is due at `now`.
    #[inline(always)]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.next_update <= now
    }

    /// Runs the updates that are due at `now`, at least one, and returns their number. The work is bounded for any number.
    #[inline(never)]
    pub(crate) fn run_due(&mut self, now: Time, delay: Delay) -> u64 {
        let (first, period) = (self.next_update, self.params.period.0);
        let due = (now - first).0 / period + 1;
        self.next_update = Time(first.0.saturating_add(due.saturating_mul(period)));
        match delay {
            Delay::Constant(delay) => {
                // Only the first update has a trend, the others repeat one step.
                self.update(delay);
                if due > 1 {
                    self.repeat_step(due - 1, delay);
                }
            }
            Delay::Since(since) => self.follow(first - since, due),
        }
        due
    }

    /// Runs one update.
    fn update(&mut self, delay: Time) {
        self.probability = self.next_probability(self.probability, delay);
        self.old_delay = delay;
    }

    /// Runs `due` updates, the first with the queueing delay `first` and each further one with a delay that is longer by a period.
    fn follow(&mut self, first: Time, due: u64) {
        let period = self.params.period;
        let delay = |n: u64| Time(first.0.saturating_add(n.saturating_mul(period.0)));
        (0..due.min(SINGLE)).for_each(|n| self.update(delay(n)));
        if due <= SINGLE {
            return;
        }
        debug_assert!(self.params.gains == Gains::Fixed, "PIE has a constant delay between two packets");
        // The steps form an arithmetic sequence. It rises, so the probability falls first, if at all: it is bounded by 0 then, and by 1 afterwards.
        let left = (due - SINGLE) as f64;
        let error = seconds(delay(SINGLE)) - seconds(self.params.target);
        let step = self.params.alpha * error + self.params.beta * seconds(period);
        let growth = self.params.alpha * seconds(period);
        let sum = |n: f64| n * step + growth * (n * (n - 1.0) / 2.0);
        let falling = if step >= 0.0 { 0.0 } else { ((-step / growth) as u64 as f64 + 1.0).min(left) };
        let lowest = (self.probability + sum(falling)).max(0.0);
        self.probability = (lowest + (sum(left) - sum(falling))).clamp(0.0, 1.0);
        self.old_delay = delay(due - 1);
    }

    /// Runs `left` updates without a trend, with results bit-identical to those of single updates. A decaying probability (`DECAY`) is 0 after at most
    /// 1819 updates (`NEGLIGIBLE`). Otherwise the probability moves in one direction by a constant step. It ends at 0, at 1, or when the step is below
    /// the precision of the probability, after at most a few computed steps in each of some 70 binades and ranges of [`scale`].
    #[inline(never)]
    pub(crate) fn repeat_step(&mut self, mut left: u64, delay: Time) {
        let decays = delay == Time::ZERO && self.params.gains != Gains::Fixed;
        let mut p = self.probability;
        let mut older = None;
        while left > 0 {
            let next = self.next_probability(p, delay);
            left -= 1;
            if next == p {
                break;
            }
            // Two steps that end in one segment are rounded to the same grid, including ties to even, so the second one repeats.
            let constant = !decays && segment(p) == segment(next) && older.is_some_and(|o| segment(o) == segment(p));
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

    /// Probability after an update at this delay, if it was `probability` before.
    pub(crate) fn next_probability(&self, probability: f64, delay: Time) -> f64 {
        let p = self.params;
        let error = seconds(delay) - seconds(p.target);
        let trend = seconds(delay) - seconds(self.old_delay);
        let step = p.alpha * error + p.beta * trend;
        let Gains::Scaled { cap } = p.gains else { return (probability + step).clamp(0.0, 1.0) };
        let mut step = step / scale(probability);
        if cap && probability >= 0.1 {
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
}

/// Divisor of PIE's steps, which are smaller at small probabilities (RFC 8033 section 4.2).
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
    let room = if step > 0.0 {
        let end = EDGES.into_iter().find(|&e| e > p).unwrap_or(1.0);
        end.min(binade.1) - p
    } else {
        let end = EDGES.into_iter().rfind(|&e| e <= p).unwrap_or(0.0);
        p - end.max(binade.0)
    };
    // The quotient is rounded, and the last step must end within the segment.
    ((room / step.abs()) as u64).saturating_sub(2)
}

#[cfg(test)]
#[path = "pi_tests.rs"]
mod tests;
