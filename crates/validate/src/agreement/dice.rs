//! Choices of a generator: whatever is drawn here is drawn from the project's own numbers, so that a seed gives the same on every machine.

use forebay_types::Rng;

/// One of them.
pub(super) fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

/// True so often in a hundred times.
pub(super) fn by_chance(rng: &mut Rng, percent: u64) -> bool {
    rng.below(100) < percent
}

/// True so often in a thousand times.
pub(super) fn per_mille(rng: &mut Rng, often: u64) -> bool {
    rng.below(1000) < often
}
