//! Executes scenarios: what stands between a checked scenario and its results, for the command line and for Python alike.
//!
//! A [`Job`] is one configuration with one seed: a pure function from a configuration to a report, independent of all others. [`run_all`]
//! takes numbered jobs from some [`Work`], runs them on threads, and hands the outcomes over in the order of their numbers. Another
//! executor, such as one on many machines, takes over at the same seam. [`sweep`] runs many scenarios, and keeps their results by what
//! they are results of.

mod job;
mod pool;
mod record;
pub mod sweep;

pub use job::{Job, State};
pub use pool::{Outcome, Prepared, Watcher, Work, jobs, run_all};
pub use record::Record;
