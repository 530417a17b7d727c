//! DCTCP in steady state: N synchronized long flows and a marking threshold (DCTCP slides, "Analysis"; Alizadeh et al., SIGCOMM 2010,
//! section 3.3, cited as S).

use crate::error::{above, closed, integer};
use crate::{ModelError, Pipe};

/// Queue and windows of N synchronized flows. Queues in packets, in service included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyState {
    /// W* = (C RTT + K) / N (S Eq. 5): window at which the queue reaches K, packets.
    pub critical_window: f64,
    /// alpha, about sqrt(2 / W*) (S Eq. 6), at most 1.
    pub alpha: f64,
    /// alpha from alpha^2 (1 - alpha/4) = (2 W* + 1) / (W* + 1)^2 (S Eq. 6 before it is simplified), at most 1.
    pub alpha_exact: f64,
    /// K + N (S Eq. 10).
    pub queue_max: f64,
    /// K + N - A (S Eq. 11); negative: the link idles.
    pub queue_min: f64,
    /// A = sqrt(2 N (C RTT + K)) / 2 (S Eq. 8).
    pub amplitude: f64,
    /// Period of the sawtooth in RTTs: the reduction of a window, (W* + 1) alpha / 2 (S Eq. 9).
    pub period: f64,
}

/// The steady state of `flows` (N, 1 to 1 000 000) with the threshold `k` (K in packets, 0 to 1e9). Valid while windows are well above the minimum of
/// 2; with more flows, N > (C RTT + K) / 2, the queue follows from the minimum window.
///
/// # Errors
/// Names `flows` or `k`.
pub fn steady_state(pipe: &Pipe, flows: u64, k: f64) -> Result<SteadyState, ModelError> {
    integer("flows", flows, 1, 1_000_000)?;
    closed("k", k, 0.0, 1e9)?;
    let (n, x) = (flows as f64, pipe.bdp() + k);
    let critical_window = x / n;
    let alpha = (2.0 / critical_window).sqrt().min(1.0);
    let amplitude = (2.0 * n * x).sqrt() / 2.0;
    Ok(SteadyState {
        critical_window,
        alpha,
        alpha_exact: alpha_exact(critical_window),
        queue_max: k + n,
        queue_min: k + n - amplitude,
        amplitude,
        period: (critical_window + 1.0) * alpha / 2.0,
    })
}

/// Root in 0..=1 of alpha^2 (1 - alpha/4) = (2 w + 1) / (w + 1)^2, whose left side increases in alpha; 1 if the right side exceeds 3/4.
fn alpha_exact(w: f64) -> f64 {
    let right = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let mid: f64 = (low + high) / 2.0;
        (low, high) = if mid * mid * (1.0 - mid / 4.0) < right { (mid, high) } else { (low, mid) };
    }
    high
}

/// Threshold above which no number of synchronized flows empties the queue: K > C RTT / 7 (S Eq. 13), packets.
pub fn threshold_guideline(pipe: &Pipe) -> f64 {
    pipe.bdp() / 7.0
}

/// Number of flows with the lowest minimum of the queue, (C RTT + K) / 8; that minimum is K - (C RTT + K) / 8.
///
/// # Errors
/// Names `k` (packets, 0 to 1e9).
pub fn worst_flows(pipe: &Pipe, k: f64) -> Result<f64, ModelError> {
    Ok((pipe.bdp() + closed("k", k, 0.0, 1e9)?) / 8.0)
}

/// Largest gain g of alpha's average that follows congestion events: 1.386 / sqrt(2 (C RTT + K)) (S Eq. 15).
///
/// # Errors
/// Names `k` (packets, 0 to 1e9).
pub fn gain_bound(pipe: &Pipe, k: f64) -> Result<f64, ModelError> {
    Ok(1.386 / (2.0 * (pipe.bdp() + closed("k", k, 0.0, 1e9)?)).sqrt())
}

/// Window after the reduction of a window of `window` packets (above 0, at most 1e12) with the marked fraction `alpha` (0 to 1).
///
/// # Errors
/// Names `window` or `alpha`.
pub fn window_after_cut(window: f64, alpha: f64) -> Result<f64, ModelError> {
    Ok(above("window", window, 0.0, 1e12)? * (1.0 - closed("alpha", alpha, 0.0, 1.0)? / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::{Rate, Time};

    fn pipe(gbps: u64, packet: u64, us: u64) -> Pipe {
        Pipe::new(Rate(gbps * 1_000_000_000), packet, Time::from_us(us)).unwrap()
    }

    /// The table of the threshold guideline: C RTT and a seventh of it.
    #[test]
    fn guideline_table() {
        for (gbps, us, packet, bdp, seventh) in
            [(1, 200, 1460, 17.1, 2.4), (1, 200, 1500, 16.7, 2.4), (10, 500, 1460, 428.0, 61.2), (10, 500, 1500, 417.0, 59.5)]
        {
            let p = pipe(gbps, packet, us);
            assert!((p.bdp() - bdp).abs() < 0.5 && (threshold_guideline(&p) - seventh).abs() < 0.05, "{gbps} {packet}");
        }
        assert!((gain_bound(&pipe(1, 1460, 200), 20.0).unwrap() - 0.162).abs() < 0.002);
        let wide = gain_bound(&pipe(10, 1460, 500), 65.0).unwrap();
        // The default gain of 1/16 exceeds the bound there.
        assert!((wide - 0.045).abs() < 0.002 && wide < 1.0 / 16.0);
    }

    /// The worst N is X/8, the minimum there K - X/8, and at K = C RTT / 7 it is 0.
    #[test]
    fn the_worst_case() {
        let p = pipe(10, 1500, 500);
        let k = threshold_guideline(&p);
        let x = p.bdp() + k;
        let worst = worst_flows(&p, k).unwrap();
        assert!((k - worst).abs() < 1e-9 && (worst - x / 8.0).abs() < 1e-9);
        let min = |n: u64, k: f64| steady_state(&p, n, k).unwrap().queue_min;
        let lowest = (1..500).map(|n| min(n, k)).fold(f64::INFINITY, f64::min);
        assert!((0.0..0.01).contains(&lowest), "{lowest}");
        assert!((1..500).all(|n| min(n, k * 1.001) > 0.0));
        assert!((1..500).any(|n| min(n, k * 0.99) < 0.0));
    }

    #[test]
    fn alpha_approaches_its_approximation() {
        for n in [1, 2, 5, 20] {
            let s = steady_state(&pipe(10, 1500, 500), n, 65.0).unwrap();
            let a = s.alpha_exact;
            let right = (2.0 * s.critical_window + 1.0) / (s.critical_window + 1.0).powi(2);
            assert!((a * a * (1.0 - a / 4.0) - right).abs() < 1e-12);
            assert!((s.alpha / a - 1.0).abs() < 0.1);
            // The reduction of a window equals its growth in a period; N of them are the amplitude.
            assert!((s.period * n as f64 / s.amplitude - 1.0).abs() < 0.1);
        }
        assert_eq!(steady_state(&pipe(1, 1500, 200), 1000, 0.0).unwrap().alpha, 1.0);
    }

    #[test]
    fn bad_input_is_named() {
        let p = pipe(1, 1500, 200);
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(steady_state(&p, 2, bad).unwrap_err().argument, "k");
            assert_eq!(worst_flows(&p, bad).unwrap_err().argument, "k");
            assert_eq!(gain_bound(&p, bad).unwrap_err().argument, "k");
            assert_eq!(window_after_cut(10.0, bad).unwrap_err().argument, "alpha");
            assert_eq!(window_after_cut(bad, 0.5).unwrap_err().argument, "window");
        }
        assert_eq!(steady_state(&p, 0, 20.0).unwrap_err().argument, "flows");
    }
}
