//! Values used by all crates: quantities with units, identifiers, random numbers and distributions, and the registry of parameters.
//!
//! Without the feature `std` only the parts are there that queue disciplines need in a guest kernel.

#![cfg_attr(not(feature = "std"), no_std)]

#[macro_use]
extern crate alloc;

mod loss;
pub mod param;
mod sampling;
mod units;

pub use loss::{GilbertElliott, ListedLoss, LossModel, TimedLoss};
#[cfg(feature = "std")]
pub use sampling::{
    Estimate, Mixture, SizeDist, SizeTable, TableError, TimeDist, ends, estimate, quantile, split, student_t_975,
};
pub use sampling::{Rng, math, mix};
pub use units::{
    AppId, Bytes, ConnSlot, GroupId, Id, IndexVec, NodeId, PortId, QuantityError, QueryId, QueueLen, Rate, SumId, Time,
    TimeOrNever, WorkloadId,
};
