//! The few numbers of a run that a person compares: what they are, and how they come from the rows.

mod metrics;
mod most;
mod reduce;
mod values;

pub use metrics::{Bound, Dimension, GROUP_METRICS, Metric, Most, NETWORK_METRICS, Possible, group_value};
pub use reduce::summarise;
pub use values::{GroupSummary, NetworkSummary, Spread, Summary};
