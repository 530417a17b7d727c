//! Runs that record the states of all sockets: the basis of a comparison of two kernels.

use crate::kernel;
pub use crate::socket_state::SocketState;
use crate::world::{Linux, run_on};
use forebay_experiment::check::CheckedExperiment;
use forebay_experiment::report::{EarlyEnd, Progress, Report, RunError};
use forebay_experiment::world::World as _;
use std::ops::ControlFlow;

/// Runs `experiment` on the kernel called `name` (a name, version or path, as for `--kernel`) and records the states of all sockets.
///
/// # Errors
/// As [`World::run`](forebay_experiment::world::World::run); there is no such kernel.
pub fn run(
    name: &str,
    experiment: &CheckedExperiment<'_>,
    seed: u64,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
) -> Result<(Report, Vec<SocketState>), RunError> {
    Linux.refuse(experiment)?;
    let kernel = kernel::named(name).map_err(RunError::World)?;
    run_on(&kernel, experiment, seed, true, progress)
}
