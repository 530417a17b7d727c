//! Elementary functions from IEEE basic operations.
//!
//! The standard library calls the platform's C library for `ln` and `cbrt`. Its last bits differ between systems, and a single different bit changes
//! a trajectory.

use core::f64::consts::{LN_2, SQRT_2};

/// Natural logarithm of a positive normal number; relative error below 1e-15.
pub fn ln(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0);
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) as i64) - 1023;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if m > SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    // ln m = 2 atanh z with z = (m-1)/(m+1), |z| <= 0.172: twelve terms reach the last bit.
    let z = (m - 1.0) / (m + 1.0);
    let z2 = z * z;
    let mut sum = 0.0;
    let mut k = 23.0;
    while k > 0.0 {
        sum = sum * z2 + 1.0 / k;
        k -= 2.0;
    }
    2.0 * z * sum + exponent as f64 * LN_2
}

/// e to the power `x`, for |x| < 700; relative error below 1e-14.
#[inline]
pub fn exp(x: f64) -> f64 {
    // The omitted terms of a series add less than 2^-54 of its sum.
    if x.abs() < 1.0 / 64.0 { exp_series(x, 8.0) } else { exp_far(x) }
}

#[inline(never)]
fn exp_far(x: f64) -> f64 {
    let n = (x / LN_2 + if x >= 0.0 { 0.5 } else { -0.5 }) as i64;
    let r = x - n as f64 * LN_2;
    exp_series(r, 18.0) * f64::from_bits(((n + 1023) as u64) << 52)
}

#[inline(always)]
fn exp_series(r: f64, terms: f64) -> f64 {
    let (mut sum, mut k) = (1.0, terms);
    while k > 0.0 {
        sum = 1.0 + r * sum / k;
        k -= 1.0;
    }
    sum
}

/// Cube root of a non-negative number; error of a few units in the last place.
pub fn cbrt(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    debug_assert!(x.is_normal() && x > 0.0);
    // A third of the exponent is a guess within 6 %; Newton doubles the correct digits each round.
    let mut y = f64::from_bits(x.to_bits() / 3 + 0x2A9F_7893_0000_0000);
    for _ in 0..5 {
        y = (2.0 * y + x / (y * y)) / 3.0;
    }
    y
}

/// As below, by a function of a test, which compares Linux's steps with it.
#[cfg(inspect)]
pub fn sqrt_of(x: u32) -> f64 {
    unsafe extern "C" {
        safe fn noted_root(x: f64) -> f64;
    }
    noted_root(x.into())
}

/// Square root, correctly rounded as IEEE 754 demands.
#[cfg(all(feature = "std", not(inspect)))]
#[inline]
pub fn sqrt_of(x: u32) -> f64 {
    f64::from(x).sqrt()
}

/// As above, where there is no instruction for it.
#[cfg(not(any(feature = "std", inspect)))]
pub fn sqrt_of(x: u32) -> f64 {
    sqrt_of_integer(x)
}

/// Square root by that of an integer, with 64 bits, 11 more than a number has. The last bit is set if there is a remainder, so that the
/// conversion rounds correctly.
#[cfg(any(test, not(feature = "std")))]
fn sqrt_of_integer(x: u32) -> f64 {
    if x == 0 {
        return 0.0;
    }
    let half_shift = u128::from(x).leading_zeros() / 2;
    let scaled = u128::from(x) << (2 * half_shift);
    let root = scaled.isqrt();
    let sticky = u64::from(root * root != scaled);
    (root as u64 | sticky) as f64 / (1u64 << half_shift) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_roots_are_correctly_rounded() {
        let random = (0..200_000).map(|i| crate::mix(i) as u32);
        for x in (0..200_000).chain(u32::MAX - 1000..=u32::MAX).chain(random) {
            assert_eq!(sqrt_of_integer(x).to_bits(), f64::from(x).sqrt().to_bits(), "{x}");
        }
    }

    #[test]
    fn agrees_with_the_platform() {
        let mut x = 1e-12;
        while x < 1e12 {
            assert!((ln(x) - x.ln()).abs() <= 2e-15 * x.ln().abs().max(0.5), "ln {x}");
            assert!((cbrt(x) / x.cbrt() - 1.0).abs() < 1e-15, "cbrt {x}");
            x *= 1.037;
        }
        let mut x = -50.0;
        while x < 50.0 {
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-14, "exp {x}");
            x += 0.37;
        }
        let mut x = 1e-9;
        while x < 1.0 {
            assert!([x, -x].iter().all(|x| (exp(*x) / x.exp() - 1.0).abs() < 5e-16), "exp {x}");
            x *= 1.01;
        }
    }

    /// All cubes of whole numbers up to 2^16: the root is exact to the last digits, and grows.
    #[test]
    fn exhaustive_cubes_have_their_root() {
        let mut before = 0.0;
        for n in 1..=1_u64 << 16 {
            let root = cbrt((n * n * n) as f64);
            assert!((root / n as f64 - 1.0).abs() < 1e-15, "{n}: {root}");
            assert!(root > before, "{n}");
            before = root;
        }
    }
}
