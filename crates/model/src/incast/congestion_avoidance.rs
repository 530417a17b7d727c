//! Windows at overflow, and one period of congestion avoidance (INCAST Eqs. 3 to 10).

use super::Incast;
use crate::{ModelError, Ratio};

/// Windows of N synchronous flows when the buffer overflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// N.
    pub n: u64,
    /// W_m: smallest integer window at which the buffer overflows with all N flows (Eq. 5), packets. At least 2.
    pub overflow: u64,
    /// N_m: flows that lose a packet when windows are W_m; 1 to N. The others lose it at W_m + 1 (Eq. 6).
    pub losers: u64,
    /// W_m^{N_m}: W_m as if only N_m flows existed (Eq. 18), packets.
    pub overflow_of_losers: u64,
}

impl Windows {
    /// E(W_n) = W_m + 1 - N_m / N (Eq. 6): mean peak window, packets.
    pub fn mean_peak(&self) -> f64 {
        (self.overflow + 1) as f64 - self.losers as f64 / self.n as f64
    }

    /// The sum over flows of a polynomial of the peak window, (a W^2 + b W + c) / 8: N_m of them peak at W_m, the rest at W_m + 1.
    /// N times its expectation over Eq. 6; an integer number of eighths.
    fn eighths(&self, a: i128, b: i128, c: i128) -> i128 {
        let at = |w: i128| a * w * w + b * w + c;
        let (n, m, w) = (i128::from(self.n), i128::from(self.losers), i128::from(self.overflow));
        m * at(w) + (n - m) * at(w + 1)
    }
}

/// A period of congestion avoidance, from half the peak window to the retransmission of the loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CongestionAvoidance {
    /// Windows it is computed from.
    pub windows: Windows,
    /// Y_C(N) (Eqs. 7, 8): packets delivered per flow, the floor of the expectation as printed.
    pub packets: u64,
    /// The expectation itself.
    pub packets_exact: Ratio,
    /// C T_C(N): its duration in packet times, exactly.
    pub packet_times: Ratio,
    /// T_C(N) (Eqs. 9, 10), s.
    pub duration: f64,
}

impl Incast {
    /// Windows at overflow for `n` senders (Eqs. 5, 6, 18).
    ///
    /// # Errors
    /// Names `n` outside 1 to the buffer.
    pub fn windows(&self, n: u64) -> Result<Windows, ModelError> {
        Ok(self.windows_of(self.senders(n)?))
    }

    pub(super) fn windows_of(&self, n: u64) -> Windows {
        let count = i128::from(n);
        let (num, den) = (self.x.num(), self.x.den());
        // Z = X + N/2. Integer division throughout: the base configuration has X/9 + 1/2 = 9 exactly.
        let z = (2 * num + count * den).div_euclid(2 * den);
        // floor(Z / N) = floor(floor(Z) / N) for integer N.
        let overflow = z.div_euclid(count) + 1;
        let losers = count * overflow - z;
        let alone = (2 * num + losers * den).div_euclid(2 * den * losers) + 1;
        // At most X + 2, and X at most 1.001e9 packets.
        Windows { n, overflow: overflow as u64, losers: losers as u64, overflow_of_losers: alone as u64 }
    }

    /// One period of congestion avoidance of `n` senders (Eqs. 3, 7 to 10). For odd windows the polynomials use W/2 without rounding.
    ///
    /// # Errors
    /// Names `n` outside 1 to the buffer.
    pub fn ca(&self, n: u64) -> Result<CongestionAvoidance, ModelError> {
        Ok(self.ca_of(self.windows(n)?))
    }

    pub(super) fn ca_of(&self, windows: Windows) -> CongestionAvoidance {
        // Y(W) = 3/8 W^2 + 5/4 W - 1 (Eq. 3), averaged over flows.
        let packets_exact = Ratio::new(windows.eighths(3, 10, -8), 8 * i128::from(windows.n));
        // C T(W) = N (3/8 W^2 + W) (Eq. 9), averaged over flows: the sum.
        let packet_times = Ratio::new(windows.eighths(3, 8, 0), 8);
        CongestionAvoidance {
            windows,
            packets: packets_exact.floor() as u64,
            packets_exact,
            packet_times,
            duration: packet_times.to_f64() / self.pipe.capacity(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Params, base};
    use super::*;

    /// Closed forms (8) and (10) as printed after repair, against the mixtures.
    #[test]
    fn closed_forms_equal_the_mixtures() {
        for rate in [1, 10] {
            for buffer in [32, 64, 100, 128, 256] {
                let p = Params { rate: forebay_types::Rate(rate * 1_000_000_000), buffer, ..base() };
                let m = Incast::new(&p).unwrap();
                for n in 1..=buffer {
                    let ca = m.ca(n).unwrap();
                    let (w, nm, nn) = (i128::from(ca.windows.overflow), i128::from(ca.windows.losers), i128::from(n));
                    // Times 8 N.
                    let y = nn * (3 * w * w + 16 * w + 5) - (6 * w + 13) * nm;
                    let t = nn * (3 * w * w + 14 * w + 11) - (6 * w + 11) * nm;
                    assert_eq!(ca.packets_exact, Ratio::new(y, 8 * nn));
                    assert_eq!(ca.packet_times, Ratio::new(t, 8));
                }
            }
        }
    }

    /// INCAST Fig. 4: in a period of one flow the window starts at W/2 and grows by one per round until the loss, followed by a partial round.
    #[test]
    fn even_windows_are_the_sawtooth() {
        for w in (4..100u64).step_by(2) {
            let sent: u64 = (0..=w / 2).map(|j| w / 2 + j).sum();
            assert_eq!(8 * sent, 3 * w * w + 6 * w);
            // Eq. 3: plus the partial round's mean of w/2, minus the lost packet.
            assert_eq!(8 * (sent + w / 2 - 1), 3 * w * w + 10 * w - 8);
        }
    }

    /// X/9 + 1/2 = 9 exactly: binary floats with D = 100 * 1e-6 find 8.
    #[test]
    fn the_floor_boundary() {
        let w = Incast::new(&base()).unwrap().windows(9).unwrap();
        assert_eq!((w.overflow, w.losers), (10, 9));
        assert_eq!((125_000.0 * (100.0 * 1e-6 + 64.0 / 125_000.0) / 9.0 + 0.5_f64).floor(), 8.0);
    }
}
