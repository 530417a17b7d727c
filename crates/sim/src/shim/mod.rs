//! Shims: additions to a transport beside its congestion control and stack. A scenario adds them with `shim = "..."` to any transport, at most one in
//! each of three places. Each place is a file with its hooks, and another with the list of its shims:
//!
//! * [`tag`], [`tag_shims`]: at the sender, where packets get a class of service and a rank, and where the window of a message may be set;
//! * [`endpoint`], [`endpoint_shims`]: between TCP and the network at both ends, where every packet passes and may be changed;
//! * [`window`], [`window_shims`]: at the receiver, whose window is set.
//!
//! To add a shim, add a file here that implements the trait of its place. Then add three lines: its `mod` below, its entry in [`REGISTRY`], and its
//! name in the list of its place.

pub mod endpoint;
mod endpoint_state;
pub mod tag;
pub mod window;

pub mod ictcp;
pub mod misbehaving_receiver;
pub mod pias;
pub mod prin;
pub mod proboscis;
pub mod service;
pub mod srpt;

pub mod endpoint_shims;
pub mod tag_shims;
pub mod window_shims;

pub use forebay_experiment::registry::Place;

use forebay_experiment::topology::BuildError;
use forebay_experiment::transport::Chosen;

/// A shim and its parameters, as configured: one enum for each place.
#[derive(Debug, Clone, PartialEq)]
pub enum ShimConfig {
    /// Tags data packets at the sender.
    Tag(tag_shims::Config),
    /// Sits between TCP and the network at both ends.
    Endpoint(endpoint_shims::Config),
    /// Sets the receive window.
    Window(window_shims::Config),
}

/// The shims of a transport: at most one in each place.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shims {
    /// Tags data packets at the sender.
    pub tag: Option<tag_shims::Config>,
    /// Sits between TCP and the network at both ends.
    pub endpoint: Option<endpoint_shims::Config>,
    /// Sets the receive window.
    pub window: Option<window_shims::Config>,
}

/// A shim in the registry.
pub type ShimEntry = forebay_experiment::registry::ShimEntry<ShimConfig>;

/// The registry entry of a shim, which builds the configuration of its place.
macro_rules! entry {
    ($place:ident, $module:ident) => {
        $module::ENTRY.with_builder(|v| ($module::ENTRY.build)(v).map(|c| ShimConfig::$place(c.into())))
    };
}

/// All shims, in the order `forebay list` shows them.
pub const REGISTRY: &[ShimEntry] = &[
    entry!(Window, ictcp),
    entry!(Endpoint, misbehaving_receiver),
    entry!(Tag, pias),
    entry!(Tag, prin),
    entry!(Endpoint, proboscis),
    entry!(Tag, service),
    entry!(Tag, srpt),
];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static ShimEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}

/// Builds the configuration of a shim that an experiment names.
///
/// # Errors
/// No shim has that name, or it refuses its parameters.
pub fn build(shim: &Chosen) -> Result<ShimConfig, BuildError> {
    let entry = find(shim.name).ok_or_else(|| BuildError::new("shim", format!("the simulator has no shim `{}`", shim.name)))?;
    (entry.build)(&shim.values)
}

impl ShimConfig {
    /// Its name in the registry.
    pub fn name(&self) -> &'static str {
        match self {
            ShimConfig::Tag(c) => c.name(),
            ShimConfig::Endpoint(c) => c.name(),
            ShimConfig::Window(c) => c.name(),
        }
    }
}

/// Scenarios refuse two shims in the same place; here the first one stays.
impl FromIterator<ShimConfig> for Shims {
    fn from_iter<I: IntoIterator<Item = ShimConfig>>(shims: I) -> Shims {
        let mut all = Shims::default();
        for shim in shims {
            match shim {
                ShimConfig::Tag(c) => all.tag = all.tag.or(Some(c)),
                ShimConfig::Endpoint(c) => all.endpoint = all.endpoint.or(Some(c)),
                ShimConfig::Window(c) => all.window = all.window.or(Some(c)),
            }
        }
        all
    }
}

impl From<ShimConfig> for Shims {
    fn from(shim: ShimConfig) -> Shims {
        [shim].into_iter().collect()
    }
}
