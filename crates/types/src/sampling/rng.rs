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
}
