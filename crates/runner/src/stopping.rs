//! Runs that end by the rule of `[stop]`, and the figures that they make known.

use crate::job::Job;
use crate::lockstep::Lockstep;
use crate::pool::NoThread;
use forebay_experiment::Experiment;
use forebay_experiment::decisions::WorkItem;
use forebay_experiment::dimension::Dimension;
use forebay_experiment::report::{EarlyEnd, Progress, Report, RunError};
use forebay_experiment::stopping::comparison::{Comparison, RatioOutcome};
use forebay_experiment::stopping::figure::Figure;
use forebay_experiment::stopping::interval::Interval;
use forebay_experiment::stopping::measure::{Measured, UnknownReason, interval};
use forebay_experiment::stopping::ratio::{Paired, ratio};
use forebay_experiment::stopping::reference_run::{OwnFigure, Reference, ReferenceRule};
use forebay_experiment::stopping::rule::{self, Ended, Outcome, Rule, Stop};
use forebay_experiment::stopping::sampling::Sampling;
use forebay_experiment::stopping::steady_state::unseen_size;
use forebay_experiment::world::World;
use forebay_scenario::Variant;
use forebay_store::KnownFigure;
use forebay_types::{GroupId, Time};
use std::io;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, ScopedJoinHandle};
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
    /// Of a variant that ends together with the first one.
    ratios: Vec<RatioOutcome>,
    end: End,
    /// True if the run ended because another one did.
    follows: bool,
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

    /// End of a run that took the same simulated time as this one because this one ended, and has these ratios to it.
    pub(crate) fn at_same_time(&self, ratios: Vec<RatioOutcome>) -> Stopped {
        Stopped { outcomes: Vec::new(), ratios, end: self.end, follows: true, unseen: self.unseen.clone() }
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
    watch: &(dyn Fn() -> ControlFlow<EarlyEnd> + Sync),
) -> Result<(Report, Stopped), RunError> {
    let began = Instant::now();
    let out_of_time = AtomicBool::new(false);
    let ask = || {
        watch()?;
        if budget.is_some_and(|b| began.elapsed() >= b) {
            out_of_time.store(true, Relaxed);
            return ControlFlow::Break(EarlyEnd::WithReport);
        }
        ControlFlow::Continue(())
    };
    let mut progress = |progress: Progress| {
        job.note(progress);
        ask()
    };
    let run_twin = |until: Time| twin(world, (config, job), &request.stop, until, &mut |_| ask());
    let mut rule = Rule::new(&request.stop, config, request.runs, Box::new(run_twin));
    let report = world.run_with_decisions(job.may_use(), config.check()?, config.seed, &mut rule, &mut progress)?;
    let mut work = WorkItem::of_report(&report.flows, &report.queries);
    work.extend(rule.intervals());
    let end = match rule.ended() {
        Some(ended) => End::Rule(ended),
        None if report.cut && out_of_time.load(Relaxed) => End::Budget,
        None => End::Duration,
    };
    let outcomes = rule.outcomes(&work, report.end);
    let stopped = Stopped { outcomes, ratios: Vec::new(), end, follows: false, unseen: unseen_size(config, &work) };
    Ok((report, stopped))
}

/// Rule of a run that is compared with others of its seed.
#[derive(Debug, Clone)]
pub(crate) enum Compared {
    /// It ends when its own figure is known.
    Own(Arc<OwnFigure>),
    /// It ends when its ratio to a finished run is known.
    Against(Arc<Reference>),
}

/// Runs `config` until its own figure, or the ratio of a figure to that of the reference, is known. A backend that cannot end a run, and a run without a
/// steady state, take the whole duration.
///
/// # Errors
/// As [`World::run`].
pub(crate) fn run_against(
    world: &dyn World,
    config: &Experiment,
    job: &Job,
    rule: &Compared,
    watch: &(dyn Fn() -> ControlFlow<EarlyEnd> + Sync),
) -> Result<Report, RunError> {
    let mut progress = |progress: Progress| {
        job.note(progress);
        watch()
    };
    let rule = match rule {
        Compared::Own(figure) => ReferenceRule::own(figure, config),
        Compared::Against(reference) => ReferenceRule::new(reference, config),
    };
    match rule {
        Some(mut rule) => world.run_with_decisions(job.may_use(), config.check()?, config.seed, &mut rule, &mut progress),
        None => world.run_on(job.may_use(), config.check()?, config.seed, &mut progress),
    }
}

/// Messages, queries and intervals of the twin of `config` until a time; `None` if it was interrupted.
fn twin(
    world: &dyn World,
    (config, job): (&Experiment, &Job),
    stop: &Stop,
    until: Time,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
) -> Option<Vec<WorkItem>> {
    let twin = rule::twin(config, until);
    let mut sampling = rule::sampling(stop, config);
    let (checked, seed) = (twin.check().ok()?, twin.seed);
    let report = match &mut sampling {
        Some(sampling) => world.run_with_decisions(job.may_use(), checked, seed, sampling, progress),
        None => world.run_on(job.may_use(), checked, seed, progress),
    };
    let report = report.ok().filter(|r| !r.cut)?;
    let intervals = sampling.iter().flat_map(Sampling::items);
    Some(WorkItem::of_report(&report.flows, &report.queries).into_iter().chain(intervals).collect())
}

/// Runs all variants of one seed until the ratios of their figures to those of the first one are known, for at most `budget` of wall time. Up to
/// `active` of them run at the same time. The results are in the order of `runs`.
///
/// # Errors
/// The first one of [`World::run`].
///
/// # Panics
/// When a run panics: the panic is propagated to the caller once the others have stopped.
pub(crate) fn run_together(
    world: &dyn World,
    runs: &[(&Experiment, &Job)],
    (request, budget): (&StopRequest, Option<Duration>),
    active: usize,
    watch: &(dyn Fn() -> ControlFlow<EarlyEnd> + Sync),
) -> Result<Vec<(Report, Stopped)>, RunError> {
    let began = Instant::now();
    let (out_of_time, failed) = (AtomicBool::new(false), AtomicBool::new(false));
    let ask = || {
        watch()?;
        if failed.load(Relaxed) {
            return ControlFlow::Break(EarlyEnd::Discard);
        }
        if budget.is_some_and(|b| began.elapsed() >= b) {
            out_of_time.store(true, Relaxed);
            return ControlFlow::Break(EarlyEnd::WithReport);
        }
        ControlFlow::Continue(())
    };
    let run_twins = |until: Time| runs.iter().map(|run| twin(world, *run, &request.stop, until, &mut |_| ask())).collect();
    let configs: Vec<&Experiment> = runs.iter().map(|r| r.0).collect();
    let lockstep = Lockstep::new(Comparison::new(&request.stop, &configs, request.runs), runs.len(), active, &run_twins);
    let one = |variant: usize| {
        let (config, job) = runs[variant];
        let _guard = StopOthers(&failed);
        let mut member = lockstep.enter(variant, rule::sampling(&request.stop, config));
        let mut progress = |progress: Progress| {
            job.note(progress);
            ask()
        };
        let result = config.check().map_err(RunError::from);
        let result = result.and_then(|c| world.run_with_decisions(job.may_use(), c, config.seed, &mut member, &mut progress));
        if result.is_err() {
            failed.store(true, Relaxed);
        }
        result.map(|report| {
            let mut work = WorkItem::of_report(&report.flows, &report.queries);
            work.extend(member.intervals());
            (report, work)
        })
    };
    let results: Vec<Result<(Report, Vec<WorkItem>), RunError>> = thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> =
            (0..runs.len()).map(|variant| thread::Builder::new().spawn_scoped(scope, move || one(variant))).collect();
        // Each run waits for the decisions of all others, so one without a thread ends all.
        for variant in (0..runs.len()).filter(|variant| threads[*variant].is_err()) {
            failed.store(true, Relaxed);
            drop(lockstep.enter(variant, None));
        }
        let joined = |thread: io::Result<ScopedJoinHandle<'_, _>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(e) => Err(NoThread(e).into()),
        };
        threads.into_iter().map(joined).collect()
    });
    let rule = lockstep.into_rule();
    let (reports, work): (Vec<Report>, Vec<Vec<WorkItem>>) = first_failure(results)?.into_iter().unzip();
    let outcomes = rule.outcomes(&work, reports.iter().map(|r| r.end).min().unwrap_or_default());
    let stopped = |(variant, report): (usize, Report)| {
        let end = match rule.ended() {
            Some(ended) => End::Rule(ended),
            None if report.cut && out_of_time.load(Relaxed) => End::Budget,
            None => End::Duration,
        };
        let ratios = outcomes.iter().filter(|o| o.variant == variant).cloned().collect();
        let unseen = unseen_size(configs[variant], &work[variant]);
        (report, Stopped { outcomes: Vec::new(), ratios, end, follows: false, unseen })
    };
    Ok(reports.into_iter().enumerate().map(stopped).collect())
}

/// Stops the other runs when the thread of one panics.
struct StopOthers<'a>(&'a AtomicBool);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

/// All results, or the first failure. Runs that were abandoned after another one failed are not the cause.
fn first_failure<T>(results: Vec<Result<T, RunError>>) -> Result<Vec<T>, RunError> {
    let (mut all, mut failure) = (Vec::with_capacity(results.len()), None);
    for result in results {
        match result {
            Ok(report) => all.push(report),
            Err(e) => {
                let replaces = failure.as_ref().is_none_or(|f| matches!(f, RunError::Interrupted));
                failure = if replaces { Some(e) } else { failure };
            }
        }
    }
    failure.map_or(Ok(all), Err)
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
        VariantNames::labelled(&variant.label, variant)
    }

    /// Names of a variant that has this one in sentences.
    pub(crate) fn labelled(label: &str, variant: &Variant) -> VariantNames {
        VariantNames {
            variant: label.to_owned(),
            groups: variant.transports.clone(),
            duration: variant.config.duration.unwrap_or_default(),
        }
    }
}

/// The figures of all runs of each variant, in the order of the variants: ratios to the first variant if the runs ended together.
pub(crate) fn known_figures(stop: &Stop, variants: &[VariantNames], runs: &[StoppedRun]) -> Vec<KnownFigure> {
    let mut all = Vec::new();
    for v in variants {
        let own: Vec<&StoppedRun> = runs.iter().filter(|r| r.variant == v.variant).collect();
        let mut keys: Vec<(usize, GroupId)> = own.iter().flat_map(|r| r.stopped.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let Some(estimate) = Estimate::of(&own, key) else { continue };
            let over = if estimate.of_ratio { variants[0].variant.clone() } else { String::new() };
            all.extend(known_figure(stop, v, over, &own, key, estimate));
        }
    }
    all
}

impl Stopped {
    /// Requests and groups of its figures.
    fn keys(&self) -> impl Iterator<Item = (usize, GroupId)> {
        let ratios = self.ratios.iter().map(|o| (o.request, o.group));
        self.outcomes.iter().map(|o| (o.request, o.group)).chain(ratios)
    }
}

/// A figure over the runs of a variant.
struct Estimate {
    figure: Figure,
    of_ratio: bool,
    interval: Result<Interval, UnknownReason>,
    floor: Option<f64>,
    messages: u64,
    warmup: Time,
}

impl Estimate {
    fn of(runs: &[&StoppedRun], key: (usize, GroupId)) -> Option<Estimate> {
        let own = |r: &&StoppedRun| r.stopped.outcomes.iter().find(|o| (o.request, o.group) == key).cloned();
        let outcomes: Vec<Outcome> = runs.iter().filter_map(own).collect();
        if let Some(Outcome { figure, .. }) = outcomes.first() {
            let measured: Result<Vec<&Measured>, UnknownReason> =
                outcomes.iter().map(|o| o.measured.as_ref().map_err(|e| *e)).collect();
            return Some(Estimate {
                figure: figure.clone(),
                of_ratio: false,
                interval: measured.as_ref().map_err(|e| *e).and_then(|m| interval(figure, m)),
                floor: floor(outcomes.iter().map(|o| o.floor)),
                messages: measured.as_ref().map_or(0, |all| all.iter().map(|m| m.messages()).sum()),
                warmup: measured.ok().and_then(|all| all.iter().map(|m| m.warmup()).max()).unwrap_or_default(),
            });
        }
        let own = |r: &&StoppedRun| r.stopped.ratios.iter().find(|o| (o.request, o.group) == key).cloned();
        let outcomes: Vec<RatioOutcome> = runs.iter().filter_map(own).collect();
        let figure = &outcomes.first()?.figure;
        let measured: Result<Vec<&Paired>, UnknownReason> =
            outcomes.iter().map(|o| o.measured.as_ref().map_err(|e| *e)).collect();
        Some(Estimate {
            figure: figure.clone(),
            of_ratio: true,
            interval: measured.as_ref().map_err(|e| *e).and_then(|m| ratio(figure, m)),
            floor: floor(outcomes.iter().map(|o| o.floor)),
            messages: measured.as_ref().map_or(0, |all| all.iter().map(|m| m.messages()).sum()),
            warmup: measured.ok().and_then(|all| all.iter().map(|m| m.warmup()).max()).unwrap_or_default(),
        })
    }
}

/// Noise floor of several runs, if all have one. Floors of independent runs average out as their intervals do.
fn floor(floors: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let floors: Vec<f64> = floors.collect::<Option<_>>()?;
    Some(floors.iter().map(|x| x * x).sum::<f64>().sqrt() / floors.len() as f64)
}

/// The figure of a request and a transport group over the runs of a variant.
fn known_figure(
    stop: &Stop,
    v: &VariantNames,
    over: String,
    runs: &[&StoppedRun],
    (request, group): (usize, GroupId),
    estimate: Estimate,
) -> Option<KnownFigure> {
    let within = stop.known.get(request)?.within;
    let Estimate { figure, of_ratio, interval, floor, messages, warmup } = estimate;
    let ended = |end| runs.iter().any(|r| r.stopped.end == end);
    let below_floor = ended(End::Rule(Ended::Floor));
    let shown = interval.as_ref().ok();
    Some(KnownFigure {
        variant: v.variant.clone(),
        over,
        transport: v.groups.get(group.index()).cloned().unwrap_or_default(),
        // A port belongs to all groups.
        groups: if figure.port().is_some() { 1 } else { v.groups.len() },
        of: figure.to_string(),
        phrase: figure.phrase(),
        ratio: of_ratio || matches!(figure.dimension(), Dimension::Ratio | Dimension::Fraction),
        packets: !of_ratio && figure.dimension() == Dimension::Packets,
        rate: !of_ratio && figure.dimension() == Dimension::BitsPerSecond,
        within,
        value: shown.map(|i| i.value),
        low: shown.map(|i| i.low),
        high: shown.map(|i| i.high).filter(|high| high.is_finite()),
        floor,
        known: shown.is_some_and(|i| i.is_within(within)) && !below_floor,
        below_floor,
        follows: runs.iter().any(|r| r.stopped.follows),
        why_not: interval.err().map(|why| why.to_string()).unwrap_or_default(),
        by_budget: ended(End::Budget),
        budget_s: stop.budget.map(|b| b.as_secs_f64()),
        runs: runs.len(),
        messages,
        warmup_ns: warmup.as_ns(),
        end_ns: runs.iter().map(|r| r.end.as_ns()).max().unwrap_or(0),
        duration_ns: v.duration.as_ns(),
        unseen: runs.first().filter(|_| runs.iter().all(|r| r.stopped.unseen.is_some())).and_then(|r| r.stopped.unseen.clone()),
    })
}
