//! Simulated time.

use crate::units::parse::{QuantityError, quantity};
use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Rem, Sub};
use core::str::FromStr;

/// A point in simulated time or a duration, in integer picoseconds. `u64` picoseconds last 213 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The start of simulated time, and the empty duration.
    pub const ZERO: Time = Time(0);
    /// Later than every event: "never".
    pub const NEVER: Time = Time(u64::MAX);

    /// `n` nanoseconds.
    #[inline]
    pub const fn from_ns(n: u64) -> Time {
        Time(n * 1_000)
    }
    /// `n` microseconds.
    #[inline]
    pub const fn from_us(n: u64) -> Time {
        Time(n * 1_000_000)
    }
    /// `n` milliseconds.
    #[inline]
    pub const fn from_ms(n: u64) -> Time {
        Time(n * 1_000_000_000)
    }
    /// `n` seconds.
    #[inline]
    pub const fn from_secs(n: u64) -> Time {
        Time(n * 1_000_000_000_000)
    }
    /// Whole nanoseconds, rounded down.
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// Whole microseconds, rounded down.
    #[inline]
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Whole milliseconds, rounded down.
    #[inline]
    pub const fn as_ms(self) -> u64 {
        self.0 / 1_000_000_000
    }
    /// Seconds as a float, for display and rates only.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }
    /// The later minus the earlier time, zero when `other` is later.
    #[inline]
    pub const fn saturating_sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
    /// Saturating sum, at most [`Time::NEVER`].
    #[inline]
    pub const fn saturating_add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
    /// Saturating product, at most [`Time::NEVER`].
    #[inline]
    pub const fn saturating_mul(self, n: u64) -> Time {
        Time(self.0.saturating_mul(n))
    }
    /// Absolute difference of two times.
    #[inline]
    pub const fn abs_diff(self, other: Time) -> Time {
        Time(self.0.abs_diff(other.0))
    }
    /// Rounds up to a multiple of `ticks`, which is above zero.
    #[inline]
    pub const fn round_up(self, tick: Time) -> Time {
        Time(self.0.next_multiple_of(tick.0))
    }
    /// Low 32 bits of the whole nanoseconds: a timestamp as packets carry it (RFC 7323 with a nanosecond clock).
    #[inline]
    pub const fn timestamp(self) -> u32 {
        (self.0 / 1_000) as u32
    }
    /// Time since `timestamp`, which wraps after 4.29 s.
    #[inline]
    pub const fn since(self, timestamp: u32) -> Time {
        Time(self.timestamp().wrapping_sub(timestamp) as u64 * 1_000)
    }
}

impl Add for Time {
    type Output = Time;
    #[inline]
    fn add(self, o: Time) -> Time {
        Time(self.0 + o.0)
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, o: Time) {
        self.0 += o.0;
    }
}

impl Sub for Time {
    type Output = Time;
    #[inline]
    fn sub(self, o: Time) -> Time {
        Time(self.0 - o.0)
    }
}

impl Mul<u64> for Time {
    type Output = Time;
    #[inline]
    fn mul(self, n: u64) -> Time {
        Time(self.0 * n)
    }
}

impl Div<u64> for Time {
    type Output = Time;
    #[inline]
    fn div(self, n: u64) -> Time {
        Time(self.0 / n)
    }
}

/// Integer quotient of two times.
impl Div for Time {
    type Output = u64;
    #[inline]
    fn div(self, o: Time) -> u64 {
        self.0 / o.0
    }
}

impl Rem for Time {
    type Output = Time;
    #[inline]
    fn rem(self, o: Time) -> Time {
        Time(self.0 % o.0)
    }
}

impl Sum for Time {
    fn sum<I: Iterator<Item = Time>>(times: I) -> Time {
        Time(times.map(|t| t.0).sum())
    }
}

impl FromStr for Time {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<Time, QuantityError> {
        let units = [
            ("ps", 1),
            ("ns", 1_000),
            ("us", 1_000_000),
            ("ms", 1_000_000_000),
            ("s", 1_000_000_000_000),
            ("min", 60_000_000_000_000),
            ("h", 3_600_000_000_000_000),
        ];
        quantity(s, "time", &units).map(Time)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_000_000_000_000u64, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
        for (scale, name) in units {
            if self.0 >= scale {
                return crate::units::size::decimal(f, self.0, scale, name);
            }
        }
        write!(f, "{}ps", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_exactly() {
        for (text, ps) in
            [("0.1us", 100_000), ("1.5ms", 1_500_000_000), ("25us", 25_000_000), ("3ps", 3), ("2 s", 2_000_000_000_000)]
        {
            assert_eq!(text.parse::<Time>().unwrap().0, ps, "{text}");
        }
        for text in ["0.1us", "1.5ms", "25us", "3ps", "2s", "223.36us"] {
            let t: Time = text.parse().unwrap();
            assert_eq!(t.to_string().parse::<Time>().unwrap(), t);
        }
    }

    #[test]
    fn refuses_values_out_of_range() {
        for bad in ["", "5", "us", "-1us", "1.2.3us", "0.5ps", "9999999999999h", "1e3us", "nan", "1 lightyear"] {
            assert!(bad.parse::<Time>().is_err(), "{bad}");
        }
    }

    /// All times up to 400 ps and ticks up to 40 ps: the smallest multiple that is not below.
    #[test]
    fn exhaustive_times_round_up() {
        for (time, tick) in (0..=400).flat_map(|time| (1..=40).map(move |tick| (time, tick))) {
            let rounded = Time(time).round_up(Time(tick)).0;
            assert!(rounded.is_multiple_of(tick) && rounded >= time && rounded - time < tick, "{time} by {tick}: {rounded}");
        }
    }

    /// All numbers up to 2000 in each unit are printed so that they are read again.
    #[test]
    fn exhaustive_times_are_read_as_printed() {
        for unit in [1, 10, 1_000, 1_000_000, 100_000_000, 1_000_000_000, 1_000_000_000_000] {
            for number in 0..2_000 {
                let time = Time(number * unit);
                assert_eq!(time.to_string().parse::<Time>(), Ok(time));
            }
        }
    }
}
