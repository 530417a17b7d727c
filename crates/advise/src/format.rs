//! Numbers of an advice as text.

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

/// Formats a time, rate or fraction with three digits.
pub(crate) fn quantity(value: f64, goal: Goal) -> String {
    if goal == Goal::DeadlineMisses {
        return format!("{} %", three_digits(100.0 * value));
    }
    let (units, unit): (&[(f64, &str)], f64) = match goal {
        Goal::Goodput => (&[(1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")], 1.0),
        _ => (&[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")], 1e-9),
    };
    let (scale, name) = units.iter().find(|(s, _)| value >= *s).copied().unwrap_or((unit, units[units.len() - 1].1));
    format!("{} {name}", three_digits(value / scale))
}

fn three_digits(v: f64) -> String {
    let digits = match v {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 0.1 || v == 0.0 => 2,
        _ => 4,
    };
    format!("{v:.digits$}")
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
        assert_eq!(quantity(9.6e9, Goal::Goodput), "9.60 Gbps");
        assert_eq!(quantity(0.0, Goal::P50), "0.00 ns");
        assert_eq!(quantity(0.00025, Goal::DeadlineMisses), "0.0250 %");
    }
}
