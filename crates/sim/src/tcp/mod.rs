//! TCP, sans-IO: endpoints take packets and the time, and hand packets to a [`Wire`](crate::net::packet::Wire).
//!
//! Data flows one way on a connection; a request/response pair uses two. Stream offsets are 64-bit and start at 0 with the first
//! data byte; on the wire they are 32-bit sequence numbers that wrap.

mod cold;
mod common;
pub mod config;
pub mod datagram;
pub mod metrics;
pub mod profile;
pub mod receiver;
pub mod rtt;
pub mod sender;
mod tsq;

mod adaptive;
mod autotune;
mod cwnd_validation;
mod fast_path;
mod gro;
mod info;
mod joined;
mod message_stats;
mod options;
mod pacer;
mod prr;
mod rack;
mod reassembly;
mod remembered;
mod sack_state;
mod scoreboard;
mod send_buffer;
mod send_stats;
mod seq;
mod timer_wheel;
mod undo;

pub use info::Counts;
pub use options::offered_shift;
pub use seq::Address;
