//! RTT filter and retransmission timeout (RFC 6298).

use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::RtoRule;
use forebay_units::{Time, TimeOrNever};

/// Smoothed RTT and its variation, and the back-off.
#[derive(Debug, Clone, Copy)]
pub struct Rtt {
    srtt: TimeOrNever,
    /// RTT variation.
    pub(crate) rttvar: Time,
    min: TimeOrNever,
    /// RTO without back-off.
    pub(crate) base_rto: Time,
    /// What the host remembers of the path, if anything, and if it is asked for.
    pub(crate) remembered: TimeOrNever,
    /// Number of doublings in force.
    pub(crate) backoff: u32,
}

impl Rtt {
    /// RTT variation.
    pub fn rttvar(&self) -> Time {
        self.rttvar
    }

    /// RTO without back-off.
    pub fn base_rto(&self) -> Time {
        self.base_rto
    }

    /// What the host remembers of the path, if anything, and if it is asked for.
    pub fn remembered(&self) -> Option<Time> {
        self.remembered.get()
    }

    /// Doubles the timeout.
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Number of doublings of the timeout in force.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Before any sample.
    pub fn new(c: &TcpConfig) -> Rtt {
        //= https://www.rfc-editor.org/rfc/rfc6298#section-2
        //# Until a round-trip time (RTT) measurement has been made for a segment sent between the sender and receiver,
        //# the sender SHOULD set RTO <- 1 second
        let initial = if c.rto_rule == RtoRule::Fixed { c.rto_min } else { c.rto_initial.max(c.rto_min) };
        Rtt {
            srtt: TimeOrNever::NEVER,
            rttvar: Time::ZERO,
            min: TimeOrNever::NEVER,
            base_rto: initial.min(c.rto_max),
            remembered: TimeOrNever::NEVER,
            backoff: 0,
        }
    }

    /// Smoothed RTT; never before the first sample.
    #[inline(always)]
    pub fn smoothed(&self) -> TimeOrNever {
        self.srtt
    }

    /// Smallest sample.
    #[inline(always)]
    pub fn min(&self) -> TimeOrNever {
        self.min
    }

    /// Takes a sample (RFC 6298 section 2).
    #[inline(always)]
    pub fn sample(&mut self, c: &TcpConfig, rtt: Time) {
        self.sample_of(c, rtt, rtt);
    }

    /// Takes a sample, of several segments: the oldest counts, but for the smallest RTT the newest.
    #[inline(always)]
    pub(super) fn sample_of(&mut self, c: &TcpConfig, rtt: Time, newest: Time) {
        self.min = self.min.min(newest.into());
        let srtt = match self.srtt.get() {
            None => {
                //= https://www.rfc-editor.org/rfc/rfc6298#section-2
                //# When the first RTT measurement R is made, the host MUST set SRTT <- R RTTVAR <- R/2 RTO <- SRTT + max (G,
                //# K*RTTVAR)
                self.rttvar = rtt / 2;
                rtt.max(Time(1))
            }
            Some(srtt) => {
                //= https://www.rfc-editor.org/rfc/rfc6298#section-2
                //# The value of SRTT used in the update to RTTVAR is its value before updating SRTT itself using the second
                //# assignment.
                // RTTVAR first, with the old SRTT: beta = 1/4, alpha = 1/8.
                self.rttvar = self.rttvar - self.rttvar / 4 + srtt.abs_diff(rtt) / 4;
                if c.rto_rule == RtoRule::Linux {
                    // tcp_rtt_estimator counts in eighths of a microsecond.
                    let eighth = Time::from_us(1) / 8;
                    eighth * (srtt / eighth - srtt / eighth / 8 + rtt / (eighth * 8))
                } else {
                    srtt - srtt / 8 + rtt / 8
                }
            }
        };
        self.srtt = srtt.into();
        let g = c.rto_granularity;
        let spread = (self.rttvar * 4).max(g);
        let rto = match c.rto_rule {
            RtoRule::Rfc6298 => srtt + spread,
            RtoRule::Linux => srtt + spread.max(c.rto_min),
            RtoRule::Fixed => return,
        };
        self.base_rto = if rto <= c.rto_min { c.rto_min } else { rto.round_up(g).min(c.rto_max) };
    }

    //= https://www.rfc-editor.org/rfc/rfc6298#section-5
    //# The host MUST set RTO <- RTO * 2 ("back off the timer").
    /// The timeout in force, back-off included.
    #[inline]
    pub fn rto(&self, c: &TcpConfig) -> Time {
        if self.backoff == 0 || c.rto_rule == RtoRule::Fixed {
            return self.base_rto;
        }
        self.base_rto.saturating_mul(1 << self.backoff.min(32)).min(c.rto_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::profile::tests::config;

    #[test]
    fn follows_rfc_6298() {
        let mut c = config("ns2", "newreno");
        c.rto_min = Time::from_us(1);
        c.rto_granularity = Time(1);
        let mut r = Rtt::new(&c);
        assert_eq!(r.rto(&c), Time::from_secs(1));
        assert_eq!((r.smoothed(), r.min()), (TimeOrNever::NEVER, TimeOrNever::NEVER));
        r.sample(&c, Time(800));
        assert_eq!((r.smoothed(), r.rttvar), (Time(800).into(), Time(400)));
        r.sample(&c, Time(1600));
        assert_eq!((r.smoothed(), r.rttvar, r.min()), (Time(900).into(), Time(500), Time(800).into()));
        assert_eq!(r.base_rto, c.rto_min);
        c.rto_min = Time(1);
        r.sample(&c, Time(900));
        assert_eq!(r.base_rto, r.smoothed().or_never() + r.rttvar * 4);
        r.backoff = 3;
        assert_eq!(r.rto(&c), r.base_rto * 8);
        r.backoff = 60;
        assert_eq!(r.rto(&c), c.rto_max.min(r.base_rto * (1 << 32)));
    }

    #[test]
    fn fixed_is_the_minimum_for_ever() {
        let mut c = config("ns2", "newreno");
        (c.rto_rule, c.rto_min) = (RtoRule::Fixed, Time::from_us(45));
        let mut r = Rtt::new(&c);
        assert_eq!(r.rto(&c), c.rto_min);
        r.sample(&c, Time::from_ms(3));
        r.backoff = 7;
        assert_eq!((r.rto(&c), r.smoothed()), (c.rto_min, Time::from_ms(3).into()));
    }

    #[test]
    fn linux_adds_the_minimum_to_srtt() {
        let c = config("linux", "newreno");
        let mut r = Rtt::new(&c);
        r.sample(&c, Time::from_us(100));
        // 100 us + 200 ms, rounded up to a millisecond.
        assert_eq!(r.base_rto, Time::from_ms(201));
    }
}
