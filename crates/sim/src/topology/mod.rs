//! Topologies: each turns a handful of parameters into nodes and ports.
//!
//! To add one: one file here and one line in [`REGISTRY`].

use crate::config::Network;
use forebay_param::{Entry, Values};

/// Why checked parameters do not make a network: which key, and what would be legal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// The parameter to change.
    pub key: &'static str,
    /// What is wrong and what is legal.
    pub message: String,
}

/// A topology in the registry.
#[derive(Debug, Clone, Copy)]
pub struct TopologyEntry {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// Builds the network from checked parameters.
    pub build: fn(&Values) -> Result<Network, BuildError>,
}

/// All topologies, in the order `forebay list` shows them.
pub const REGISTRY: &[TopologyEntry] = &[];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static TopologyEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}
