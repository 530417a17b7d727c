//! The rule for a run that is compared with a finished run of the same seed, its reference: it ends when the ratio of a figure is known.
//!
//! A search that compares many changes with the present network runs that network once for each seed. The runs of the changes follow one after the
//! other. Each ends as soon as its ratio to the present network is accurate enough, or is certainly too large, or its own figure is accurate enough.
//! For a network that is full of timeouts completes few messages, so that its figure is less accurate than that of a remedy. Transport groups do not
//! matter: a change may divide or join them.

use crate::Experiment;
use crate::decisions::{Decisions, ItemKind, RunSnapshot, WorkItem};
use crate::stopping::figure::{Figure, Population, Quantity, Statistic};
use crate::stopping::interval::Interval;
use crate::stopping::measure::{Measured, interval, order, value_at};
use crate::stopping::ratio::{Paired, ratio, ratio_at};
use crate::stopping::rule::{RunProperties, due_work, next_time, times};
use crate::stopping::steady_state;
use forebay_types::{GroupId, Time, TimeOrNever, WorkloadId};

/// Group of all messages.
const GROUP: GroupId = GroupId::new(0);
/// Picoseconds of a nanosecond, the unit of stored times.
const NS: u64 = 1_000;

/// The figure of a run that others are compared with later, and the accuracy at which it ends.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnFigure {
    /// Statistic over the queries of a class, or over its messages if it has no queries.
    pub statistic: Statistic,
    /// Name of the class.
    pub class: String,
    /// Workloads of the class.
    pub workloads: Vec<WorkloadId>,
    /// Largest half width of the 95 % confidence interval, as a fraction of the figure.
    pub within: f64,
}

impl OwnFigure {
    /// The figure over these messages and queries.
    pub fn of(&self, work: &[WorkItem]) -> Figure {
        let queries = work.iter().any(|i| i.kind == ItemKind::Query && self.workloads.contains(&i.workload));
        Figure {
            statistic: self.statistic,
            population: Population::Class { name: self.class.clone(), workloads: self.workloads.clone() },
            quantity: if queries { Quantity::QueryTime } else { Quantity::MessageTime },
        }
    }

    /// Text of the rule, for the key of stored results.
    pub fn rule(&self) -> String {
        format!("{:?} of {} within {}", self.statistic, self.class, self.within)
    }
}

/// A finished run, and the figure that others are compared by.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// Messages and queries of the run.
    pub work: Vec<WorkItem>,
    /// The figure.
    pub figure: Figure,
    /// Largest half width of the 95 % confidence interval of the ratio, or of the figure, as a fraction of it.
    pub within: f64,
    /// Ratio from which on the value does not matter: a run whose interval is above it ends.
    pub too_large: Option<f64>,
    /// End of the run, if its own figure ended it: there is nothing to compare with afterwards.
    pub end: Option<Time>,
}

impl Reference {
    /// A run with these messages. Their times are rounded down to nanoseconds, as those of the runs that are compared.
    pub fn new(work: impl Iterator<Item = WorkItem>, figure: Figure, within: f64, too_large: Option<f64>) -> Reference {
        // Each decision of each change sorts them, which is fast for a sorted list.
        let mut work: Vec<WorkItem> = work.map(common).collect();
        work.sort_unstable_by_key(order);
        Reference { work, figure, within, too_large, end: None }
    }

    /// A reference whose own figure has ended it at `end`.
    pub fn ended_at(self, end: Time) -> Reference {
        Reference { end: Some(end), ..self }
    }

    /// Text of the rule, for the key of stored results.
    pub fn rule(&self) -> String {
        format!("{} within {} up to {:?}", self.figure, self.within, self.too_large)
    }
}

/// A message in the form in which both runs have it.
fn common(item: WorkItem) -> WorkItem {
    WorkItem { start: Time(item.start.0 / NS * NS), group: GROUP, ..item }
}

/// StopGoal of a run.
#[derive(Debug, Clone, Copy)]
enum StopGoal<'a> {
    Against(&'a Reference),
    Own(&'a OwnFigure),
}

/// Decisions about a run that is compared with a reference, or that others are compared with.
#[derive(Debug)]
pub struct ReferenceRule<'a> {
    aim: StopGoal<'a>,
    properties: RunProperties,
    /// Times of the decisions that are left, latest first.
    times: Vec<Time>,
    /// True if the ratio was known at the last decision. Some intervals are narrow by chance: two decisions must agree.
    known_before: bool,
}

impl<'a> ReferenceRule<'a> {
    /// Decisions for a run of `config`; `None` if its figures do not settle to constant values ([`steady_state::reason_against`]).
    pub fn new(reference: &'a Reference, config: &Experiment) -> Option<ReferenceRule<'a>> {
        ReferenceRule::with(StopGoal::Against(reference), config)
    }

    /// As [`ReferenceRule::new`], for a run that ends when its own figure is known.
    pub fn own(figure: &'a OwnFigure, config: &Experiment) -> Option<ReferenceRule<'a>> {
        ReferenceRule::with(StopGoal::Own(figure), config)
    }

    fn with(aim: StopGoal<'a>, config: &Experiment) -> Option<ReferenceRule<'a>> {
        steady_state::reason_against(config).is_none().then(|| ReferenceRule {
            aim,
            properties: RunProperties::of(config),
            times: times(config.duration.unwrap_or_default(), config.observe.warmup),
            known_before: false,
        })
    }

    fn is_known(&self, work: &[WorkItem], now: Time) -> bool {
        let span = self.properties.span(now);
        // The results count the messages of the warm-up too. They must not matter.
        let settled = |i: &Interval, whole: Option<f64>| whole.is_some_and(|v| i.low <= v && v <= i.high);
        let own = |figure: &Figure, within: f64| {
            let own = Measured::new(figure, GROUP, work, &span).and_then(|m| interval(figure, &[&m]));
            own.is_ok_and(|i| i.is_within(within) && settled(&i, value_at(figure, GROUP, work, self.properties.from, now)))
        };
        let Reference { figure, work: before, within, too_large, .. } = match self.aim {
            StopGoal::Against(reference) => reference,
            StopGoal::Own(sought) => return own(&sought.of(work), sought.within),
        };
        if own(figure, *within) {
            return true;
        }
        let of_both = Paired::new(figure, GROUP, [before, work], &span).and_then(|p| ratio(figure, &[&p]));
        let whole = || ratio_at(figure, GROUP, [before, work], self.properties.from, now);
        let enough = |i: &Interval| i.is_within(*within) || too_large.is_some_and(|most| i.low > most);
        of_both.is_ok_and(|i| enough(&i) && settled(&i, whole()))
    }
}

impl Decisions for ReferenceRule<'_> {
    fn next(&self) -> TimeOrNever {
        next_time(&self.times, None)
    }

    fn ends(&mut self, now: Time, so_far: &RunSnapshot<'_>) -> bool {
        let Some(work) = due_work(&mut self.times, None, now, so_far) else { return false };
        let work: Vec<WorkItem> = work.into_iter().map(common).collect();
        if let StopGoal::Against(Reference { end: Some(end), .. }) = self.aim
            && now >= *end
        {
            return true;
        }
        let known = self.is_known(&work, now);
        std::mem::replace(&mut self.known_before, known) && known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Rng;

    /// A message each 10 us, with times of 20 us to 24 us times `factor`.
    fn work(messages: u64, factor: f64) -> Vec<WorkItem> {
        let mut rng = Rng::stream(1, &[9]);
        let mut one = |i| {
            let start = Time::from_us(10 * i);
            WorkItem {
                kind: ItemKind::Message,
                workload: WorkloadId::new(0),
                group: GroupId::new(3),
                size_bytes: 1_000,
                start,
                end: TimeOrNever::at(start + Time(((1.0 + 0.2 * rng.unit()) * factor * 20e6) as u64)),
                ideal: Time::from_us(1),
                opens: false,
                timeouts: 0,
                lost: false,
            }
        };
        (0..messages).map(&mut one).collect()
    }

    /// Time at which a run of 100 ms ends that takes `factor` times as long as its reference.
    fn end(factor: f64, within: f64, too_large: Option<f64>) -> Option<Time> {
        let figure = Figure::parse("p90 of fct", &[]).unwrap();
        let reference = Reference::new(work(10_000, 1.0).into_iter(), figure, within, too_large);
        run(&mut rule(&reference), &work(10_000, factor))
    }

    fn rule(reference: &Reference) -> ReferenceRule<'_> {
        with_aim(StopGoal::Against(reference))
    }

    fn with_aim(aim: StopGoal<'_>) -> ReferenceRule<'_> {
        ReferenceRule {
            aim,
            properties: RunProperties {
                from: Time::ZERO,
                warmup: None,
                pools: Vec::new(),
                round_trip: Time::from_us(10),
                timeout: Time::from_us(1_000),
                open: false,
            },
            times: times(Time::from_us(100_000), Time::ZERO),
            known_before: false,
        }
    }

    fn run(rule: &mut ReferenceRule<'_>, all: &[WorkItem]) -> Option<Time> {
        while let Some(now) = rule.next().get() {
            let begun = || all.iter().filter(|i| i.start <= now).copied().collect();
            if rule.ends(now, &RunSnapshot { work: &begun, delivered: &Default::default, ports: &|_| Vec::new() }) {
                return Some(now);
            }
        }
        None
    }

    #[test]
    fn accurate_ratio_ends_run() {
        let rough = end(0.5, 0.1, None).unwrap();
        assert!(rough < Time::from_us(20_000), "{rough}");
        assert_eq!(end(0.5, 1e-9, None), None);
    }

    /// The reference completes too few messages for a ratio.
    #[test]
    fn accurate_figure_ends_run() {
        let figure = Figure::parse("p90 of fct", &[]).unwrap();
        let reference = Reference::new(work(100, 1.0).into_iter(), figure, 0.1, None);
        let own = work(10_000, 0.5);
        let mut rule = rule(&reference);
        let first = run(&mut rule, &own);
        assert!(first.unwrap() < Time::from_us(20_000), "{first:?}");
    }

    /// The present network ends by its own figure, and a change that differs little by the end of the present network.
    #[test]
    fn own_figure_ends_reference_and_change() {
        let statistic = Statistic::Quantile(0.9);
        let sought = OwnFigure { statistic, class: "web".into(), workloads: vec![WorkloadId::new(0)], within: 0.01 };
        let all = work(10_000, 1.0);
        let end = run(&mut with_aim(StopGoal::Own(&sought)), &all).unwrap();
        assert!(end < Time::from_us(50_000), "{end}");
        let until = all.iter().filter(|i| i.start <= end).copied();
        let reference = Reference::new(until, sought.of(&all), 1e-9, None).ended_at(end);
        assert_eq!(run(&mut rule(&reference), &work(10_000, 1.1)), Some(end));
        assert_eq!(reference.figure.quantity, Quantity::MessageTime);
    }

    #[test]
    fn certainly_large_ratio_ends_run() {
        let end_of = |factor| end(factor, 1e-9, Some(1.25));
        assert!(end_of(2.0).unwrap() < Time::from_us(20_000));
        assert_eq!((end_of(1.2), end_of(0.5)), (None, None));
    }
}
