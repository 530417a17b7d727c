//! Backends of a program, with their congestion controls and shims. Scenarios are checked against this list.

use crate::registry::{CcEntry, ShimEntry};
use crate::transport::Chosen;
use crate::world::World;

/// All backends of a program. Readers of scenarios receive this list, so that only the list itself depends on the backends.
#[derive(Debug)]
pub struct Worlds {
    list: &'static [&'static dyn World],
    congestion_controls: Vec<CcEntry<()>>,
    shims: Vec<ShimEntry<()>>,
}

impl Worlds {
    /// List of backends, the default first. Of entries with equal names the first is used.
    ///
    /// # Panics
    /// If the list is empty.
    pub fn new(list: &'static [&'static dyn World]) -> Worlds {
        assert!(!list.is_empty(), "a program has at least one backend");
        Worlds {
            list,
            congestion_controls: once(list.iter().flat_map(|w| w.congestion_controls()), |e| e.entry.name),
            shims: once(list.iter().flat_map(|w| w.shims()), |e| e.entry.name),
        }
    }

    /// The same backends, with congestion controls that the caller supplies. A built-in entry of the same name has precedence.
    pub fn with_congestion_controls(&self, entries: Vec<CcEntry<()>>) -> Worlds {
        let all = self.congestion_controls.iter().copied().chain(entries);
        Worlds { list: self.list, congestion_controls: once(all, |e| e.entry.name), shims: self.shims.clone() }
    }

    /// All backends, the default first.
    pub fn list(&self) -> &'static [&'static dyn World] {
        self.list
    }

    /// Default backend.
    pub fn default(&self) -> &'static dyn World {
        self.list[0]
    }

    /// Backend called `name`.
    pub fn find(&self, name: &str) -> Option<&'static dyn World> {
        self.list.iter().find(|w| w.name() == name).copied()
    }

    /// Congestion controls of all backends, without duplicates, in the order of the backends.
    pub fn congestion_controls(&self) -> &[CcEntry<()>] {
        &self.congestion_controls
    }

    /// Shims of all backends, without duplicates, in the order of the backends.
    pub fn shims(&self) -> &[ShimEntry<()>] {
        &self.shims
    }

    /// Congestion control called `name`.
    pub fn cc(&self, name: &str) -> Option<&CcEntry<()>> {
        self.congestion_controls.iter().find(|e| e.entry.name == name)
    }

    /// Shim called `name`.
    pub fn shim(&self, name: &str) -> Option<&ShimEntry<()>> {
        self.shims.iter().find(|e| e.entry.name == name)
    }

    /// First backend with this shim.
    pub fn with_shim(&self, shim: &Chosen) -> &'static dyn World {
        let has = |w: &&&dyn World| w.shims().iter().any(|e| e.entry.name == shim.name);
        self.list.iter().find(has).copied().unwrap_or_else(|| self.default())
    }
}

/// Removes duplicate names; the first of each is kept.
fn once<T>(all: impl Iterator<Item = T>, name: impl Fn(&T) -> &'static str) -> Vec<T> {
    let mut list: Vec<T> = Vec::new();
    for item in all {
        if !list.iter().any(|known| name(known) == name(&item)) {
            list.push(item);
        }
    }
    list
}
