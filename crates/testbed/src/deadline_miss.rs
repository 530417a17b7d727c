//! Deadline misses: the time from the instant at which a packet was due to its delivery.

use forebay_types::Time;
use std::fmt;

/// Counts of latenesses by powers of two, each cut into eight: a quantile is right to an eighth.
#[derive(Debug, Clone)]
pub struct DeadlineMisses {
    counts: Vec<u64>,
    total: u64,
    largest: Time,
}

const STEPS: u64 = 8;

/// Nanoseconds below which every value has a place of its own.
const FINE: u64 = 16;

fn place(ns: u64) -> usize {
    if ns < FINE {
        return ns as usize;
    }
    let power = u64::from(ns.ilog2());
    (FINE + (power - 4) * STEPS + ((ns >> (power - 3)) & (STEPS - 1))) as usize
}

/// The largest value in a place.
fn upper(place: usize) -> u64 {
    let place = place as u64;
    if place < FINE {
        return place;
    }
    let (power, step) = ((place - FINE) / STEPS + 4, (place - FINE) % STEPS);
    ((STEPS + step + 1) << (power - 3)) - 1
}

impl Default for DeadlineMisses {
    fn default() -> DeadlineMisses {
        DeadlineMisses { counts: vec![0; place(u64::MAX) + 1], total: 0, largest: Time::ZERO }
    }
}

impl DeadlineMisses {
    /// A packet that was due at `due` was handed over at `now`.
    pub fn add(&mut self, due: Time, now: Time) {
        let late = now.saturating_sub(due);
        self.counts[place(late.as_ns())] += 1;
        self.total += 1;
        self.largest = self.largest.max(late);
    }

    /// Packets counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Quantile `q` of the deadline misses; zero without a packet.
    pub fn quantile(&self, q: f64) -> Time {
        let rank = ((self.total as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        for (i, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Time::from_ns(upper(i)).min(self.largest);
            }
        }
        Time::ZERO
    }

    /// The largest.
    pub fn largest(&self) -> Time {
        self.largest
    }
}

impl fmt::Display for DeadlineMisses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, p99, p999] = [0.5, 0.99, 0.999].map(|q| self.quantile(q));
        write!(
            f,
            "late by {median} (median), {p99} (99 %), {p999} (99.9 %), {} (largest) of {} packets",
            self.largest, self.total
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_ordered_within_an_eighth() {
        let mut last = 0;
        for ns in (0..10_000).chain((0..50).map(|i| 10_000 << i)) {
            let p = place(ns);
            assert!(p >= last, "{ns}");
            assert!(upper(p) >= ns && upper(p) as f64 <= ns as f64 * 1.125 + 1.0, "{ns}: {}", upper(p));
            last = p;
        }
    }

    #[test]
    fn quantiles() {
        let mut l = DeadlineMisses::default();
        for us in 1..=1000 {
            l.add(Time::ZERO, Time::from_us(us));
        }
        let near = |q: f64, us: f64| (l.quantile(q).as_us() as f64 / us - 1.0).abs() < 0.13;
        assert!(near(0.5, 500.0) && near(0.99, 990.0), "{l}");
        assert_eq!(l.largest(), Time::from_us(1000));
        assert_eq!(DeadlineMisses::default().quantile(0.99), Time::ZERO);
    }
}
