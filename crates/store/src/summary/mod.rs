//! The few numbers of a run that a person compares: what they are, and how they come from the rows.

mod metric;
mod metrics;
mod most;
mod reduce;
mod values;

pub use metric::{Bound, Dimension, Metric, Most, Possible};
pub use metrics::{GROUP_METRICS, NETWORK_METRICS, group_value};
pub use reduce::summarise;
pub use values::{GroupSummary, NetworkSummary, Spread, Summary};
