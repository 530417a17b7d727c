//! Packets damaged by independent bit errors on a link.

use forebay_types::Rng;

/// Countdown to the next bit error.
#[derive(Debug, Clone)]
pub(crate) struct BitErrors {
    /// Mean number of bits between two errors.
    mean: f64,
    /// Correct bits before the next error.
    gap_bits: f64,
    rng: Rng,
    /// Packets damaged so far.
    damaged: u64,
}

impl BitErrors {
    /// Bit errors with this probability per bit.
    pub(crate) fn new(probability: f64, rng: Rng) -> BitErrors {
        let mut errors = BitErrors { mean: 1.0 / probability, gap_bits: 0.0, rng, damaged: 0 };
        errors.gap_bits = errors.gap();
        errors
    }

    /// Distances between rare independent events are exponential. The exact distribution, geometric, differs by the bit error probability, which is
    /// at most 1 in 10 000.
    fn gap(&mut self) -> f64 {
        self.mean * self.rng.exponential()
    }

    /// Returns true if the next packet on the link, of `wire` bytes, is damaged.
    pub(crate) fn damage(&mut self, wire: u64) -> bool {
        let mut bits = (8 * wire) as f64;
        let mut damaged = false;
        while self.gap_bits < bits {
            // Several errors in a packet count once.
            bits -= self.gap_bits;
            self.gap_bits = self.gap();
            damaged = true;
        }
        self.gap_bits -= bits;
        self.damaged += u64::from(damaged);
        damaged
    }

    /// Removes a damaged packet from the count.
    pub(crate) fn uncount(&mut self) {
        self.damaged -= 1;
    }

    /// Packets damaged since the start.
    pub(crate) fn damaged(&self) -> u64 {
        self.damaged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(damaged) = 1 - (1 - p)^bits, within four standard deviations.
    #[test]
    fn damaged_share_matches_independent_bits() {
        for (p, wire) in [(1e-6f64, 1500u64), (1e-4, 1500), (1e-5, 64)] {
            let mut errors = BitErrors::new(p, Rng::stream(3, &[wire]));
            let n = 400_000;
            let damaged = (0..n).filter(|_| errors.damage(wire)).count() as f64;
            let share = 1.0 - (1.0 - p).powf(8.0 * wire as f64);
            let deviation = (f64::from(n) * share * (1.0 - share)).sqrt();
            let expected = f64::from(n) * share;
            assert!((damaged - expected).abs() < 4.0 * deviation, "{p} {wire}: {damaged}, not {expected}");
        }
    }
}
