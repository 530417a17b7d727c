//! Summary metrics of a run: definitions, and their computation from rows.

mod bounds;
mod metric;
mod metrics;
mod reduce;
mod values;

pub use metric::{Dimension, LowerBound, Metric, UpperLimit, ValueRange};
pub use metrics::{GROUP_METRICS, NETWORK_METRICS, group_value};
pub use reduce::summarise;
pub use values::{ClassSummary, GroupSummary, NetworkSummary, Spread, Summary};
