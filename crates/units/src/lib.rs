//! Newtypes for the quantities of the simulator, their text forms, and the identifiers of what it is made of.
//!
//! Time is an integer count of picoseconds and sizes are integer bytes, so that results are the same on every machine.

mod id;
mod index_vec;
mod parse;
mod queue_len;
mod rate;
mod size;
mod time;
mod time_or_never;

pub use id::{AppId, ConnSlot, GroupId, Id, NodeId, PortId, QueryId, SumId, WorkloadId};
pub use index_vec::IndexVec;
pub use parse::QuantityError;
pub use queue_len::QueueLen;
pub use rate::Rate;
pub use size::Bytes;
pub use time::Time;
pub use time_or_never::TimeOrNever;
