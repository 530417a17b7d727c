//! Differences of compared results from the base: points with intervals on a common logarithmic axis, drawn without a script.

use super::escape::text;
use super::headline::number as show;
use super::number::Scale;
use super::symbols;
use crate::page::{Change, Differences, Page};
use std::fmt::Write;

/// Intervals end at most at this multiple beyond the outermost points.
const REACH: f64 = 3.0;
/// The axis reaches at least from 1 / `LEAST` to `LEAST`.
const LEAST: f64 = 1.1;
/// Margin at both ends, as a fraction of the width.
const MARGIN: f64 = 0.04;

/// A table whose column of drawings shares one axis.
pub(super) fn render(page: &Page, d: &Differences) -> String {
    let axis = Axis::of(d);
    let mut out =
        String::from("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Differences\"><table class=\"diff\">");
    write!(
        out,
        "<thead><tr><th scope=\"col\"></th><th scope=\"col\" class=\"num\">{}</th><th scope=\"col\" class=\"num\">result</th>\
         <td class=\"draw\">{}</td><th scope=\"col\">change</th></tr></thead><tbody>",
        text(&d.base),
        axis.labels()
    )
    .unwrap_or_default();
    // A quantity of a single result needs no line for its name.
    let several = d.quantities.iter().any(|q| q.changes.len() > 1);
    for q in &d.quantities {
        if several {
            write!(out, "<tr class=\"of\"><th scope=\"rowgroup\" colspan=\"5\">{}</th></tr>", text(&q.title)).unwrap_or_default();
        }
        let scale = Scale::of(q.unit, q.changes.iter().flat_map(|c| [&c.base, &c.value]));
        let unit = if scale.name.is_empty() { String::new() } else { format!(" {}", text(scale.name)) };
        for c in &q.changes {
            let style = page.style(c.subject);
            let name = if several { format!("{}{}", symbols::marker(style), text(&c.name)) } else { text(&q.title) };
            let value = |cell| format!("<span>{}{unit}</span>", show(&scale, cell));
            write!(
                out,
                "<tr class=\"{}\"><th scope=\"row\">{name}</th><td class=\"num\" data-head=\"{}\">{}</td>\
                 <td class=\"num\" data-head=\"{}\">{}</td><td class=\"draw\">{}</td><td class=\"words\">{}</td></tr>",
                symbols::class(style),
                text(&d.base),
                value(&c.base),
                text(&c.name),
                value(&c.value),
                axis.draw(c),
                text(&c.words)
            )
            .unwrap_or_default();
        }
    }
    write!(out, "</tbody></table></div><p class=\"note\">{}</p>", text(&d.note)).unwrap_or_default();
    out
}

/// The common axis.
struct Axis {
    low: f64,
    high: f64,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    fn of(d: &Differences) -> Axis {
        let changes = || d.quantities.iter().flat_map(|q| &q.changes);
        let ratios = || changes().filter_map(|c| c.ratio);
        let (least, most) = (ratios().fold(1.0 / LEAST, f64::min), ratios().fold(LEAST, f64::max));
        let ends = || changes().filter_map(|c| c.ends);
        let low = ends().map(|e| e.0).fold(least, f64::min).max(least / REACH);
        let high = ends().map(|e| e.1).fold(most, f64::max).min(most * REACH);
        Axis { low, high, ticks: ticks(low, high) }
    }

    /// Place of a ratio, in percent of the width.
    fn at(&self, ratio: f64) -> f64 {
        let part = (ratio.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln();
        100.0 * (MARGIN + (1.0 - 2.0 * MARGIN) * part)
    }

    fn labels(&self) -> String {
        let mut out = String::from("<svg width=\"100%\" height=\"16\" aria-hidden=\"true\">");
        for (at, label) in &self.ticks {
            write!(out, "<text x=\"{:.2}%\" y=\"12\" text-anchor=\"middle\">{}</text>", self.at(*at), text(label))
                .unwrap_or_default();
        }
        out + "</svg>"
    }

    fn draw(&self, c: &Change) -> String {
        let mut out = String::from("<svg width=\"100%\" height=\"20\" aria-hidden=\"true\">");
        for (at, _) in &self.ticks {
            let class = if *at == 1.0 { "base" } else { "grid" };
            let x = self.at(*at);
            write!(out, "<line class=\"{class}\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"0\" y2=\"20\"/>").unwrap_or_default();
        }
        if let Some((low, high)) = c.ends.filter(|_| c.ratio.is_some()) {
            let (from, to) = (self.at(low), self.at(high));
            write!(out, "<g class=\"interval\"><line x1=\"{from:.2}%\" x2=\"{to:.2}%\" y1=\"10\" y2=\"10\"/>")
                .unwrap_or_default();
            // No cap where the interval continues beyond the picture.
            for (x, inside) in [(from, low >= self.low), (to, high <= self.high)] {
                if inside {
                    write!(out, "<line x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"6\" y2=\"14\"/>").unwrap_or_default();
                }
            }
            out += "</g>";
        }
        if let Some(ratio) = c.ratio {
            let class = if c.clear { "point" } else { "point open" };
            write!(out, "<circle class=\"{class}\" cx=\"{:.2}%\" cy=\"10\" r=\"4.5\"/>", self.at(ratio)).unwrap_or_default();
        }
        out + "</svg>"
    }
}

/// Ticks: powers of ten for a wide axis, 2 and 5 between them for a narrower one, else percentages.
fn ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let inside = |r: &f64| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(r);
    let multiple = |r: f64| match r {
        1.0 => "same".to_owned(),
        r if r < 1.0 => format!("÷ {}", forebay_analysis::number(1.0 / r)),
        r => format!("× {}", forebay_analysis::number(r)),
    };
    let span = high / low;
    if span > 4.0 {
        // At most about eight labels.
        let factors: &[f64] = if span > 100.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let every = ((span.log10() / 7.0).ceil() as i32).max(1);
        let decades = (-12..=12).filter(|e| e % every == 0);
        // Powers of ten of negative exponents as quotients, so that 1 / 10 is 0.1.
        let power = |e: i32| if e < 0 { 1.0 / 10f64.powi(-e) } else { 10f64.powi(e) };
        let mut all: Vec<f64> = decades.flat_map(|e| factors.iter().map(move |f| power(e) * f)).collect();
        all.retain(inside);
        return all.into_iter().map(|r| (r, multiple(r))).collect();
    }
    let step = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0].into_iter().find(|s| (high - low) * 100.0 / s <= 7.0).unwrap_or(100.0);
    let count = |room: f64| (room * 100.0 / step + 1e-9).floor() as i32;
    let label = |k: i32| match k {
        0 => "same".to_owned(),
        k => format!("{}{} %", if k < 0 { "−" } else { "+" }, forebay_analysis::number(f64::from(k.abs()) * step)),
    };
    (-count(1.0 - low)..=count(high - 1.0)).map(|k| (1.0 + f64::from(k) * step / 100.0, label(k))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Cell, Dimension, Quantity, Subject};

    fn change(subject: usize, ratio: Option<f64>, ends: Option<(f64, f64)>) -> Change {
        let clear = ends.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
        let (base, value) = (Cell { mean: 1.0, ..Cell::default() }, Cell { mean: 2.0, ..Cell::default() });
        Change { subject, name: format!("s{subject}"), base, value, ratio, ends, clear, words: "words".into() }
    }

    fn of(changes: Vec<Change>) -> Differences {
        let quantities = vec![Quantity { title: "median".into(), unit: Dimension::Seconds, changes }];
        Differences { base: "b".into(), quantities, note: "note".into() }
    }

    fn labels(low: f64, high: f64) -> Vec<String> {
        ticks(low, high).into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn ticks_suit_the_span() {
        assert_eq!(labels(0.9, 1.12), ["−10 %", "−5 %", "same", "+5 %", "+10 %"]);
        assert_eq!(labels(0.4, 2.5), ["÷ 2", "same", "× 2"]);
        assert_eq!(labels(0.005, 12.0), ["÷ 100", "÷ 10", "same", "× 10"]);
    }

    #[test]
    fn points_and_intervals_on_one_axis() {
        let page = Page { subjects: vec![Subject::default(), Subject::default(), Subject::default()], ..Page::default() };
        let d =
            of(vec![change(1, Some(0.1), Some((0.05, 0.2))), change(2, Some(1.1), Some((0.001, 9.0))), change(1, None, None)]);
        let html = render(&page, &d);
        assert_eq!(html.matches("class=\"point\"").count(), 1, "{html}");
        assert_eq!(html.matches("class=\"point open\"").count(), 1);
        // The name of the quantity, and a row for each result.
        assert_eq!(html.matches("<tr").count(), 1 + 1 + 3);
        let axis = Axis::of(&d);
        assert!((axis.low - 0.1 / REACH).abs() < 1e-12 && axis.high <= 1.1 * REACH + 1e-12, "{} {}", axis.low, axis.high);
        assert_eq!(axis.draw(&d.quantities[0].changes[1]).matches("y1=\"6\"").count(), 0, "it continues at both ends");
        assert_eq!(axis.at(axis.low), 100.0 * MARGIN);
    }

    #[test]
    fn single_result_has_no_group_rows() {
        let page = Page { subjects: vec![Subject::default(), Subject::default()], ..Page::default() };
        let html = render(&page, &of(vec![change(1, Some(2.0), None)]));
        assert!(html.contains("<th scope=\"row\">median</th>") && !html.contains("class=\"of\""), "{html}");
    }
}
