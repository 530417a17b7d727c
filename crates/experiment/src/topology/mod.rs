//! Topologies. Each builds nodes and ports from a few parameters.
//!
//! To add a topology, add a file and a line in [`REGISTRY`].
//!
//! Conventions of all topologies:
//!
//! * Hosts come before switches in [`Network::nodes`], so that the n-th host is node n.
//! * A link is two ports, one per direction.
//! * Only switch ports have the configured buffer and queue. A host's own port never drops.

pub mod address;
mod builder;
mod custom_network;
mod dumbbell;
mod extra_delay;
mod fat_tree;
mod fault_check;
mod leaf_spine;
mod lookup;
mod many_to_one;
mod multi_hop;
mod path_hashes;
mod route;
mod route_error;
mod routing;
mod routing_build;
mod shared_buffer;
mod switches;
#[cfg(test)]
pub(crate) mod testing;
mod two_tier;

pub use address::MAX_NODES;
pub(crate) use fault_check::check as check_faults;
pub use lookup::{attached_port, find_port, host_rate, hosts, port_label, racks, reverse, uplink_rate};
pub use path_hashes::PathHashes;
pub use route::Route;
pub use route_error::RouteError;
pub use routing::{Fib, ecmp_choice};
pub use switches::{SPEEDS, SWITCHES, Speed, Switch, speed, switch};
pub use two_tier::{MAX_UPLINKS, TwoTier};

use crate::network::Network;
use forebay_types::param::{Entry, Values};

/// Reason why checked parameters do not make a network: the key, and what would be legal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// Parameter to change.
    pub key: &'static str,
    /// Explanation, with the legal values.
    pub message: String,
}

impl BuildError {
    /// Error at `key`.
    pub fn new(key: &'static str, message: impl Into<String>) -> BuildError {
        BuildError { key, message: message.into() }
    }
}

/// Topology in the registry.
#[derive(Debug, Clone, Copy)]
pub struct TopologyEntry {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// Builds the network from checked parameters.
    pub build: fn(&Values) -> Result<Network, BuildError>,
}

/// Common other names of topologies, each with the kind that it means.
pub const ALSO_CALLED: &[(&str, &str)] = &[
    ("star", "many-to-one"),
    ("incast", "many-to-one"),
    ("single-switch", "many-to-one"),
    ("rack", "leaf-spine"),
    ("tor", "leaf-spine"),
    ("clos", "leaf-spine"),
    ("spine-leaf", "leaf-spine"),
    ("fabric", "leaf-spine"),
    ("two-tier", "leaf-spine"),
    ("three-tier", "fat-tree"),
    ("bottleneck", "dumbbell"),
    ("two-switches", "dumbbell"),
    ("chain", "multi-hop"),
    ("parking-lot", "multi-hop"),
    ("graph", "custom"),
];

/// All topologies, in the order `forebay list` shows them.
pub const REGISTRY: &[TopologyEntry] =
    &[many_to_one::ENTRY, dumbbell::ENTRY, multi_hop::ENTRY, leaf_spine::ENTRY, fat_tree::ENTRY, custom_network::ENTRY];

/// Entry called `name`.
pub fn find(name: &str) -> Option<&'static TopologyEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}
