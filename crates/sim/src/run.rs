//! The one entry point: a checked experiment in, a report out.

pub use forebay_experiment::report::{Progress, Report, RunError};

use crate::config::SimConfig;
use crate::engine::simulation::Simulation;
use std::ops::ControlFlow;

/// Runs a simulation. `progress` is called now and then and may stop the run; it cannot change it.
pub fn run(config: &SimConfig, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Report, RunError> {
    run_seeded(config, config.seed, progress)
}

/// The same with another seed.
pub fn run_seeded(
    config: &SimConfig,
    seed: u64,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Report, RunError> {
    let mut simulation = Simulation::new(config, seed)?;
    if !simulation.run(progress) {
        return Err(RunError::Interrupted);
    }
    let last = simulation.progress();
    let report = simulation.into_report();
    let _ = progress(Progress { now: report.end, ..last });
    Ok(report)
}
