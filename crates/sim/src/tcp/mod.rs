//! TCP, sans-IO: endpoints take packets and the time, and hand packets to a [`Wire`](crate::net::packet::Wire).
//!
//! Data flows one way on a connection; a request/response pair uses two. Stream offsets are 64-bit and start at 0 with the first
//! data byte; on the wire they are 32-bit sequence numbers that wrap.

mod common;
pub mod config;
pub mod datagram;
pub mod profile;
pub mod receiver;
pub mod sender;

mod fast_path;
mod fast_path_sack;
mod fast_transmit;
mod info;
mod linux;
mod options;
mod rfc;

pub use common::rtt;
pub use common::seq::Address;
pub use info::Counts;
pub use linux::metrics;
pub use options::offered_shift;

use common::seq;
use linux::timer_wheel;
