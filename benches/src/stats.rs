//! Median and range of a few measurements.

/// Median, smallest and largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// Middle value; the mean of the two middle ones of an even number.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

/// Of at least one value.
pub(crate) fn spread(values: &[f64]) -> Option<Spread> {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    let (min, max) = (*v.first()?, *v.last()?);
    let median = (v[(v.len() - 1) / 2] + v[v.len() / 2]) / 2.0;
    Some(Spread { median, min, max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(spread(&[4.0, 1.0]).map(|s| s.median), Some(2.5));
    }
}
