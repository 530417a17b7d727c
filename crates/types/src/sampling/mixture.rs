//! Mixture of distributions.

/// Maximum number of parts.
const MAX_PARTS: usize = 1_000;

/// Distributions with cumulative shares that end at 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture<T> {
    parts: Vec<(f64, T)>,
}

impl<T> Mixture<T> {
    /// Creates a mixture of (share, distribution); shares are relative weights.
    ///
    /// # Errors
    /// If there is no part or there are too many, or a share is not a finite number above 0.
    pub fn new(parts: Vec<(f64, T)>) -> Result<Mixture<T>, String> {
        if parts.is_empty() || parts.len() > MAX_PARTS {
            return Err(format!("a mixture has 1 to {MAX_PARTS} parts, not {}", parts.len()));
        }
        if let Some((share, _)) = parts.iter().find(|p| !(p.0 > 0.0 && p.0 <= 1e12)) {
            return Err(format!("share {share} is not a number above 0"));
        }
        let total: f64 = parts.iter().map(|p| p.0).sum();
        let mut sum = 0.0;
        let cumulative = parts.into_iter().map(|(share, dist)| {
            sum += share;
            (sum / total, dist)
        });
        Ok(Mixture { parts: cumulative.collect() })
    }

    /// Part at `u` in [0, 1).
    pub fn pick(&self, u: f64) -> &T {
        // The last part includes the rounding error above its cumulative share.
        let i = self.parts.partition_point(|p| p.0 <= u).min(self.parts.len() - 1);
        &self.parts[i].1
    }

    /// Parts with their cumulative shares.
    pub fn parts(&self) -> &[(f64, T)] {
        &self.parts
    }

    /// Mean of `f` over the parts, weighted by their shares.
    pub fn mean_of(&self, f: impl Fn(&T) -> f64) -> f64 {
        let mut before = 0.0;
        let mut sum = 0.0;
        for (cumulative, dist) in &self.parts {
            sum += (cumulative - before) * f(dist);
            before = *cumulative;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_weights() {
        let m = Mixture::new(vec![(18.0, 1), (72.0, 2), (10.0, 3)]).unwrap();
        assert_eq!([0.0, 0.1799, 0.1801, 0.8999, 0.9001, 0.999_999].map(|u| *m.pick(u)), [1, 1, 2, 2, 3, 3]);
        assert!((m.mean_of(|d| f64::from(*d)) - 1.92).abs() < 1e-12);
    }

    #[test]
    fn impossible_shares_are_refused() {
        assert!(Mixture::<u8>::new(vec![]).is_err());
        for share in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Mixture::new(vec![(1.0, 1), (share, 2)]).is_err(), "{share}");
        }
        assert!(Mixture::new(vec![(1.0, 1); MAX_PARTS + 1]).is_err());
    }
}
