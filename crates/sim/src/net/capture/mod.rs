//! Capture of packets on links, for files that packet analyzers read (`Observe::capture`).
//!
//! A captured port takes the slow path, as one whose link damages packets: [`LinkTap`] notes the place in the ring of every packet that enters the link.
//! The far end reports each packet when it takes it, with its final header. Other ports have no tap, and their code is the same with and without a capture.

mod log;
mod tap;

pub(crate) use log::{CaptureLog, CapturedConnection, SharedLog};
pub(crate) use tap::LinkTap;
