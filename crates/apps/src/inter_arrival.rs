//! Times between the flows of an open-loop workload.

use forebay_types::{Rng, Time, math};

/// Distribution of the time between two flows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum InterArrival {
    /// Exponential: a Poisson process.
    Exponential {
        /// Mean, ps.
        mean: f64,
    },
    /// Log-normal.
    LogNormal {
        /// Median, ps.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

impl InterArrival {
    /// Distribution with this mean, in ps; log-normal with `sigma`.
    pub(crate) fn new(mean: f64, sigma: Option<f64>) -> InterArrival {
        match sigma {
            None => InterArrival::Exponential { mean },
            // The mean of a log-normal variable is exp(mu + sigma^2 / 2), its median exp(mu).
            Some(sigma) => InterArrival::LogNormal { median: mean * math::exp(-sigma * sigma / 2.0), sigma },
        }
    }

    /// Draws a time.
    pub(crate) fn draw(self, rng: &mut Rng) -> Time {
        Time(match self {
            InterArrival::Exponential { mean } => rng.exponential() * mean,
            InterArrival::LogNormal { median, sigma } => median * math::exp(sigma * normal(rng)),
        } as u64)
    }
}

/// Standard normal variable (polar method of Marsaglia, SIAM Review 6(3), 1964), from exactly rounded operations. The second one of a pair is not
/// used, so that a draw depends on nothing but the stream.
fn normal(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * rng.unit() - 1.0, 2.0 * rng.unit() - 1.0);
        let s = x * x + y * y;
        if s < 1.0 && s.is_normal() {
            return x * (-2.0 * math::ln(s) / s).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of the standard normal distribution.
    const QUANTILES: [(f64, f64); 5] = [(0.01, -2.326_348), (0.25, -0.674_490), (0.5, 0.0), (0.75, 0.674_490), (0.99, 2.326_348)];

    /// The share of `n` draws below a quantile has a standard deviation of at most 0.5 / sqrt(n); five of them are 0.0056.
    #[test]
    fn log_normal_quantiles() {
        for sigma in [0.5, 1.0, 2.0] {
            let (n, mean) = (200_000, 1e9);
            let gaps = InterArrival::new(mean, Some(sigma));
            let mut rng = Rng::stream(7, &[sigma as u64]);
            let draws: Vec<f64> = (0..n).map(|_| gaps.draw(&mut rng).0 as f64).collect();
            for (p, z) in QUANTILES {
                let quantile = mean * (sigma * z - sigma * sigma / 2.0).exp();
                let below = draws.iter().filter(|d| **d < quantile).count() as f64 / f64::from(n);
                assert!(
                    (below - p).abs() < 5.0 * (p * (1.0 - p) / f64::from(n)).sqrt(),
                    "sigma {sigma}: {below} below quantile {p}"
                );
            }
            // The standard deviation of the mean is mean * sqrt((exp(sigma^2) - 1) / n).
            let error = ((sigma * sigma).exp_m1() / f64::from(n)).sqrt();
            let found = draws.iter().sum::<f64>() / f64::from(n) / mean;
            assert!((found - 1.0).abs() < 5.0 * error, "sigma {sigma}: mean {found}");
        }
    }

    #[test]
    fn exponential_is_unchanged() {
        let (mut a, mut b) = (Rng::stream(3, &[]), Rng::stream(3, &[]));
        for _ in 0..100 {
            assert_eq!(InterArrival::new(1e6, None).draw(&mut a), Time((b.exponential() * 1e6) as u64));
        }
    }
}
