//! Interface of backends, which run experiments: the simulator, the closed forms, Linux kernels. A backend reports unsupported parts of an experiment
//! before it runs.

use crate::Experiment;
use crate::check::CheckedExperiment;
use crate::decisions::Decisions;
use crate::registry::{CcEntry, ShimEntry};
use crate::report::{EarlyEnd, Progress, Report, RunError};
use crate::topology::BuildError;
use crate::transport::Chosen;
use std::fmt;
use std::ops::ControlFlow;

/// Backend that runs an experiment and returns a report.
pub trait World: fmt::Debug + Send + Sync {
    /// Name in scenarios (`world = "..."`), on the command line, in keys and in results.
    fn name(&self) -> &'static str;

    /// Summary in one line.
    fn summary(&self) -> &'static str;

    /// Version of everything that results depend on beside the experiment, the seed and this program, such as a kernel; empty if there is nothing. It
    /// is part of the keys of stored results, and shown with them.
    fn version(&self) -> String {
        String::new()
    }

    /// Returns true if results depend on the seed. If not, one run is made, because an exact number has no confidence interval.
    fn uses_seeds(&self) -> bool {
        true
    }

    /// Returns true if simulated time is wall-clock time: a run takes the time of its scenario.
    fn real_time(&self) -> bool {
        false
    }

    /// Returns true if interfaces of hosts can have a queue other than a FIFO. If not, host profiles set none.
    fn has_host_queues(&self) -> bool {
        false
    }

    /// Memory of a run in other processes, bytes.
    fn outside_memory(&self, _experiment: &Experiment) -> u64 {
        0
    }

    /// Congestion controls of this backend, without their builders. Most backends support those of other backends by name.
    fn congestion_controls(&self) -> Vec<CcEntry<()>> {
        Vec::new()
    }

    /// Shims of this backend, without their builders.
    fn shims(&self) -> Vec<ShimEntry<()>> {
        Vec::new()
    }

    /// Checks that the parameters of a shim are consistent.
    ///
    /// # Errors
    /// The parameter to change, and the legal values.
    fn check_shim(&self, _shim: &Chosen) -> Result<(), BuildError> {
        Ok(())
    }

    /// Unsupported parts of an experiment; it runs only if there are none.
    fn supports(&self, experiment: &Experiment) -> Vec<Unsupported>;

    /// Refuses an unsupported experiment with the first reason.
    ///
    /// # Errors
    /// The key and the reason.
    fn refuse(&self, experiment: &Experiment) -> Result<(), RunError> {
        match self.supports(experiment).first() {
            Some(first) => Err(RunError::Unknown(format!("`{}`: {}", first.key, first.reason))),
            None => Ok(()),
        }
    }

    /// Description of the run, one fact per line, for `forebay check`.
    fn explain(&self, experiment: &Experiment) -> Vec<String>;

    /// Runs `experiment` with `seed`. `progress` is called at intervals and may end the run, with a report or without; it cannot change the run.
    ///
    /// # Errors
    /// An early end, and reasons of [`World::supports`].
    fn run(
        &self,
        experiment: CheckedExperiment<'_>,
        seed: u64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
    ) -> Result<Report, RunError>;

    /// Same as [`World::run`], on up to `cores` cores if the backend can use them. The report is the same.
    ///
    /// # Errors
    /// As of [`World::run`].
    fn run_on(
        &self,
        cores: usize,
        experiment: CheckedExperiment<'_>,
        seed: u64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
    ) -> Result<Report, RunError> {
        let _ = cores;
        self.run(experiment, seed, progress)
    }

    /// Returns true if runs can end by a rule of the scenario (`[stop]`): [`World::run_with_decisions`] uses its decisions.
    fn decides(&self) -> bool {
        false
    }

    /// Same as [`World::run_on`], but `decisions` may end the run before its duration is over. The report is that of a run with this duration. A
    /// backend that does not decide ([`World::decides`]) runs to the end.
    ///
    /// # Errors
    /// As of [`World::run`].
    fn run_with_decisions(
        &self,
        cores: usize,
        experiment: CheckedExperiment<'_>,
        seed: u64,
        decisions: &mut dyn Decisions,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
    ) -> Result<Report, RunError> {
        let _ = decisions;
        self.run_on(cores, experiment, seed, progress)
    }
}

/// Part of an experiment that a backend does not support.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// Key of the scenario, such as `transport.cc`.
    pub key: &'static str,
    /// Reason, and the legal values.
    pub reason: String,
}

impl Unsupported {
    /// The capture of packets, for backends that have none; `None` if the experiment captures no packets.
    pub fn capture(experiment: &Experiment) -> Option<Unsupported> {
        let reason = || "this backend has no packets; legal: `world = \"sim\"`, `linux` or `testbed`, or no `capture`".to_owned();
        (!experiment.observe.capture.is_off()).then(|| Unsupported { key: "observe.capture", reason: reason() })
    }

    /// The warm start, for backends whose connections begin with the window of their stack; `None` if the experiment has none.
    pub fn warm_start(experiment: &Experiment) -> Option<Unsupported> {
        let reason = || {
            "`start` is \"warm\", and this backend begins with an empty network; legal: `world = \"sim\"`, or `start = \"cold\"`"
                .to_owned()
        };
        experiment.warm_start().map(|_| Unsupported { key: "start", reason: reason() })
    }
}
