//! Means over independent repetitions, with confidence intervals.

/// Mean over independent seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Mean.
    pub mean: f64,
    /// Half width of the 95 % confidence interval by Student's t; `None` with fewer than two seeds.
    pub half_width: Option<f64>,
    /// Number of seeds that had a value.
    pub n: usize,
}

/// Relative bound for rounding errors of a mean, far below any variation between seeds.
const ROUNDING: f64 = 1e-12;

/// Mean and 95 % confidence interval of independent, roughly normal values; `None` without values.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let half_width = (n > 1).then(|| {
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        let half = student_t_975(n - 1) * (variance / n as f64).sqrt();
        // Equal values differ from their mean by rounding only.
        if half > ROUNDING * mean.abs() { half } else { 0.0 }
    });
    Some(Estimate { mean, half_width, n })
}

/// Bounds of the interval of [`estimate`] within the possible range of such values, `least` to `most`; `None` with fewer than two values.
///
/// The mean of values in a range lies in that range. The part of an interval outside can be cut off without lowering the coverage: it stays a 95 %
/// interval around the same mean. (An interval of logarithms would stay above 0, but around the geometric mean.) The range is extended to observed
/// values: limits of rates hold for long times, and a window may start in a burst.
pub fn ends(values: &[f64], least: f64, most: f64) -> Option<(f64, f64)> {
    let e = estimate(values)?;
    let half = e.half_width?;
    let (least, most) = values.iter().fold((least, most), |(least, most), v| (v.min(least), v.max(most)));
    Some(((e.mean - half).max(least), (e.mean + half).min(most)))
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

/// 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom.
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
    2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// 97.5 % quantile of Student's t. Above 30 degrees of freedom: the first terms of its expansion in 1/df around the normal quantile, correct to three
/// decimals there (Abramowitz and Stegun 26.7.5).
pub fn student_t_975(df: usize) -> f64 {
    const Z: f64 = 1.959_964;
    match T_975.get(df.saturating_sub(1)) {
        Some(t) => *t,
        None => {
            let df = df as f64;
            Z + (Z.powi(3) + Z) / (4.0 * df) + (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / (96.0 * df * df)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals() {
        // Mean 10, sample deviation 1, n = 3: 4.303 / sqrt(3).
        let e = estimate(&[9.0, 10.0, 11.0]).unwrap();
        assert_eq!((e.mean, e.n), (10.0, 3));
        assert!((e.half_width.unwrap() - 2.4843).abs() < 1e-3);
        assert_eq!(estimate(&[5.0]).unwrap().half_width, None);
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[5.0, 5.0]).unwrap().half_width, Some(0.0));
        assert_eq!(estimate(&[6.45e-3; 3]).unwrap().half_width, Some(0.0), "not what rounding leaves of three thirds");
    }

    #[test]
    fn intervals_are_clipped_at_bounds() {
        let near = |got: Option<(f64, f64)>, low: f64, high: f64| {
            let (l, h) = got.unwrap();
            assert!((l - low).abs() < 1e-3 && (h - high).abs() < 1e-3, "{l} {h}");
        };
        let values = [9.0, 10.0, 11.0];
        near(ends(&values, 0.0, f64::INFINITY), 10.0 - 2.4843, 10.0 + 2.4843);
        near(ends(&values, 8.0, 12.0), 8.0, 12.0);
        near(ends(&values, 0.0, 10.9), 10.0 - 2.4843, 11.0);
        assert_eq!(ends(&[5.0], 0.0, 9.0), None);
    }

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
    fn student_t_beyond_the_table() {
        for (df, t) in [(31, 2.040), (40, 2.021), (60, 2.000), (120, 1.980)] {
            assert!((student_t_975(df) - t).abs() < 1e-3, "{df}: {}", student_t_975(df));
        }
    }
}
