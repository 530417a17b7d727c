//! Shims: what a transport has beside its law and its stack. A scenario adds them with `shim = "..."` to any transport, at most one in each of
//! three places, each a file with its hooks and the list of its shims:
//!
//! * [`tag`]: at the sender, where packets get a class of service and a rank, and where the window of a message may be set;
//! * [`endpoint`]: between TCP and the network at both ends, where every packet passes and may be changed;
//! * [`window`]: at the receiver, whose window is set.
//!
//! To add one: one file here, which implements the trait of its place; then three lines: its `mod` below, its entry in [`REGISTRY`], and its
//! name in the list of its place.

pub mod endpoint;
pub mod ictcp;
mod layer;
pub mod proboscis;
pub mod tag;
pub mod window;

pub mod pias;
pub mod prin;
pub mod service;
pub mod srpt;

pub use forebay_experiment::registry::Place;

use forebay_experiment::topology::BuildError;
use forebay_experiment::transport::Chosen;

/// A shim and its parameters, as configured: one enum for each place.
#[derive(Debug, Clone, PartialEq)]
pub enum ShimConfig {
    /// Tags data packets at the sender.
    Tag(tag::Config),
    /// Sits between TCP and the network at both ends.
    Endpoint(endpoint::Config),
    /// Sets the receive window.
    Window(window::Config),
}

/// A shim in the registry.
pub type ShimEntry = forebay_experiment::registry::ShimEntry<ShimConfig>;

/// All shims, in the order `forebay list` shows them.
pub const REGISTRY: &[ShimEntry] = &[ictcp::ENTRY, pias::ENTRY, prin::ENTRY, proboscis::ENTRY, service::ENTRY, srpt::ENTRY];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static ShimEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}

/// The configuration of a shim that an experiment names.
///
/// # Errors
/// No shim has that name, or it refuses its parameters.
pub fn build(shim: &Chosen) -> Result<ShimConfig, BuildError> {
    let entry = find(shim.name).ok_or_else(|| BuildError::new("shim", format!("the simulator has no shim `{}`", shim.name)))?;
    (entry.build)(&shim.values)
}

impl ShimConfig {
    /// Its entry in the registry.
    pub fn entry(&self) -> &'static ShimEntry {
        match self {
            ShimConfig::Tag(c) => c.entry(),
            ShimConfig::Endpoint(c) => c.entry(),
            ShimConfig::Window(c) => c.entry(),
        }
    }

    /// Its name in the registry.
    pub fn name(&self) -> &'static str {
        self.entry().entry.name
    }
}
