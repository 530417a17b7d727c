//! The packet-level simulator: network, TCP, laws, traffic and the engine that runs them.

pub mod assign;
pub mod cc;
pub mod config;
pub mod engine;
pub mod net;
pub mod observe;
pub mod run;
pub mod shim;
pub mod streams;
pub mod tcp;
pub mod topology;
pub mod workload;
