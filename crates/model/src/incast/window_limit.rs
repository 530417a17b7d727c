//! Goodput with a limit by the receive window (INCAST Eqs. 28 to 32).

use super::{Incast, NstarRule, TailMode};
use crate::ModelError;
use crate::error::integer;

/// Limit of the flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Regime {
    /// The sum of windows is below the bandwidth-delay product: each flow sends W_l per RTT (Eq. 29).
    Latency,
    /// The sum of windows exceeds the bandwidth-delay product, but does not overflow the buffer: full rate (Eq. 29).
    Link,
    /// The limit is the window at which the buffer overflows (Eqs. 30, 31).
    Equal,
    /// The limit is never reached: as without it, including the collapse (Eq. 32).
    Unaffected,
}

/// Goodput of all flows with a window limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitedGoodput {
    /// Limit of the flows.
    pub regime: Regime,
    /// Payload bytes per second.
    pub bytes_per_s: f64,
    /// Fraction of the link's largest goodput, not clipped.
    pub share: f64,
}

impl Incast {
    /// Goodput of `n` senders whose windows are limited to `window` packets (W_l).
    ///
    /// The model neglects the variation of the queue within a round, which W_m includes: just below W_m a real network overflows, but the model has
    /// full rate.
    ///
    /// # Errors
    /// Names `n` outside 1 to the buffer, and `window` outside 1 to 2^40.
    pub fn limited(&self, n: u64, window: u64, mode: TailMode, rule: NstarRule) -> Result<LimitedGoodput, ModelError> {
        let windows = self.windows(n)?;
        integer("window", window, 1, 1 << 40)?;
        let all = i128::from(n) * i128::from(window);
        let (regime, share) = if window > windows.overflow {
            (Regime::Unaffected, self.goodput(n, mode, rule)?.share)
        } else if window == windows.overflow {
            // Per flow: N_m/N of them deliver Y(W_m), the others, which do not overflow, all they send meanwhile: W_m per round of
            // N W_m / C seconds (Eq. 30 repaired). In packet times a period takes N (3/8 W^2 + W) (Eq. 9).
            let (w, losers) = (windows.overflow as f64, windows.losers as f64 / n as f64);
            let period = 0.375 * w * w + w;
            let packets = losers * (0.375 * w * w + 1.25 * w - 1.0) + (1.0 - losers) * period;
            (Regime::Equal, packets / period)
        } else if self.pipe.bdp_exact().cmp_int(all).is_ge() {
            (Regime::Latency, all as f64 / self.pipe.bdp())
        } else {
            (Regime::Link, 1.0)
        };
        Ok(LimitedGoodput { regime, share, bytes_per_s: share * self.ceiling() })
    }
}
