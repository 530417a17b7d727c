//! Shims: what a transport has beside its law and its stack. Some tag the sender's packets with a class of service, some sit between TCP and the
//! network and rewrite what passes, some steer the receive window. A scenario adds them with `shim = "..."` to any transport.
//!
//! To add one: one file here, one line in [`REGISTRY`], one variant in [`ShimConfig`].

pub mod ictcp;
pub mod proboscis;
pub mod tag;
pub mod window;

pub mod pias;
pub mod prin;
pub mod srpt;

use forebay_param::{Entry, Values};

/// Where a shim works. A transport has at most one in each place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the sender: tags data packets with class and rank.
    Tag,
    /// Below TCP at both ends: sees and may rewrite every packet.
    Below,
    /// At the receiver: steers the advertised window.
    Window,
}

impl Place {
    /// What it is called in messages.
    pub fn describe(self) -> &'static str {
        match self {
            Place::Tag => "tags packets at the sender",
            Place::Below => "sits below TCP",
            Place::Window => "steers the receive window",
        }
    }
}

/// A shim and its parameters, as configured: one enum for each place.
#[derive(Debug, Clone, PartialEq)]
pub enum ShimConfig {
    /// Tags data packets at the sender.
    Tag(tag::Config),
    /// ProBoSCIS: probes ahead of the SYN, windows in SYN-ACKs and ACKs.
    Proboscis(proboscis::Config),
    /// Sets the receive window.
    Window(window::Config),
}

/// A shim in the registry.
#[derive(Debug, Clone, Copy)]
pub struct ShimEntry {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// Where it works.
    pub place: Place,
    /// Builds the configuration from checked parameters, or says which parameter is wrong and why.
    pub build: fn(&Values) -> Result<ShimConfig, crate::topology::BuildError>,
}

/// All shims, in the order `forebay list` shows them.
pub const REGISTRY: &[ShimEntry] = &[ictcp::ENTRY, pias::ENTRY, prin::ENTRY, proboscis::ENTRY, srpt::ENTRY];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static ShimEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}

impl ShimConfig {
    /// Its entry in the registry.
    pub fn entry(&self) -> &'static ShimEntry {
        match self {
            ShimConfig::Tag(c) => c.entry(),
            ShimConfig::Proboscis(_) => &proboscis::ENTRY,
            ShimConfig::Window(c) => c.entry(),
        }
    }

    /// Its name in the registry.
    pub fn name(&self) -> &'static str {
        self.entry().entry.name
    }
}
