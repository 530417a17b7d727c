//! Random choices, from the project's own generator, so that a seed gives the same on every machine.

use forebay_types::Rng;

/// One element.
pub(super) fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

/// True with a probability in percent.
pub(super) fn by_chance(rng: &mut Rng, percent: u64) -> bool {
    rng.below(100) < percent
}

/// True with a probability in a thousand.
pub(super) fn per_mille(rng: &mut Rng, often: u64) -> bool {
    rng.below(1000) < often
}
