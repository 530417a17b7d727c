//! TCP, sans-IO: endpoints take packets and the time, and hand packets to a [`Wire`](crate::net::packet::Wire).
//!
//! Data flows one way on a connection; a request/response pair uses two. Stream offsets are 64-bit and start at 0 with the first
//! data byte; on the wire they are 32-bit sequence numbers that wrap.

pub mod config;
pub mod datagram;
mod host_queue;
mod lazy;
pub mod metrics;
pub mod profile;
pub mod receiver;
pub mod rtt;
pub mod sender;

mod booking;
mod info;
mod initial_window;
mod negotiated;
mod pacer;
mod prr;
mod rack;
mod sack_state;
mod scoreboard;
mod send_buffer;
mod send_stats;
mod seq;
mod undo;
mod usage;
mod usual;
mod wheel;

pub use info::Counts;
pub use negotiated::offered_shift;
pub use seq::Address;
