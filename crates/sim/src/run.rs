//! The one entry point: a checked experiment in, a report out.

pub use crate::cores::Cores;
pub use forebay_experiment::checked::{Checked, Mistake};
pub use forebay_experiment::report::{Cut, Progress, Report, RunError};

use crate::engine::simulation::Simulation;
use std::ops::ControlFlow;

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
pub fn run(config: Checked<'_>, progress: &mut dyn FnMut(Progress) -> ControlFlow<Cut>) -> Result<Report, RunError> {
    run_seeded(config, config.seed, Cores::ONE, progress)
}

/// The same with another seed, on several cores where that pays. The report is the same.
pub fn run_seeded(
    config: Checked<'_>,
    seed: u64,
    cores: Cores,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<Cut>,
) -> Result<Report, RunError> {
    finish(Simulation::new(config, seed)?, cores, progress)
}

/// As [`run`], with the nodes of every window worked off from the last to the first; tests show with it that nothing depends on that order.
/// Debug builds only.
#[cfg(debug_assertions)]
pub fn run_backwards(config: Checked<'_>) -> Result<Report, RunError> {
    let mut simulation = Simulation::new(config, config.seed)?;
    simulation.backwards();
    finish(simulation, Cores::ONE, &mut |_| ControlFlow::Continue(()))
}

fn finish(
    mut simulation: Simulation,
    cores: Cores,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<Cut>,
) -> Result<Report, RunError> {
    let cut = match simulation.run(cores, progress) {
        ControlFlow::Break(Cut::Abandon) => return Err(RunError::Interrupted),
        ControlFlow::Break(Cut::Keep) => true,
        ControlFlow::Continue(()) => false,
    };
    let last = simulation.progress();
    let report = Report { cut, ..simulation.into_report() };
    let _ = progress(Progress { now: report.end, ..last });
    Ok(report)
}
