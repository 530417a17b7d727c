//! The few numbers of a run that a person compares: what they are, and how they come from the rows.

mod bounds;
mod metric;
mod metrics;
mod reduce;
mod values;

pub use metric::{Dimension, LowerBound, Metric, UpperLimit, ValueRange};
pub use metrics::{GROUP_METRICS, NETWORK_METRICS, group_value};
pub use reduce::summarise;
pub use values::{GroupSummary, NetworkSummary, Spread, Summary};
