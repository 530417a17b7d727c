//! TCP, sans-IO: endpoints take packets and the time, and hand packets to a [`Wire`](crate::net::packet::Wire).
//!
//! Data flows one way on a connection; a request/response pair uses two. Stream offsets are 64-bit and start at 0 with the first
//! data byte; on the wire they are 32-bit sequence numbers that wrap.
//!
//! | folder or file | contents |
//! |---|---|
//! | `sender/` | the sending endpoint, and steps that both stacks share |
//! | `receiver/` | the receiving endpoint |
//! | `common/` | state and rules of a connection: sequence space, RTT estimator, scoreboard, RACK, PRR, pacer, timers, send buffer, statistics |
//! | `rfc/` | steps by the RFCs: NewReno, SACK, RACK and tail loss probes |
//! | `linux/` | steps of Linux: ACK processing, timers, recovery without SACK, small queues, segmentation offload, path metrics |
//! | `gro.rs` | segments that the receiver's host merges |
//! | `fast_path.rs` | fast paths: conditions, skipped checks, and savings |

mod common;
pub mod config;
pub mod datagram;
pub mod gro;
pub mod profile;
pub mod receiver;
pub mod sender;

mod fast_path;
mod fast_path_sack;
mod fast_transmit;
mod info;
mod initial_window;
mod linux;
mod options;
mod rfc;

pub use common::rtt;
pub use common::seq::Address;
pub use info::Counts;
pub use linux::metrics;
pub use options::offered_shift;

use common::seq;
use common::timer_wheel;
