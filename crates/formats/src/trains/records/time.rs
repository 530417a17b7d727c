//! Times of flow records.

use super::{Damage, shown};

const NS: u64 = 1_000_000_000;
/// Latest year that is accepted; later times are damage.
const LAST_YEAR: u64 = 2100;

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> u64 {
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// A date and a time, such as `2024-01-15 10:00:00.123` or `2024-01-15T10:00:00.123Z`, in ns since 1970. The time zone is taken for UTC: only differences
/// matter.
pub(super) fn of_text(text: &str) -> Result<u64, Damage> {
    let wrong = || format!("the time is `{}`; legal: a date and a time, such as 2024-01-15 10:00:00.123", shown(text));
    let text = text.trim().trim_end_matches('Z');
    let (date, clock) = text.split_once([' ', 'T']).ok_or_else(wrong)?;
    let part = |text: Option<&str>| text.filter(|t| t.len() <= 4)?.parse::<u64>().ok();
    let mut parts = date.split('-');
    let date = (part(parts.next()), part(parts.next()), part(parts.next()));
    let (Some(year @ 1970..=LAST_YEAR), Some(month @ 1..=12), Some(day @ 1..=31)) = date else { return Err(wrong()) };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = clock.split(':');
    let clock = (part(parts.next()), part(parts.next()), part(parts.next()));
    let (Some(hour @ 0..=23), Some(minute @ 0..=59), Some(second @ 0..=60)) = clock else { return Err(wrong()) };
    if !fraction.chars().all(|c| c.is_ascii_digit()) {
        return Err(wrong());
    }
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let ns: u64 = digits.parse().map_err(|_| wrong())?;
    Ok((((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * NS + ns)
}

/// A duration in seconds, with a fraction, in ns.
pub(super) fn of_seconds(text: &str) -> Result<u64, Damage> {
    let seconds: Option<f64> = text.trim().parse().ok();
    let seconds = seconds.filter(|s| (0.0..1e9).contains(s));
    seconds
        .map(|s| (s * NS as f64).round() as u64)
        .ok_or_else(|| format!("the duration is `{}`; legal: seconds, from 0 to below 1000000000", shown(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1970() {
        assert_eq!(of_text("1970-01-01 00:00:00"), Ok(0));
        assert_eq!(of_text("2000-03-01T00:00:00Z"), Ok(951_868_800 * NS));
        assert_eq!(of_text("2024-02-29 23:59:59.5"), Ok(1_709_251_199 * NS + NS / 2));
        // As ipfixcol writes seconds below ten.
        assert_eq!(of_text("2015-08-03T14:10:2.012"), Ok(1_438_611_002 * NS + 12_000_000));
        assert!(of_text("2024-13-01 00:00:00").is_err() && of_text("yesterday").is_err() && of_text("").is_err());
    }

    #[test]
    fn durations_are_seconds() {
        assert_eq!(of_seconds("299.968"), Ok(299_968_000_000));
        assert!(of_seconds("-1").is_err() && of_seconds("NaN").is_err());
    }
}
