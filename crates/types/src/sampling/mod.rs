//! Random numbers and distributions with fixed algorithms, so that a seed gives the same bytes on every machine and with every version of every
//! library.

pub mod math;

mod dist;
mod estimate;
mod mixture;
mod rng;
mod size_table;
mod split;

pub use dist::{SizeDist, TimeDist};
pub use estimate::{Estimate, ends, estimate};
pub use mixture::Mixture;
pub use rng::{Rng, mix};
pub use size_table::{SizeTable, TableError};
pub use split::split;
