//! Confidence intervals of a quantile or a mean from batches of dependent values.
//!
//! A batch quantile is biased where a batch has few values beyond the quantile. So the batches give the variance of another number: the fraction of
//! values at or below the quantile. The bounds are the quantiles at p plus and minus the half width for this fraction (Woodruff 1952).
//!
//! A pool opens a connection when more messages of a pair of hosts are under way than ever before. The n-th of independent values is a record with
//! probability 1/n (Rényi 1962), so that such messages become rarer with the inverse of the time, and no warm-up excludes them. They have a handshake
//! and a slow start. A longer run has a smaller fraction of them, between that of this run and none. So an interval contains that of the messages
//! without them too.
//!
//! A retransmission timeout takes a thousand times as long as an ordinary message of a data center, so that one message in a thousand doubles the mean. A
//! short run has none by chance, and its batches do not show that. The number of messages that wait for a timeout is nearly a Poisson variable. So the
//! interval of a mean includes the values with the numbers that are at the ends of the interval of that variable, in runs that lose segments.

use forebay_types::{quantile, student_t_975};

/// Least number of batches of an interval, over all runs together. Ours: with fewer the variance itself is uncertain.
pub const MIN_BATCHES: usize = 10;

/// Batches are merged in pairs while their autocorrelation at lag 1 is at or above this.
pub const MAX_CORRELATION: f64 = 0.1;

/// Least number of observations expected on either side of a quantile. Ours: fewer are those of a few bursts, whose number varies more than the batches
/// show.
pub const MIN_TAIL: f64 = 25.0;

/// 97.5 % quantile of the normal distribution.
pub(crate) const Z: f64 = 1.959_964;

/// Duration of a message or query, in the unit of the figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Its value; if it is still running, that so far.
    pub value: f64,
    /// True if it is still running: the value is a lower bound.
    pub running: bool,
    /// True for a message that opened a connection of a pool.
    pub opens_pool: bool,
    /// True if it lost segments.
    pub lost: bool,
    /// True if it waited for a retransmission timeout.
    pub waited: bool,
    /// Value of a wait for the least retransmission timeout; 0 for a figure without times.
    pub timeout: f64,
}

/// Observations that began in one interval of time.
pub type Batch = Vec<Observation>;

/// Estimate with a 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound; infinite if there are too few observations for one.
    pub high: f64,
}

impl Interval {
    /// The larger distance of a bound from the estimate.
    pub fn half_width(&self) -> f64 {
        (self.high - self.value).max(self.value - self.low)
    }

    /// Returns true if both bounds are within this fraction of the estimate.
    pub fn is_within(&self, fraction: f64) -> bool {
        self.half_width() <= fraction * self.value.abs()
    }
}

/// Reason why batches give no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoInterval {
    /// There are too few batches.
    Few,
    /// Merged batches are still correlated when there are too few of them.
    Correlated,
}

/// Interval of the `p`-quantile of all observations of several independent runs, each with its batches in order.
///
/// # Errors
/// The reason why there is none.
pub fn of_quantile(runs: &[Vec<Batch>], p: f64) -> Result<Interval, NoInterval> {
    let all = || runs.iter().flatten().flatten();
    let sorted = |counts: fn(&Observation) -> bool, value: fn(&Observation) -> f64| {
        let mut values: Vec<f64> = all().filter(|o| counts(o)).map(value).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let shown = sorted(|_| true, |o| o.value);
    let Some(value) = quantile(&shown, p) else { return Err(NoInterval::Few) };
    let beyond = |batch: &Batch| batch.iter().map(|o| f64::from(u8::from(o.value <= value)) - p).sum();
    let n = shown.len() as f64;
    if n * p.min(1.0 - p) < MIN_TAIL {
        return Err(NoInterval::Few);
    }
    // Independent values would have this error. Batches that vary less do so by chance.
    let half = half_width_of_sum(runs, beyond)?.max(Z * (n * p * (1.0 - p)).sqrt()) / n;
    let bounds = |shown: &[f64], counts: fn(&Observation) -> bool| {
        // Running observations may become as long as they like.
        let never = sorted(counts, |o| if o.running { f64::INFINITY } else { o.value });
        let high = if p + half < 1.0 { upper(&never, p + half) } else { f64::INFINITY };
        (quantile(shown, (p - half).max(0.0)).unwrap_or(value), high)
    };
    let (mut low, mut high) = bounds(&shown, |_| true);
    if has_pools(runs) {
        let without = |o: &Observation| !o.opens_pool;
        let others = bounds(&sorted(without, |o| o.value), without);
        (low, high) = (low.min(others.0), high.max(others.1));
    }
    Ok(Interval { value, low, high })
}

/// True if some messages opened a connection of a pool, and others did not.
fn has_pools(runs: &[Vec<Batch>]) -> bool {
    let any = |opens: bool| runs.iter().flatten().flatten().any(|o| o.opens_pool == opens);
    any(true) && any(false)
}

/// The quantile of sorted values, of which the largest may be infinite: the next larger value instead of one between two.
pub(crate) fn upper(sorted: &[f64], p: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let place = (p * last as f64).ceil() as usize;
    sorted.get(place.min(last)).copied().unwrap_or(f64::INFINITY)
}

/// Changes of a mean that the number of timeouts allows by chance.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ByTimeouts {
    /// The mean may be lower by this.
    pub(crate) less: f64,
    /// The mean may be higher by this.
    pub(crate) more: f64,
}

/// Changes of the mean of all observations by the number of those that wait for a timeout, if segments were lost. One that still runs may be another one.
pub(crate) fn by_timeouts<'a>(all: impl Iterator<Item = &'a Observation>) -> ByTimeouts {
    let (mut n, mut waited, mut running, mut lost) = (0.0, 0.0, 0.0, false);
    let (mut of_waits, mut least) = (0.0, 0.0);
    for o in all {
        n += 1.0;
        least += o.timeout;
        lost |= o.lost;
        if o.waited {
            (waited, of_waits) = (waited + 1.0, of_waits + o.value);
        } else if o.running {
            running += 1.0;
        }
    }
    if n == 0.0 {
        return ByTimeouts::default();
    }
    // Back-off makes later timeouts longer.
    let each = if waited > 0.0 { f64::max(of_waits / waited, least / n) } else { least / n };
    let (low, high) = if lost { poisson(waited) } else { (waited, waited) };
    ByTimeouts { less: (waited - low) * each / n, more: (high - waited + running) * each / n }
}

/// Ends of the 95 % confidence interval of the mean of a Poisson variable with this value (Wilson and Hilferty 1931: the cube root of a chi-squared
/// variable is nearly normal).
fn poisson(value: f64) -> (f64, f64) {
    let cube = |n: f64, z: f64| {
        let root = (1.0 - 1.0 / (9.0 * n) + z / (3.0 * n.sqrt())).max(0.0);
        n * root * root * root
    };
    (if value > 0.0 { cube(value, -Z) } else { 0.0 }, cube(value + 1.0, Z))
}

/// Interval of the mean, as [`of_quantile`]. Running observations count with their value so far.
///
/// # Errors
/// The reason why there is none.
pub fn of_mean(runs: &[Vec<Batch>]) -> Result<Interval, NoInterval> {
    let mean = |counts: fn(&Observation) -> bool| {
        let all = || runs.iter().flatten().flatten().filter(|o| counts(o)).map(|o| o.value);
        let n = all().count();
        (n > 0).then(|| (all().sum::<f64>() / n as f64, n as f64))
    };
    let (value, n) = mean(|_| true).ok_or(NoInterval::Few)?;
    let half = half_width_of_sum(runs, |batch| batch.iter().map(|o| o.value - value).sum())? / n;
    let without = mean(|o| !o.opens_pool).map_or(value, |m| m.0);
    let waits = by_timeouts(runs.iter().flatten().flatten());
    Ok(Interval {
        value,
        low: (value.min(without) - half).min(value - waits.less),
        high: (value.max(without) + half).max(value + waits.more),
    })
}

/// Half width of the 95 % interval of the sum of all deviations. `deviation` gives that of a batch; those of all batches add up to about 0.
///
/// The first length of batches whose correlation is low enough is often one at which it is low by chance, and runs end when an interval is narrow. Both
/// make the variance too small. So the variance of pairs of these batches counts if it is larger.
pub(crate) fn half_width_of_sum<B>(runs: &[Vec<B>], deviation: impl Fn(&B) -> f64) -> Result<f64, NoInterval> {
    let least = MIN_BATCHES.div_ceil(runs.len().max(1)).max(2);
    let (mut batches, mut pairs) = (SumOfSquares::default(), SumOfSquares::default());
    for run in runs {
        let deviations: Vec<f64> = run.iter().map(&deviation).collect();
        let (merged, correlation) = merge_until_uncorrelated(deviations, least)?;
        // The remaining correlation widens the interval as that of a first-order autoregressive process.
        let rest = correlation.max(0.0);
        batches.add(&merged, (1.0 + rest) / (1.0 - rest));
        let paired = merge_pairs(&merged);
        if paired.len() >= least {
            pairs.add(&paired, 1.0);
        }
    }
    if batches.count < MIN_BATCHES {
        return Err(NoInterval::Few);
    }
    let squares = if pairs.count >= MIN_BATCHES { pairs.unbiased().max(batches.unbiased()) } else { batches.unbiased() };
    Ok(student_t_975(batches.count - 1) * squares.sqrt())
}

/// Sum of squared deviations of the batches of all runs.
#[derive(Default)]
struct SumOfSquares {
    count: usize,
    sum: f64,
}

impl SumOfSquares {
    fn add(&mut self, deviations: &[f64], factor: f64) {
        self.sum += deviations.iter().map(|d| d * d).sum::<f64>() * factor;
        self.count += deviations.len();
    }

    /// The sum for a mean that is estimated from the same batches.
    fn unbiased(&self) -> f64 {
        let n = self.count as f64;
        self.sum * n / (n - 1.0)
    }
}

/// Adds neighbors in pairs until the autocorrelation is below [`MAX_CORRELATION`]; returns it too.
fn merge_until_uncorrelated(mut sums: Vec<f64>, least: usize) -> Result<(Vec<f64>, f64), NoInterval> {
    if sums.len() < least {
        return Err(NoInterval::Few);
    }
    while sums.len() >= least {
        let correlation = autocorrelation(&sums);
        if correlation < MAX_CORRELATION {
            return Ok((sums, correlation));
        }
        sums = merge_pairs(&sums);
    }
    Err(NoInterval::Correlated)
}

/// Sums of neighbors in pairs. The batch without a partner is part of the last pair.
fn merge_pairs(sums: &[f64]) -> Vec<f64> {
    let mut merged: Vec<f64> = sums.chunks_exact(2).map(|pair| pair.iter().sum()).collect();
    if let (Some(last), Some(rest)) = (merged.last_mut(), sums.chunks_exact(2).remainder().first()) {
        *last += rest;
    }
    merged
}

/// Autocorrelation at lag 1; 0 for equal values.
fn autocorrelation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Rng;

    fn done(value: f64) -> Observation {
        Observation { value, running: false, opens_pool: false, lost: false, waited: false, timeout: 0.0 }
    }

    /// Batches of values of a first-order autoregressive process with exponential marginals (Gaver and Lewis 1980, EAR(1)): mean 1, correlation
    /// `rho` at lag 1.
    fn exponential(seed: u64, rho: f64, batches: usize, each: usize) -> Vec<Batch> {
        let mut rng = Rng::stream(seed, &[7]);
        let mut x = rng.exponential();
        let mut next = || {
            let fresh = if rng.unit() < rho { 0.0 } else { rng.exponential() };
            x = rho * x + fresh;
            done(x)
        };
        (0..batches).map(|_| (0..each).map(|_| next()).collect()).collect()
    }

    #[test]
    fn autocorrelation_of_known_series() {
        assert_eq!(autocorrelation(&[2.0; 9]), 0.0);
        // Deviations -1.5, -0.5, 0.5, 1.5: products 0.75 - 0.25 + 0.75, squares 5.
        assert!((autocorrelation(&[1.0, 2.0, 3.0, 4.0]) - 0.25).abs() < 1e-12);
        assert!(autocorrelation(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) < -0.8);
    }

    #[test]
    fn mean_of_ten_batches() {
        // Ten batches of one value, 1 to 10 in an order without correlation: the interval of ten independent values.
        let values = [5.0, 8.0, 1.0, 10.0, 3.0, 7.0, 2.0, 9.0, 4.0, 6.0];
        let batches: Vec<Batch> = values.iter().map(|v| vec![done(*v)]).collect();
        let i = of_mean(&[batches]).unwrap();
        // Student's t 2.262 for 9 degrees of freedom, sample deviation 3.0277.
        assert_eq!(i.value, 5.5);
        assert!((i.half_width() - 2.262 * 3.0277 / 10_f64.sqrt()).abs() < 2e-3, "{i:?}");
    }

    #[test]
    fn few_and_correlated_batches() {
        let nine: Vec<Batch> = (0..9).map(|i| vec![done(f64::from(i % 2))]).collect();
        assert_eq!(of_mean(&[nine]), Err(NoInterval::Few));
        let rising: Vec<Batch> = (0..40).map(|i| vec![done(f64::from(i))]).collect();
        assert_eq!(of_mean(&[rising]), Err(NoInterval::Correlated));
        assert_eq!(of_quantile(&[Vec::new()], 0.5), Err(NoInterval::Few));
    }

    #[test]
    fn few_tail_values_give_no_interval() {
        assert_eq!(of_quantile(&[exponential(1, 0.0, 49, 50)], 0.99), Err(NoInterval::Few));
        assert!(of_quantile(&[exponential(1, 0.0, 51, 50)], 0.99).is_ok());
        assert_eq!(of_quantile(&[exponential(1, 0.0, 49, 50)], 0.01), Err(NoInterval::Few));
    }

    /// Each 40th message opens a connection of the pool, and takes longer than all others.
    #[test]
    fn interval_includes_messages_without_openings() {
        let plain = exponential(1, 0.0, 40, 50);
        let mut opening = plain.clone();
        opening.iter_mut().flatten().step_by(40).for_each(|o| o.value += 100.0);
        let same = opening.clone();
        opening.iter_mut().flatten().step_by(40).for_each(|o| o.opens_pool = true);
        let rest: Vec<Batch> = opening.iter().map(|b| b.iter().filter(|o| !o.opens_pool).copied().collect()).collect();
        for of in [|b: Vec<Batch>| of_quantile(&[b], 0.9), |b: Vec<Batch>| of_mean(&[b])] {
            let [with, as_others, without] = [&opening, &same, &rest].map(|b| of(b.clone()).unwrap());
            assert_eq!((with.value, with.high), (as_others.value, as_others.high), "the estimate counts all messages");
            assert!(with.low < as_others.low && with.low <= without.value && without.value < as_others.value, "{with:?}");
        }
    }

    #[test]
    fn running_messages_raise_upper_bound_only() {
        let mut batches = exponential(1, 0.0, 40, 50);
        let before = of_quantile(&[batches.clone()], 0.9).unwrap();
        batches.iter_mut().step_by(2).for_each(|b| b[0].running = true);
        let after = of_quantile(&[batches.clone()], 0.9).unwrap();
        assert_eq!((after.value, after.low), (before.value, before.low));
        assert!(after.high > before.high && after.high.is_finite());
        batches.iter_mut().for_each(|b| b[..8].iter_mut().for_each(|o| o.running = true));
        assert!(of_quantile(&[batches], 0.9).unwrap().high.is_infinite());
    }

    /// Of 400 runs, the fraction whose interval contains the true value among those that have an interval. 0.95 is expected, with a standard
    /// deviation of 0.011.
    fn coverage(truth: f64, interval: impl Fn(u64) -> Result<Interval, NoInterval>) -> f64 {
        let all: Vec<Interval> = (0..400).filter_map(|seed| interval(seed).ok()).collect();
        assert!(all.len() >= 320, "only {} of 400 have an interval", all.len());
        all.iter().filter(|i| i.low <= truth && truth <= i.high).count() as f64 / all.len() as f64
    }

    #[test]
    fn intervals_cover_true_quantile() {
        let p99 = -(0.01_f64).ln();
        for rho in [0.0, 0.5, 0.9] {
            let part = coverage(p99, |seed| of_quantile(&[exponential(seed, rho, 100, 100)], 0.99));
            assert!(part >= 0.925, "rho {rho}: {part}");
        }
        let two = |seed| of_quantile(&[seed, seed + 1000].map(|s| exponential(s, 0.5, 50, 100)), 0.99);
        let part = coverage(p99, two);
        assert!(part >= 0.925, "two runs: {part}");
    }

    #[test]
    fn larger_variance_of_pairs_counts() {
        // Neighbors are equal or opposite in turn: the autocorrelation is 1 / 40, but pairs have twice the variance of independent values.
        let values: Vec<f64> = (0..40).map(|i| if i % 4 < 2 { 1.0 } else { -1.0 }).collect();
        assert!((autocorrelation(&values) - 0.025).abs() < 1e-12);
        let half = |values: &[f64]| half_width_of_sum(&[values.to_vec()], |v| *v).unwrap();
        // 20 pairs with the sum 2 or -2.
        assert!((half(&values) - student_t_975(39) * (80.0_f64 * 20.0 / 19.0).sqrt()).abs() < 1e-9);
        // Shifted by one, pairs cancel, except for the last one, and the batches count.
        let (n, r) = (39.0_f64, autocorrelation(&values[1..]));
        assert!(r < 0.0 && (half(&values[1..]) - student_t_975(38) * (n * n / (n - 1.0)).sqrt()).abs() < 1e-9, "{r}");
    }

    #[test]
    fn intervals_cover_true_mean() {
        let part = coverage(1.0, |seed| of_mean(&[exponential(seed, 0.8, 100, 50)]));
        assert!((0.925..=0.99).contains(&part), "{part}");
    }

    /// Confidence limits of the mean of a Poisson variable (Garwood 1936).
    #[test]
    fn poisson_limits() {
        for (value, low, high) in [(0.0, 0.0, 3.689), (1.0, 0.025, 5.572), (10.0, 4.795, 18.390), (100.0, 81.364, 121.627)] {
            let found = poisson(value);
            assert!((found.0 - low).abs() < 0.02 + 0.002 * low && (found.1 - high).abs() < 0.03, "{value}: {found:?}");
        }
    }

    /// One message in a thousand waits for a timeout of 200 ms, the others take 0.1 ms: the mean is 0.3 ms. The interval of a run that has seen none of
    /// these waits contains it if the run has lost segments.
    #[test]
    fn unseen_timeouts_widen_mean_interval() {
        let mut rng = Rng::stream(1, &[8]);
        let mut batches = |lost: bool| -> Vec<Batch> {
            let mut one = || Observation { lost, timeout: 0.2, ..done(1e-4 * (0.9 + 0.2 * rng.unit())) };
            (0..100).map(|_| (0..10).map(|_| one()).collect()).collect()
        };
        let truth = 3e-4;
        let [without, with] = [false, true].map(|lost| of_mean(&[batches(lost)]).unwrap());
        assert!(without.high < truth && without.is_within(0.05), "{without:?}");
        assert!(with.high > truth && with.low < truth, "{with:?}");
        // A running message may be such a message.
        let mut running = batches(false);
        running[0][0].running = true;
        let i = of_mean(&[running]).unwrap();
        assert!((i.high - i.value - 0.2 / 1000.0).abs() < 1e-5, "{i:?}");
    }

    /// The interval contains the mean in most of many runs with rare timeouts.
    #[test]
    fn intervals_with_rare_timeouts_cover() {
        let found = (0..200).filter_map(|seed| {
            let mut rng = Rng::stream(seed, &[9]);
            let mut one = || {
                let waited = rng.unit() < 1e-3;
                let value = 1e-4 * (0.9 + 0.2 * rng.unit()) + if waited { 0.2 } else { 0.0 };
                Observation { lost: true, waited, timeout: 0.2, ..done(value) }
            };
            let batches: Vec<Batch> = (0..160).map(|_| (0..25).map(|_| one()).collect()).collect();
            of_mean(&[batches]).ok()
        });
        let found: Vec<Interval> = found.collect();
        let covered = found.iter().filter(|i| i.low <= 3e-4 && 3e-4 <= i.high).count();
        assert!(found.len() > 150 && covered * 100 >= found.len() * 93, "{covered} of {}", found.len());
    }
}
