//! The directory of a sweep: its manifest, the units, and all numbers as one table with the axes in front.

mod dir;
mod manifest;
mod table;

pub use dir::SweepDir;
pub use manifest::{AxisRecord, PointRecord, SweepManifest, SweepScenario};
pub use table::{KeyColumn, KeyValues, SweepRow, SweepTable};
