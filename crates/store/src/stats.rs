//! Statistics for printed tables: percentiles, confidence intervals, fairness, and the named bins of flow sizes.

pub use forebay_experiment::size_bin::SizeBin;
pub use forebay_types::{Estimate, ends, estimate, quantile};

/// Jain's fairness index of allocations: 1 for equal values, 1/n when one has everything. `None` without data or when all are 0.
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|v| v * v).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// Growth of a quantile up to which its three printed digits can stay the same. Our choice: half a unit of the third digit of 1.00.
const PRINTED: f64 = 0.005;

/// Returns true if a quantile over finished and unfinished work is only a lower bound: it is `shown` with the time so far of unfinished work, and
/// `never` if that work never ended. Tables (`≥`) and sentences (`at least`) share this rule.
pub fn is_bound(shown: f64, never: f64) -> bool {
    never - shown > PRINTED * shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_growth_is_no_bound() {
        assert!(!is_bound(1.0, 1.0) && !is_bound(7.33, 7.36));
        assert!(is_bound(7.33, 7.38) && is_bound(7.33, f64::MAX) && is_bound(0.0, 1e-9));
    }

    #[test]
    fn fairness() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0]), None);
    }
}
