//! The packet-level simulator: network, TCP, congestion controls and the engine.

pub mod cc;
mod cores;
pub mod driven;
pub mod engine;
#[cfg(test)]
mod every_word;
pub mod exchange;
pub mod net;
pub mod run;
pub mod shim;
pub mod tcp;
pub mod world;
