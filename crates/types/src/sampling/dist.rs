//! Distributions of sizes and times in scenarios.

use crate::Time;
use crate::sampling::math;
use crate::sampling::mixture::Mixture;
use crate::sampling::rng::Rng;
use crate::sampling::size_table::SizeTable;
use std::sync::Arc;

/// Distribution of message sizes, in bytes, at least 1.
#[derive(Debug, Clone, PartialEq)]
pub enum SizeDist {
    /// Always this size.
    Const(u64),
    /// Uniform on the integers `lo..=hi`.
    Uniform(u64, u64),
    /// Logarithm uniform between `ln lo` and `ln hi`.
    LogUniform(u64, u64),
    /// Exponential with this mean.
    Exponential(u64),
    /// A size table (cumulative distribution with linear interpolation).
    Table(Arc<SizeTable>),
    /// A mixture of distributions.
    Mixture(Arc<Mixture<SizeDist>>),
}

/// Distribution of durations.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeDist {
    /// Always this long.
    Const(Time),
    /// Uniform on `lo..=hi`.
    Uniform(Time, Time),
    /// Logarithm uniform.
    LogUniform(Time, Time),
    /// Exponential with this mean.
    Exponential(Time),
    /// A mixture of distributions.
    Mixture(Arc<Mixture<TimeDist>>),
}

/// Maximum of an exponential draw, in means: a 53-bit uniform number reaches the quantile 53 ln 2 = 36.7.
const LONGEST_EXPONENTIAL: u64 = 37;

fn uniform(rng: &mut Rng, lo: u64, hi: u64) -> u64 {
    lo + rng.below((hi - lo).saturating_add(1))
}

fn log_uniform(rng: &mut Rng, lo: u64, hi: u64) -> u64 {
    let (a, b) = (math::ln(lo.max(1) as f64), math::ln(hi.max(1) as f64));
    (math::exp(a + (b - a) * rng.unit()) as u64).clamp(lo, hi)
}

impl SizeDist {
    /// Draws one size in bytes, at least 1.
    pub fn sample(&self, rng: &mut Rng) -> u64 {
        let s = match self {
            SizeDist::Const(n) => *n,
            SizeDist::Uniform(lo, hi) => uniform(rng, *lo, *hi),
            SizeDist::LogUniform(lo, hi) => log_uniform(rng, *lo, *hi),
            SizeDist::Exponential(mean) => (rng.exponential() * *mean as f64) as u64,
            SizeDist::Table(t) => t.sample(rng.unit()),
            SizeDist::Mixture(m) => m.pick(rng.unit()).sample(rng),
        };
        s.max(1)
    }

    /// Mean in bytes (of the continuous distribution).
    pub fn mean(&self) -> f64 {
        match self {
            SizeDist::Const(n) | SizeDist::Exponential(n) => *n as f64,
            SizeDist::Uniform(lo, hi) => (*lo as f64 + *hi as f64) / 2.0,
            SizeDist::LogUniform(lo, hi) => log_uniform_mean(*lo, *hi),
            SizeDist::Table(t) => t.mean(),
            SizeDist::Mixture(m) => m.mean_of(SizeDist::mean),
        }
    }

    /// The largest size that can be drawn, bytes.
    pub fn largest(&self) -> u64 {
        match self {
            SizeDist::Const(n) | SizeDist::Uniform(_, n) | SizeDist::LogUniform(_, n) => (*n).max(1),
            SizeDist::Exponential(mean) => mean.saturating_mul(LONGEST_EXPONENTIAL).max(1),
            SizeDist::Table(t) => t.points().last().map_or(1, |p| p.0.ceil() as u64),
            SizeDist::Mixture(m) => m.parts().iter().map(|p| p.1.largest()).max().unwrap_or(1),
        }
    }
}

impl TimeDist {
    /// Draws one duration.
    pub fn sample(&self, rng: &mut Rng) -> Time {
        Time(match self {
            TimeDist::Const(t) => t.0,
            TimeDist::Uniform(lo, hi) => uniform(rng, lo.0, hi.0),
            TimeDist::LogUniform(lo, hi) => log_uniform(rng, lo.0, hi.0),
            TimeDist::Exponential(mean) => (rng.exponential() * mean.0 as f64) as u64,
            TimeDist::Mixture(m) => return m.pick(rng.unit()).sample(rng),
        })
    }

    /// Mean in picoseconds (of the continuous distribution).
    pub fn mean(&self) -> f64 {
        match self {
            TimeDist::Const(t) | TimeDist::Exponential(t) => t.0 as f64,
            TimeDist::Uniform(lo, hi) => (lo.0 as f64 + hi.0 as f64) / 2.0,
            TimeDist::LogUniform(lo, hi) => log_uniform_mean(lo.0, hi.0),
            TimeDist::Mixture(m) => m.mean_of(TimeDist::mean),
        }
    }

    /// The longest duration that can be drawn.
    pub fn longest(&self) -> Time {
        match self {
            TimeDist::Const(t) | TimeDist::Uniform(_, t) | TimeDist::LogUniform(_, t) => *t,
            TimeDist::Exponential(mean) => Time(mean.0.saturating_mul(LONGEST_EXPONENTIAL)),
            TimeDist::Mixture(m) => m.parts().iter().map(|p| p.1.longest()).max().unwrap_or(Time::ZERO),
        }
    }
}

fn log_uniform_mean(lo: u64, hi: u64) -> f64 {
    if lo == hi { lo as f64 } else { (hi - lo) as f64 / (math::ln(hi as f64) - math::ln(lo.max(1) as f64)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_means_approach_the_mean() {
        let table = SizeTable::parse("0 0\n1000 0.5\n9000 1\n", "t").unwrap();
        for d in [
            SizeDist::Const(9),
            SizeDist::Uniform(2_000, 10_000),
            SizeDist::LogUniform(1_000, 1_000_000),
            SizeDist::Exponential(50_000),
            SizeDist::Table(Arc::new(table)),
            SizeDist::Mixture(Arc::new(
                Mixture::new(vec![(0.9, SizeDist::Const(100)), (0.1, SizeDist::Uniform(1_000, 9_000))]).unwrap(),
            )),
        ] {
            let mut rng = Rng::stream(3, &[]);
            let n = 100_000;
            let draws: Vec<u64> = (0..n).map(|_| d.sample(&mut rng)).collect();
            let mean = draws.iter().map(|&s| s as f64).sum::<f64>() / f64::from(n);
            assert!((mean / d.mean() - 1.0).abs() < 0.02, "{d:?}: {mean} against {}", d.mean());
            assert!(draws.iter().all(|s| *s <= d.largest()), "{d:?}");
        }
    }

    #[test]
    fn draws_are_at_most_longest() {
        let short = TimeDist::LogUniform(Time(3), Time(900));
        let mixed = Mixture::new(vec![(0.5, short.clone()), (0.5, TimeDist::Exponential(Time(1_000)))]).unwrap();
        for d in
            [TimeDist::Uniform(Time(3), Time(9)), short, TimeDist::Exponential(Time(1_000)), TimeDist::Mixture(Arc::new(mixed))]
        {
            let mut rng = Rng::stream(1, &[]);
            let draws: Vec<Time> = (0..100_000).map(|_| d.sample(&mut rng)).collect();
            assert!(draws.iter().all(|t| *t <= d.longest()), "{d:?}");
            // Durations are cut to whole picoseconds.
            let mean = draws.iter().map(|t| t.0 as f64 + 0.5).sum::<f64>() / 1e5;
            assert!((mean / d.mean() - 1.0).abs() < 0.1, "{d:?}: {mean} against {}", d.mean());
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        let mut rng = Rng::stream(1, &[]);
        SizeDist::Uniform(0, u64::MAX).sample(&mut rng);
        assert_eq!(TimeDist::Uniform(Time(5), Time(5)).sample(&mut rng), Time(5));
        assert_eq!(SizeDist::Const(0).sample(&mut rng), 1);
    }
}
