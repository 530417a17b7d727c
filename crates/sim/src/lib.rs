//! The packet-level simulator: network, TCP, congestion controls and the engine.

pub mod cc;
mod cores;
pub mod engine;
pub mod exchange;
pub mod net;
pub mod program;
pub mod run;
#[cfg(test)]
mod sequences;
pub mod shim;
pub mod tcp;
pub mod world;
