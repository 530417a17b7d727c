//! Budget of a host's repeated probes: a token bucket over all its connections (ProBoSCIS 2.1, `probe_budget`).

use super::rules::Rules;
use forebay_types::Time;

/// The bucket, represented by the time at which it will be full again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Budget {
    /// Time to earn one probe.
    cost: Time,
    burst: u64,
    full_at: Time,
}

impl Budget {
    /// A full bucket for a host whose link needs `probe_time` to send one probe.
    pub fn of_link(r: &Rules, probe_time: Time) -> Budget {
        Budget::new(r.cost_of_probe(probe_time), r.c.probe_burst)
    }

    /// A full bucket of `burst` probes, which earns one in the time `cost`.
    pub fn new(cost: Time, burst: u32) -> Budget {
        Budget { cost, burst: u64::from(burst), full_at: Time::ZERO }
    }

    /// Takes up to `wanted` probes at `now`; none if there are fewer than `least`.
    pub fn take(&mut self, now: Time, wanted: u32, least: u32) -> u32 {
        let missing = self.full_at.saturating_sub(now);
        let there = (self.cost * self.burst).saturating_sub(missing).0.checked_div(self.cost.0).unwrap_or(self.burst);
        let n = u64::from(wanted).min(there);
        if n < u64::from(least) {
            return 0;
        }
        self.full_at = self.full_at.max(now) + self.cost * n;
        n as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 % of 1 Gbps for 40-byte probes: one probe every 32 us, 31 in a millisecond.
    #[test]
    fn fills_at_its_rate() {
        let mut b = Budget::new(Time::from_us(32), 100);
        assert_eq!([0; 4].map(|t| b.take(Time(t), 40, 10)), [40, 40, 20, 0]);
        assert_eq!(b.take(b.cost * 9, 40, 10), 0);
        assert_eq!(b.take(b.cost * 10, 40, 10), 10);
        assert_eq!(b.take(Time::from_secs(1), 255, 10), 100);
    }
}
