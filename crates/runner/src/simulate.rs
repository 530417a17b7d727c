//! Function from a configuration to its results, for scenarios and sweeps.

use crate::job::Job;
use forebay_experiment::Experiment;
use forebay_experiment::report::{Cut, Report, RunError};
use forebay_experiment::world::World;
use forebay_store::RunInfo;
use forebay_store::summary::{Summary, summarise};
use std::ops::ControlFlow;

/// Results of a configuration.
#[derive(Debug)]
pub struct Simulated {
    /// Names behind the indices of the rows.
    pub info: RunInfo,
    /// All rows.
    pub report: Report,
    /// Summary of the rows.
    pub summary: Summary,
}

/// Runs an experiment, which includes its seed, on a backend, with as many cores as the job may use: a pure function. `variant` and `repetition` name
/// the run. `job` receives the progress, and `watch` decides about an early end.
///
/// # Errors
/// As [`World::run`].
pub fn simulate(
    world: &dyn World,
    variant: &str,
    repetition: u32,
    config: &Experiment,
    job: &Job,
    watch: &dyn Fn() -> ControlFlow<Cut>,
) -> Result<Simulated, RunError> {
    let report = world.run_on(job.may_use(), config.check()?, config.seed, &mut |progress| {
        job.note(progress);
        watch()
    })?;
    let info = RunInfo::new(world.name(), variant, repetition, config);
    let summary = summarise(&info, config, &report);
    Ok(Simulated { info, report, summary })
}
