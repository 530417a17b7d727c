//! From the messages of a run to the batches of a figure, and from the batches of several runs to its interval.

use crate::decisions::{ItemKind, WorkItem};
use crate::stopping::figure::{Figure, Quantity, Statistic};
use crate::stopping::interval::{Batch, Interval, MIN_BATCHES, MIN_TAIL, NoInterval, Observation, Z, of_mean, of_quantile};
use crate::stopping::warmup;
use forebay_types::{GroupId, Time, TimeOrNever, WorkloadId, quantile};
use std::fmt;

/// Mean number of messages that start in a batch.
const STARTS: u64 = 50;
/// Least length of a batch in round-trip times of the longest path: queues have filled and drained several times since.
const ROUND_TRIPS: u64 = 20;
/// Fraction of messages that must have ended before the last batch counts. The others count with their time so far.
const ENDED: f64 = 0.999;

/// Properties of the run that are independent of the figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<'a> {
    /// Simulated time so far.
    pub now: Time,
    /// Time before which messages do not count because the flows of a warm start begin; 0 for a cold start.
    pub from: Time,
    /// End of the warm-up, if the scenario sets one.
    pub warmup: Option<Time>,
    /// Workloads whose messages share pools of connections.
    pub pools: &'a [WorkloadId],
    /// Round-trip time of the longest path without load.
    pub round_trip: Time,
    /// Least retransmission timeout; the largest one of all transports.
    pub timeout: Time,
    /// True if all messages arrive at random times that do not depend on the network.
    pub open: bool,
}

/// Batches of one figure in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    batches: Vec<Batch>,
    warmup: Time,
    /// Sizes of the messages that began in these batches, for a figure of their sum: the sum and the sum of squares.
    arrivals: (f64, f64),
}

/// Reason why a figure is not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UnknownReason {
    /// No message or query counts.
    Nothing,
    /// Too few have started.
    Few {
        /// Messages so far that count.
        started: u64,
        /// Number from which on an interval is possible.
        needed: u64,
    },
    /// Too many of the early ones have not ended.
    Running {
        /// Messages so far.
        started: u64,
        /// Ended messages.
        ended: u64,
    },
    /// The median still changes in the second half of the run.
    Unsteady,
    /// Batches depend on each other, however long.
    Correlated,
}

impl fmt::Display for UnknownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnknownReason::Nothing => f.write_str("none has started"),
            UnknownReason::Few { started, needed } => write!(f, "it needs at least {needed}, and {started} have started"),
            UnknownReason::Running { started, ended } => {
                write!(f, "of {started} that have started, {ended} have ended: the network may be overloaded, or some starve")
            }
            UnknownReason::Unsteady => {
                f.write_str("the median still changes in the second half of the run: there is no steady state yet, and none at a load of 1 or more")
            }
            UnknownReason::Correlated => f.write_str("successive intervals of the run depend on each other, so that it is too short"),
        }
    }
}

/// Least number of messages of an interval.
pub(crate) fn needed(figure: &Figure) -> u64 {
    let tail = match figure.statistic {
        Statistic::Mean => 0.0,
        Statistic::Quantile(p) => MIN_TAIL / p.min(1.0 - p),
    };
    (MIN_BATCHES as u64 * STARTS).max(tail.ceil() as u64)
}

/// The items of `group` that `figure` counts and that began between `from` and `now`, by their start. The payloads of workloads in an interval are
/// added up.
pub(crate) fn ordered(figure: &Figure, group: GroupId, work: &[WorkItem], (from, now): (Time, Time)) -> Vec<WorkItem> {
    let counts = |i: &&WorkItem| i.group == group && i.start >= from && i.start <= now && figure.counts(i);
    let mut own: Vec<WorkItem> = work.iter().filter(counts).copied().collect();
    own.sort_unstable_by_key(order);
    if figure.quantity == Quantity::Goodput {
        own.dedup_by(|next, sum| {
            let same = next.start == sum.start;
            sum.size_bytes += if same { next.size_bytes } else { 0 };
            same
        });
    }
    own
}

/// Order of messages by their start. Equal keys have equal values, so that the order does not depend on that of the list.
pub(crate) fn order(item: &WorkItem) -> (Time, TimeOrNever, Time, u64) {
    (item.start, item.end, item.ideal, item.size_bytes)
}

/// Length of the batches of these messages, the first of which starts at `begin`.
pub(crate) fn batch_length(own: &[WorkItem], begin: Time, span: &Span<'_>) -> Time {
    let time_of_starts = Time(span.now.saturating_sub(begin).0 / (own.len() as u64).max(1)).saturating_mul(STARTS);
    time_of_starts.max(span.round_trip.saturating_mul(ROUND_TRIPS)).max(Time(1))
}

/// Batches of equal length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// Start of the first batch.
    pub(crate) begin: Time,
    /// Length of a batch.
    pub(crate) length: Time,
}

impl Grid {
    /// Batch of a message.
    pub(crate) fn place(&self, item: &WorkItem) -> usize {
        (item.start.saturating_sub(self.begin) / self.length) as usize
    }

    /// Number of batches up to the last one before which enough messages have ended.
    pub(crate) fn closed(&self, figure: &Figure, own: &[WorkItem], now: Time) -> Result<usize, UnknownReason> {
        let closed = closed_batches(own, now, |item| self.place(item));
        if closed >= MIN_BATCHES {
            return Ok(closed);
        }
        let started = own.len() as u64;
        let ended = own.iter().filter(|i| i.end.is_due(now)).count() as u64;
        let batches = now.saturating_sub(self.begin) / self.length;
        Err(if batches as usize <= MIN_BATCHES + 1 {
            UnknownReason::Few { started, needed: needed(figure) }
        } else {
            UnknownReason::Running { started, ended }
        })
    }

    /// Number of batches of the warm-up.
    pub(crate) fn cut(&self, batches: &[Batch], span: &Span<'_>) -> Result<usize, UnknownReason> {
        if let Some(end) = span.warmup {
            return Ok((end.saturating_sub(self.begin).0.div_ceil(self.length.0) as usize).min(batches.len()));
        }
        let medians: Vec<f64> = batches.iter().filter_map(|b| median(b)).collect();
        let cut = warmup::cut(&medians);
        if !warmup::is_steady(cut, medians.len()) {
            return Err(UnknownReason::Unsteady);
        }
        // Batches without messages have no median.
        Ok(batches
            .iter()
            .scan(0, |seen, b| Some((*seen, *seen += usize::from(!b.is_empty())).0))
            .take_while(|s| *s < cut)
            .count())
    }

    /// End of a warm-up of `cut` batches; 0 if nothing is left out.
    pub(crate) fn warmup(&self, cut: usize) -> Time {
        if cut > 0 { self.begin + self.length * cut as u64 } else { Time::ZERO }
    }
}

impl Measured {
    /// Batches of `figure` for the messages of `group`.
    ///
    /// # Errors
    /// The reason why the figure cannot be known yet.
    pub fn new(figure: &Figure, group: GroupId, work: &[WorkItem], span: &Span<'_>) -> Result<Measured, UnknownReason> {
        let own = ordered(figure, group, work, (span.from, span.now));
        let begin = own.first().ok_or(UnknownReason::Nothing)?.start;
        let grid = Grid { begin, length: batch_length(&own, begin, span) };
        let closed = grid.closed(figure, &own, span.now)?;
        let mut batches: Vec<Batch> = vec![Vec::new(); closed];
        for item in own.iter().take_while(|item| grid.place(item) < closed) {
            batches[grid.place(item)].push(observe(figure, item, span));
        }
        let cut = grid.cut(&batches, span)?;
        batches.drain(..cut);
        let warmup = grid.warmup(cut).max(span.from);
        let arrivals = if span.open && !figure.is_time() {
            let until = grid.begin + grid.length * closed as u64;
            arrivals(figure, work.iter().filter(|i| i.start >= warmup && i.start < until))
        } else {
            (0.0, 0.0)
        };
        Ok(Measured { batches, warmup, arrivals })
    }

    /// End of the warm-up; 0 if nothing is left out.
    pub fn warmup(&self) -> Time {
        self.warmup
    }

    /// Number of messages that count.
    pub fn messages(&self) -> u64 {
        self.batches.iter().map(|b| b.len() as u64).sum()
    }
}

/// The interval of `figure` over several independent runs.
///
/// # Errors
/// The reason why there is none.
pub fn interval(figure: &Figure, runs: &[&Measured]) -> Result<Interval, UnknownReason> {
    let batches: Vec<Vec<Batch>> = runs.iter().map(|m| m.batches.clone()).collect();
    let found = match figure.statistic {
        Statistic::Mean => of_mean(&batches),
        Statistic::Quantile(p) => of_quantile(&batches, p),
    };
    // Samples of a saturated link are equal, however much the traffic of another time differs: the sum of messages that arrive at random has this
    // relative error (a compound Poisson variable).
    let (sum, squares) = runs.iter().fold((0.0, 0.0), |(a, b), m| (a + m.arrivals.0, b + m.arrivals.1));
    let relative = if sum > 0.0 { Z * squares.sqrt() / sum } else { 0.0 };
    let found =
        found.map(|i| Interval { low: i.low.min(i.value * (1.0 - relative)), high: i.high.max(i.value * (1.0 + relative)), ..i });
    found.map_err(|why| match why {
        NoInterval::Few => UnknownReason::Few { started: runs.iter().map(|m| m.messages()).sum(), needed: needed(figure) },
        NoInterval::Correlated => UnknownReason::Correlated,
    })
}

/// Sum of the sizes of the messages of a figure, and of their squares.
fn arrivals<'a>(figure: &Figure, work: impl Iterator<Item = &'a WorkItem>) -> (f64, f64) {
    let own = work.filter(|i| matches!(i.kind, ItemKind::Message | ItemKind::QueryMessage) && figure.carries(i));
    own.map(|i| i.size_bytes as f64).fold((0.0, 0.0), |(sum, squares), size| (sum + size, squares + size * size))
}

/// Value of the figure over the messages that start from `from` on and before `now`, as it is at `now`; `None` without messages.
pub fn value_at(figure: &Figure, group: GroupId, work: &[WorkItem], from: Time, now: Time) -> Option<f64> {
    let own = ordered(figure, group, work, (from, now));
    let mut values: Vec<f64> = own.iter().filter(|i| i.start < now).map(|i| value_so_far(figure, i, now).0).collect();
    values.sort_unstable_by(f64::total_cmp);
    match figure.statistic {
        Statistic::Mean => (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64),
        Statistic::Quantile(p) => quantile(&values, p),
    }
}

/// The value of `figure` for an item, as it is at `now`, and whether the item is still running.
fn value_so_far(figure: &Figure, item: &WorkItem, now: Time) -> (f64, bool) {
    let running = !item.end.is_due(now);
    let taken = item.end.get().filter(|_| !running).unwrap_or(now).saturating_sub(item.start);
    (figure.value(item, taken), running)
}

pub(crate) fn observe(figure: &Figure, item: &WorkItem, span: &Span<'_>) -> Observation {
    let (value, running) = value_so_far(figure, item, span.now);
    let opens_pool = item.opens && span.pools.contains(&item.workload);
    let timeout = if figure.is_time() { figure.value(item, span.timeout) } else { 0.0 };
    Observation { value, running, opens_pool, lost: item.lost, waited: item.timeouts > 0, timeout }
}

/// Number of batches that end with the last one before which enough messages have ended.
fn closed_batches(own: &[WorkItem], now: Time, place: impl Fn(&WorkItem) -> usize) -> usize {
    let (mut ended, mut closed) = (0_u64, 0);
    for (i, item) in own.iter().enumerate() {
        ended += u64::from(item.end.is_due(now));
        // The last batch has no successor that shows its end.
        let last_of_batch = own.get(i + 1).is_some_and(|next| place(next) > place(item));
        // One may run in any case: otherwise few slow messages would always be left out.
        let missing = (i + 1) as u64 - ended;
        if last_of_batch && missing as f64 <= ((1.0 - ENDED) * (i + 1) as f64).max(1.0) {
            closed = place(item) + 1;
        }
    }
    closed
}

fn median(batch: &[Observation]) -> Option<f64> {
    let mut values: Vec<f64> = batch.iter().map(|o| o.value).collect();
    values.sort_unstable_by(f64::total_cmp);
    quantile(&values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decisions::ItemKind;
    use forebay_types::Rng;

    const GROUP: GroupId = GroupId::new(0);

    fn figure() -> Figure {
        Figure::parse("p90 of fct", &[]).unwrap()
    }

    fn item(start: Time, taken: Option<Time>) -> WorkItem {
        WorkItem {
            opens: false,
            kind: ItemKind::Message,
            workload: WorkloadId::new(0),
            group: GROUP,
            size_bytes: 1_000,
            start,
            end: taken.map_or(TimeOrNever::NEVER, |t| (start + t).into()),
            ideal: Time::from_us(1),
            timeouts: 0,
            lost: false,
        }
    }

    /// A message each 10 us, with an exponential time with a mean of 50 us, longer by `extra` of the start.
    fn work(messages: u64, extra: impl Fn(u64) -> u64) -> Vec<WorkItem> {
        let mut rng = Rng::stream(1, &[3]);
        let mut one = |i| item(Time::from_us(10 * i), Some(Time::from_us((rng.exponential() * 50.0) as u64 + extra(i))));
        (0..messages).map(&mut one).collect()
    }

    fn span(now: Time) -> Span<'static> {
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

    fn measured(work: &[WorkItem]) -> Result<Measured, UnknownReason> {
        Measured::new(&figure(), GROUP, work, &span(Time::from_us(10 * work.len() as u64)))
    }

    #[test]
    fn steady_messages_have_an_interval() {
        let all = work(5_000, |_| 0);
        let m = measured(&all).unwrap();
        let i = interval(&figure(), &[&m]).unwrap();
        let truth = 50e-6 * 10_f64.ln();
        assert!(i.low < truth && truth < i.high && i.is_within(0.15), "{i:?}");
        assert!(m.messages() > 4_000);
        let mut other = all.clone();
        other.reverse();
        assert_eq!(measured(&other).unwrap(), m, "the order of the list does not matter");
    }

    #[test]
    fn warm_up_is_found_or_given() {
        let slow_start = work(5_000, |i| if i < 500 { 400 } else { 0 });
        let m = measured(&slow_start).unwrap();
        assert!(m.warmup() >= Time::from_us(5_000) && m.warmup() <= Time::from_us(12_000), "{}", m.warmup());
        let given = Span { warmup: Some(Time::from_us(20_000)), ..span(Time::from_us(50_000)) };
        let m = Measured::new(&figure(), GROUP, &slow_start, &given).unwrap();
        assert!(m.warmup() >= Time::from_us(20_000) && m.messages() <= 3_000, "{} {}", m.warmup(), m.messages());
    }

    #[test]
    fn unsuitable_runs_are_named() {
        assert_eq!(measured(&[]), Err(UnknownReason::Nothing));
        assert_eq!(measured(&work(300, |_| 0)), Err(UnknownReason::Few { started: 300, needed: 500 }));
        assert_eq!(measured(&work(5_000, |i| i)), Err(UnknownReason::Unsteady), "the queue grows");
        let starved: Vec<WorkItem> =
            (0..5_000).map(|i| item(Time::from_us(10 * i), (i % 2 == 0).then(|| Time::from_us(5)))).collect();
        assert_eq!(measured(&starved), Err(UnknownReason::Running { started: 5_000, ended: 2_500 }));
    }

    #[test]
    fn value_counts_running_messages_so_far() {
        let all = [item(Time::ZERO, Some(Time::from_us(4))), item(Time::from_us(2), None), item(Time::from_us(20), None)];
        let mean = Figure::parse("mean of fct", &[]).unwrap();
        // 4 us, and 8 us so far; the last one starts later.
        let value = value_at(&mean, GROUP, &all, Time::ZERO, Time::from_us(10)).unwrap();
        assert!((value - 6e-6).abs() < 1e-12, "{value}");
        assert_eq!(value_at(&mean, GROUP, &all, Time::from_us(30), Time::from_us(40)), None);
    }

    /// A link is full while five messages of the same size arrive at random. Its goodput over a longer time is known to 1.96 / sqrt(5).
    #[test]
    fn few_random_arrivals_widen_interval() {
        let sample = |i: u64| WorkItem { kind: ItemKind::Interval, ..item(Time::from_us(10 * i), Some(Time::from_us(10))) };
        let messages = (0..5).map(|i| item(Time::from_us(1_000 * i + 5), Some(Time::from_us(100))));
        let work: Vec<WorkItem> = (0..1_000).map(sample).chain(messages).collect();
        let goodput = Figure::parse("mean of goodput", &[]).unwrap();
        let relative = |open: bool| {
            let span = Span { open, warmup: Some(Time(1)), ..span(Time::from_us(10_000)) };
            let m = Measured::new(&goodput, GROUP, &work, &span).unwrap();
            let i = interval(&goodput, &[&m]).unwrap();
            i.half_width() / i.value
        };
        assert!(relative(false) < 1e-9);
        assert!((relative(true) - 1.96 / 5_f64.sqrt()).abs() < 0.15, "{}", relative(true));
    }
}
