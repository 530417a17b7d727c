//! Block-head timeouts: flows that lose their whole first window (INCAST Eqs. 18 to 23).

use super::{Incast, Windows};
use crate::ModelError;
use crate::error::closed;
use forebay_types::math::{exp, ln};

/// Window of a flow at the start of a block.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum FirstWindow {
    /// That at the end of the last block, on average 3/4 of the peak (Eq. 19).
    #[default]
    Inherited,
    /// PRIN's: half of that, but at least `floor` packets. The injection time of the slowest sender is halved with it.
    Halved {
        /// Smallest window, packets, 0 to 1000.
        floor: f64,
    },
}

/// The first round of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeadTimeouts {
    /// A_b (Eq. 19): first windows of all flows together, packets.
    pub offered: f64,
    /// C tau (below Eq. 19): packets the bottleneck serves while the slowest sender injects its first window.
    pub served: f64,
    /// A_b - C tau - B: packets lost in the round if positive; otherwise the negated free buffer (Eq. 20 before clipping).
    pub excess: f64,
    /// P_p (Eq. 22): probability that a packet arriving at the full buffer is lost; 0 without loss.
    pub loss: f64,
    /// N_t (Eq. 21): flows that start while the buffer is full.
    pub late_flows: f64,
    /// N^O: flows expected to lose their whole first window.
    pub flows_in_timeout: f64,
}

impl Incast {
    /// The first round of a block of `n` senders.
    ///
    /// # Errors
    /// Names `n` outside 1 to the buffer, and `floor` outside 0 to 1000.
    pub fn head(&self, n: u64, first: FirstWindow) -> Result<HeadTimeouts, ModelError> {
        let windows = self.windows(n)?;
        check(first)?;
        Ok(self.head_of(&windows, first))
    }

    pub(super) fn head_of(&self, w: &Windows, first: FirstWindow) -> HeadTimeouts {
        // Exact: multiples of 1/8 below 2^50.
        let (at_all, alone) = (w.overflow as f64, w.overflow_of_losers as f64);
        let offered = (w.n - w.losers) as f64 * first_window_of(at_all, first) + w.losers as f64 * first_window_of(alone, first);
        self.round(w.n as f64, offered, injection(alone, first))
    }

    /// N^O from the packets offered and served.
    pub(super) fn round(&self, n: f64, offered: f64, served: f64) -> HeadTimeouts {
        let buffer = self.buffer as f64;
        let excess = offered - served - buffer;
        let none = HeadTimeouts { offered, served, excess, loss: 0.0, late_flows: 0.0, flows_in_timeout: 0.0 };
        // Eq. 20, checked before any division: a single sender offers less than is served.
        if excess <= 0.0 {
            return none;
        }
        // Eqs. 21 to 23 combined, which avoids 0/0: I_2 = A_b D_b / (A_b - C tau).
        let loss = 1.0 - served / offered;
        let late_flows = n * excess / (offered - served);
        // The mean first window is not rounded.
        let exponent = offered / n * ln(loss);
        let all_lost = if exponent < -700.0 { 0.0 } else { exp(exponent) };
        HeadTimeouts { loss, late_flows, flows_in_timeout: late_flows * all_lost, ..none }
    }
}

pub(super) fn check(first: FirstWindow) -> Result<(), ModelError> {
    match first {
        FirstWindow::Inherited => Ok(()),
        FirstWindow::Halved { floor } => closed("floor", floor, 0.0, 1000.0).map(|_| ()),
    }
}

/// Mean first window of a flow with this peak.
pub(super) fn first_window_of(peak: f64, first: FirstWindow) -> f64 {
    match first {
        FirstWindow::Inherited => 0.75 * peak,
        FirstWindow::Halved { floor } => (0.375 * peak).max(floor),
    }
}

/// C tau for the slowest sender's peak.
pub(super) fn injection(peak: f64, first: FirstWindow) -> f64 {
    match first {
        FirstWindow::Inherited => peak,
        FirstWindow::Halved { .. } => peak / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::base;
    use super::*;

    /// Eqs. 20 to 23 as printed, compared with the combined forms.
    #[test]
    fn long_forms_agree() {
        let m = Incast::new(&base()).unwrap();
        let mut losses = 0;
        for n in 1..=64 {
            let h = m.head(n, FirstWindow::Inherited).unwrap();
            if h.excess <= 0.0 {
                assert_eq!((h.loss, h.late_flows, h.flows_in_timeout), (0.0, 0.0, 0.0));
                continue;
            }
            losses += 1;
            let second = h.offered - 64.0 * h.offered / (h.offered - h.served);
            assert!((h.loss - h.excess / second).abs() < 1e-12);
            assert!((h.late_flows - n as f64 * second / h.offered).abs() < 1e-9);
            let all = (h.offered / n as f64 * (h.excess / second).ln()).exp();
            assert!((h.flows_in_timeout / (h.late_flows * all) - 1.0).abs() < 1e-9);
        }
        assert!(losses > 30);
    }

    #[test]
    fn bad_floors_are_named() {
        let m = Incast::new(&base()).unwrap();
        for floor in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(m.head(5, FirstWindow::Halved { floor }).unwrap_err().argument, "floor");
        }
    }
}
