//! Packets, the rings they wait and fly in, and the egress ports that carry them.

pub(crate) mod arena;
pub mod backlog;
pub mod bit_errors;
pub mod generation;
pub(crate) mod huge_pages;
pub mod packet;
pub(crate) mod per_host;
pub mod port;
pub(crate) mod prefetch;
pub(crate) mod ring;
mod ring_memory;
