//! Rollback conditions: `retransmissions>2`, `rtt-p99>1.5`, `throughput<0.5`, each a multiple of the value before attaching.

use crate::Error;
use crate::sample::Health;
use std::fmt;
use std::str::FromStr;

/// Measure that is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Measure {
    Retransmissions,
    RttP99,
    Throughput,
}

/// A bound that must not be crossed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    measure: Measure,
    factor: f64,
}

/// A share of retransmissions that is taken for the one before if it was less: a factor of nothing is nothing.
const LEAST_RETRANSMITTED: f64 = 0.001;
/// Largest smoothed RTT that the kernel can report, in microseconds (`tcp_sock.srtt_us` has 32 bits, in eighths of a microsecond).
const RTT_MAX_US: f64 = (u32::MAX >> 3) as f64;

impl Condition {
    /// Checks that the condition can be met at all, given the measurement before attaching.
    ///
    /// # Errors
    /// It never can: the measurement has no value to compare with, or the factor is out of reach.
    pub fn check_reachable(&self, before: &Health) -> Result<(), Error> {
        let never = |why: String| Error::new(format!("`{self}` can never be met: {why}"));
        let traffic = "start the traffic first, then run `forebay attach` with --rollback-on, which measures for 5 s before it attaches; \
                       or choose retransmissions>FACTOR, which needs no traffic before";
        let connections = format!("{} connections, {:.1} Mbit/s", before.sockets, before.mbit);
        match self.measure {
            Measure::Retransmissions => {
                let base = before.retransmitted.max(LEAST_RETRANSMITTED);
                if base * self.factor < 1.0 {
                    return Ok(());
                }
                Err(never(format!(
                    "{:.2} % of the segments were retransmitted before, at least {:.1} % is assumed, and {} times that is 100 % or more",
                    before.retransmitted * 100.0,
                    LEAST_RETRANSMITTED * 100.0,
                    self.factor
                ))
                .fix(format!("choose a factor below {}", (1.0 / base).floor())))
            }
            Measure::RttP99 if before.rtt_p99_us == 0 => {
                Err(never(format!("no RTT was measured before attaching ({connections})")).fix(traffic))
            }
            Measure::RttP99 if f64::from(before.rtt_p99_us) * self.factor >= RTT_MAX_US => Err(never(format!(
                "the 99th percentile of the RTT was {} us before, and the kernel measures no RTT above {RTT_MAX_US} us",
                before.rtt_p99_us
            ))
            .fix(format!("choose a factor below {}", (RTT_MAX_US / f64::from(before.rtt_p99_us)).floor()))),
            Measure::RttP99 => Ok(()),
            // A throughput of 0 is below every positive bound.
            Measure::Throughput if before.mbit * self.factor > 0.0 => Ok(()),
            Measure::Throughput => {
                Err(never(format!("no throughput was measured before attaching ({connections})")).fix(traffic))
            }
        }
    }

    /// Returns true if an interval without connections counts. Its throughput is 0, possibly because connections can no longer be opened. It has no
    /// RTT and no share of retransmissions.
    pub(crate) fn holds_without_connections(&self) -> bool {
        self.measure == Measure::Throughput
    }

    /// Returns the reason if the bound is crossed.
    pub fn crossed(&self, before: &Health, now: &Health) -> Option<String> {
        let times = |now: f64, before: f64| if before > 0.0 { now / before } else { 0.0 };
        let share = |v: f64| format!("{:.2} %", v * 100.0);
        match self.measure {
            Measure::Retransmissions => {
                let base = before.retransmitted.max(LEAST_RETRANSMITTED);
                (now.retransmitted > base * self.factor).then(|| {
                    format!("{} of the segments are sent again, {} were", share(now.retransmitted), share(before.retransmitted))
                })
            }
            Measure::RttP99 => (times(f64::from(now.rtt_p99_us), f64::from(before.rtt_p99_us)) > self.factor)
                .then(|| format!("the 99th percentile of the RTT is {} us, it was {} us", now.rtt_p99_us, before.rtt_p99_us)),
            Measure::Throughput => (before.mbit > 0.0 && now.mbit < before.mbit * self.factor)
                .then(|| format!("throughput is {:.1} Mbit/s, it was {:.1}", now.mbit, before.mbit)),
        }
    }
}

impl FromStr for Condition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Condition, Error> {
        let wrong = || {
            Error::new(format!("`{text}` is not a condition"))
                .fix("write retransmissions>FACTOR, rtt-p99>FACTOR or throughput<FACTOR, as in rtt-p99>1.5: a multiple of the value before attaching")
        };
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let (name, rest) = text.split_at(at);
        let factor: f64 = rest[1..].trim().trim_end_matches('x').parse().map_err(|_| wrong())?;
        let measure = match (name.trim(), &rest[..1]) {
            ("retransmissions", ">") => Measure::Retransmissions,
            ("rtt-p99", ">") => Measure::RttP99,
            ("throughput", "<") => Measure::Throughput,
            _ => return Err(wrong()),
        };
        if !(factor.is_finite() && factor > 0.0) {
            return Err(wrong());
        }
        Ok(Condition { measure, factor })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.measure {
            Measure::Retransmissions => write!(f, "retransmissions>{}", self.factor),
            Measure::RttP99 => write!(f, "rtt-p99>{}", self.factor),
            Measure::Throughput => write!(f, "throughput<{}", self.factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_roundtrip_and_cross_at_factor() {
        let before = Health { sockets: 2, mbit: 100.0, retransmitted: 0.01, rtt_p50_us: 100, rtt_p99_us: 200, cwnd_p50: 10 };
        let worse = Health { mbit: 40.0, retransmitted: 0.03, rtt_p99_us: 500, ..before };
        for (text, holds) in [
            ("retransmissions>2", true),
            ("retransmissions > 4x", false),
            ("rtt-p99>2", true),
            ("rtt-p99>2.5", false),
            ("throughput<0.5", true),
            ("throughput<0.4", false),
        ] {
            let c: Condition = text.parse().unwrap();
            assert_eq!(c.crossed(&before, &worse).is_some(), holds, "{text}");
            assert_eq!(c.crossed(&before, &before), None, "{text}");
            assert_eq!(c.to_string().parse::<Condition>().unwrap(), c);
        }
        // Where nothing was sent again before, little is no reason.
        let clean = Health { retransmitted: 0.0, ..before };
        let c: Condition = "retransmissions>2".parse().unwrap();
        assert!(c.crossed(&clean, &Health { retransmitted: 0.001, ..clean }).is_none());
        assert!(c.crossed(&clean, &Health { retransmitted: 0.003, ..clean }).is_some());
    }

    #[test]
    fn unreachable_condition_refused() {
        let none = Health::default();
        let idle = Health { sockets: 2, rtt_p99_us: 200, ..none };
        let busy = Health { sockets: 2, mbit: 100.0, retransmitted: 0.01, rtt_p50_us: 100, rtt_p99_us: 200, cwnd_p50: 10 };
        let refused =
            |text: &str, before: &Health| text.parse::<Condition>().unwrap().check_reachable(before).err().map(|e| e.to_string());
        for (text, before, words) in [
            ("throughput<0.9", &none, &["no throughput was measured", "0 connections", "0.0 Mbit/s", "fix:"][..]),
            ("throughput<0.9", &idle, &["2 connections", "0.0 Mbit/s"]),
            ("rtt-p99>2", &none, &["no RTT was measured", "0 connections"]),
            ("rtt-p99>2684355", &busy, &["200 us", "a factor below 2684354"]),
            ("retransmissions>1e9", &none, &["0.1 %", "100 %", "a factor below 1000"]),
            ("retransmissions>100", &busy, &["1.00 %", "a factor below 100"]),
            ("throughput<5e-324", &Health { mbit: 0.4, ..busy }, &["can never be met"]),
        ] {
            let said = refused(text, before).unwrap_or_else(|| panic!("{text} is accepted"));
            for word in words {
                assert!(said.contains(word), "`{word}` is not in: {said}");
            }
        }
        for (text, before) in [
            ("retransmissions>2", &none),
            ("retransmissions>999", &none),
            ("retransmissions>99", &busy),
            ("rtt-p99>1e6", &busy),
            ("throughput<1e-9", &busy),
        ] {
            assert_eq!(refused(text, before), None, "{text}");
        }
    }

    #[test]
    fn invalid_conditions_are_refused() {
        for text in
            ["", "rtt-p99", "rtt-p99<2", "throughput>2", "loss>2", "rtt-p99>", "rtt-p99>-1", "rtt-p99>nan", "throughput<0"]
        {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
    }
}
