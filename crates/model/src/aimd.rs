//! Shares of flows with different congestion controls in a bottleneck: additive increase, multiplicative decrease, synchronized congestion events
//! (coexistence study, Eqs. (3) and (4)).
//!
//! The assumption is strong: DCTCP reduces its window about four times as often as TCP, and with modified CHOKe the ratios measured in the study are
//! a third of these.

use crate::ModelError;
use crate::error::{above, closed};

/// AIMD parameters of a congestion control.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aimd {
    increase: f64,
    remaining: f64,
}

impl Aimd {
    /// TCP: increase by one segment per RTT, reduction to one half.
    pub const TCP: Aimd = Aimd { increase: 1.0, remaining: 0.5 };

    /// Increase by `increase` segments per RTT (a, above 0, at most 1e6); reduction to the fraction `remaining` of the window (beta, 0 or more, below
    /// 1; some texts give the "back-off factor" 1 - beta).
    ///
    /// # Errors
    /// Names `increase` or `remaining`.
    pub fn new(increase: f64, remaining: f64) -> Result<Aimd, ModelError> {
        above("increase", increase, 0.0, 1e6)?;
        if !(0.0..1.0).contains(&remaining) {
            return Err(ModelError::new("remaining", format!("is {remaining}; legal: 0 or more, below 1")));
        }
        Ok(Aimd { increase, remaining })
    }

    /// DCTCP with a marked fraction of `alpha` (1e-9 to 1; at 0 it would never reduce): reduction to 1 - alpha/2.
    ///
    /// # Errors
    /// Names `alpha`.
    pub fn dctcp(alpha: f64) -> Result<Aimd, ModelError> {
        Ok(Aimd { increase: 1.0, remaining: 1.0 - closed("alpha", alpha, 1e-9, 1.0)? / 2.0 })
    }

    /// x = a / (1 - beta) (Eq. 3): windows converge to a common multiple of it, in segments.
    pub fn weight(self) -> f64 {
        self.increase / (1.0 - self.remaining)
    }
}

/// T_r (Eq. 4): throughput of a flow of `first` over that of a flow of `second`, for equal RTTs and synchronized losses. Relative to TCP it is
/// 0.5 / (1 - beta); for DCTCP, 1 / alpha.
pub fn throughput_ratio(first: Aimd, second: Aimd) -> f64 {
    first.weight() / second.weight()
}

/// Share of each of `flows` in the link; they sum to 1.
///
/// # Errors
/// Names `flows` when there are none.
pub fn shares(flows: &[Aimd]) -> Result<Vec<f64>, ModelError> {
    if flows.is_empty() {
        return Err(ModelError::new("flows", "is empty; legal: at least one flow"));
    }
    let total: f64 = flows.iter().map(|f| f.weight()).sum();
    Ok(flows.iter().map(|f| f.weight() / total).collect())
}

/// Windows with independent marking of each packet with probability `p`, and their ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomMarks {
    /// Mean window of DCTCP with an exact echo, about 2 / p, segments.
    pub dctcp: f64,
    /// Mean window of TCP, about sqrt(1.5 / p), segments.
    pub tcp: f64,
    /// Throughput of DCTCP over that of TCP, about 1.6 / sqrt(p).
    pub ratio: f64,
}

/// DCTCP and TCP with random marking of probability `p` (above 0, at most 1), the opposite of synchronized marking.
///
/// # Errors
/// Names `p`.
pub fn random_marks(p: f64) -> Result<RandomMarks, ModelError> {
    closed("p", p, f64::MIN_POSITIVE, 1.0)?;
    let (dctcp, tcp) = (2.0 / p, (1.5 / p).sqrt());
    Ok(RandomMarks { dctcp, tcp, ratio: dctcp / tcp })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fig. 1 of the coexistence study.
    #[test]
    fn curve() {
        for (beta, ratio) in [(0.5, 1.0), (0.6, 1.25), (0.7, 1.67), (0.8, 2.5), (0.8925, 4.65), (0.9, 5.0), (0.95, 10.0)] {
            let flow = Aimd::new(1.0, beta).unwrap();
            assert!((throughput_ratio(flow, Aimd::TCP) - ratio).abs() < 0.005, "{beta}");
            assert!((throughput_ratio(flow, Aimd::TCP) * throughput_ratio(Aimd::TCP, flow) - 1.0).abs() < 1e-12);
        }
        // One alpha, two ways.
        let flow = Aimd::dctcp(0.215).unwrap();
        assert!((throughput_ratio(flow, Aimd::TCP) - 1.0 / 0.215).abs() < 1e-9);
    }

    #[test]
    fn shares_add_up() {
        let flows = [Aimd::TCP, Aimd::dctcp(0.2).unwrap(), Aimd::TCP];
        let shares = shares(&flows).unwrap();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((shares[1] / shares[0] - 5.0).abs() < 1e-9 && shares[0] == shares[2]);
    }

    #[test]
    fn random_marks_favor_dctcp() {
        let m = random_marks(0.04).unwrap();
        assert!((m.ratio - 8.16).abs() < 0.01 && (m.dctcp - 50.0).abs() < 1e-9 && (m.tcp - 6.12).abs() < 0.01);
    }

    #[test]
    fn bad_input_is_named() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Aimd::new(bad, 0.5).unwrap_err().argument, "increase");
            assert_eq!(Aimd::dctcp(bad).unwrap_err().argument, "alpha");
            assert_eq!(random_marks(bad).unwrap_err().argument, "p");
        }
        for bad in [1.0, -0.1, f64::NAN] {
            assert_eq!(Aimd::new(1.0, bad).unwrap_err().argument, "remaining");
        }
        // So small that the window would not be reduced.
        assert_eq!(Aimd::dctcp(1e-17).unwrap_err().argument, "alpha");
        assert_eq!(shares(&[]).unwrap_err().argument, "flows");
    }
}
