//! Packets, the rings they wait and fly in, and the egress ports that carry them.

pub mod arena;
pub mod occupancy;
pub mod packet;
pub mod port;
pub mod ring;
pub mod room;
