//! The worlds of a program, and the congestion controls and shims that they have: what a scenario is read against.

use crate::registry::{CcEntry, ShimEntry};
use crate::transport::Chosen;
use crate::world::World;

/// Every world that a program has. Whoever reads a scenario is given one, so that nothing but the list itself depends on a world.
#[derive(Debug)]
pub struct Worlds {
    list: &'static [&'static dyn World],
    congestion_controls: Vec<CcEntry<()>>,
    shims: Vec<ShimEntry<()>>,
}

impl Worlds {
    /// These worlds, the default first. What several of them have under one name is that of the first.
    ///
    /// # Panics
    /// If there is none.
    pub fn new(list: &'static [&'static dyn World]) -> Worlds {
        assert!(!list.is_empty(), "a program has at least one world");
        Worlds {
            list,
            congestion_controls: once(list.iter().flat_map(|w| w.congestion_controls()), |e| e.entry.name),
            shims: once(list.iter().flat_map(|w| w.shims()), |e| e.entry.name),
        }
    }

    /// All, the default first.
    pub fn list(&self) -> &'static [&'static dyn World] {
        self.list
    }

    /// The world that a scenario runs in unless it names another.
    pub fn default(&self) -> &'static dyn World {
        self.list[0]
    }

    /// The world called `name`.
    pub fn find(&self, name: &str) -> Option<&'static dyn World> {
        self.list.iter().find(|w| w.name() == name).copied()
    }

    /// The congestion controls of all worlds, each once, in the order of the worlds.
    pub fn congestion_controls(&self) -> &[CcEntry<()>] {
        &self.congestion_controls
    }

    /// The shims of all worlds, each once, in the order of the worlds.
    pub fn shims(&self) -> &[ShimEntry<()>] {
        &self.shims
    }

    /// The congestion control called `name`.
    pub fn cc(&self, name: &str) -> Option<&CcEntry<()>> {
        self.congestion_controls.iter().find(|e| e.entry.name == name)
    }

    /// The shim called `name`.
    pub fn shim(&self, name: &str) -> Option<&ShimEntry<()>> {
        self.shims.iter().find(|e| e.entry.name == name)
    }

    /// The first world that has a shim.
    pub fn with_shim(&self, shim: &Chosen) -> &'static dyn World {
        let has = |w: &&&dyn World| w.shims().iter().any(|e| e.entry.name == shim.name);
        self.list.iter().find(has).copied().unwrap_or_else(|| self.default())
    }
}

/// Each name once, as it came first.
fn once<T>(all: impl Iterator<Item = T>, name: impl Fn(&T) -> &'static str) -> Vec<T> {
    let mut list: Vec<T> = Vec::new();
    for item in all {
        if !list.iter().any(|known| name(known) == name(&item)) {
            list.push(item);
        }
    }
    list
}
