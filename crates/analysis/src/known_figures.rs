//! Sentences about the figures of `[stop]`: the value with its interval and noise floor, and when it was known or why it is not.

use crate::dimension::Dimension;
use crate::format::{bold, count, number, prefix, quantity};
use forebay_store::KnownFigure;

/// One sentence for each figure, and the ratios between variants.
pub fn sentences(figures: &[KnownFigure]) -> Vec<String> {
    let variants = figures.iter().any(|f| f.variant != figures[0].variant);
    figures.iter().map(|f| sentence(f, variants)).chain(figures.iter().filter_map(|f| ratio(f, figures))).collect()
}

/// Ratio of a figure to that of the first variant, where both are known.
///
/// The bounds are those of independent estimates. Variants have the same arrivals, which makes their ratio more accurate than that, never less. Runs that end
/// together have the ratio itself as their figure.
fn ratio(f: &KnownFigure, figures: &[KnownFigure]) -> Option<String> {
    let first = figures.iter().find(|first| first.of == f.of)?;
    if !f.over.is_empty() || first.variant == f.variant || f.groups > 1 || !(first.known && f.known) {
        return None;
    }
    let (value, base) = (f.value?, first.value?);
    // Of two independent errors the squares of the logarithms add up.
    let error = |a: f64, b: f64| (a.ln().powi(2) + b.ln().powi(2)).sqrt().exp();
    let (up, down) = (error(f.high? / value, base / first.low?), error(value / f.low?, first.high? / base));
    let ratio = value / base;
    Some(format!(
        "{} of {} over that of {}: {} ({} to {}).",
        f.phrase,
        bold(&f.variant),
        first.variant,
        bold(&number(ratio)),
        number(ratio / down),
        number(ratio * up)
    ))
}

fn sentence(f: &KnownFigure, variants: bool) -> String {
    let whose = match (variants && f.over.is_empty(), f.groups > 1) {
        (false, false) => String::new(),
        (true, false) => format!("{}: ", bold(&f.variant)),
        (false, true) => format!("{}: ", bold(&f.transport)),
        (true, true) => format!("{}, {}: ", bold(&f.variant), bold(&f.transport)),
    };
    let over = if f.over.is_empty() { String::new() } else { format!(" of {} over that of {}:", bold(&f.variant), f.over) };
    let phrase = format!("{}{over}", f.phrase);
    let seeds = if f.runs > 1 { format!(" in {}", count(f.runs, "run")) } else { String::new() };
    let (end, duration) = (time(f.end_ns), time(f.duration_ns));
    let within = percent(f.within);
    let Some(value) = f.value else {
        let phrase = phrase.trim_end_matches(':');
        return format!("{whose}{phrase} is {}: {}{}.", bold("not known"), f.why_not, unseen(f));
    };
    let estimate = format!("{whose}{phrase} {}", estimate(f, value));
    let text = if f.known {
        format!("{estimate}, known after {end} of {duration}{seeds}")
    } else if f.below_floor {
        let floor = f.floor.unwrap_or_default();
        let part = percent((floor / value).abs());
        format!(
            "{estimate}, {} within {within}: that is below the noise floor, as link delays that are 1 % longer change the figure by {part}; request \
             at least {}",
            bold("refused"),
            percent(((floor / value).abs() * 100.0).ceil() / 100.0)
        )
    } else if f.by_budget {
        format!(
            "{estimate}, {} within {within} after {end} of {duration}{seeds}: the budget of {} of wall time was over; on another machine the run \
             ends at another time",
            bold("not known"),
            quantity(f.budget_s.unwrap_or_default(), Dimension::Seconds)
        )
    } else {
        let help = if f.follows { "request a higher accuracy" } else { "increase `duration` or `runs`" };
        format!("{estimate}, {} within {within} after {end}{seeds}: {help}", bold("not known"))
    };
    format!("{text}{}.", unseen(f))
}

/// `27.4 (26.1 to 28.8; floor 1.1)`, all in the unit of the value.
fn estimate(f: &KnownFigure, value: f64) -> String {
    let (factor, unit) = match (f.ratio, f.rate) {
        (true, _) => (1.0, ""),
        _ if f.packets => (1.0, " packets"),
        (false, true) => prefix(value, Dimension::BitsPerSecond),
        (false, false) => prefix(value, Dimension::Seconds),
    };
    let scaled = |x: f64| number(x / factor);
    let low = f.low.map_or_else(|| "?".to_owned(), scaled);
    let floor = f.floor.map(|floor| format!("; floor {}", number(round(floor / factor)))).unwrap_or_default();
    let range = match f.high {
        Some(high) => format!("{low} to {}", scaled(high)),
        None => format!("{low} or more"),
    };
    format!("{} ({range}{floor})", bold(&format!("{}{unit}", scaled(value))))
}

/// Rounds to two digits.
fn round(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    let scale = 10_f64.powf(1.0 - x.abs().log10().floor());
    (x * scale).round() / scale
}

fn percent(fraction: f64) -> String {
    format!("{} %", number(round(fraction * 100.0)))
}

fn time(ns: u64) -> String {
    quantity(ns as f64 * 1e-9, Dimension::Seconds)
}

fn unseen(f: &KnownFigure) -> String {
    f.unseen.as_ref().map_or_else(String::new, |(class, size)| {
        format!("; the largest size of {class}, {}, has not occurred", quantity(*size as f64, Dimension::Bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> KnownFigure {
        KnownFigure {
            variant: "dctcp".into(),
            groups: 1,
            phrase: "p99 slowdown of small messages".into(),
            ratio: true,
            within: 0.05,
            value: Some(27.4),
            low: Some(26.1),
            high: Some(28.8),
            floor: Some(1.1),
            known: true,
            runs: 1,
            end_ns: 212_000_000,
            duration_ns: 5_000_000_000,
            ..KnownFigure::default()
        }
    }

    #[test]
    fn known_figure_sentence() {
        let text = "p99 slowdown of small messages **27.4** (26.1 to 28.8; floor 1.1), known after 212 ms of 5 s.";
        assert_eq!(sentences(&[figure()]), [text]);
        let other =
            KnownFigure { variant: "cubic".into(), runs: 3, value: Some(54.8), low: Some(52.2), high: Some(57.6), ..figure() };
        let two = sentences(&[figure(), other]);
        // Both bounds are 5 % away: sqrt(2) times that.
        assert_eq!(two[2], "p99 slowdown of small messages of **cubic** over that of dctcp: **2** (1.87 to 2.14).");
        assert!(two[0].starts_with("**dctcp**: p99") && two[1].ends_with("of 5 s in 3 runs."), "{two:?}");
        let times =
            KnownFigure { ratio: false, value: Some(1.52e-3), low: Some(1.4e-3), high: Some(1.6e-3), floor: None, ..figure() };
        assert!(sentences(&[times])[0].contains("**1.52 ms** (1.4 to 1.6), known"));
        let (value, low, high) = (Some(9.4e9), Some(9.3e9), Some(9.5e9));
        let phrase = "mean goodput".into();
        let goodput = KnownFigure { ratio: false, rate: true, value, low, high, floor: Some(1e7), phrase, ..figure() };
        assert!(sentences(&[goodput])[0].starts_with("mean goodput **9.4 Gbit/s** (9.3 to 9.5; floor 0.01), known"));
    }

    #[test]
    fn ratio_between_variants() {
        let ratio = KnownFigure {
            variant: "cubic".into(),
            over: "dctcp".into(),
            value: Some(2.0),
            low: Some(1.91),
            high: Some(2.09),
            floor: Some(0.03),
            ..figure()
        };
        let text = "p99 slowdown of small messages of **cubic** over that of dctcp: **2** (1.91 to 2.09; floor 0.03), known after 212 ms of 5 s.";
        assert_eq!(sentences(std::slice::from_ref(&ratio)), [text]);
        let bbr = KnownFigure { variant: "bbr".into(), value: None, why_not: "none has started".into(), ..ratio.clone() };
        assert_eq!(
            sentences(&[ratio, bbr])[1],
            "p99 slowdown of small messages of **bbr** over that of dctcp is **not known**: none has started."
        );
    }

    #[test]
    fn reasons_of_unknown_figures() {
        let unknown = KnownFigure { known: false, ..figure() };
        let refused = sentences(&[KnownFigure { below_floor: true, floor: Some(2.1), ..unknown.clone() }]);
        assert!(
            refused[0].contains("below the noise floor") && refused[0].contains("7.7 %; request at least 8 %"),
            "{refused:?}"
        );
        let budget = KnownFigure { by_budget: true, budget_s: Some(60.0), high: None, ..unknown.clone() };
        let budget = sentences(&[budget]);
        assert!(budget[0].contains("26.1 or more") && budget[0].contains("budget of 60 s of wall time"), "{budget:?}");
        assert!(sentences(std::slice::from_ref(&unknown))[0].contains("increase `duration`"));
        let none =
            KnownFigure { value: None, why_not: "none has started".into(), unseen: Some(("bulk".into(), 30_000_000)), ..unknown };
        assert_eq!(
            sentences(&[none]),
            [
                "p99 slowdown of small messages is **not known**: none has started; the largest size of bulk, 30 MB, has not occurred."
            ]
        );
    }
}
