//! Exact fractions. Arguments of floors in the incast model can be integers exactly, where binary floating point rounds to the wrong side.

use std::cmp::Ordering;

/// A reduced fraction with a positive denominator. Numerator and denominator stay below 2^100 in the models, see [`Pipe`](crate::Pipe).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    num: i128,
    den: i128,
}

impl Ratio {
    /// `num / den`, `den` above 0.
    pub(crate) fn new(num: i128, den: i128) -> Ratio {
        debug_assert!(den > 0);
        let g = gcd(num.unsigned_abs(), den.unsigned_abs()).max(1) as i128;
        Ratio { num: num / g, den: den / g }
    }

    /// Numerator.
    pub const fn num(self) -> i128 {
        self.num
    }

    /// Denominator, above 0.
    pub const fn den(self) -> i128 {
        self.den
    }

    /// Largest integer not above it.
    pub const fn floor(self) -> i128 {
        self.num.div_euclid(self.den)
    }

    /// The nearest floating-point number, to about one unit in the last place.
    pub fn to_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }

    /// Sum with an integer.
    pub(crate) const fn plus(self, n: i128) -> Ratio {
        Ratio { num: self.num + n * self.den, den: self.den }
    }

    /// Comparison with an integer.
    pub fn cmp_int(self, n: i128) -> Ordering {
        self.num.cmp(&(n * self.den))
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_and_orders() {
        assert_eq!((Ratio::new(153, 2).floor(), Ratio::new(-1, 2).floor(), Ratio::new(6, 3).floor()), (76, -1, 2));
        assert_eq!(Ratio::new(6, 4), Ratio::new(3, 2));
        assert_eq!(Ratio::new(25, 2).plus(64), Ratio::new(153, 2));
        assert_eq!(Ratio::new(25, 2).cmp_int(12), Ordering::Greater);
        assert_eq!(Ratio::new(0, 7), Ratio::new(0, 1));
        assert_eq!(Ratio::new(25, 2).to_f64(), 12.5);
    }
}
