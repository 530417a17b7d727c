//! What runs experiments: a world. The simulator is one, the closed forms are another; each says what it cannot do before it is asked to.

use crate::Experiment;
use crate::checked::Checked;
use crate::registry::{LawEntry, ShimEntry};
use crate::report::{Cut, Progress, Report, RunError};
use crate::topology::BuildError;
use crate::transport::Chosen;
use std::fmt;
use std::ops::ControlFlow;

/// Something that turns an experiment into a report.
pub trait World: fmt::Debug + Send + Sync {
    /// Its name: in scenarios (`world = "..."`), on the command line, in keys and results.
    fn name(&self) -> &'static str;

    /// One line about it.
    fn summary(&self) -> &'static str;

    /// What its results depend on beside the experiment, the seed and this program, such as a kernel with its version; empty where nothing is.
    /// Part of the keys of stored results, and named beside them.
    fn version(&self) -> String {
        String::new()
    }

    /// Whether runs with different seeds differ. Where they do not, one is made: nothing is to be averaged, and no interval stands behind an
    /// exact number.
    fn uses_seeds(&self) -> bool {
        true
    }

    /// Whether simulated time is wall-clock time: a run takes the time of its scenario on every machine.
    fn real_time(&self) -> bool {
        false
    }

    /// Bytes of memory that a run occupies in other processes.
    fn outside_memory(&self, _experiment: &Experiment) -> u64 {
        0
    }

    /// The laws that it has of its own, without what it builds of them. Most worlds know those of others by name.
    fn laws(&self) -> Vec<LawEntry<()>> {
        Vec::new()
    }

    /// The shims that it has of its own, without what it builds of them.
    fn shims(&self) -> Vec<ShimEntry<()>> {
        Vec::new()
    }

    /// Whether the values of a shim's parameters fit together.
    ///
    /// # Errors
    /// The parameter to change, and what would be legal.
    fn check_shim(&self, _shim: &Chosen) -> Result<(), BuildError> {
        Ok(())
    }

    /// What of an experiment this world cannot do; nothing of it may run unless this is empty.
    fn supports(&self, experiment: &Experiment) -> Vec<Unsupported>;

    /// Refuses an experiment that it cannot do, by the first of its reasons: for worlds that are asked to run one all the same.
    ///
    /// # Errors
    /// The key, and the reason.
    fn refuse(&self, experiment: &Experiment) -> Result<(), RunError> {
        match self.supports(experiment).first() {
            Some(first) => Err(RunError::Unknown(format!("`{}`: {}", first.key, first.reason))),
            None => Ok(()),
        }
    }

    /// What it makes of an experiment before it runs, one line each, for whoever checks a scenario.
    fn explain(&self, experiment: &Experiment) -> Vec<String>;

    /// Runs `experiment` with `seed`. `progress` is called now and then and may end the run, with a report or without; it cannot change it.
    ///
    /// # Errors
    /// Being stopped, and what [`World::supports`] would have said.
    fn run(
        &self,
        experiment: Checked<'_>,
        seed: u64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Cut>,
    ) -> Result<Report, RunError>;

    /// The same, on up to `cores` cores where the world can use several for one run, and that pays. The report is the same.
    ///
    /// # Errors
    /// As [`World::run`].
    fn run_on(
        &self,
        cores: usize,
        experiment: Checked<'_>,
        seed: u64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Cut>,
    ) -> Result<Report, RunError> {
        let _ = cores;
        self.run(experiment, seed, progress)
    }
}

/// Something in an experiment that a world cannot do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// The key of the scenario that asks for it, such as `transport.cc`.
    pub key: &'static str,
    /// Why not, and what would be legal.
    pub reason: String,
}
