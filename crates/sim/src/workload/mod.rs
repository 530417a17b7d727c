//! Workloads: each turns parameters into one of the traffic kinds the engine generates.
//!
//! To add one: one file here and one line in [`REGISTRY`].

use crate::config::{Network, TcpConfig, WorkloadKind};
use forebay_param::{Entry, Values};
use forebay_units::Time;

pub use crate::topology::BuildError;

/// What a workload may know about the rest of the scenario while it is built.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The built network.
    pub network: &'a Network,
    /// The transport its flows use (for header overhead in load definitions).
    pub tcp: &'a TcpConfig,
    /// End of simulated time, if the scenario sets one.
    pub duration: Option<Time>,
}

/// A workload in the registry.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadEntry {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// Builds it from checked parameters.
    pub build: fn(&Values, &Context<'_>) -> Result<WorkloadKind, BuildError>,
}

/// All workloads, in the order `forebay list` shows them.
pub const REGISTRY: &[WorkloadEntry] = &[];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static WorkloadEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}
