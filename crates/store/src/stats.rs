//! Statistics for printed tables: percentiles, confidence intervals, fairness, and the named bins of flow sizes.

pub use forebay_types::{Estimate, ends, estimate};

/// Size class of flows, as in the data-center papers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SizeBin {
    /// At most 100 KB.
    Small,
    /// Between the two.
    Medium,
    /// 10 MB and more.
    Large,
}

impl SizeBin {
    /// All bins, smallest first.
    pub const ALL: [SizeBin; 3] = [SizeBin::Small, SizeBin::Medium, SizeBin::Large];

    /// The bin of a flow of `bytes` payload bytes.
    pub fn of(bytes: u64) -> SizeBin {
        match bytes {
            0..=100_000 => SizeBin::Small,
            100_001..=9_999_999 => SizeBin::Medium,
            _ => SizeBin::Large,
        }
    }

    /// Label with its limits.
    pub fn label(self) -> &'static str {
        match self {
            SizeBin::Small => "small <= 100 KB",
            SizeBin::Medium => "medium",
            SizeBin::Large => "large >= 10 MB",
        }
    }
}

/// The `p`-quantile, `p` in 0..=1, of `sorted` (ascending). It is linear between order statistics at index `p * (n - 1)`, the default of numpy,
/// pandas and R (type 7). `None` without data.
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = p.clamp(0.0, 1.0) * last as f64;
    let low = (position as usize).min(last);
    let high = (low + 1).min(last);
    Some(sorted[low] + (sorted[high] - sorted[low]) * (position - low as f64))
}

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
    fn quantiles_as_numpy() {
        let v = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&v, 0.5), Some(2.5));
        assert!((quantile(&v, 0.99).unwrap() - 3.97).abs() < 1e-12);
        assert_eq!(quantile(&v, 1.0), Some(4.0));
        assert_eq!(quantile(&v[..1], 0.99), Some(1.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn fairness() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0]), None);
    }

    #[test]
    fn bins_include_their_limits() {
        assert_eq!(SizeBin::of(100_000), SizeBin::Small);
        assert_eq!(SizeBin::of(100_001), SizeBin::Medium);
        assert_eq!(SizeBin::of(10_000_000), SizeBin::Large);
    }
}
