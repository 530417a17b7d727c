//! Formatting of numbers and lists in sentences.

use crate::dimension::Dimension;

/// A value with its unit, three significant digits: `21.4 ms`, `9.41 Gbit/s`, `22 packets`.
pub fn quantity(value: f64, unit: Dimension) -> String {
    let (factor, name) = prefix(value, unit);
    format!("{}{name}", number(value / factor))
}

/// Prefix for a value: the divisor, and the unit's name after a space.
pub(crate) fn prefix(value: f64, unit: Dimension) -> (f64, &'static str) {
    let prefixes: &[(f64, &str)] = match unit {
        Dimension::BitsPerSecond => &[(1e12, " Tbit/s"), (1e9, " Gbit/s"), (1e6, " Mbit/s"), (1e3, " kbit/s"), (1.0, " bit/s")],
        Dimension::Seconds => &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")],
        Dimension::Bytes => &[(1e12, " TB"), (1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")],
        Dimension::Packets => &[(1.0, " packets")],
        Dimension::Segments => &[(1.0, " segments")],
        Dimension::Fraction => &[(0.01, " %")],
        Dimension::Count | Dimension::Ratio => &[(1.0, "")],
    };
    // Values that round to the next prefix use it: 999.9 ms is 1 s.
    let fits = |p: &&(f64, &str)| value.abs() >= p.0 * 0.9995;
    if value == 0.0 {
        prefixes.iter().find(|p| p.0 == 1.0).or(prefixes.last())
    } else {
        prefixes.iter().find(fits).or(prefixes.last())
    }
    .copied()
    .unwrap_or((1.0, ""))
}

/// Three significant digits without trailing zeros; whole numbers stay whole.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "unknown".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Ratio of `large` to `small` as text: `10 times` or `12 %`.
pub fn factor(large: f64, small: f64) -> String {
    let ratio = large / small;
    if ratio >= 1.95 { format!("{} times", number(round(ratio))) } else { format!("{} %", number(round((ratio - 1.0) * 100.0))) }
}

/// Reduction from `large` to `small` as text: `10 times` or `40 %`.
pub(crate) fn less(small: f64, large: f64) -> String {
    let ratio = large / small;
    if ratio >= 1.95 {
        format!("{} times", number(round(ratio)))
    } else {
        format!("{} %", number(round((1.0 - small / large) * 100.0)))
    }
}

/// Two significant digits: a factor in a sentence is not more accurate.
fn round(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 10f64.powi(value.log10().floor() as i32 - 1);
    (value / unit).round() * unit
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// `1 seed`, `3 seeds`.
pub fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Bold text.
pub fn bold(text: &str) -> String {
    format!("**{text}**")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        for (value, unit, text) in [
            (0.021_44, Dimension::Seconds, "21.4 ms"),
            (0.999_9, Dimension::Seconds, "1 s"),
            (0.0, Dimension::Seconds, "0 s"),
            (214e-6, Dimension::Seconds, "214 µs"),
            (9.412e9, Dimension::BitsPerSecond, "9.41 Gbit/s"),
            (940e6, Dimension::BitsPerSecond, "940 Mbit/s"),
            (22.0, Dimension::Packets, "22 packets"),
            (0.123, Dimension::Fraction, "12.3 %"),
            (1.2, Dimension::Ratio, "1.2"),
            (1_234_567.0, Dimension::Count, "1234567"),
            (0.000_12, Dimension::Ratio, "0.00012"),
        ] {
            assert_eq!(quantity(value, unit), text);
        }
    }

    #[test]
    fn factors() {
        assert_eq!(factor(214.0, 21.4), "10 times");
        assert_eq!(factor(112.0, 100.0), "12 %");
        assert_eq!(factor(234.56, 1.0), "230 times");
        assert_eq!(factor(1.951, 1.0), "2 times");
        // 20 is 40 % less than 33.2, and 33.2 is 66 % more than 20.
        assert_eq!((less(20.0, 33.2), factor(33.2, 20.0)), ("40 %".into(), "66 %".into()));
        assert_eq!((less(21.4, 214.0), less(1.0, 1.9)), ("10 times".into(), "47 %".into()));
    }

    #[test]
    fn lists() {
        let items: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
        assert_eq!(
            (list(&items[..1]).as_str(), list(&items[..2]).as_str(), list(&items).as_str()),
            ("a", "a and b", "a, b and c")
        );
        assert_eq!((count(1, "seed"), count(3, "seed")), ("1 seed".into(), "3 seeds".into()));
    }
}
