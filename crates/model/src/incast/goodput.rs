//! Goodput without a window limit (INCAST Eqs. 17, 24 to 27).

use super::{CongestionAvoidance, FirstWindow, Incast, NstarRule, TailMode, TailTimeouts};
use crate::ModelError;

/// The equation that applies, with its intermediate values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Branch {
    /// N < N* (Eq. 17): occasional block-tail timeouts.
    Below {
        /// Period of congestion avoidance.
        ca: CongestionAvoidance,
        /// Block-tail timeouts.
        tail: TailTimeouts,
    },
    /// N >= N* (Eqs. 24 to 27): one timeout in every block, in which N' = N - N* + 1 flows take part.
    Beyond {
        /// Period of congestion avoidance of N' flows.
        ca: CongestionAvoidance,
        /// Y_F (Eq. 24): packets per flow of a period and the fast recovery after it.
        packets: f64,
        /// T_F (Eq. 25), s.
        period: f64,
        /// T_B (Eq. 26): duration of a block, s.
        block: f64,
    },
}

/// Goodput of all flows together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goodput {
    /// Payload bytes per second.
    pub bytes_per_s: f64,
    /// Fraction of the link's largest goodput, G / (C S_p). Not clipped: it exceeds 1 by up to 3.18 % below N* and 6.3 % beyond, because a period
    /// counts the lost packet and half of its last round inconsistently.
    pub share: f64,
    /// Equation used.
    pub branch: Branch,
}

impl Goodput {
    /// Timeouts per block: one from N* on; below, P^O for each of the Y_B / Y_C periods of a block.
    pub fn timeouts_per_block(&self, block: u64) -> f64 {
        match &self.branch {
            Branch::Below { ca, tail } => tail.probability * block as f64 / ca.packets as f64,
            Branch::Beyond { .. } => 1.0,
        }
    }
}

impl Incast {
    /// Goodput of `n` senders.
    ///
    /// # Errors
    /// Names `n` outside 1 to the buffer.
    pub fn goodput(&self, n: u64, mode: TailMode, rule: NstarRule) -> Result<Goodput, ModelError> {
        self.senders(n)?;
        self.goodput_from(n, mode, self.crossing(FirstWindow::Inherited, rule, n))
    }

    /// Goodput of `n` senders with PRIN, which halves the first windows and protects the last packets of a block: no period ends in a block-tail
    /// timeout, and N* is that of the halved windows. Timeouts in the middle of blocks, which PRIN does not prevent, are not modeled: the value is
    /// an upper bound if windows at overflow are small.
    ///
    /// # Errors
    /// Names `n` outside 1 to the buffer, or the floor of the halved windows.
    pub fn goodput_protected(&self, n: u64, first: FirstWindow, rule: NstarRule) -> Result<Goodput, ModelError> {
        self.goodput_from(n, TailMode::Protected, self.nstar_with(first, rule)?)
    }

    /// Goodput for a known N*, which is the same for all `n`. `None` or an N* above `n`: no collapse at `n`.
    ///
    /// # Errors
    /// Names `n` outside 1 to the buffer, and an `nstar` of 0.
    pub fn goodput_from(&self, n: u64, mode: TailMode, nstar: Option<u64>) -> Result<Goodput, ModelError> {
        self.senders(n)?;
        let (y_b, t_0) = (self.block as f64, self.rto.as_secs_f64());
        let (packets_per_s, branch) = match nstar {
            Some(0) => return Err(ModelError::new("nstar", "is 0; legal: at least 1")),
            Some(collapse) if n >= collapse => {
                let ca = self.ca(n - collapse + 1)?;
                // Eq. 24, d = 1; Y_C keeps its floor.
                let packets = ca.packets as f64 + ca.windows.mean_peak() / 2.0 - 1.0;
                let period = ca.duration + self.pipe.rtt().as_secs_f64();
                let block = t_0 + y_b / packets * period;
                (n as f64 * y_b / block, Branch::Beyond { ca, packets, period, block })
            }
            _ => {
                let ca = self.ca(n)?;
                let tail = self.tail_of(&ca, mode)?;
                (n as f64 * ca.packets as f64 / (ca.duration + tail.probability * t_0), Branch::Below { ca, tail })
            }
        };
        let share = packets_per_s / self.pipe.capacity();
        Ok(Goodput { bytes_per_s: share * self.ceiling(), share, branch })
    }
}

#[cfg(test)]
mod tests {
    use super::super::base;
    use super::*;

    /// PRIN specification 3.5: with halved first windows N* of the base configuration is 53, and 32 with a floor of 2; 13 without PRIN. Below it
    /// only the sawtooth remains, for which a buffer of more than C D keeps the link busy.
    #[test]
    fn prin_prevents_timeouts_below_its_nstar() {
        let m = Incast::new(&base()).unwrap();
        for (floor, nstar) in [(1.0, 53), (2.0, 32)] {
            let first = FirstWindow::Halved { floor };
            assert_eq!(m.nstar_with(first, NstarRule::First).unwrap(), Some(nstar));
            for n in 1..=64 {
                let with = m.goodput_protected(n, first, NstarRule::First).unwrap();
                let without = m.goodput(n, TailMode::Literal, NstarRule::First).unwrap();
                assert!(with.share >= without.share, "{n} senders: {} under PRIN, {} without", with.share, without.share);
                assert_eq!(with.timeouts_per_block(m.block()), if n < nstar { 0.0 } else { 1.0 });
                if n < nstar {
                    assert!((0.7..1.04).contains(&with.share), "{n} senders: {}", with.share);
                }
            }
        }
    }
}
