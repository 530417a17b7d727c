//! The packet-level simulator: network, TCP, laws, traffic and the engine that runs them.

pub mod cc;
pub mod config;
pub mod engine;
pub mod net;
pub mod observe;
pub mod run;
pub mod shim;
pub mod tcp;
pub mod world;

pub use forebay_experiment::{assign, streams, topology, workload};
