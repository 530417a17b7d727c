//! Executes scenarios: what stands between a checked scenario and its results, for the command line and for Python alike.
//!
//! A [`Job`] is one configuration with one seed: a pure function from a configuration to a report ([`simulate`]), independent of all
//! others. [`run_all`] takes the numbered jobs of a scenario, runs them on threads, and hands the outcomes over in the order of their
//! numbers. [`sweep`] runs many scenarios, and keeps their results by what they are results of. Both do their work on one pool
//! (`pool.rs`), which an executor on many machines would replace.

mod defect;
mod explain;
mod forecast;
mod job;
pub mod memory;
mod message_timeline;
mod pool;
mod record;
mod routes;
mod runs;
mod simulate;
pub mod sweep;
pub mod trace_diff;

pub use defect::caught;
pub use explain::{ExplainError, MessageSelector, explain};
pub use forecast::{Forecast, Outlook, RealTime, needs_no_forecast, outlook};
pub use job::{Job, State};
pub use record::Record;
pub use runs::{Jobs, Outcome, Prepared, Watcher, jobs, run_all, run_until};
pub use simulate::{Simulated, simulate};
