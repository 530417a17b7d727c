//! The engine: events run in windows, one event per packet and hop, nodes in any order within a window. `ARCHITECTURE.md` gives the reasons.
//!
//! Nothing outside this crate reaches these modules: they index without bounds checks, with identifiers from a checked configuration.

mod accept_queue;
mod arrival_order;
mod barrier;
#[cfg(test)]
mod barrier_tests;
mod calendar;
mod closed_connections;
mod connection;
mod connection_slots;
mod encoding;
mod endpoint_shim;
mod fabric;
mod failures;
mod host;
mod link_changes;
mod metrics_cache;
mod nic;
mod node_set;
mod partition;
mod partition_state;
pub mod path;
mod processes;
mod progress_timer;
mod ranks;
mod recorder;
mod schedule;
pub(crate) mod simulation;
mod state;
mod sync;
mod tiers;
mod window_shim;
mod woken_processes;
