//! Behavior of the Linux stack where it differs from the RFCs. Files have the names of the kernel's files or functions, without `tcp_`.

mod collapse;
mod input;
pub mod metrics;
mod plb;
mod probe0;
pub(in crate::tcp) mod reno_sack;
pub(in crate::tcp) mod timer;
pub(in crate::tcp) mod tso;
pub(in crate::tcp) mod tsq;
mod update_scoreboard;
pub(in crate::tcp) mod write_xmit;
