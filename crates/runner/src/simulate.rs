//! Function from a configuration to its results, for scenarios and sweeps.

use crate::job::Job;
use crate::stopping::{self, StopRequest, Stopped};
use forebay_experiment::Experiment;
use forebay_experiment::report::{Cut, Report, RunError};
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
    watch: &dyn Fn() -> ControlFlow<Cut>,
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
    let info = RunInfo::new(world.name(), variant, repetition, config);
    let summary = summarise(&info, config, &report);
    Ok(Simulated { info, report, summary, stopped })
}
