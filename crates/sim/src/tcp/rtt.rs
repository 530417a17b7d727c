//! RTT filter and retransmission timeout (RFC 6298).

use crate::config::{RtoRule, TcpConfig};

/// Smoothed RTT and its variation in ps, and the back-off.
#[derive(Debug, Clone, Copy)]
pub struct Rtt {
    /// Smoothed RTT; 0 before the first sample.
    pub srtt: u64,
    /// RTT variation.
    pub rttvar: u64,
    /// Smallest sample; `u64::MAX` before the first.
    pub min: u64,
    /// RTO without back-off.
    pub base_rto: u64,
    /// What the host remembers of the path, ps; 0: nothing, or none is asked for.
    pub remembered: u64,
    /// Number of doublings in force.
    pub backoff: u32,
}

impl Rtt {
    /// Before any sample.
    pub fn new(c: &TcpConfig) -> Rtt {
        //= https://www.rfc-editor.org/rfc/rfc6298#section-2
        //# Until a round-trip time (RTT) measurement has been made for a segment sent between the sender and receiver,
        //# the sender SHOULD set RTO <- 1 second
        let initial = if c.rto_rule == RtoRule::Fixed { c.rto_min } else { c.rto_initial.max(c.rto_min) };
        Rtt { srtt: 0, rttvar: 0, min: u64::MAX, base_rto: initial.0.min(c.rto_max.0), remembered: 0, backoff: 0 }
    }

    /// Takes a sample (RFC 6298 section 2).
    #[inline(always)]
    pub fn sample(&mut self, c: &TcpConfig, rtt: u64) {
        self.min = self.min.min(rtt);
        if self.srtt == 0 {
            //= https://www.rfc-editor.org/rfc/rfc6298#section-2
            //# When the first RTT measurement R is made, the host MUST set SRTT <- R RTTVAR <- R/2 RTO <- SRTT + max (G,
            //# K*RTTVAR)
            self.srtt = rtt.max(1);
            self.rttvar = rtt / 2;
        } else {
            //= https://www.rfc-editor.org/rfc/rfc6298#section-2
            //# The value of SRTT used in the update to RTTVAR is its value before updating SRTT itself using the second
            //# assignment.
            // RTTVAR first, with the old SRTT: beta = 1/4, alpha = 1/8.
            let error = self.srtt.abs_diff(rtt);
            self.rttvar = self.rttvar - self.rttvar / 4 + error / 4;
            self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
        }
        let g = c.rto_granularity.0;
        let spread = (4 * self.rttvar).max(g);
        let rto = match c.rto_rule {
            RtoRule::Rfc6298 => self.srtt + spread,
            RtoRule::Linux => self.srtt + spread.max(c.rto_min.0),
            RtoRule::Fixed => return,
        };
        self.base_rto = if rto <= c.rto_min.0 { c.rto_min.0 } else { rto.next_multiple_of(g.max(1)).min(c.rto_max.0) };
    }

    //= https://www.rfc-editor.org/rfc/rfc6298#section-5
    //# The host MUST set RTO <- RTO * 2 ("back off the timer").
    /// The timeout in force, back-off included.
    #[inline]
    pub fn rto(&self, c: &TcpConfig) -> u64 {
        if self.backoff == 0 || c.rto_rule == RtoRule::Fixed {
            return self.base_rto;
        }
        self.base_rto.saturating_mul(1 << self.backoff.min(32)).min(c.rto_max.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::profile::tests::config;
    use forebay_units::Time;

    #[test]
    fn follows_rfc_6298() {
        let mut c = config("ns2", "newreno");
        c.rto_min = Time::from_us(1);
        c.rto_granularity = Time(1);
        let mut r = Rtt::new(&c);
        assert_eq!(r.rto(&c), Time::from_secs(1).0);
        r.sample(&c, 800);
        assert_eq!((r.srtt, r.rttvar), (800, 400));
        r.sample(&c, 1600);
        assert_eq!((r.srtt, r.rttvar), (900, 500));
        assert_eq!(r.base_rto, c.rto_min.0);
        c.rto_min = Time(1);
        r.sample(&c, 900);
        assert_eq!(r.base_rto, r.srtt + 4 * r.rttvar);
        r.backoff = 3;
        assert_eq!(r.rto(&c), 8 * r.base_rto);
        r.backoff = 60;
        assert_eq!(r.rto(&c), c.rto_max.0.min(r.base_rto << 32));
    }

    #[test]
    fn fixed_is_the_minimum_for_ever() {
        let mut c = config("ns2", "newreno");
        (c.rto_rule, c.rto_min) = (RtoRule::Fixed, Time::from_us(45));
        let mut r = Rtt::new(&c);
        assert_eq!(r.rto(&c), c.rto_min.0);
        r.sample(&c, Time::from_ms(3).0);
        r.backoff = 7;
        assert_eq!((r.rto(&c), r.srtt), (c.rto_min.0, Time::from_ms(3).0));
    }

    #[test]
    fn linux_adds_the_minimum_to_srtt() {
        let c = config("linux", "newreno");
        let mut r = Rtt::new(&c);
        r.sample(&c, Time::from_us(100).0);
        // 100 us + 200 ms, rounded up to a millisecond.
        assert_eq!(r.base_rto, Time::from_ms(201).0);
    }
}
