//! Random numbers and distributions with fixed algorithms, so that a seed gives the same bytes on every machine and with every version of every
//! library.

pub mod math;

#[cfg(feature = "std")]
mod dist;
#[cfg(feature = "std")]
mod estimate;
#[cfg(feature = "std")]
mod mixture;
mod rng;
#[cfg(feature = "std")]
mod size_table;
#[cfg(feature = "std")]
mod split;

#[cfg(feature = "std")]
pub use dist::{SizeDist, TimeDist};
#[cfg(feature = "std")]
pub use estimate::{Estimate, ends, estimate, quantile, student_t_975};
#[cfg(feature = "std")]
pub use mixture::Mixture;
pub use rng::{Rng, mix};
#[cfg(feature = "std")]
pub use size_table::{SizeTable, TableError};
#[cfg(feature = "std")]
pub use split::split;
