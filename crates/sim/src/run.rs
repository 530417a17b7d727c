//! Entry point: runs a checked experiment and returns a report.

pub use crate::cores::Cores;
pub use forebay_experiment::check::{CheckedExperiment, InvalidExperiment};
pub use forebay_experiment::report::{EarlyEnd, Progress, Report, RunError};

use crate::engine::simulation::Simulation;
use crate::exchange::Exchange;
use forebay_experiment::decisions::Decisions;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Runs a simulation of a checked experiment, [`Experiment::check`](forebay_experiment::Experiment::check); another one does not compile:
///
/// ```compile_fail,E0308
/// use forebay_experiment::Experiment;
/// use std::ops::ControlFlow;
///
/// fn unchecked(experiment: &Experiment) {
///     let _ = forebay_sim::run::run(experiment, &mut |_| ControlFlow::Continue(()));
/// }
/// ```
///
/// ```
/// use forebay_experiment::Experiment;
/// use std::ops::ControlFlow;
///
/// fn checked(experiment: &Experiment) {
///     let _ = experiment.check().map(|e| forebay_sim::run::run(e, &mut |_| ControlFlow::Continue(())));
/// }
/// ```
///
/// `progress` is called now and then and may end the run, with a report or without; it cannot change it.
pub fn run(
    config: CheckedExperiment<'_>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
) -> Result<Report, RunError> {
    run_seeded(config, config.seed, Cores::ONE, progress)
}

/// As [`run`], with another seed, and with several cores while they are faster. The report is the same.
pub fn run_seeded(
    config: CheckedExperiment<'_>,
    seed: u64,
    cores: Cores,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
) -> Result<Report, RunError> {
    whole(finish(Simulation::new(config, seed)?, cores, progress))
}

/// As [`run_seeded`]; `decisions` may end the run before its duration is over.
pub fn run_with_decisions(
    config: CheckedExperiment<'_>,
    seed: u64,
    cores: Cores,
    decisions: &mut dyn Decisions,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
) -> Result<Report, RunError> {
    let mut simulation = Simulation::new(config, seed)?;
    simulation.decide_with(decisions);
    whole(finish(simulation, cores, progress))
}

/// As [`run`], with the nodes of every window in reverse order; tests verify with it that the order does not matter. Debug builds only.
#[cfg(debug_assertions)]
pub fn run_backwards(config: CheckedExperiment<'_>) -> Result<Report, RunError> {
    let mut simulation = Simulation::new(config, config.seed)?;
    simulation.backwards();
    whole(finish(simulation, Cores::ONE, &mut |_| ControlFlow::Continue(())))
}

/// As [`run`], with each segment of a burst of segmentation offload handed to the interface by itself; tests verify with it that the short path of whole
/// bursts changes nothing. Debug builds only.
#[cfg(debug_assertions)]
pub fn run_by_segment(config: CheckedExperiment<'_>) -> Result<Report, RunError> {
    let mut simulation = Simulation::new(config, config.seed)?;
    simulation.offer_by_segment();
    whole(finish(simulation, Cores::ONE, &mut |_| ControlFlow::Continue(())))
}

/// Runs an experiment in one of several processes, each with up to this many cores: all call this function with the same experiment and seed. The
/// first process returns the report, the others none. `progress` of each may end the run.
///
/// # Errors
/// As [`run`], and experiments that cannot be divided.
pub fn run_among(
    config: CheckedExperiment<'_>,
    seed: u64,
    cores: Cores,
    exchange: Arc<dyn Exchange>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
) -> Result<Option<Report>, RunError> {
    let mut simulation = Simulation::new(config, seed)?;
    simulation.join(exchange)?;
    finish(simulation, cores, progress)
}

/// The report of a run in one process.
fn whole(report: Result<Option<Report>, RunError>) -> Result<Report, RunError> {
    report?.ok_or(RunError::Interrupted)
}

fn finish(
    mut simulation: Simulation<'_>,
    cores: Cores,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
) -> Result<Option<Report>, RunError> {
    let cut = match simulation.run(cores, progress) {
        ControlFlow::Break(EarlyEnd::Discard) => return Err(RunError::Interrupted),
        ControlFlow::Break(EarlyEnd::WithReport) => true,
        ControlFlow::Continue(()) => false,
    };
    let last = simulation.progress();
    let Some(report) = simulation.into_report() else { return Ok(None) };
    let _ = progress(Progress { now: report.end, ..last });
    Ok(Some(Report { cut, ..report }))
}
