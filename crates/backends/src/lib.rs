//! List of the backends of this program. To add a backend, add a crate and a line in the list.

use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use std::sync::OnceLock;

/// All backends, the default first.
const REGISTRY: &[&dyn World] = &[
    &forebay_sim::world::Simulator,
    &forebay_model::backend::world::Models,
    &forebay_linux::world::Linux,
    &forebay_testbed::world::Testbed,
];

/// Backends that scenarios are checked against.
pub fn all() -> &'static Worlds {
    static ALL: OnceLock<Worlds> = OnceLock::new();
    ALL.get_or_init(|| Worlds::new(REGISTRY))
}

/// Sets the kernel of the backend `linux`, by its name in `forebay kernel list`; `None`: the default.
pub fn choose_kernel(name: Option<String>) {
    forebay_linux::kernel::choose(name);
}

/// Checks that there is a kernel `name` for [`choose_kernel`].
///
/// # Errors
/// There is none; the message names the fix.
pub fn check_kernel(name: &str) -> Result<(), String> {
    forebay_linux::kernel::named(name).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let all = all();
        for world in REGISTRY {
            assert_eq!(REGISTRY.iter().filter(|w| w.name() == world.name()).count(), 1, "{}", world.name());
            assert_eq!(all.find(world.name()).map(|w| w.name()), Some(world.name()));
        }
        assert_eq!(all.default().name(), "sim");
        assert!(all.find("nowhere").is_none());
    }
}
