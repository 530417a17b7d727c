//! Decimal numbers as exact integers, never through a binary float: 0.1 s is 100 000 000 000 ps, on every machine.

/// Non-negative number times a power of ten, rounded half up to an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scaled {
    pub value: u64,
    /// True if the value is exact.
    pub exact: bool,
}

/// Maximum length of a number; `printf("%.17g")` and similar formats are much shorter.
const MAX_LEN: usize = 64;

/// Reads `text` (digits, optional fraction, optional exponent) and multiplies by 10^`power`. The error completes "`text` ...".
pub(super) fn scaled(text: &str, power: i32) -> Result<Scaled, &'static str> {
    if text.starts_with('-') {
        return Err("is negative");
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((n, e)) => (n, e.parse::<i16>().map_err(|_| "is not a number")?),
        None => (text, 0),
    };
    let (whole, frac) = number.split_once('.').unwrap_or((number, ""));
    let digits = || whole.bytes().chain(frac.bytes());
    if text.len() > MAX_LEN || digits().next().is_none() || !digits().all(|b| b.is_ascii_digit()) {
        return Err("is not a finite decimal number");
    }
    let mut mantissa = 0u128;
    // Digits beyond the 36th have no effect: 10^36 ps is far outside simulated time, and 10^-36 of a unit is negligible.
    let mut power = i32::from(exponent) + power - frac.len() as i32;
    let mut exact = true;
    for b in digits() {
        if mantissa < 10u128.pow(36) {
            mantissa = mantissa * 10 + u128::from(b - b'0');
        } else {
            power += 1;
            exact &= b == b'0';
        }
    }
    if mantissa == 0 {
        return Ok(Scaled { value: 0, exact });
    }
    let too_large = "is too large";
    let value = if power >= 0 {
        let factor = 10u128.checked_pow(power as u32).ok_or(too_large)?;
        mantissa.checked_mul(factor).ok_or(too_large)?
    } else if power < -38 {
        exact = false;
        0
    } else {
        let divisor = 10u128.pow(power.unsigned_abs());
        exact &= mantissa.is_multiple_of(divisor);
        mantissa / divisor + u128::from(mantissa % divisor >= divisor - divisor / 2)
    };
    Ok(Scaled { value: u64::try_from(value).map_err(|_| too_large)?, exact })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_to_picoseconds() {
        let cases = [
            ("0.1", 100_000_000_000, true),
            ("2", 2_000_000_000_000, true),
            ("2.000000001", 2_000_000_001_000, true),
            ("1.5e-06", 1_500_000, true),
            ("1E3", 1_000_000_000_000_000, true),
            (".5", 500_000_000_000, true),
            ("5.", 5_000_000_000_000, true),
            ("+0.0", 0, true),
            ("0.0000000000005", 1, false),
            ("0.00000000000049", 0, false),
            ("2.0000001234567891", 2_000_000_123_457, false),
            ("0.3333333333333333333333333333333333333333333333", 333_333_333_333, false),
            ("1e-300", 0, false),
            ("0e99", 0, true),
        ];
        for (text, value, exact) in cases {
            assert_eq!(scaled(text, 12), Ok(Scaled { value, exact }), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        for bad in [
            "",
            ".",
            "-1",
            "-0.5",
            "nan",
            "NaN",
            "inf",
            "1e",
            "1e99999",
            "1e30",
            "1_000",
            "0x10",
            "1.2.3",
            "1 2",
            "99999999999999999999",
        ] {
            assert!(scaled(bad, 12).is_err(), "{bad}");
        }
        assert!(scaled(&"1".repeat(100), 0).is_err());
    }
}
