//! Headline sentences, and bars that need no script.

use super::escape::{bold, code, text};
use super::number::Scale;
use super::symbols;
use crate::page::{Cell, HeadlineChart, Page};
use std::fmt::Write;

/// Names with more characters than this are broken into lines.
const LONG: usize = 24;

/// Maximum number of names in the line of subjects without a value.
const MAX_WITHOUT: usize = 4;

/// Sentences, the chart of the first metric, and the next steps; the charts of other metrics are folded if sections are.
pub(super) fn render(page: &Page) -> String {
    let mut out = String::new();
    for (i, sentence) in page.headline.sentences.iter().enumerate() {
        let class = if i == 0 { " class=\"first\"" } else { "" };
        write!(out, "<p{class}>{}</p>", bold(sentence)).unwrap_or_default();
    }
    let shown = if page.folded.is_empty() { page.headline.charts.len() } else { 1 };
    let (first, others) = page.headline.charts.split_at(shown.min(page.headline.charts.len()));
    let draw = |charts: &[HeadlineChart]| -> String { charts.iter().map(|c| chart(c, page)).collect() };
    write!(out, "<div class=\"compare\">{}</div>", draw(first)).unwrap_or_default();
    if !page.next.is_empty() {
        let steps: String = page.next.iter().map(|s| format!("<li>{}</li>", code(s))).collect();
        write!(out, "<ul class=\"next\" aria-label=\"Next steps\">{steps}</ul>").unwrap_or_default();
    }
    if !others.is_empty() {
        let charts = draw(others);
        write!(
            out,
            "<details class=\"more paper\"><summary>Other metrics</summary><div class=\"compare\">{charts}</div></details>"
        )
        .unwrap_or_default();
    }
    out
}

/// One metric: a table whose middle column is a bar, so that text keeps its size at any width and the table is readable without images.
fn chart(chart: &HeadlineChart, page: &Page) -> String {
    let cells = || chart.values.iter().flatten();
    let scale = Scale::of(chart.unit, cells());
    let largest = |value: &dyn Fn(&Cell) -> f64| cells().map(value).filter(|v| v.is_finite()).fold(0.0, f64::max);
    // An interval that is wider than all bars leaves the picture instead of shrinking them.
    let top = largest(&|c| interval(c).map_or(c.mean, |e| e.1)).min(2.0 * largest(&|c| c.mean));
    let mut caption = format!("<b>{}</b>", text(&chart.title));
    for part in [scale.name, &chart.better].iter().filter(|p| !p.is_empty()) {
        write!(caption, " <span>{}</span>", text(part)).unwrap_or_default();
    }
    let mut out = format!("<table class=\"bar\"><caption>{caption}</caption><tbody>");
    let mut without: Vec<String> = Vec::new();
    for (i, subject) in page.subjects.iter().enumerate() {
        let Some(c) = chart.values.get(i).copied().flatten() else {
            without.push(text(&subject.name));
            continue;
        };
        let (drawing, value) = (bar(&c, top), number(&scale, &c));
        let long = if subject.name.chars().count() > LONG { " class=\"long\"" } else { "" };
        let (class, mark, name) = (symbols::class(page.style(i)), symbols::marker(page.style(i)), text(&subject.name));
        write!(
            out,
            "<tr class=\"{class}\"><th scope=\"row\"{long}>{mark}{name}</th><td class=\"draw\">\
             <svg width=\"100%\" height=\"18\" aria-hidden=\"true\">{drawing}</svg></td><td class=\"num\">{value}</td></tr>"
        )
        .unwrap_or_default();
    }
    out += "</tbody>";
    if !without.is_empty() {
        // One line instead of an empty row for each.
        let more = without.len().saturating_sub(MAX_WITHOUT);
        let mut names = without[..without.len() - more].join("; ");
        if more > 0 {
            write!(names, "; {more} more").unwrap_or_default();
        }
        write!(out, "<tfoot><tr><td colspan=\"3\" class=\"none\">No value: {names}</td></tr></tfoot>").unwrap_or_default();
    }
    out + "</table>"
}

/// The interval that the text beside the bar shows: the range of a few seeds, else the confidence interval.
fn interval(cell: &Cell) -> Option<(f64, f64)> {
    cell.range.or(cell.ends)
}

/// The bar and its interval, in percent of the width. Bars start at 0: their length is the value.
fn bar(cell: &Cell, top: f64) -> String {
    if top <= 0.0 || !cell.mean.is_finite() {
        return String::new();
    }
    let at = |v: f64| 98.0 * v.clamp(0.0, top) / top;
    let mut out = format!("<rect class=\"fill\" y=\"3\" height=\"12\" width=\"{:.2}%\"/>", at(cell.mean));
    if let Some((low, high)) = interval(cell).filter(|(low, high)| low < high) {
        let (from, to) = (at(low), at(high));
        // Drawn twice: a wide line in the background color separates the thin one from the bar.
        for class in ["halo", "whisker"] {
            write!(out, "<g class=\"{class}\"><line x1=\"{from:.2}%\" x2=\"{to:.2}%\" y1=\"9\" y2=\"9\"/>").unwrap_or_default();
            // No cap where the interval continues beyond the picture.
            for (end, inside) in [(from, low >= 0.0), (to, high <= top)] {
                if inside {
                    write!(out, "<line x1=\"{end:.2}%\" x2=\"{end:.2}%\" y1=\"5\" y2=\"13\"/>").unwrap_or_default();
                }
            }
            out += "</g>";
        }
    }
    out
}

/// A mean and its interval, each in its own box for alignment.
pub(super) fn number(scale: &Scale, cell: &Cell) -> String {
    let (mean, spread) = scale.show(cell);
    let mean = if cell.at_least { format!("≥ {mean}") } else { mean };
    match spread {
        Some(s) => format!("<span class=\"m\">{mean}</span><span class=\"h\"> {s}</span>"),
        None => format!("<span class=\"m\">{mean}</span>"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_length_and_interval() {
        let s = bar(&Cell { mean: 50.0, ends: Some((40.0, 60.0)), ..Cell::default() }, 100.0);
        assert!(s.contains("width=\"49.00%\"") && s.contains("x1=\"39.20%\" x2=\"58.80%\""), "{s}");
    }

    #[test]
    fn clipped_interval_has_no_cap() {
        let s = bar(&Cell { mean: 50.0, ends: Some((-30.0, 130.0)), ..Cell::default() }, 100.0);
        assert_eq!(s.matches("<line").count(), 2, "{s}");
        assert!(s.contains("x1=\"0.00%\" x2=\"98.00%\""), "{s}");
    }

    #[test]
    fn nan_is_not_drawn() {
        assert_eq!(bar(&Cell { mean: f64::NAN, ..Cell::default() }, 1.0), "");
        assert_eq!(bar(&Cell::default(), 0.0), "");
    }
}
