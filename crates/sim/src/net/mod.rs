//! Packets, rings of packets, and egress ports.

pub mod accecn_option;
pub(crate) mod arena;
pub mod backlog;
pub(crate) mod capture;
pub mod generation;
pub(crate) mod huge_pages;
pub mod link_errors;
pub mod packet;
pub(crate) mod per_host;
pub mod port;
pub(crate) mod prefetch;
pub(crate) mod ring;
mod ring_memory;
pub mod tick;
