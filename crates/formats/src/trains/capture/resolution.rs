//! Resolution of timestamps.

/// Conversion of the timestamps of an interface into nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Resolution {
    /// Timestamps in a second.
    per_second: u128,
    /// Offset, s.
    offset: i64,
}

const NS: u128 = 1_000_000_000;

impl Resolution {
    /// By the option `if_tsresol`: a negative power of ten, or of two if the highest bit is set. `None` if it is too fine for 64 bits.
    pub(super) fn from_option(code: u8, offset: i64) -> Option<Resolution> {
        let power = u32::from(code & 0x7f);
        let per_second = match code & 0x80 {
            0 if power <= 19 => 10_u128.pow(power),
            0x80 if power <= 63 => 1 << power,
            _ => return None,
        };
        Some(Resolution { per_second, offset })
    }

    /// Time in ns; times outside of 64 bits are cut to its bounds.
    #[inline]
    pub(super) fn ns(self, stamp: u64) -> u64 {
        let ns = match self.per_second {
            NS => stamp,
            1_000_000 => stamp.saturating_mul(1_000),
            per_second => u64::try_from(u128::from(stamp) * NS / per_second).unwrap_or(u64::MAX),
        };
        if self.offset == 0 {
            return ns;
        }
        let moved = i128::from(ns) + i128::from(self.offset) * NS as i128;
        u64::try_from(moved.max(0)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_and_two() {
        let ns = |code, stamp| Resolution::from_option(code, 0).unwrap().ns(stamp);
        assert_eq!(ns(6, 5), 5_000);
        assert_eq!(ns(9, 5), 5);
        assert_eq!(ns(12, 5_999), 5);
        assert_eq!(ns(0, 5), 5_000_000_000);
        assert_eq!(ns(0x80 | 10, 512), 500_000_000);
        assert_eq!(Resolution::from_option(20, 0), None);
        assert_eq!(Resolution::from_option(0x80 | 64, 0), None);
    }

    #[test]
    fn offsets_in_seconds() {
        assert_eq!(Resolution::from_option(9, 2).unwrap().ns(7), 2_000_000_007);
        assert_eq!(Resolution::from_option(9, -2).unwrap().ns(7), 0);
        assert_eq!(Resolution::from_option(6, 0).unwrap().ns(u64::MAX), u64::MAX);
    }
}
