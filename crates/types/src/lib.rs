//! Values used by all crates: quantities with units, identifiers, random numbers and distributions, and the registry of parameters.

pub mod param;
mod sampling;
mod units;

pub use sampling::{Estimate, Mixture, Rng, SizeDist, SizeTable, TableError, TimeDist, ends, estimate, math, mix, split};
pub use units::{
    AppId, Bytes, ConnSlot, GroupId, Id, IndexVec, NodeId, PortId, QuantityError, QueryId, QueueLen, Rate, SumId, Time,
    TimeOrNever, WorkloadId,
};
