//! What ends a sweep before its end.

use forebay_experiment::report::RunError;
use forebay_scenario::Errors;
use forebay_store::StoreError;
use std::fmt;
use std::path::PathBuf;

/// Why a sweep did not come to its end. What was finished is kept.
#[derive(Debug)]
pub enum SweepError {
    /// The scenario, or some of its points, are wrong; nothing ran.
    Scenario(Errors),
    /// A unit could not run.
    Run {
        /// The point, as people know it.
        point: String,
        /// Why.
        error: RunError,
    },
    /// Results could not be written or read.
    Store(StoreError),
    /// A file that the scenario names cannot be read, or changed while the sweep ran.
    File(PathBuf, String),
    /// A unit that is not one of the sweep here.
    Foreign,
    /// Shards that were not run, or not to their end.
    Missing {
        /// Where results were looked for.
        dir: PathBuf,
        /// Runs whose results are not there.
        missing: usize,
        /// Runs of the sweep.
        total: usize,
    },
    /// Directories that are to be one have different sweeps in them.
    Different(PathBuf, PathBuf),
    /// It was asked to stop.
    Interrupted {
        /// Runs whose results are there.
        done: usize,
        /// Runs of the sweep.
        total: usize,
    },
}

impl SweepError {
    /// For `map_err`: a table could not be turned into arrays.
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
            SweepError::File(path, why) => write!(f, "{}: {why}", path.display()),
            SweepError::Foreign => f.write_str(
                "a run that this sweep does not have: another version of forebay, or of a file that the scenario names, is installed there",
            ),
            SweepError::Missing { dir, missing, total } => write!(
                f,
                "{missing} of {total} runs are missing; run their shards with --out {}, or forebay run there, which runs what is missing",
                dir.display()
            ),
            SweepError::Different(a, b) => {
                write!(f, "{} and {} have different sweeps, or different versions of one: the runs of their points differ", a.display(), b.display())
            }
            SweepError::Interrupted { done, total } => write!(f, "interrupted: {done} of {total} runs done"),
        }
    }
}

impl std::error::Error for SweepError {}
