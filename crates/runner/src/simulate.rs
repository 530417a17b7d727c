//! Function from a configuration to its results, for scenarios and sweeps.

use crate::job::Job;
use crate::stopping::{self, StopRequest, Stopped};
use forebay_experiment::Experiment;
use forebay_experiment::report::{EarlyEnd, Report, RunError};
use forebay_experiment::world::World;
use forebay_store::RunInfo;
use forebay_store::summary::{Summary, summarise};
use std::ops::ControlFlow;
use std::time::Duration;

/// Results of a configuration.
#[derive(Debug)]
pub struct Simulated {
    /// Names behind the indices of the rows.
    pub info: RunInfo,
    /// All rows.
    pub report: Report,
    /// Summary of the rows.
    pub summary: Summary,
    /// End by the rule of `[stop]`, if the scenario has one.
    pub stopped: Option<Stopped>,
}

/// Runs an experiment, which includes its seed, on a backend, with as many cores as the job may use: a pure function. `variant` and `repetition` name
/// the run. `job` receives the progress, and `watch` decides about an early end. With `stop` the run ends when its figures are known, or after this
/// much wall time.
///
/// # Errors
/// As [`World::run`].
pub fn simulate(
    world: &dyn World,
    variant: &str,
    repetition: u32,
    config: &Experiment,
    job: &Job,
    stop: Option<(&StopRequest, Option<Duration>)>,
    watch: &(dyn Fn() -> ControlFlow<EarlyEnd> + Sync),
) -> Result<Simulated, RunError> {
    let (report, stopped) = match stop {
        Some(stop) => {
            let (report, stopped) = stopping::run(world, config, job, stop, watch)?;
            (report, Some(stopped))
        }
        None => {
            let report = world.run_on(job.may_use(), config.check()?, config.seed, &mut |progress| {
                job.note(progress);
                watch()
            })?;
            (report, None)
        }
    };
    Ok(Simulated::new(world, (variant, repetition), config, report, stopped))
}

/// As [`simulate`], for a run that is compared with others of its seed.
///
/// # Errors
/// As [`World::run`].
pub(crate) fn simulate_against(
    world: &dyn World,
    variant: &str,
    repetition: u32,
    config: &Experiment,
    job: &Job,
    rule: &stopping::Compared,
    watch: &(dyn Fn() -> ControlFlow<EarlyEnd> + Sync),
) -> Result<Simulated, RunError> {
    let report = stopping::run_against(world, config, job, rule, watch)?;
    Ok(Simulated::new(world, (variant, repetition), config, report, None))
}

impl Simulated {
    fn new(
        world: &dyn World,
        (variant, repetition): (&str, u32),
        config: &Experiment,
        report: Report,
        stopped: Option<Stopped>,
    ) -> Simulated {
        let info = RunInfo::new(world.name(), variant, repetition, config);
        let summary = summarise(&info, config, &report);
        Simulated { info, report, summary, stopped }
    }
}

/// Runs the variants of a scenario with one seed, given by name, configuration and job. They end together, when the ratios of their figures to those of
/// the first variant are known, or after this much wall time. Up to `active` of them run at the same time; results do not depend on it.
///
/// # Errors
/// As [`World::run`], of the first variant that fails.
pub fn simulate_together(
    world: &dyn World,
    repetition: u32,
    variants: &[(&str, &Experiment, &Job)],
    stop: (&StopRequest, Option<Duration>),
    active: usize,
    watch: &(dyn Fn() -> ControlFlow<EarlyEnd> + Sync),
) -> Result<Vec<Simulated>, RunError> {
    let runs: Vec<(&Experiment, &Job)> = variants.iter().map(|v| (v.1, v.2)).collect();
    let results = stopping::run_together(world, &runs, stop, active, watch)?;
    let simulated = |(v, (report, stopped)): (&(&str, &Experiment, &Job), (Report, Stopped))| {
        Simulated::new(world, (v.0, repetition), v.1, report, Some(stopped))
    };
    Ok(variants.iter().zip(results).map(simulated).collect())
}
