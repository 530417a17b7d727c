//! Random number generator xoshiro256++ (Blackman and Vigna, 2019), seeded through SplitMix64.

/// Deterministic random stream. Independent parts of a simulation have their own streams, derived by [`Rng::stream`], so that a new consumer does not
/// change the numbers of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng {
    s: [u64; 4],
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mix(*state)
}

/// Finalizer of SplitMix64 (Steele, Lea and Flood, 2014): each bit of the result depends on all of `z`.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Rng {
    /// The stream named by `tags` under `seed`. Different tags give unrelated streams.
    pub fn stream(seed: u64, tags: &[u64]) -> Rng {
        let mut state = seed;
        for &tag in tags {
            state = split_mix(&mut state) ^ tag.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        }
        Rng { s: core::array::from_fn(|_| split_mix(&mut state)) }
    }

    /// The stream that continues from `state`.
    pub fn from_state(state: [u64; 4]) -> Rng {
        Rng { s: state }
    }

    /// State of the generator, from which a program in another language can continue the stream.
    pub fn state(&self) -> [u64; 4] {
        self.s
    }

    /// 64 uniform bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.s;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1), 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform integer in `0..n`; `n` must not be zero. Multiply-shift: the bias is below n / 2^64.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0);
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        // 1 - u lies in (0, 1], so the logarithm is finite.
        -crate::sampling::math::ln(1.0 - self.unit())
    }

    /// Shuffles `items` (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs of xoshiro256++ from the state 1, 2, 3, 4, as its authors' reference program prints them.
    #[test]
    fn matches_the_reference_vectors() {
        let mut r = Rng { s: [1, 2, 3, 4] };
        let expected = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205];
        for e in expected {
            assert_eq!(r.next_u64(), e);
        }
    }

    #[test]
    fn streams_differ_and_repeat() {
        let draw = |tags: &[u64]| Rng::stream(7, tags).next_u64();
        assert_eq!(draw(&[1, 2]), draw(&[1, 2]));
        assert_ne!(draw(&[1, 2]), draw(&[2, 1]));
        assert_ne!(draw(&[1]), draw(&[2]));
    }

    #[test]
    fn moments() {
        let mut r = Rng::stream(1, &[]);
        let n = 200_000;
        let mean = (0..n).map(|_| r.exponential()).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        let mean = (0..n).map(|_| r.below(10) as f64).sum::<f64>() / f64::from(n);
        assert!((mean - 4.5).abs() < 0.05, "{mean}");
    }

    /// The finalizer is a bijection: for all values of any 16 adjacent bits, the result leads back to them. The inverse undoes its steps from the last
    /// to the first.
    #[test]
    fn exhaustive_inputs_are_mixed_without_collision() {
        let unshift = |z: u64, by: u32| (0..64 / by).fold(z, |guess, _| z ^ (guess >> by));
        // The inverse of an odd number modulo 2^64, by Newton's method.
        let inverse = |odd: u64| (0..6).fold(odd, |x, _| x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x))));
        let unmix = |z: u64| {
            let z = unshift(z, 31).wrapping_mul(inverse(0x94D0_49BB_1331_11EB));
            unshift(unshift(z, 27).wrapping_mul(inverse(0xBF58_476D_1CE4_E5B9)), 30)
        };
        for shift in [0, 8, 16, 24, 32, 40, 48] {
            for bits in 0..1_u64 << 16 {
                assert_eq!(unmix(mix(bits << shift)), bits << shift);
            }
        }
    }

    /// All limits up to 300, with the smallest and largest random bits among others: below the limit, and every number is reached.
    #[test]
    fn exhaustive_limits_are_kept() {
        for n in 1..=300_u64 {
            let mut seen = vec![false; n as usize];
            // The first result of this state is its second word rotated, here the bits themselves.
            let with = |bits: u64| Rng::from_state([0, 0, 0, bits.rotate_right(23)]);
            for step in 0..=4 * n {
                let bits = (u128::from(u64::MAX) * u128::from(step) / u128::from(4 * n)) as u64;
                assert_eq!(with(bits).next_u64(), bits);
                seen[with(bits).below(n) as usize] = true;
            }
            assert!(seen.iter().all(|s| *s), "below {n}");
        }
    }
}
