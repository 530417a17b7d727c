//! Topologies: each turns a handful of parameters into nodes and ports.
//!
//! To add one: one file here and one line in [`REGISTRY`].
//!
//! Conventions that all of them keep: hosts come before switches in [`Network::nodes`], so that the n-th host is node n; a
//! link is two ports, one per direction; only switch ports carry the configured buffer and queue, a host's own port never drops.

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
mod route;
mod route_error;
mod routing;
mod routing_build;
mod shared_buffer;
mod switches;
#[cfg(test)]
pub(crate) mod testing;

pub use address::MAX_NODES;
pub(crate) use fault_check::check as check_faults;
pub use lookup::{attached_port, find_port, host_rate, hosts, port_label, racks, reverse, uplink_rate};
pub use route::Route;
pub use route_error::RouteError;
pub use routing::{Fib, ecmp_choice};
pub use switches::{SPEEDS, SWITCHES, Speed, Switch, speed, switch};

use crate::network::Network;
use forebay_types::param::{Entry, Values};

/// Why checked parameters do not make a network: which key, and what would be legal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// The parameter to change.
    pub key: &'static str,
    /// What is wrong and what is legal.
    pub message: String,
}

impl BuildError {
    /// The error that names `key`.
    pub fn new(key: &'static str, message: impl Into<String>) -> BuildError {
        BuildError { key, message: message.into() }
    }
}

/// A topology in the registry.
#[derive(Debug, Clone, Copy)]
pub struct TopologyEntry {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// Builds the network from checked parameters.
    pub build: fn(&Values) -> Result<Network, BuildError>,
}

/// What people call networks, and the kind that is meant.
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

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static TopologyEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}
