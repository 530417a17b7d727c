//! The worlds that can run an experiment. A further one is a crate and a line in [`REGISTRY`].

use forebay_experiment::registry::{LawEntry, ShimEntry};
use forebay_experiment::transport::Chosen;
use forebay_experiment::world::World;
use std::sync::OnceLock;

/// All worlds, the default first.
pub const REGISTRY: &[&dyn World] = &[&forebay_sim::world::Simulator, &forebay_predict::world::Models];

/// The world that a scenario runs in unless it names another.
pub fn default() -> &'static dyn World {
    REGISTRY[0]
}

/// The world called `name`.
pub fn find(name: &str) -> Option<&'static dyn World> {
    REGISTRY.iter().find(|w| w.name() == name).copied()
}

/// The laws of all worlds, each once, in the order of the worlds.
pub fn laws() -> &'static [LawEntry<()>] {
    static LAWS: OnceLock<Vec<LawEntry<()>>> = OnceLock::new();
    LAWS.get_or_init(|| once(REGISTRY.iter().flat_map(|w| w.laws()), |e| e.entry.name))
}

/// The shims of all worlds, each once, in the order of the worlds.
pub fn shims() -> &'static [ShimEntry<()>] {
    static SHIMS: OnceLock<Vec<ShimEntry<()>>> = OnceLock::new();
    SHIMS.get_or_init(|| once(REGISTRY.iter().flat_map(|w| w.shims()), |e| e.entry.name))
}

/// The law called `name`.
pub fn law(name: &str) -> Option<&'static LawEntry<()>> {
    laws().iter().find(|e| e.entry.name == name)
}

/// The shim called `name`.
pub fn shim(name: &str) -> Option<&'static ShimEntry<()>> {
    shims().iter().find(|e| e.entry.name == name)
}

/// The first world that has a shim.
pub fn with_shim(shim: &Chosen) -> &'static dyn World {
    let has = |w: &&&dyn World| w.shims().iter().any(|e| e.entry.name == shim.name);
    REGISTRY.iter().find(has).copied().unwrap_or_else(default)
}

/// What several worlds have under one name is that of the first.
fn once<T>(all: impl Iterator<Item = T>, name: impl Fn(&T) -> &'static str) -> Vec<T> {
    let mut list: Vec<T> = Vec::new();
    for item in all {
        if !list.iter().any(|known| name(known) == name(&item)) {
            list.push(item);
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for world in REGISTRY {
            assert_eq!(REGISTRY.iter().filter(|w| w.name() == world.name()).count(), 1, "{}", world.name());
            assert_eq!(find(world.name()).map(|w| w.name()), Some(world.name()));
        }
        assert_eq!(default().name(), "sim");
        assert!(find("nowhere").is_none());
    }
}
