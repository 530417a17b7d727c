//! The engine: events in windows, nodes in any order, one event per packet and hop. `ARCHITECTURE.md` tells why.

pub mod apps;
pub mod core;
pub mod fabric;
pub mod hosts;
pub mod path;
pub mod simulation;
mod steer;
pub mod stream;
pub mod wheel;

mod audit;
mod below;
mod connections;
mod datagrams;
mod deliver;
mod expiry;
mod moves;
mod query_ids;
mod report;
