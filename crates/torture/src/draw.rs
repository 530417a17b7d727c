//! Random choices, from the project's own generator, so that a seed gives the same on every machine. All generators of scenarios and connections use
//! them: those of this crate, and those of the comparison with Linux.

use forebay_types::{Rng, math};

/// One element.
pub fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

/// True with a probability in percent.
pub fn by_chance(rng: &mut Rng, percent: u64) -> bool {
    rng.below(100) < percent
}

/// True with a probability in a thousand.
pub fn per_mille(rng: &mut Rng, often: u64) -> bool {
    rng.below(1000) < often
}

/// A number from `least` to `most`, both included; each order of magnitude is equally probable.
pub fn log_uniform(rng: &mut Rng, least: u64, most: u64) -> u64 {
    // From zero on there is no logarithm: one step up.
    let (low, high) = (math::ln(least as f64 + 1.0), math::ln(most as f64 + 1.0));
    let drawn = math::exp(low + rng.unit() * (high - low)) - 1.0;
    (drawn.round() as u64).clamp(least, most)
}

/// As [`log_uniform`], of numbers with fractions above zero.
pub fn log_uniform_float(rng: &mut Rng, least: f64, most: f64) -> f64 {
    let (low, high) = (math::ln(least), math::ln(most));
    math::exp(low + rng.unit() * (high - low)).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_uniform_stays_in_its_range() {
        let mut rng = Rng::stream(1, &[]);
        let all: Vec<u64> = (0..2000).map(|_| log_uniform(&mut rng, 3, 3_000)).collect();
        assert!(all.iter().all(|n| (3..=3_000).contains(n)));
        // A third of the orders of magnitude is below 30.
        let below = all.iter().filter(|n| **n < 30).count();
        assert!((500..800).contains(&below), "{below}");
        assert_eq!(log_uniform(&mut rng, 7, 7), 7);
        assert!((0..100).all(|_| (1e-9..=2.0).contains(&log_uniform_float(&mut rng, 1e-9, 2.0))));
    }
}
