//! Byte counts.

use crate::units::parse::{QuantityError, quantity};
use core::fmt;
use core::str::FromStr;

/// A count of bytes. In texts KB, MB and GB are powers of ten, KiB, MiB and GiB powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<Bytes, QuantityError> {
        let units = [
            ("B", 1),
            ("KB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
        ];
        quantity(s, "size", &units).map(Bytes)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (scale, name) in [(1_000_000_000u64, "GB"), (1_000_000, "MB"), (1_000, "KB")] {
            if self.0 >= scale {
                return decimal(f, self.0, scale, name);
            }
        }
        write!(f, "{}B", self.0)
    }
}

/// Prints `value / scale` exactly, without trailing zeros; `scale` is a power of ten.
pub(crate) fn decimal(f: &mut fmt::Formatter<'_>, value: u64, scale: u64, unit: &str) -> fmt::Result {
    let (whole, frac) = (value / scale, value % scale);
    if frac == 0 {
        return write!(f, "{whole}{unit}");
    }
    let digits = scale.ilog10() as usize;
    let frac = format!("{frac:0digits$}");
    write!(f, "{whole}.{}{unit}", frac.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary_units() {
        assert_eq!("256KB".parse::<Bytes>().unwrap().0, 256_000);
        assert_eq!("256KiB".parse::<Bytes>().unwrap().0, 262_144);
        assert_eq!("1.5MB".parse::<Bytes>().unwrap().to_string(), "1.5MB");
        assert!("-3KB".parse::<Bytes>().is_err());
        assert!("0.5B".parse::<Bytes>().is_err());
    }
}
