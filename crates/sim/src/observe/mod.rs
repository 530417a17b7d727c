//! What a run leaves behind: rows of the result tables.

mod rows;

pub use rows::{FlowRow, PortRow, QueryRow, QueueRow, ShimRow, TcpRow, TimeoutKind, TimeoutRow};
