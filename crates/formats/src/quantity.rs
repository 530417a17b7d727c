//! Rates and times in the notation of ns-3.

use forebay_types::{Rate, Time};

/// Units of ns-3's `DataRate` in bits, and those of scenarios.
const RATES: &[(&str, &str)] = &[
    ("bps", "bps"),
    ("b/s", "bps"),
    ("kbps", "Kbps"),
    ("kb/s", "Kbps"),
    ("Kbps", "Kbps"),
    ("Kb/s", "Kbps"),
    ("Mbps", "Mbps"),
    ("Mb/s", "Mbps"),
    ("Gbps", "Gbps"),
    ("Gb/s", "Gbps"),
    ("", "bps"),
];

/// Units of ns-3's `Time`, and those of scenarios. A number without a unit is in seconds.
const TIMES: &[(&str, &str)] =
    &[("s", "s"), ("ms", "ms"), ("us", "us"), ("ns", "ns"), ("ps", "ps"), ("min", "min"), ("h", "h"), ("", "s")];

/// Splits a quantity into its number, without the sign `+` of ns-3's output, and its unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.strip_prefix('+').unwrap_or(text);
    text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()))
}

/// Reads a rate such as `100Gbps` or `40Gb/s`.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let (number, unit) = split(text);
    let Some((_, own)) = RATES.iter().find(|(ns3, _)| *ns3 == unit) else {
        return Err(format!("`{text}` is not a rate; write it in bits as 100Gbps or 40Gb/s"));
    };
    format!("{number}{own}").parse::<Rate>().map_err(|e| format!("`{text}` is not a rate: {e}"))
}

/// Reads a time such as `1us` or `0.001ms`.
pub(crate) fn time(text: &str) -> Result<Time, String> {
    let (number, unit) = split(text);
    let Some((_, own)) = TIMES.iter().find(|(ns3, _)| *ns3 == unit) else {
        return Err(format!("`{text}` is not a time; write it as 1us or 1000ns"));
    };
    format!("{number}{own}").parse::<Time>().map_err(|e| format!("`{text}` is not a time: {e}"))
}

/// Reads a number of `unit`, such as the seconds `2.000000100`.
pub(crate) fn time_in(number: &str, unit: &str) -> Result<Time, String> {
    if number.starts_with(['-', '+']) || number.ends_with(|c: char| c.is_ascii_alphabetic()) {
        return Err(format!("`{number}` is not a number of {unit}, from 0 on"));
    }
    format!("{number}{unit}").parse::<Time>().map_err(|_| format!("`{number}` is not a number of {unit}, from 0 on"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notations_of_ns3_are_exact() {
        for (text, gbps) in [("100Gbps", 100), ("40Gb/s", 40), ("2000Mb/s", 2), ("3000000000", 3)] {
            assert_eq!(rate(text).unwrap(), Rate(gbps * 1_000_000_000), "{text}");
        }
        for text in ["1us", "0.001ms", "1000ns", "0.000001"] {
            assert_eq!(time(text).unwrap(), Time::from_us(1), "{text}");
        }
        assert_eq!(time("0.000025ms").unwrap(), Time::from_ns(25));
        assert_eq!(time_in("2.000000100", "s").unwrap(), Time::from_ns(2_000_000_100));
    }

    #[test]
    fn other_units_are_refused() {
        for text in ["100GBps", "fast", "10KiB/s"] {
            assert!(rate(text).unwrap_err().contains("is not a rate"), "{text}");
        }
        for text in ["1y", "soon", "-1us"] {
            assert!(time(text).unwrap_err().contains("is not a time"), "{text}");
        }
        for text in ["-1", "2s", "", "nan"] {
            assert!(time_in(text, "s").is_err(), "{text}");
        }
    }
}
