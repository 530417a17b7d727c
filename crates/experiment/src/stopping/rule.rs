//! The rule of the table `[stop]`: when a run ends, and the noise floor below which no accuracy is granted.

use crate::Experiment;
use crate::decisions::{Decisions, RunSnapshot, WorkItem};
use crate::stopping::figure::{Figure, Quantity};
use crate::stopping::interval::Interval;
use crate::stopping::measure::{Measured, Span, UnknownReason, interval, value_at};
use crate::stopping::sampling::{Sampling, is_endless};
use crate::topology::{Fib, hosts};
use crate::traffic::WorkloadKind;
use forebay_types::{GroupId, PortId, Time, TimeOrNever, WorkloadId};
use std::time::Duration;

/// The table `[stop]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// Figures to know; at least one.
    pub known: Vec<Request>,
    /// Wall time after which runs end in any case.
    pub budget: Option<Duration>,
    /// True if the runs of several variants end when the ratios of their figures to those of the first variant are known. Otherwise each ends when its
    /// own figures are known.
    pub ratio: bool,
}

/// A figure to know.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The figure; `None` for that of the first sentence about the run ([`Figure::headline`]).
    pub figure: Option<Figure>,
    /// Largest half width of the 95 % confidence interval, as a fraction of the value.
    pub within: f64,
}

/// Reason why a run ended before its duration was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All figures are known.
    Known,
    /// A noise floor is above the accuracy that is asked for.
    Floor,
}

/// Factor between successive times of decisions. Ours: a run ends at most a quarter later than necessary, and few decisions are made, each of which may
/// be wrong by chance.
const STEP: f64 = 0.8;
/// Number of decisions before the end of the duration: the first one is at about a thousandth.
const DECISIONS: u32 = 30;
/// Part of the time so far that the twin run takes.
pub(crate) const TWIN: u64 = 10;
/// Factor by which the delays of all links are longer in the twin run.
const LONGER: (u64, u64) = (101, 100);

/// The experiment of the twin run until `until`: all link delays are 1 % longer.
pub fn twin(config: &Experiment, until: Time) -> Experiment {
    let mut twin = config.clone();
    twin.network.ports.iter_mut().for_each(|p| p.delay = Time(p.delay.0 / LONGER.1 * LONGER.0));
    twin.duration = Some(until);
    twin.observe.warmup = Time::ZERO;
    (twin.observe.queue_series, twin.observe.tcp_series) = (Vec::new(), Vec::new());
    twin
}

/// Values of a figure in the run and in its twin, over the time of the twin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    pub(crate) until: Time,
    pub(crate) change: f64,
}

impl Change {
    /// The noise floor of the whole run until `now`, whose interval has this half width.
    ///
    /// The change is due to chance as far as the figure is uncertain over the shorter time of the twin: it shrinks with the square root of the time.
    /// A larger change is a property of the network, and stays.
    pub(crate) fn floor(self, half_width: f64, now: Time) -> f64 {
        let part = (self.until.0 as f64 / now.0.max(1) as f64).min(1.0).sqrt();
        let by_chance = std::f64::consts::SQRT_2 * half_width / part;
        if self.change <= by_chance { self.change * part } else { self.change }
    }
}

/// A figure of one transport group, at the end of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Place of the request in [`Stop::known`].
    pub request: usize,
    /// The figure.
    pub figure: Figure,
    /// The group.
    pub group: GroupId,
    /// Its batches, or the reason why it is not known.
    pub measured: Result<Measured, UnknownReason>,
    /// Noise floor of the run in the unit of the figure, if it was measured.
    pub floor: Option<f64>,
}

/// Runs the twin until a time. `None` if it was interrupted.
pub type RunTwin<'a> = dyn FnMut(Time) -> Option<Vec<WorkItem>> + Send + 'a;

/// Decisions about one run.
pub struct Rule<'a> {
    stop: &'a Stop,
    groups: Vec<GroupId>,
    properties: RunProperties,
    /// Factor for the accuracy of one of several runs.
    share: f64,
    /// Times of the decisions that are left, latest first.
    times: Vec<Time>,
    /// Payload over time, if a figure needs it.
    sampling: Option<Sampling>,
    run_twin: Box<RunTwin<'a>>,
    /// Changes by request and group, once the twin has run.
    changes: Vec<(usize, GroupId, Change)>,
    twin_ran: bool,
    /// True if all intervals were narrow enough at the last decision. Some are so by chance, because their batches vary little. So a run ends at the
    /// second of two such decisions.
    narrow_before: bool,
    ended: Option<Ended>,
}

impl<'a> Rule<'a> {
    /// Decisions for one of `runs` runs of `config` with different seeds. Together they are more accurate than one by the square root of their number.
    pub fn new(stop: &'a Stop, config: &Experiment, runs: u32, run_twin: Box<RunTwin<'a>>) -> Rule<'a> {
        Rule {
            stop,
            groups: used_groups(config),
            properties: RunProperties::of(config),
            share: f64::from(runs.max(1)).sqrt(),
            times: times(config.duration.unwrap_or_default(), config.observe.warmup),
            sampling: sampling(stop, config),
            run_twin,
            changes: Vec::new(),
            twin_ran: false,
            narrow_before: false,
            ended: None,
        }
    }

    /// Reason of the end, if the rule ended the run.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Intervals with the payload so far, if a figure needs them.
    pub fn intervals(&self) -> impl Iterator<Item = WorkItem> {
        self.sampling.iter().flat_map(Sampling::items)
    }

    /// The figures of a run that ended at `now`. `work` includes the intervals.
    pub fn outcomes(&self, work: &[WorkItem], now: Time) -> Vec<Outcome> {
        let span = self.properties.span(now);
        let mut all = Vec::new();
        for (request, Request { figure, .. }) in self.stop.known.iter().enumerate() {
            let of = |group: &GroupId| {
                let own = || work.iter().filter(|i| i.group == *group);
                let figure = match figure {
                    Some(figure) => figure.clone(),
                    None => Figure::headline(&own().copied().collect::<Vec<_>>())?,
                };
                own().any(|i| figure.counts(i)).then_some((figure, *group))
            };
            let mut found: Vec<(Figure, GroupId)> = self.groups.iter().filter_map(of).collect();
            // A figure without messages is reported too.
            if let (true, Some(figure), Some(group)) = (found.is_empty(), figure, self.groups.first()) {
                found.push((figure.clone(), *group));
            }
            for (figure, group) in found {
                let measured = Measured::new(&figure, group, work, &span);
                let change = self.changes.iter().find(|(r, g, _)| (*r, *g) == (request, group)).map(|c| c.2);
                let half_width = measured.as_ref().ok().and_then(|m| interval(&figure, &[m]).ok()).map(|i| i.half_width());
                let floor = change.zip(half_width).map(|(c, half)| c.floor(half, now));
                all.push(Outcome { request, figure, group, measured, floor });
            }
        }
        all
    }

    /// Interval of an outcome, if it is accurate enough.
    fn accurate(&self, outcome: &Outcome) -> Option<Interval> {
        let within = self.stop.known[outcome.request].within * self.share;
        let m = outcome.measured.as_ref().ok()?;
        interval(&outcome.figure, &[m]).ok().filter(|i| i.is_within(within))
    }

    /// Runs the twin for a tenth of the time so far, and notes by how much the figures change. Returns false if it was interrupted.
    fn measure_changes(&mut self, outcomes: &[Outcome], work: &[WorkItem], now: Time) -> bool {
        let until = now / TWIN;
        let Some(other) = (self.run_twin)(until) else { return false };
        self.twin_ran = true;
        for o in outcomes {
            // The same messages in both runs; early ones are left out where enough others remain.
            let from = o.measured.as_ref().map_or(Time::ZERO, Measured::warmup);
            let from = if from * 2 <= until { from } else { self.properties.from };
            let value = |work: &[WorkItem]| value_at(&o.figure, o.group, work, from, until);
            if let (Some(own), Some(other)) = (value(work), value(&other)) {
                self.changes.push((o.request, o.group, Change { until, change: (own - other).abs() }));
            }
        }
        true
    }
}

impl Decisions for Rule<'_> {
    fn next(&self) -> TimeOrNever {
        next_time(&self.times, self.sampling.as_ref())
    }

    fn ends(&mut self, now: Time, so_far: &RunSnapshot<'_>) -> bool {
        let Some(work) = due_work(&mut self.times, self.sampling.as_mut(), now, so_far) else { return false };
        let outcomes = self.outcomes(&work, now);
        let narrow = !outcomes.is_empty() && outcomes.iter().all(|o| self.accurate(o).is_some());
        if !std::mem::replace(&mut self.narrow_before, narrow) || !narrow {
            return false;
        }
        if !self.twin_ran && !self.measure_changes(&outcomes, &work, now) {
            return false;
        }
        let figures = outcomes.iter().filter_map(|o| {
            let (.., change) = self.changes.iter().find(|(r, g, _)| (*r, *g) == (o.request, o.group))?;
            Some((self.accurate(o)?, self.stop.known[o.request].within * self.share, *change))
        });
        self.ended = decision(figures, now);
        self.ended.is_some()
    }
}

impl std::fmt::Debug for Rule<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule").field("stop", &self.stop).field("ended", &self.ended).finish_non_exhaustive()
    }
}

/// Decision about runs whose figures are narrow enough at `now`: the interval of each, its largest half width as a fraction of the value, and its change
/// between runs and twins. `None`: a floor that is due to chance is still too wide, and shrinks while the runs go on.
pub(crate) fn decision(figures: impl Iterator<Item = (Interval, f64, Change)>, now: Time) -> Option<Ended> {
    let mut ended = Some(Ended::Known);
    for (interval, within, change) in figures {
        let floor = change.floor(interval.half_width(), now);
        if floor > within * interval.value.abs() {
            if floor >= change.change {
                return Some(Ended::Floor);
            }
            ended = None;
        }
    }
    ended
}

/// Samples of payload and ports, if a figure of `stop` needs them.
pub fn sampling(stop: &Stop, config: &Experiment) -> Option<Sampling> {
    let needs = |r: &Request| r.figure.as_ref().map_or(is_endless(config), |f| f.quantity == Quantity::Goodput);
    let ports: Vec<PortId> = stop.known.iter().filter_map(|r| r.figure.as_ref()?.port_id()).collect();
    let group = used_groups(config).first().copied().unwrap_or_default();
    (!ports.is_empty() || stop.known.iter().any(needs)).then(|| Sampling::new(round_trip(config)).with_ports(ports, group))
}

/// Time of the next decision or sample. The times of decisions are latest first.
pub fn next_time(times: &[Time], sampling: Option<&Sampling>) -> TimeOrNever {
    let (decision, sample) = (times.last().copied(), sampling.map(Sampling::next));
    decision.map(|d| sample.map_or(d, |s| s.min(d))).into()
}

/// Takes the sample that is due at `now`. Returns the work so far, with the intervals of the samples, if a decision is due too, and removes its time.
pub fn due_work(
    times: &mut Vec<Time>,
    mut sampling: Option<&mut Sampling>,
    now: Time,
    so_far: &RunSnapshot<'_>,
) -> Option<Vec<WorkItem>> {
    if let Some(sampling) = &mut sampling {
        sampling.note(now, so_far);
    }
    let before = times.len();
    while times.last().is_some_and(|t| *t <= now) {
        times.pop();
    }
    (times.len() < before).then(|| (so_far.work)().into_iter().chain(sampling.iter().flat_map(|s| s.items())).collect())
}

/// Times of the decisions about a run of this duration, latest first.
pub(crate) fn times(duration: Time, warmup: Time) -> Vec<Time> {
    let mut times: Vec<Time> = (1..=DECISIONS).map(|n| Time((duration.0 as f64 * powi(STEP, n)) as u64)).collect();
    times.dedup();
    times.retain(|t| *t > warmup);
    times
}

/// `x` to the power `n`, by squaring. The precision of `f64::powi` differs between platforms.
fn powi(x: f64, n: u32) -> f64 {
    let (mut power, mut square, mut rest) = (1.0, x, n);
    loop {
        if rest % 2 == 1 {
            power *= square;
        }
        rest /= 2;
        if rest == 0 {
            return power;
        }
        square *= square;
    }
}

/// Transport groups with messages.
pub(crate) fn used_groups(config: &Experiment) -> Vec<GroupId> {
    config.groups.ids().filter(|g| config.workloads.iter().any(|w| w.uses(*g))).collect()
}

/// Properties of an experiment, or of several that are compared, on which the intervals of its figures depend.
#[derive(Debug)]
pub(crate) struct RunProperties {
    /// Time before which the flows of a warm start begin.
    pub(crate) from: Time,
    pub(crate) warmup: Option<Time>,
    /// Workloads with pools of connections.
    pub(crate) pools: Vec<WorkloadId>,
    pub(crate) round_trip: Time,
    pub(crate) timeout: Time,
    pub(crate) open: bool,
}

impl RunProperties {
    pub(crate) fn of(config: &Experiment) -> RunProperties {
        RunProperties::of_all(&[config])
    }

    /// Properties for which figures of all `variants` have intervals; at least one variant.
    pub(crate) fn of_all(variants: &[&Experiment]) -> RunProperties {
        RunProperties {
            from: variants.iter().filter_map(|v| v.warm_start()).max().unwrap_or_default(),
            warmup: variants.iter().filter_map(|v| warmup(v)).max(),
            pools: variants.first().map_or_else(Vec::new, |v| pools(v)),
            round_trip: variants.iter().map(|v| round_trip(v)).max().unwrap_or_default(),
            timeout: variants.iter().map(|v| timeout(v)).max().unwrap_or_default(),
            open: variants.iter().all(|v| is_open(v)),
        }
    }

    /// The time so far of a run, with these properties.
    pub(crate) fn span(&self, now: Time) -> Span<'_> {
        let warmup = warmup_at(now, self.warmup, &self.pools);
        let RunProperties { from, pools, round_trip, timeout, open, .. } = self;
        Span { now, from: *from, warmup, pools, round_trip: *round_trip, timeout: *timeout, open: *open }
    }
}

/// Largest of the least retransmission timeouts of all transports.
fn timeout(config: &Experiment) -> Time {
    config.groups.iter().map(|g| g.tcp.stack.rto_min).max().unwrap_or_default()
}

/// True if all messages arrive at random times that do not depend on the network.
fn is_open(config: &Experiment) -> bool {
    config.workloads.iter().all(|w| matches!(w.kind, WorkloadKind::Poisson { .. }))
}

/// End of the warm-up, if the scenario sets one. That of a warm start only leaves out the flows that begin with it.
fn warmup(config: &Experiment) -> Option<Time> {
    Some(config.observe.warmup).filter(|w| *w > config.warm_start().unwrap_or_default())
}

/// Workloads whose flows share pools of persistent connections.
fn pools(config: &Experiment) -> Vec<WorkloadId> {
    let pooled = |kind: &WorkloadKind| matches!(kind, WorkloadKind::Poisson { persistent: true, .. });
    config.workloads.enumerate().filter(|(_, w)| pooled(&w.kind)).map(|(id, _)| id).collect()
}

/// Warm-up of a run at `now`. A pool of connections grows, and its windows adapt, ever more slowly over the whole run, which no test for a transient
/// notices. So only the second half of such a run counts, if the scenario sets no warm-up.
fn warmup_at(now: Time, given: Option<Time>, pools: &[WorkloadId]) -> Option<Time> {
    given.or((!pools.is_empty()).then_some(now / 2))
}

/// Round-trip time between the first host and the last one, of a full segment and its ACK, on the empty network.
pub fn round_trip(config: &Experiment) -> Time {
    let network = &config.network;
    let all = hosts(network);
    let (Some(&from), Some(&to), Ok(fib)) = (all.first(), all.last(), Fib::new(network)) else { return Time::ZERO };
    let stack = config.groups.iter().next().map(|g| (u64::from(g.tcp.mss + g.tcp.header), u64::from(g.tcp.ack_size)));
    let (segment, ack) = stack.unwrap_or((1_500, 40));
    Time(fib.path_time(network, (from, to), 0, segment) + fib.path_time(network, (to, from), 0, ack))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_part_of_floor_shrinks() {
        let change = Change { until: Time(100), change: 2.0 };
        // Over the tenth the figure is uncertain by 1.0 * sqrt(10): 2.0 may be chance, and is 2.0 / sqrt(10) for the whole time.
        assert!((change.floor(1.0, Time(1_000)) - 0.632).abs() < 1e-3);
        assert_eq!(change.floor(0.1, Time(1_000)), 2.0);
        assert!((change.floor(1.0, Time(100_000)) - 0.063).abs() < 1e-3);
    }

    #[test]
    fn second_half_of_pooled_runs_counts() {
        let now = Time(1_000);
        let pools = [WorkloadId::new(0)];
        assert_eq!(warmup_at(now, None, &pools), Some(Time(500)));
        assert_eq!((warmup_at(now, None, &[]), warmup_at(now, Some(Time(7)), &pools)), (None, Some(Time(7))));
    }

    #[test]
    fn powers_match_repeated_products() {
        let mut product = 1.0;
        for n in 0..=DECISIONS {
            assert!((powi(STEP, n) / product - 1.0).abs() < 1e-14, "{n}");
            product *= STEP;
        }
    }
}
