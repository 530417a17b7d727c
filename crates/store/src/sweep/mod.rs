//! The directory of a sweep: its manifest, the units, and the summary of all runs as one table with leading axis columns.

mod dir;
mod manifest;
mod table;

pub use dir::{PAGE_GENERATOR, SweepDir};
pub use manifest::{AxisRecord, PointRecord, SweepManifest, SweepScenario};
pub use table::{KeyColumn, KeyValues, SweepRow, SweepTable};
