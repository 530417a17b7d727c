//! Statistics for printed tables: percentiles, confidence intervals, fairness, and the named bins of flow sizes.

pub use forebay_experiment::size_bin::SizeBin;
pub use forebay_types::{Estimate, ends, estimate, quantile};

/// Jain's fairness index of allocations: 1 for equal values, 1/n when one has everything. `None` without data or when all are 0.
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|v| v * v).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0]), None);
    }
}
