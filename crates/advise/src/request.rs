//! Requests for advice, and the failures of a search.

use forebay_experiment::worlds::Worlds;
use forebay_runner::sweep::{Counts, SweepError};
use forebay_scenario::Errors;
use forebay_store::StoreError;
use std::path::PathBuf;
use std::sync::Arc;

/// Request for advice.
#[derive(Debug, Clone)]
pub struct Request {
    /// Backends.
    pub worlds: &'static Worlds,
    /// Scenario file.
    pub file: PathBuf,
    /// Overrides of the file.
    pub sets: Vec<String>,
    /// Objective, instead of that of the file.
    pub objective: Option<String>,
    /// Number of seeds of the best changes; at least one.
    pub seeds: u32,
    /// Half width of the interval of the ratio of a change to the present network at which the run of the change ends, as a fraction of the ratio. `None`:
    /// runs take the whole duration.
    pub within: Option<f64>,
    /// Folder of the results; `None`: `out/NAME-advise`.
    pub dir: Option<PathBuf>,
    /// Number of parallel runs; at least one.
    pub threads: usize,
}

/// Reason why there is no advice.
#[derive(Debug)]
pub enum AdviseError {
    /// The scenario has errors.
    Scenario(Errors),
    /// The request is inconsistent.
    Usage(String),
    /// A run failed, or results could not be read or written.
    Sweep(Arc<SweepError>),
    /// Results could not be read.
    Store(StoreError),
    /// The search was interrupted.
    Interrupted {
        /// Completed runs.
        done: usize,
        /// Runs requested so far.
        total: usize,
    },
}

impl From<Errors> for AdviseError {
    fn from(e: Errors) -> AdviseError {
        AdviseError::Scenario(e)
    }
}

/// Receives the progress of a search.
pub trait Watcher {
    /// Reports the number of completed runs in phase `what`.
    fn tick(&mut self, what: &str, counts: Counts);
}
