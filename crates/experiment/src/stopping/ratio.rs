//! Ratio of a figure between two runs with the same arrivals, with its confidence interval.
//!
//! Two variants with the same seed receive the same messages at the same times. A burst makes both of them slow, so that much of the chance cancels in
//! their ratio. Both runs are divided into the same batches. A batch contributes to the logarithm of the ratio by the deviations of its messages in
//! both runs. For a mean that is the relative deviation of the sum. For a quantile it is the deviation of the fraction of messages below it, times the
//! slope of the logarithm of the quantile (the delta method). The slope is that between the bounds of Woodruff (1952). The variance of these
//! contributions gives the interval.

use crate::decisions::WorkItem;
use crate::stopping::figure::{Figure, Statistic};
use crate::stopping::interval::{Interval, MIN_TAIL, NoInterval, Observation, Z, by_timeouts, half_width_of_sum, upper};
use crate::stopping::measure::{Grid, Span, UnknownReason, batch_length, needed, observe, ordered, value_at};
use forebay_types::math::{exp, ln};
use forebay_types::{GroupId, Time, quantile};

/// Number of runs that are compared.
const SIDES: usize = 2;
/// Half-width of the logarithm of a ratio beyond which nothing is known: `exp` is exact up to 700.
const LARGEST_HALF_WIDTH: f64 = 600.0;

/// Messages that began in one interval of time, in the first run and in the other one, with their start.
type PairedBatch = [Vec<(Time, Observation)>; SIDES];

/// Batches of one figure in two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    batches: Vec<PairedBatch>,
    warmup: Time,
}

impl Paired {
    /// Batches of `figure` for the messages of `group`, in the first run and in the other one.
    ///
    /// # Errors
    /// The reason why the ratio cannot be known yet.
    pub fn new(figure: &Figure, group: GroupId, work: [&[WorkItem]; SIDES], span: &Span<'_>) -> Result<Paired, UnknownReason> {
        let own = work.map(|w| ordered(figure, group, w, (span.from, span.now)));
        let [Some(first), Some(other)] = [own[0].first(), own[1].first()] else { return Err(UnknownReason::Nothing) };
        let begin = first.start.min(other.start);
        let length = batch_length(&own[0], begin, span).max(batch_length(&own[1], begin, span));
        let grid = Grid { begin, length };
        let closed = grid.closed(figure, &own[0], span.now)?.min(grid.closed(figure, &own[1], span.now)?);
        let mut batches: Vec<PairedBatch> = vec![Default::default(); closed];
        let mut cut = 0;
        for (side, own) in own.iter().enumerate() {
            for item in own.iter().take_while(|item| grid.place(item) < closed) {
                batches[grid.place(item)][side].push((item.start, observe(figure, item, span)));
            }
            let alone: Vec<Vec<Observation>> = batches.iter().map(|b| b[side].iter().map(|o| o.1).collect()).collect();
            cut = grid.cut(&alone, span)?.max(cut);
        }
        batches.drain(..cut);
        Ok(Paired { batches, warmup: grid.warmup(cut).max(span.from) })
    }

    /// End of the warm-up of both runs; 0 if nothing is left out.
    pub fn warmup(&self) -> Time {
        self.warmup
    }

    /// Number of messages that count in the run that has fewer.
    pub fn messages(&self) -> u64 {
        let of = |side: usize| self.batches.iter().map(|b| b[side].len() as u64).sum::<u64>();
        of(0).min(of(1))
    }
}

/// The figure of one side over all runs, and the contribution of a message to the relative deviation of the figure.
struct Side {
    value: f64,
    /// Least and largest value that it can have when all running messages have ended, and with another number of timeouts.
    lowest: f64,
    highest: f64,
    /// Relative deviation of the figure for an additional unit: of the value for a mean, of the number of messages for a quantile.
    slope: f64,
    statistic: Statistic,
}

impl Side {
    fn new(statistic: Statistic, runs: &[&Paired], side: usize) -> Result<Side, NoInterval> {
        let all = || runs.iter().flat_map(|r| &r.batches).flat_map(|b| &b[side]).map(|o| o.1);
        let sorted = |value: fn(&Observation) -> f64| {
            let mut values: Vec<f64> = all().map(|o| value(&o)).collect();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let shown = sorted(|o| o.value);
        let n = shown.len() as f64;
        let Statistic::Quantile(p) = statistic else {
            let value = shown.iter().sum::<f64>() / n;
            let slope = 1.0 / (value * n);
            let waits = by_timeouts(runs.iter().flat_map(|r| &r.batches).flat_map(|b| &b[side]).map(|o| &o.1));
            let (lowest, highest) = ((value - waits.less).max(f64::MIN_POSITIVE), value + waits.more);
            return if slope.is_finite() { Ok(Side { value, lowest, highest, slope, statistic }) } else { Err(NoInterval::Few) };
        };
        let Some(value) = quantile(&shown, p).filter(|v| *v > 0.0) else { return Err(NoInterval::Few) };
        if n * p.min(1.0 - p) < MIN_TAIL {
            return Err(NoInterval::Few);
        }
        let below = |batch: &PairedBatch| batch[side].iter().map(|o| f64::from(u8::from(o.1.value <= value)) - p).sum();
        let batches: Vec<Vec<PairedBatch>> = runs.iter().map(|r| r.batches.clone()).collect();
        let half = half_width_of_sum(&batches, below)?.max(Z * (n * p * (1.0 - p)).sqrt()) / n;
        let (low, high) = ((p - half).max(0.0), (p + half).min(1.0));
        let rise = quantile(&shown, high).unwrap_or(value) / quantile(&shown, low).unwrap_or(value);
        let rise = if rise.is_normal() { ln(rise) } else { f64::INFINITY };
        let slope = rise / ((high - low) * n);
        let never = sorted(|o| if o.running { f64::INFINITY } else { o.value });
        // Both bounds are observed values, so that they are equal without running messages.
        Ok(Side { value, lowest: value, highest: value * (upper(&never, p) / upper(&shown, p)), slope, statistic })
    }

    /// Contribution of a message to the relative deviation of the figure.
    fn deviation(&self, o: &Observation) -> f64 {
        match self.statistic {
            Statistic::Mean => self.slope * (o.value - self.value),
            Statistic::Quantile(p) => self.slope * (p - f64::from(u8::from(o.value <= self.value))),
        }
    }
}

/// Interval of the ratio of the figure of the other run to that of the first one, over several independent pairs of runs.
///
/// # Errors
/// The reason why there is none.
pub fn ratio(figure: &Figure, runs: &[&Paired]) -> Result<Interval, UnknownReason> {
    of(figure.statistic, runs).map_err(|why| match why {
        NoInterval::Few => UnknownReason::Few { started: runs.iter().map(|m| m.messages()).sum(), needed: needed(figure) },
        NoInterval::Correlated => UnknownReason::Correlated,
    })
}

fn of(statistic: Statistic, runs: &[&Paired]) -> Result<Interval, NoInterval> {
    let sides = [Side::new(statistic, runs, 0)?, Side::new(statistic, runs, 1)?];
    let batches: Vec<Vec<PairedBatch>> = runs.iter().map(|r| r.batches.clone()).collect();
    let part = |side: usize, o: &Observation| if side == 0 { -sides[0].deviation(o) } else { sides[1].deviation(o) };
    let of_batch = |b: &PairedBatch| -> f64 { (0..SIDES).flat_map(|s| b[s].iter().map(move |o| part(s, &o.1))).sum() };
    // Independent pairs of messages would have this error. Batches that vary less do so by chance.
    let independent = Z * batches.iter().flatten().map(|b| squares_of_pairs(b, part)).sum::<f64>().sqrt();
    let half = half_width_of_sum(&batches, of_batch)?.max(independent).min(LARGEST_HALF_WIDTH);
    let value = sides[1].value / sides[0].value;
    Ok(Interval {
        value,
        low: value * exp(-half) * (sides[0].value / sides[0].highest) * (sides[1].lowest / sides[1].value),
        high: value * exp(half) * (sides[1].highest / sides[1].value) * (sides[0].value / sides[0].lowest),
    })
}

/// Sum of the squares of the contributions of pairs: messages of both runs that start at the same time.
fn squares_of_pairs(batch: &PairedBatch, part: impl Fn(usize, &Observation) -> f64) -> f64 {
    let mut all: Vec<(Time, f64)> =
        (0..SIDES).flat_map(|side| batch[side].iter().map(move |o| (side, o))).map(|(side, o)| (o.0, part(side, &o.1))).collect();
    all.sort_by_key(|c| c.0);
    all.chunk_by(|a, b| a.0 == b.0).map(|pair| pair.iter().map(|c| c.1).sum::<f64>().powi(2)).sum()
}

/// Ratio of the values of a figure, as it is at `now`, over the messages that start from `from` on.
pub fn ratio_at(figure: &Figure, group: GroupId, work: [&[WorkItem]; SIDES], from: Time, now: Time) -> Option<f64> {
    let [first, other] = work.map(|w| value_at(figure, group, w, from, now));
    Some(other? / first.filter(|v| *v > 0.0)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decisions::ItemKind;
    use crate::stopping::measure::{Measured, interval};
    use forebay_types::{Rng, TimeOrNever, WorkloadId};

    const GROUP: GroupId = GroupId::new(0);
    const MESSAGES: u64 = 5_000;

    /// Two runs with a message each 10 us. Loads common to both make them slow together, by an autoregressive process with exponential marginals; the
    /// other run takes twice as long, and each has a noise of its own.
    fn runs(seed: u64) -> [Vec<WorkItem>; 2] {
        let mut rng = Rng::stream(seed, &[5]);
        let mut load = rng.exponential();
        let mut both = [Vec::new(), Vec::new()];
        for i in 0..MESSAGES {
            load = 0.5 * load + if rng.unit() < 0.5 { 0.0 } else { rng.exponential() };
            for (side, factor) in [1.0, 2.0].into_iter().enumerate() {
                let taken = Time(((0.2 + load) * (1.0 + 0.2 * rng.unit()) * factor * 50e6) as u64);
                let start = Time::from_us(10 * i);
                both[side].push(WorkItem {
                    kind: ItemKind::Message,
                    workload: WorkloadId::new(0),
                    group: GROUP,
                    size_bytes: 1_000,
                    start,
                    end: TimeOrNever::at(start + taken),
                    ideal: Time::from_us(1),
                    opens: false,
                    timeouts: 0,
                    lost: false,
                });
            }
        }
        both
    }

    fn span() -> Span<'static> {
        let now = Time::from_us(10 * MESSAGES);
        Span {
            now,
            from: Time::ZERO,
            warmup: None,
            pools: &[],
            round_trip: Time::from_us(10),
            timeout: Time::from_us(1_000),
            open: false,
        }
    }

    fn paired(runs: &[Vec<WorkItem>; 2], figure: &Figure) -> Paired {
        Paired::new(figure, GROUP, [&runs[0], &runs[1]], &span()).unwrap()
    }

    /// The ratio is 2 exactly. Of 180 intervals with a coverage of 95 %, fewer than 91 % contain it in 1 of 100 cases.
    #[test]
    fn intervals_cover_true_ratio() {
        for text in ["p90 of fct", "mean of fct"] {
            let figure = Figure::parse(text, &[]).unwrap();
            let of_seed = |seed: u64| {
                let both = runs(seed);
                let paired = Paired::new(&figure, GROUP, [&both[0], &both[1]], &span()).ok()?;
                ratio(&figure, &[&paired]).ok()
            };
            let all: Vec<Interval> = (0..200).filter_map(of_seed).collect();
            let covered = all.iter().filter(|i| i.low <= 2.0 && 2.0 <= i.high).count();
            assert!(all.len() >= 160 && covered * 100 >= all.len() * 91, "{text}: {covered} of {}", all.len());
        }
    }

    #[test]
    fn common_arrivals_narrow_interval() {
        for text in ["p90 of fct", "mean of fct"] {
            let figure = Figure::parse(text, &[]).unwrap();
            let both = runs(1);
            let i = ratio(&figure, &[&paired(&both, &figure)]).unwrap();
            let alone = interval(&figure, &[&Measured::new(&figure, GROUP, &both[0], &span()).unwrap()]).unwrap();
            let (of_ratio, of_one) = (i.half_width() / i.value, alone.half_width() / alone.value);
            assert!(of_ratio < 0.5 * of_one, "{text}: {of_ratio} and {of_one}");
        }
    }

    #[test]
    fn equal_runs_have_ratio_one() {
        let figure = Figure::parse("p90 of fct", &[]).unwrap();
        let [first, _] = runs(1);
        let i = ratio(&figure, &[&paired(&[first.clone(), first], &figure)]).unwrap();
        assert_eq!((i.value, i.low, i.high), (1.0, 1.0, 1.0));
    }

    #[test]
    fn running_messages_widen_interval() {
        let figure = Figure::parse("p90 of fct", &[]).unwrap();
        let [first, mut other] = runs(1);
        let before = ratio(&figure, &[&paired(&[first.clone(), other.clone()], &figure)]).unwrap();
        // One message of a thousand may be running.
        other.iter_mut().step_by(1_100).for_each(|i| i.end = TimeOrNever::NEVER);
        let after = ratio(&figure, &[&paired(&[first, other], &figure)]).unwrap();
        assert!(after.high > before.high && after.high.is_finite(), "{before:?} {after:?}");
    }

    #[test]
    fn run_without_messages_has_no_ratio() {
        let figure = Figure::parse("p90 of fct", &[]).unwrap();
        let [first, _] = runs(1);
        assert_eq!(Paired::new(&figure, GROUP, [&first, &[]], &span()), Err(UnknownReason::Nothing));
    }
}
