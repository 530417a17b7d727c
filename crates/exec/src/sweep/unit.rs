//! One unit: from a configuration to its numbers.

use crate::job::Job;
use forebay_experiment::Experiment;
use forebay_experiment::report::{Report, RunError};
use forebay_experiment::world::World;
use forebay_store::RunInfo;
use forebay_store::summary::summarise;
use forebay_store::unit::UnitRecord;
use std::cell::Cell;
use std::ops::ControlFlow;

/// What running a unit gives.
#[derive(Debug)]
pub struct UnitOutput {
    /// Its numbers.
    pub record: UnitRecord,
    /// Names behind the indices of the rows.
    pub info: RunInfo,
    /// All rows.
    pub report: Report,
}

/// Runs a unit in `world`: a pure function of `config`, which has its seed. `variant` and `run` are what it is called. `job` is told how far it is;
/// `stopped` ends it early.
///
/// # Errors
/// As [`World::run`].
pub fn run_unit(
    world: &dyn World,
    variant: &str,
    repetition: u32,
    config: &Experiment,
    job: &Job,
    stopped: &dyn Fn() -> bool,
) -> Result<UnitOutput, RunError> {
    let report = world.run(config.check()?, config.seed, &mut |progress| {
        job.note(progress);
        if stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let info = RunInfo::new(variant, repetition, config);
    let summary = summarise(&info, config, &report);
    Ok(UnitOutput { record: UnitRecord::new(&info, &report, &summary), info, report })
}

thread_local! {
    static RUNNING: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The unit of the plan that the calling thread runs: what to blame for a violated assertion.
pub fn running() -> Option<usize> {
    RUNNING.get()
}

pub(super) fn set_running(unit: Option<usize>) {
    RUNNING.set(unit);
}
