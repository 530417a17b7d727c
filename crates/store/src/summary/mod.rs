//! The few numbers of a run that a person compares: what they are, and how they come from the rows.

mod metrics;
mod reduce;
mod values;

pub use metrics::{Bound, Dimension, GROUP_METRICS, Metric, NETWORK_METRICS, group_value};
pub use reduce::summarise;
pub use values::{GroupSummary, NetworkSummary, Spread, Summary};
