//! Link rates.

use crate::units::parse::{QuantityError, quantity};
use crate::units::time::Time;
use core::fmt;
use core::str::FromStr;

/// A link rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(pub u64);

impl Rate {
    /// Slowest rate whose serialization times fit the fixed-point arithmetic of [`Rate::ps_per_byte_q16`].
    pub const MIN: Rate = Rate(10_000);
    /// Fastest rate: one byte takes 0.8 ps.
    pub const MAX: Rate = Rate(10_000_000_000_000);

    /// Picoseconds per byte in 48.16 fixed point, rounded to nearest. Exact for every rate that divides 8e12 * 65536,
    /// which includes 1, 10, 25, 40, 100, 200, 400 and 800 Gbps.
    pub const fn ps_per_byte_q16(self) -> u64 {
        ((8_000_000_000_000u128 * 65_536 + self.0 as u128 / 2) / self.0 as u128) as u64
    }

    /// Transmission time of `bytes`, exactly as the simulated ports compute it; at most [`Time::NEVER`].
    pub const fn tx_time(self, bytes: u64) -> Time {
        let ps = (bytes as u128 * self.ps_per_byte_q16() as u128) >> 16;
        if ps > u64::MAX as u128 { Time::NEVER } else { Time(ps as u64) }
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<Rate, QuantityError> {
        let units = [("bps", 1), ("Kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000), ("Tbps", 1_000_000_000_000)];
        let rate = Rate(quantity(s, "rate", &units)?);
        if rate < Rate::MIN || rate > Rate::MAX {
            return Err(QuantityError(format!("`{s}` is outside the legal range of rates, {} to {}", Rate::MIN, Rate::MAX)));
        }
        Ok(rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (scale, name) in [(1_000_000_000_000u64, "Tbps"), (1_000_000_000, "Gbps"), (1_000_000, "Mbps"), (1_000, "Kbps")] {
            if self.0 >= scale {
                return crate::units::size::decimal(f, self.0, scale, name);
            }
        }
        write!(f, "{}bps", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialization_is_exact_for_usual_rates() {
        for (rate, ps) in [("1Gbps", 12_000_000), ("10Gbps", 1_200_000), ("40Gbps", 300_000), ("100Gbps", 120_000)] {
            assert_eq!(rate.parse::<Rate>().unwrap().tx_time(1500).0, ps);
        }
        // 1.1 Gbps: 1500 * 8e12 / 1.1e9 = 10 909 090.909 ps
        assert_eq!("1.1Gbps".parse::<Rate>().unwrap().tx_time(1500).0, 10_909_090);
    }

    #[test]
    fn times_beyond_all_time_saturate() {
        let petabyte = 1_000_000_000_000_000;
        assert_eq!(Rate::MIN.tx_time(petabyte), Time::NEVER);
        assert_eq!(Rate(1_000_000_000_000).tx_time(petabyte), Time::from_secs(8_000));
    }

    #[test]
    fn range_is_enforced() {
        assert!("1bps".parse::<Rate>().is_err());
        assert!("100Tbps".parse::<Rate>().is_err());
        assert!("fast".parse::<Rate>().is_err());
    }

    /// All sizes up to 2000 bytes at 40 rates: within a picosecond and the rounding of the inverse of the exact time, and a longer packet never takes
    /// less.
    #[test]
    fn exhaustive_sizes_take_their_time() {
        for rate in [1, 10, 25, 33, 40, 100, 400, 777].into_iter().flat_map(|r| [3, 6, 8, 9, 11].map(|e| r * 10_u64.pow(e))) {
            let mut before = Time::ZERO;
            for bytes in 0..=2_000_u64 {
                let time = Rate(rate).tx_time(bytes);
                let exact = 8e12 * bytes as f64 / rate as f64;
                let most = 1.0 + bytes as f64 / 65_536.0;
                assert!((time.0 as f64 - exact).abs() <= most, "{bytes} bytes at {rate}: {time:?} and {exact}");
                assert!(time >= before, "{bytes} bytes at {rate}");
                before = time;
            }
        }
    }
}
