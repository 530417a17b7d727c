//! Execution of checked scenarios, for the command line and for Python.
//!
//! A [`Job`] is one configuration with one seed: a pure function from a configuration to a report ([`simulate`]), independent of all others.
//! [`run_all`] runs the numbered jobs of a scenario on threads and delivers the outcomes in the order of their numbers. [`sweep`] runs many
//! scenarios and stores their results by key. Both use one thread pool (`pool.rs`).

mod capture_file;
mod defect;
mod explain;
mod flow_monitor;
mod forecast;
mod job;
mod lockstep;
pub mod memory;
mod message_timeline;
mod pool;
mod record;
mod rerun;
mod routes;
mod runs;
mod side_by_side;
mod simulate;
mod stopping;
pub mod sweep;
mod trace;
pub mod trace_diff;

pub use capture_file::{capture_name, write_capture, write_flow};
pub use defect::catch_panic;
pub use explain::{MessageSelector, explain};
pub use flow_monitor::flow_monitor;
pub use forecast::{Forecast, Outlook, RealTime, needs_no_forecast, outlook};
pub use job::{Job, State};
pub use record::Record;
pub use rerun::{ExplainError, recorded, recorded_experiment};
pub use runs::{Jobs, Outcome, Prepared, Watcher, jobs, run_all, run_until};
pub use side_by_side::{Side, Tick, known_side_by_side, run_for_same_time, run_until_known};
pub use simulate::{Simulated, simulate, simulate_together};
pub use stopping::{StopRequest, Stopped};
pub use trace::{Trace, capture_flow, trace};
