//! Block-tail timeouts: a loss among a block's last three packets (INCAST Eqs. 11 to 16).

use super::{CongestionAvoidance, Incast};
use crate::ModelError;

/// Average of the probability of a block-tail timeout over the flows' peak windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TailMode {
    /// 1 / E(k_min) as printed (Eq. 16): a branch without timeouts, however unlikely, makes the probability 0.
    #[default]
    Literal,
    /// Mean of 1 / k_min: within 2 % of the literal value if both branches have timeouts, and correct if one has none.
    Harmonic,
    /// Loss position uniform in the block and independent per flow: 1 - (1 - 3 / Y_B)^N. Smooth; not in the source.
    Uniform,
    /// 0: the last three packets of a block are never lost, as with PRIN and a queue that has a reserve for them.
    Protected,
}

/// Block-tail timeouts at the end of periods of congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TailTimeouts {
    /// k for alpha = W_m - 1: periods until a loss is among the last three packets of a block (Eq. 13); `None`: never.
    pub k_low: Option<u64>,
    /// k for alpha = W_m.
    pub k_high: Option<u64>,
    /// Probability that all N flows have the alpha with the larger k (Eq. 15).
    pub all_later: f64,
    /// E(k_min) (Eq. 16); `None`: infinite.
    pub expected: Option<f64>,
    /// P^O in the chosen mode: probability that a period ends in a block-tail timeout, 0 to 1.
    pub probability: f64,
}

/// y(x): the smallest k >= 1 with k `ca` = x (mod `block`), in 1..=block/gcd; `None` if there is none. Its search period is
/// LCM(Y_C, Y_B) / Y_C. Both at least 1; `x` may be negative and may exceed `block`.
fn first_hit(ca: u64, block: u64, x: i128) -> Option<u64> {
    let block = i128::from(block);
    let (g, inverse) = gcd_and_inverse(i128::from(ca) % block, block);
    if x.rem_euclid(g) != 0 {
        return None;
    }
    let m = block / g;
    let k = ((x / g).rem_euclid(m) * inverse.rem_euclid(m)).rem_euclid(m);
    Some(if k > 0 { k } else { m } as u64)
}

/// gcd(a, b) and the factor of a in it: g = a s + b t. With a = 0: (b, 0). b at least 1.
fn gcd_and_inverse(a: i128, b: i128) -> (i128, i128) {
    let ((mut r0, mut s0), (mut r1, mut s1)) = ((b, 0), (a, 1));
    while r1 != 0 {
        let q = r0 / r1;
        ((r0, s0), (r1, s1)) = ((r1, s1), (r0 - q * r1, s0 - q * s1));
    }
    (r0, s0)
}

/// k_alpha (Eq. 13): number of periods of congestion avoidance until a lost packet is one of a block's last three. A period has `ca` packets, a
/// block has `block`; `alpha` packets after the lost one are delivered. Eq. 11: k Y_C - alpha = h Y_B - beta, beta in 0, 1, 2. `None`: never.
///
/// # Errors
/// Names `ca` (1 to 2^62) or `block` (1 to 2^40).
pub fn periods_until(alpha: u64, ca: u64, block: u64) -> Result<Option<u64>, ModelError> {
    crate::error::integer("ca", ca, 1, 1 << 62)?;
    crate::error::integer("block", block, 1, super::MAX_BLOCK)?;
    Ok((0..3).filter_map(|beta| first_hit(ca, block, i128::from(alpha) - beta)).min())
}

impl Incast {
    /// Block-tail timeouts of `n` senders. P^O is erratic in `n`: it depends on residues of Y_C modulo Y_B, and one packet more
    /// or less can change it tenfold.
    ///
    /// # Errors
    /// Names `n` outside 1 to the buffer.
    pub fn tail(&self, n: u64, mode: TailMode) -> Result<TailTimeouts, ModelError> {
        self.tail_of(&self.ca(n)?, mode)
    }

    pub(super) fn tail_of(&self, ca: &CongestionAvoidance, mode: TailMode) -> Result<TailTimeouts, ModelError> {
        let (w, n) = (ca.windows, ca.windows.n);
        // alpha = W_n - 1 packets of the flow are delivered after the lost one (Eq. 12).
        let k_low = periods_until(w.overflow - 1, ca.packets, self.block)?;
        let k_high = periods_until(w.overflow, ca.packets, self.block)?;
        let infinite = |k: Option<u64>| k.unwrap_or(u64::MAX);
        // Eq. 14; on a tie alpha_1 is W_m.
        let low_first = infinite(k_low) < infinite(k_high);
        let (k1, k2) = if low_first { (k_low, k_high) } else { (k_high, k_low) };
        let later = if low_first { n - w.losers } else { w.losers };
        // Eq. 15: p_2^N; the comparison of integers is valid also where the power underflows (from about N = 140 on).
        let possible = later > 0;
        let all_later = power(later as f64 / n as f64, n);
        let reciprocal = |k: Option<u64>| k.map_or(0.0, |k| 1.0 / k as f64);
        // Eq. 16 repaired: k1 (1 - q) + k2 q, with 0 times infinity = 0.
        let expected = match (k1, k2) {
            (Some(a), Some(b)) => Some(a as f64 + (b - a) as f64 * all_later),
            (Some(a), None) if !possible => Some(a as f64),
            _ => None,
        };
        let probability = match mode {
            TailMode::Literal => expected.map_or(0.0, |k| 1.0 / k),
            TailMode::Harmonic => reciprocal(k1) * (1.0 - all_later) + reciprocal(k2) * all_later,
            TailMode::Protected => 0.0,
            TailMode::Uniform => 1.0 - power(1.0 - (3.0 / self.block as f64).min(1.0), n),
        };
        Ok(TailTimeouts { k_low, k_high, all_later, expected, probability })
    }
}

/// `base` to the power `n` by squaring: the same bits on every machine.
fn power(mut base: f64, mut n: u64) -> f64 {
    let mut out = 1.0;
    while n > 0 {
        if n % 2 == 1 {
            out *= base;
        }
        base *= base;
        n /= 2;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: try k = 1, 2, ..., `block`.
    fn search(ca: u64, block: u64, x: i128) -> Option<u64> {
        (1..=block).find(|&k| (i128::from(k) * i128::from(ca) - x).rem_euclid(i128::from(block)) == 0)
    }

    #[test]
    fn congruences_equal_the_linear_search() {
        for block in 1..=40 {
            for ca in 1..=90 {
                for x in -3..=80 {
                    assert_eq!(first_hit(ca, block, x), search(ca, block, x), "{ca} {block} {x}");
                }
            }
        }
    }

    #[test]
    fn never_only_with_common_factor_four() {
        for block in 1..=64u64 {
            for ca in 1..=64u64 {
                let (g, _) = gcd_and_inverse(i128::from(ca % block), i128::from(block));
                for alpha in 1..=70 {
                    assert!(g >= 4 || periods_until(alpha, ca, block).unwrap().is_some());
                }
            }
        }
        assert_eq!(periods_until(1, 0, 5).unwrap_err().argument, "ca");
        assert_eq!(periods_until(1, 5, 0).unwrap_err().argument, "block");
    }
}
