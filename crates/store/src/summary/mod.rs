//! The few numbers of a run that a person compares: what they are, and how they come from the rows.

mod metrics;
mod reduce;

pub use metrics::{
    Bound, Dimension, GROUP_METRICS, GroupSummary, Metric, NETWORK_METRICS, NetworkSummary, Spread, Summary, group_value,
};
pub use reduce::summarise;
