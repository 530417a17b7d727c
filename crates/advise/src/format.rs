//! Numbers of the advice as text.

use forebay_analysis::Dimension;
use forebay_scenario::Goal;

/// Formats a factor in both directions: `x 1.3`, `÷ 50`.
pub(crate) fn factor(f: f64) -> String {
    let digits = |f: f64| if f >= 10.0 { format!("{f:.0}") } else { format!("{f:.2}") };
    if f >= 1.0 { format!("x {}", digits(f)) } else { format!("÷ {}", digits(1.0 / f)) }
}

/// Formats a ratio without a sign: `44`, `1.9`.
pub(crate) fn times(f: f64) -> String {
    if f >= 9.95 { format!("{f:.0}") } else { format!("{f:.1}") }
}

/// A value of a goal, as `≥ 5 ms` if it is a lower bound.
pub(crate) fn cell(value: f64, goal: Goal, at_least: bool) -> String {
    format!("{}{}", if at_least { "≥ " } else { "" }, quantity(value, goal))
}

/// A value of a goal in a sentence.
pub(crate) fn in_words(value: f64, goal: Goal, at_least: bool) -> String {
    format!("{}{}", if at_least { "at least " } else { "" }, quantity(value, goal))
}

/// Formats a time, rate or fraction with three digits, as results are printed.
pub(crate) fn quantity(value: f64, goal: Goal) -> String {
    let unit = match goal {
        Goal::DeadlineMisses => Dimension::Fraction,
        Goal::Goodput => Dimension::BitsPerSecond,
        _ => Dimension::Seconds,
    };
    forebay_analysis::quantity(value, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits() {
        assert_eq!(factor(0.02), "÷ 50");
        assert_eq!(factor(1.25), "x 1.25");
        assert_eq!(quantity(0.208, Goal::P99), "208 ms");
        assert_eq!(quantity(4.13e-3, Goal::Mean), "4.13 ms");
        assert_eq!(quantity(9.6e9, Goal::Goodput), "9.6 Gbit/s");
        assert_eq!(quantity(0.0, Goal::P50), "0 s");
        assert_eq!(quantity(0.00025, Goal::DeadlineMisses), "0.025 %");
    }
}
