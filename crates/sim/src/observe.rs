//! What a run leaves behind: rows of the result tables.

pub use forebay_experiment::rows::{FlowRow, PortRow, QueryRow, QueueRow, ShimRow, TcpRow, TimeoutKind, TimeoutRow};
