//! End of the initial transient, by the marginal standard error rule (MSER, White 1997): the cut for which the mean of the rest has the smallest
//! standard error. The original takes means of five observations (MSER-5). Here an observation is the median of a batch, which has more.

/// Least number of values after a cut. Fewer have a small error by chance.
const LEAST: usize = 5;

/// Number of values to leave out at the beginning. A cut in the last half means that the values have not settled ([`is_steady`]).
pub fn cut(values: &[f64]) -> usize {
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (0, f64::INFINITY);
    for (kept, (place, value)) in (1_u32..).zip(values.iter().enumerate().rev()) {
        sum += value;
        squares += value * value;
        let n = f64::from(kept);
        // Rounding can make the variance of equal values negative.
        let error = ((squares - sum * sum / n) / (n * n)).max(0.0);
        if kept as usize >= LEAST && error <= best.1 {
            best = (place, error);
        }
    }
    best.0
}

/// Returns true if a cut leaves at least half of `values` values.
pub fn is_steady(cut: usize, values: usize) -> bool {
    2 * cut <= values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_values_are_kept() {
        assert_eq!(cut(&[3.0; 40]), 0);
        let alternating: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert!(cut(&alternating) <= 1);
    }

    #[test]
    fn transient_is_cut() {
        let values: Vec<f64> = (0..100).map(|i| if i < 10 { f64::from(i) } else { 10.0 + f64::from(i % 3) * 0.1 }).collect();
        let at = cut(&values);
        assert!((9..=12).contains(&at), "{at}");
        assert!(is_steady(at, values.len()));
    }

    #[test]
    fn growth_is_not_steady() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(!is_steady(cut(&values), values.len()));
    }
}
