//! What a run leaves behind: rows of the result tables.

pub use forebay_experiment::rows::{FlowRow, PortRow, QueryRow, QueueRow, TcpRow, TimeoutKind, TimeoutRow};
pub use forebay_experiment::shim_row::{ShimRow, ShimValue};
