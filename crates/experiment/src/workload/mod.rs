//! Workloads. Each builds one of the kinds of traffic that backends generate.
//!
//! To add a workload, add a file and a line in [`REGISTRY`].

mod deadline;
mod decimal;
mod flow_dependencies;
mod flow_list;
mod foreign_formats;
mod incast;
mod lines;
mod load;
mod long_flows;
mod node_ids;
mod on_off;
mod pairs;
mod poisson;
mod queries;
mod rack_matrix;
mod replay;
mod request;
mod requests;
#[cfg(test)]
mod table_listing;
#[cfg(test)]
mod testing;
mod times;
mod udp;

pub use load::mean_wire_bytes;

/// Format of a file of another program that begins with the line `first`, if it is a known one.
pub fn file_kind(first: &str) -> Option<&'static str> {
    foreign_formats::of_text(first)
}

use crate::network::Network;
use crate::traffic::WorkloadKind;
use crate::transport::Stack;
use forebay_types::Time;
use forebay_types::param::{Entry, Values};

pub use crate::topology::BuildError;

/// Parts of the scenario that the builder of a workload can use.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The built network.
    pub network: &'a Network,
    /// The stack its flows use (for header overhead in load definitions).
    pub tcp: &'a Stack,
    /// End of simulated time, if the scenario sets one.
    pub duration: Option<Time>,
    /// Seed of the first run.
    pub seed: u64,
}

/// Workload in the registry.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadEntry {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// True if its flows use a transport; otherwise the scenario cannot choose one.
    pub transport: bool,
    /// Builder from checked parameters.
    pub build: fn(&Values, &Context<'_>) -> Result<WorkloadKind, BuildError>,
}

/// All workloads, in the order `forebay list` shows them.
pub const REGISTRY: &[WorkloadEntry] = &[
    long_flows::ENTRY,
    incast::ENTRY,
    poisson::ENTRY,
    on_off::ENTRY,
    requests::ENTRY,
    queries::ENTRY,
    replay::ENTRY,
    udp::ENTRY,
];

/// Entry called `name`.
pub fn find(name: &str) -> Option<&'static WorkloadEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}

/// Refuses endless work in a scenario without duration; `key` is the parameter that would limit it.
fn must_end(context: &Context<'_>, limited: bool, key: &'static str) -> Result<(), BuildError> {
    if limited || context.duration.is_some() {
        return Ok(());
    }
    Err(BuildError::new(
        key,
        format!("the scenario has no `duration`, so this traffic would never end: set `{key}` or `duration`"),
    ))
}

#[cfg(test)]
mod tests {
    use crate::topology::testing::check_entry;

    #[test]
    fn registries_are_sound() {
        let topologies = crate::topology::REGISTRY.iter().map(|t| t.entry);
        let workloads = super::REGISTRY.iter().map(|w| w.entry);
        topologies.chain(workloads).for_each(check_entry);
    }
}
