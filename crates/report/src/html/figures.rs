//! Sections and their figures: headings and data, for the script to draw.

use super::escape::{code, json, text};
use crate::page::{Chart, Figure, Section};
use std::fmt::Write;

/// A section with its figures, without its heading.
pub(super) fn section(s: &Section) -> String {
    let mut out = String::new();
    if !s.text.is_empty() {
        write!(out, "<p class=\"lead\">{}</p>", code(&s.text)).unwrap_or_default();
    }
    if !s.grids.is_empty() {
        let tables: String = s.grids.iter().map(|g| super::grid::render(g, &s.title)).collect();
        write!(out, "<div class=\"grids\">{tables}</div>").unwrap_or_default();
    }
    if !s.figures.is_empty() {
        out += "<div class=\"figures\">";
        s.figures.iter().for_each(|f| out += &figure(f));
        out += "</div>";
    }
    out
}

/// True for the section of the network picture, which comes last.
pub(super) fn is_topology(s: &Section) -> bool {
    s.figures.iter().flat_map(|f| &f.views).any(|v| matches!(v.chart, Chart::Topology(_)))
}

fn figure(f: &Figure) -> String {
    let kind = match f.views.first().map(|v| &v.chart) {
        Some(Chart::Time(_)) => "time",
        Some(Chart::Lines(_)) => "lines",
        Some(Chart::Bars(_)) => "bars",
        Some(Chart::Lanes(_)) => "lanes full",
        Some(Chart::Topology(_)) => "topology",
        None => "none",
    };
    let id = text(&f.id);
    let mut out =
        format!("<figure class=\"{kind}\" id=\"fig-{id}\" data-figure=\"{id}\"><figcaption><h3>{}</h3>", text(&f.title));
    if !f.text.is_empty() {
        write!(out, "<p>{}</p>", code(&f.text)).unwrap_or_default();
    }
    write!(
        out,
        "</figcaption><div class=\"plot\"><noscript><p class=\"note\">This chart needs JavaScript; the numbers are in the table.</p>\
         </noscript></div><script type=\"application/json\">{}</script></figure>",
        json(f)
    )
    .unwrap_or_default();
    out
}
