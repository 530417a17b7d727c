//! The engine: events in windows, nodes in any order, one event per packet and hop. `ARCHITECTURE.md` tells why.
//!
//! Nothing outside this crate reaches its parts: inside they index without checks, with numbers that come from a checked configuration.

mod core;
mod encoding;
mod fabric;
mod gate;
#[cfg(test)]
mod gate_tests;
mod hosts;
mod lane;
mod nodes;
mod pace;
mod partition;
mod parts;
pub mod path;
mod processes;
mod progress_timer;
mod ranks;
pub(crate) mod simulation;
mod stream;
mod sync;
mod tiers;
mod wheel;

mod ended;
mod endpoint_shim;
mod failures;
mod handoff;
mod nic;
mod paths;
mod recorder;
mod schedule;
mod slots;
mod window_shim;
