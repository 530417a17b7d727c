//! Configurations of one scenario side by side: on several backends, or with several TCP stacks.
//!
//! The configurations on backends that can end a run end by the rule of `[stop]`. The others then take the same simulated time for each seed, so that
//! all results are those of the same messages. The figures are ratios to the first configuration.

use crate::job::Job;
use crate::runs::{Jobs, Outcome, Prepared, Watcher, run_all};
use crate::stopping::{StopRequest, StoppedRun, VariantNames, known_figures};
use forebay_experiment::decisions::WorkItem;
use forebay_experiment::report::RunError;
use forebay_experiment::stopping::comparison::Comparison;
use forebay_experiment::stopping::rule::Stop;
use forebay_scenario::Resolved;
use forebay_store::KnownFigure;
use forebay_types::Time;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// One variant of a scenario in one configuration.
#[derive(Debug, Clone)]
pub struct Side {
    /// Name in sentences.
    pub label: String,
    /// The scenario in this configuration.
    pub resolved: Resolved,
    /// Number of the variant.
    pub variant: usize,
}

/// Callback with the jobs that run, about ten times a second.
pub type Tick<'a> = dyn FnMut(&[Job], Duration) + 'a;

/// Runs configurations on a backend that can end runs, with all seeds: together, until the ratios of their figures to those of the first one are known.
/// A single configuration, and those of a rule without ratios, end when their own figures are known. Returns the runs of each configuration, or fewer
/// once `interrupted` is true.
///
/// # Errors
/// The first failure of a run.
pub fn run_until_known(
    sides: &[Side],
    stop: &Stop,
    threads: usize,
    interrupted: &AtomicBool,
    tick: &mut Tick<'_>,
) -> Result<Vec<Vec<Outcome>>, RunError> {
    run(Source { sides, stop: Some(stop), ends: &[] }, threads, interrupted, tick)
}

/// Runs a configuration for as long as `runs`, the runs of another one with the same seeds.
///
/// # Errors
/// The first failure of a run.
pub fn run_for_same_time(
    side: &Side,
    runs: &[Outcome],
    threads: usize,
    interrupted: &AtomicBool,
    tick: &mut Tick<'_>,
) -> Result<Vec<Outcome>, RunError> {
    let ends: Vec<Time> = runs.iter().map(|o| o.report.end).collect();
    let source = Source { sides: std::slice::from_ref(side), stop: None, ends: &ends };
    Ok(run(source, threads, interrupted, tick)?.pop().unwrap_or_default())
}

/// The figures of the rule: those of the configurations of [`run_until_known`], which come first, and the ratios of the others to the first one.
pub fn known_side_by_side(stop: &Stop, sides: &[(&Side, &[Outcome])]) -> Vec<KnownFigure> {
    let Some((first, reference)) = sides.first() else { return Vec::new() };
    let names: Vec<VariantNames> = sides.iter().map(|(side, _)| VariantNames::labelled(&side.label, side.variant())).collect();
    let mut all = Vec::new();
    for (side, runs) in sides {
        for (own, before) in runs.iter().zip(*reference) {
            let stopped = own.stopped.clone().or_else(|| {
                let both = [(*first, before), (*side, own)];
                let configs = both.map(|(side, outcome)| side.config(outcome.info.seed()));
                let work = both.map(|(_, o)| WorkItem::of_report(&o.report.flows, &o.report.queries));
                let rule = Comparison::new(stop, &[&configs[0], &configs[1]], reference.len() as u32);
                let end = before.report.end.min(own.report.end);
                Some(before.stopped.as_ref()?.at_same_time(rule.outcomes(&work, end)))
            });
            let Some(stopped) = stopped else { continue };
            all.push(StoppedRun { variant: side.label.clone(), end: own.report.end, stopped });
        }
    }
    known_figures(stop, &names, &all)
}

fn run(source: Source<'_>, threads: usize, interrupted: &AtomicBool, tick: &mut Tick<'_>) -> Result<Vec<Vec<Outcome>>, RunError> {
    let job = |number: usize, side: &Side, run| Job::new(number, run, side.resolved.run_seed(run));
    let jobs: Vec<Job> = source
        .sides
        .iter()
        .enumerate()
        .flat_map(|(n, side)| (0..side.resolved.repetitions()).map(move |run| job(n, side, run)))
        .collect();
    let mut collector = Collector { tick, outcomes: source.sides.iter().map(|_| Vec::new()).collect() };
    run_all(&source, &jobs, threads, interrupted, &mut collector)?;
    Ok(collector.outcomes)
}

impl Side {
    fn variant(&self) -> &forebay_scenario::Variant {
        &self.resolved.variants[self.variant]
    }

    fn config(&self, seed: u64) -> forebay_experiment::Experiment {
        let mut config = self.variant().config.clone();
        config.set_seed(seed);
        config
    }
}

/// Jobs of configurations, which have their numbers instead of those of variants.
struct Source<'a> {
    sides: &'a [Side],
    stop: Option<&'a Stop>,
    /// Ends by repetition; empty if the scenario or the rule ends the runs.
    ends: &'a [Time],
}

impl Jobs for Source<'_> {
    fn prepare(&self, _: usize, job: &Job) -> Prepared {
        let side = &self.sides[job.variant];
        let mut config = side.config(job.seed);
        config.duration = self.ends.get(job.run as usize).copied().or(config.duration);
        let stop = self.stop.map(|stop| StopRequest { stop: stop.clone(), runs: side.resolved.repetitions() });
        Prepared { variant: side.label.clone(), world: side.resolved.world, config, stop }
    }

    fn together(&self) -> bool {
        self.stop.is_some_and(|stop| stop.ratio)
    }
}

struct Collector<'a, 't> {
    tick: &'a mut Tick<'t>,
    outcomes: Vec<Vec<Outcome>>,
}

impl Watcher for Collector<'_, '_> {
    type Error = RunError;

    fn tick(&mut self, jobs: &[Job], elapsed: Duration) {
        (self.tick)(jobs, elapsed);
    }

    fn finished(&mut self, jobs: &[Job], outcome: Outcome) -> Result<(), RunError> {
        self.outcomes[jobs[outcome.job].variant].push(outcome);
        Ok(())
    }
}
