//! Runs that end by the rule of `[stop]`, and the figures that they make known.

use crate::job::Job;
use forebay_experiment::Experiment;
use forebay_experiment::decisions::WorkItem;
use forebay_experiment::report::{Cut, Progress, Report, RunError};
use forebay_experiment::world::World;
use forebay_scenario::Variant;
use forebay_stopping::interval::Interval;
use forebay_stopping::measure::{Measured, NotKnown, interval};
use forebay_stopping::rule::{self, Ended, Outcome, Rule, Stop};
use forebay_stopping::steady::unseen_size;
use forebay_store::KnownFigure;
use forebay_types::{GroupId, Time};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The rule for one run.
#[derive(Debug, Clone)]
pub struct StopRequest {
    /// The table `[stop]`.
    pub stop: Stop,
    /// Number of runs with other seeds, this one included. Together they reach the accuracy.
    pub runs: u32,
}

/// Reason of the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Rule(Ended),
    Budget,
    Duration,
}

/// End of a run with the rule.
#[derive(Debug, Clone)]
pub struct Stopped {
    outcomes: Vec<Outcome>,
    end: End,
    /// A class whose largest sizes did not occur, and the largest one.
    unseen: Option<(String, u64)>,
}

impl Stopped {
    /// Reason of the end in the manifest; empty if the duration was over.
    pub fn reason(&self) -> &'static str {
        match self.end {
            End::Rule(Ended::Known) => "known",
            End::Rule(Ended::Floor) => "noise floor",
            End::Budget => "budget of wall time",
            End::Duration => "",
        }
    }

    /// Interval of the first figure in this run alone, if it has one.
    pub fn interval(&self) -> Option<Interval> {
        let first = self.outcomes.first()?;
        interval(&first.figure, &[first.measured.as_ref().ok()?]).ok()
    }

    /// Returns true if the run ended by its results alone, so that it ends there on every machine.
    pub(crate) fn is_by_rule(&self) -> bool {
        matches!(self.end, End::Rule(_))
    }
}

/// Runs `config` until its figures are known, for at most `budget` of wall time. `watch` may end it as in other runs.
///
/// # Errors
/// As [`World::run`].
pub(crate) fn run(
    world: &dyn World,
    config: &Experiment,
    job: &Job,
    (request, budget): (&StopRequest, Option<Duration>),
    watch: &dyn Fn() -> ControlFlow<Cut>,
) -> Result<(Report, Stopped), RunError> {
    let began = Instant::now();
    let out_of_time = Cell::new(false);
    let ask = || {
        watch()?;
        if budget.is_some_and(|b| began.elapsed() >= b) {
            out_of_time.set(true);
            return ControlFlow::Break(Cut::Keep);
        }
        ControlFlow::Continue(())
    };
    let mut progress = |progress: Progress| {
        job.note(progress);
        ask()
    };
    let run_twin = |until: Time| {
        let twin = rule::twin(config, until);
        let report = world.run_on(job.may_use(), twin.check().ok()?, twin.seed, &mut |_| ask()).ok()?;
        (!report.cut).then(|| WorkItem::of_report(&report.flows, &report.queries))
    };
    let mut rule = Rule::new(&request.stop, config, request.runs, Box::new(run_twin));
    let report = world.run_with_decisions(job.may_use(), config.check()?, config.seed, &mut rule, &mut progress)?;
    let work = WorkItem::of_report(&report.flows, &report.queries);
    let end = match rule.ended() {
        Some(ended) => End::Rule(ended),
        None if report.cut && out_of_time.get() => End::Budget,
        None => End::Duration,
    };
    let stopped = Stopped { outcomes: rule.outcomes(&work, report.end), end, unseen: unseen_size(config, &work) };
    Ok((report, stopped))
}

/// A run of a variant with the rule.
#[derive(Debug, Clone)]
pub(crate) struct StoppedRun {
    /// The variant.
    pub variant: String,
    /// End of simulated time.
    pub end: Time,
    /// Its figures.
    pub stopped: Stopped,
}

/// Names of a variant, and the longest time of its runs.
#[derive(Debug, Clone)]
pub(crate) struct VariantNames {
    variant: String,
    groups: Vec<String>,
    duration: Time,
}

impl VariantNames {
    pub(crate) fn of(variant: &Variant) -> VariantNames {
        VariantNames {
            variant: variant.label.clone(),
            groups: variant.transports.clone(),
            duration: variant.config.duration.unwrap_or_default(),
        }
    }
}

/// The figures of all runs of each variant, in the order of the variants.
pub(crate) fn known_figures(stop: &Stop, variants: &[VariantNames], runs: &[StoppedRun]) -> Vec<KnownFigure> {
    let mut all = Vec::new();
    for v in variants {
        let own: Vec<&StoppedRun> = runs.iter().filter(|r| r.variant == v.variant).collect();
        let mut keys: Vec<(usize, GroupId)> =
            own.iter().flat_map(|r| &r.stopped.outcomes).map(|o| (o.request, o.group)).collect();
        keys.sort_unstable();
        keys.dedup();
        all.extend(keys.into_iter().filter_map(|key| known_figure(stop, v, &own, key)));
    }
    all
}

/// The figure of a request and a transport group over the runs of a variant.
fn known_figure(stop: &Stop, v: &VariantNames, runs: &[&StoppedRun], key: (usize, GroupId)) -> Option<KnownFigure> {
    let of_run = |r: &&StoppedRun| r.stopped.outcomes.iter().find(|o| (o.request, o.group) == key).cloned();
    let outcomes: Vec<Outcome> = runs.iter().filter_map(of_run).collect();
    let figure = &outcomes.first()?.figure;
    let within = stop.known.get(key.0)?.within;
    let measured: Result<Vec<&Measured>, NotKnown> = outcomes.iter().map(|o| o.measured.as_ref().map_err(|e| *e)).collect();
    let found = measured.as_ref().map_err(|e| *e).and_then(|m| interval(figure, m));
    // Floors of independent runs average out as their intervals do.
    let floors: Option<Vec<f64>> = outcomes.iter().map(|o| o.floor).collect();
    let floor = floors.map(|f| f.iter().map(|x| x * x).sum::<f64>().sqrt() / f.len() as f64);
    let ended = |end| runs.iter().any(|r| r.stopped.end == end);
    let below_floor = ended(End::Rule(Ended::Floor));
    let shown = found.as_ref().ok();
    Some(KnownFigure {
        variant: v.variant.clone(),
        transport: v.groups.get(key.1.index()).cloned().unwrap_or_default(),
        groups: v.groups.len(),
        of: figure.to_string(),
        phrase: figure.phrase(),
        ratio: figure.is_ratio(),
        within,
        value: shown.map(|i| i.value),
        low: shown.map(|i| i.low),
        high: shown.map(|i| i.high).filter(|high| high.is_finite()),
        floor,
        known: shown.is_some_and(|i| i.is_within(within)) && !below_floor,
        below_floor,
        why_not: found.err().map(|why| why.to_string()).unwrap_or_default(),
        by_budget: ended(End::Budget),
        budget_s: stop.budget.map(|b| b.as_secs_f64()),
        runs: runs.len(),
        messages: measured.as_ref().map_or(0, |all| all.iter().map(|m| m.messages()).sum()),
        warmup_ns: measured.ok().and_then(|all| all.iter().map(|m| m.warmup().as_ns()).max()).unwrap_or(0),
        end_ns: runs.iter().map(|r| r.end.as_ns()).max().unwrap_or(0),
        duration_ns: v.duration.as_ns(),
        unseen: runs.first().filter(|_| runs.iter().all(|r| r.stopped.unseen.is_some())).and_then(|r| r.stopped.unseen.clone()),
    })
}
