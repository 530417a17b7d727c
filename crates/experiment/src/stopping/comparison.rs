//! The rule for runs of several variants with the same seed: they end together, when the ratios of their figures to those of the first variant are
//! known.

use crate::Experiment;
use crate::decisions::WorkItem;
use crate::stopping::figure::Figure;
use crate::stopping::interval::Interval;
use crate::stopping::measure::UnknownReason;
use crate::stopping::ratio::{Paired, ratio, ratio_at};
use crate::stopping::rule::{Change, Ended, Request, RunProperties, Stop, TWIN, decision, times, used_groups};
use forebay_types::{GroupId, Time};

/// Messages of the runs of all variants, in their order.
pub type WorkOfAll = [Vec<WorkItem>];

/// Ratio of a figure of a variant to that of the first variant, for one transport group.
#[derive(Debug, Clone)]
pub struct RatioOutcome {
    /// Place of the request in [`Stop::known`].
    pub request: usize,
    /// The figure.
    pub figure: Figure,
    /// The group, by its place in both variants.
    pub group: GroupId,
    /// Place of the variant, from 1.
    pub variant: usize,
    /// Its batches, or the reason why it is not known.
    pub measured: Result<Paired, UnknownReason>,
    /// Noise floor of the ratio, if it was measured.
    pub floor: Option<f64>,
}

impl RatioOutcome {
    fn key(&self) -> Key {
        (self.request, self.variant, self.group)
    }

    fn interval(&self) -> Option<Interval> {
        ratio(&self.figure, &[self.measured.as_ref().ok()?]).ok()
    }
}

/// Request, variant and group.
type Key = (usize, usize, GroupId);

/// Decisions about the runs of all variants with one seed.
#[derive(Debug)]
pub struct Comparison<'a> {
    stop: &'a Stop,
    groups: Vec<Vec<GroupId>>,
    properties: RunProperties,
    /// Factor for the accuracy of one of several seeds.
    share: f64,
    times: Vec<Time>,
    changes: Option<Vec<(Key, Change)>>,
    narrow_before: bool,
    ended: Option<Ended>,
}

impl<'a> Comparison<'a> {
    /// Decisions for one of `runs` seeds of these variants; at least one variant.
    pub fn new(stop: &'a Stop, variants: &[&Experiment], runs: u32) -> Comparison<'a> {
        let duration = variants.iter().filter_map(|v| v.duration).min().unwrap_or_default();
        let properties = RunProperties::of_all(variants);
        Comparison {
            stop,
            groups: variants.iter().map(|v| used_groups(v)).collect(),
            share: f64::from(runs.max(1)).sqrt(),
            times: times(duration, properties.warmup.unwrap_or_default()),
            properties,
            changes: None,
            narrow_before: false,
            ended: None,
        }
    }

    /// Times of the decisions, latest first. All runs have them.
    pub fn times(&self) -> &[Time] {
        &self.times
    }

    /// Reason of the end, if the rule ended the runs.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// The ratios of runs that ended at `now` or later.
    pub fn outcomes(&self, work: &WorkOfAll, now: Time) -> Vec<RatioOutcome> {
        let span = self.properties.span(now);
        let mut all = Vec::new();
        let (Some(first), Some(groups)) = (work.first(), self.groups.first()) else { return all };
        for (request, Request { figure, .. }) in self.stop.known.iter().enumerate() {
            for group in groups {
                let own = || first.iter().filter(|i| i.group == *group && i.start <= now);
                let headline = || Figure::headline(&own().copied().collect::<Vec<_>>());
                let Some(figure) = figure.clone().or_else(headline) else { continue };
                // A figure without messages is reported too, unless another group has some.
                if groups.len() > 1 && !own().any(|i| figure.counts(i)) {
                    continue;
                }
                let compared = (1..).zip(work.iter().zip(&self.groups).skip(1)).filter(|(_, (_, has))| has.contains(group));
                for (variant, (other, _)) in compared {
                    let measured = Paired::new(&figure, *group, [first, other], &span);
                    all.push(RatioOutcome { request, figure: figure.clone(), group: *group, variant, measured, floor: None });
                }
            }
        }
        for o in &mut all {
            o.floor = self.change(o).zip(o.interval()).map(|(c, i)| c.floor(i.half_width(), now));
        }
        all
    }

    fn change(&self, o: &RatioOutcome) -> Option<Change> {
        self.changes.iter().flatten().find(|c| c.0 == o.key()).map(|c| c.1)
    }

    /// Interval of an outcome, if it is accurate enough.
    fn accurate(&self, o: &RatioOutcome) -> Option<Interval> {
        o.interval().filter(|i| i.is_within(self.limit(o)))
    }

    fn limit(&self, o: &RatioOutcome) -> f64 {
        self.stop.known[o.request].within * self.share
    }

    /// Decides at `now` whether all runs end. `work` has the messages of each run that began before `now` or a little later. `run_twins` runs the twins of
    /// all variants until a time, and returns `None` if it was interrupted.
    pub fn ends(&mut self, now: Time, work: &WorkOfAll, run_twins: &mut dyn FnMut(Time) -> Option<Vec<Vec<WorkItem>>>) -> bool {
        let outcomes = self.outcomes(work, now);
        let narrow = !outcomes.is_empty() && outcomes.iter().all(|o| self.accurate(o).is_some());
        // Some intervals are narrow by chance, because their batches vary little: two decisions must agree.
        if !std::mem::replace(&mut self.narrow_before, narrow) || !narrow {
            return false;
        }
        if self.changes.is_none() {
            let until = now / TWIN;
            let Some(twins) = run_twins(until) else { return false };
            self.changes = Some(
                outcomes
                    .iter()
                    .filter_map(|o| Some((o.key(), change(o, work, &twins, (self.properties.from, until))?)))
                    .collect(),
            );
        }
        let figures = outcomes.iter().filter_map(|o| Some((self.accurate(o)?, self.limit(o), self.change(o)?)));
        self.ended = decision(figures, now);
        self.ended.is_some()
    }
}

/// Change of a ratio between the runs and their twins.
fn change(o: &RatioOutcome, work: &WorkOfAll, twins: &WorkOfAll, (begin, until): (Time, Time)) -> Option<Change> {
    let from = o.measured.as_ref().map_or(Time::ZERO, Paired::warmup);
    let from = if from * 2 <= until { from } else { begin };
    let value = |work: &WorkOfAll| ratio_at(&o.figure, o.group, [work.first()?, work.get(o.variant)?], from, until);
    Some(Change { until, change: (value(work)? - value(twins)?).abs() })
}
