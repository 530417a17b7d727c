//! Errors that end a sweep early.

use crate::pool::NoThread;
use forebay_experiment::report::RunError;
use forebay_scenario::Errors;
use forebay_store::StoreError;
use std::fmt;
use std::path::PathBuf;

/// Error that ended a sweep early. Finished units are kept.
#[derive(Debug)]
pub enum SweepError {
    /// The scenario or some of its points are invalid; nothing ran.
    Scenario(Errors),
    /// A unit could not run.
    Run {
        /// Label of the point.
        point: String,
        /// Why.
        error: RunError,
    },
    /// Results could not be written or read.
    Store(StoreError),
    /// A file of the scenario cannot be read, or changed while the sweep ran.
    File(PathBuf, String),
    /// The system refuses to create a thread; the message names the remedy.
    NoThread(String),
    /// A unit that does not belong to this sweep.
    Foreign,
    /// Missing or incomplete shards.
    Missing {
        /// Searched directories.
        dir: PathBuf,
        /// Runs without results.
        missing: usize,
        /// Runs of the sweep.
        total: usize,
    },
    /// The directories to merge have different sweeps.
    Different(PathBuf, PathBuf),
    /// A stop was requested.
    Interrupted {
        /// Runs with results.
        done: usize,
        /// Runs of the sweep.
        total: usize,
    },
}

impl SweepError {
    /// Returns a function for `map_err`: a table could not be converted to arrays.
    pub(super) fn encode<E: fmt::Display>(table: &str) -> impl FnOnce(E) -> SweepError {
        let path = PathBuf::from(table);
        move |e| SweepError::Store(StoreError::Encode { path, message: e.to_string() })
    }
}

impl From<Errors> for SweepError {
    fn from(e: Errors) -> SweepError {
        SweepError::Scenario(e)
    }
}

impl From<NoThread> for SweepError {
    fn from(e: NoThread) -> SweepError {
        SweepError::NoThread(e.to_string())
    }
}

impl From<StoreError> for SweepError {
    fn from(e: StoreError) -> SweepError {
        SweepError::Store(e)
    }
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SweepError::Scenario(e) => write!(f, "{e}"),
            SweepError::Run { point, error } => write!(f, "{point}: {error}"),
            SweepError::Store(e) => write!(f, "{e}"),
            SweepError::NoThread(why) => f.write_str(why),
            SweepError::File(path, why) => write!(f, "{}: {why}", path.display()),
            SweepError::Foreign => {
                f.write_str("unknown run: the other process has another version of forebay or of a file of the scenario")
            }
            SweepError::Missing { dir, missing, total } => write!(
                f,
                "{missing} of {total} runs are missing; run their shards with --out {}, or `forebay run` there to run them",
                dir.display()
            ),
            SweepError::Different(a, b) => {
                write!(
                    f,
                    "{} and {} have different sweeps, or different versions of one: the runs of their points differ",
                    a.display(),
                    b.display()
                )
            }
            SweepError::Interrupted { done, total } => write!(f, "interrupted: {done} of {total} runs done"),
        }
    }
}

impl std::error::Error for SweepError {}
