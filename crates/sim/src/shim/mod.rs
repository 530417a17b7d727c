//! Shims: what a transport has beside its law and its stack. Some tag the sender's packets with a class of service, some sit between TCP and the
//! network and rewrite what passes, some steer the receive window. A scenario adds them with `shim = "..."` to any transport.
//!
//! To add one: one file here, one line in [`REGISTRY`], one variant in [`ShimConfig`].

pub mod endpoint;
pub mod ictcp;
mod layer;
pub mod proboscis;
pub mod tag;
pub mod window;

pub mod pias;
pub mod prin;
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
pub const REGISTRY: &[ShimEntry] = &[ictcp::ENTRY, pias::ENTRY, prin::ENTRY, proboscis::ENTRY, srpt::ENTRY];

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
