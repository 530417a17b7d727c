//! Sweeps: many scenarios out of one, run on all cores into a directory that can be continued.
//!
//! * A [`Plan`] is the list of units to run, and nothing but that: made once, from a scenario alone, with every point checked.
//! * A *unit* is one variant of one point with one seed: a pure function from a configuration to a [`UnitRecord`]
//!   ([`run_unit`]), whose result is kept in a [`UnitStore`] under a hash of all that it depends on ([`key`]).
//! * [`run_units`] is the loop: it takes units out of the plan, finds their results or makes them. It says nothing about order or place,
//!   so another executor, such as one on many machines with a common store, replaces only this function.
//! * [`execute`] is all of it for one machine and one directory: manifest, units, and all numbers as one table at the end.

mod axes;
mod dataset;
mod explain;
pub mod key;
mod plan;
mod run;
mod unit;

pub use dataset::{Finished, Request, default_dir, execute, read};
pub use explain::explain;
pub use forebay_store::unit::{UnitRecord, UnitStore};
pub use plan::{Names, Plan, Unit};
pub use run::{Done, Records, Status, Watcher, run_units};
pub use unit::{UnitOutput, run_unit, running};

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
    fn encode<E: fmt::Display>(table: &str) -> impl FnOnce(E) -> SweepError {
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
            SweepError::Interrupted { done, total } => write!(f, "interrupted: {done} of {total} runs done"),
        }
    }
}

impl std::error::Error for SweepError {}
