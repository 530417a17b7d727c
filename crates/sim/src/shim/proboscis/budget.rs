//! Budget of a host's repeated probes: a token bucket over all its connections (ProBoSCIS 2.1, `probe_budget`).

use super::config::Rules;
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
    pub fn new(r: &Rules, probe_time: Time) -> Budget {
        let cost = Time((probe_time.0 as f64 / r.c.probe_budget).ceil() as u64);
        Budget { cost, burst: u64::from(r.c.probe_burst), full_at: Time::ZERO }
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
    use super::super::config::Config;
    use super::*;

    /// 1 % of 1 Gbps for 40-byte probes: one probe every 32 us, 31 in a millisecond.
    #[test]
    fn fills_at_its_rate() {
        let mut b = Budget::new(
            &Rules { c: Config::default(), mss: 1460, probe_size: 40, least: 1460, restart_after: Time::from_ms(200) },
            Time::from_ns(320),
        );
        assert_eq!(b.cost, Time::from_us(32));
        assert_eq!([0; 4].map(|t| b.take(Time(t), 40, 10)), [40, 40, 20, 0]);
        assert_eq!(b.take(b.cost * 9, 40, 10), 0);
        assert_eq!(b.take(b.cost * 10, 40, 10), 10);
        assert_eq!(b.take(Time::from_secs(1), 255, 10), 100);
    }
}
