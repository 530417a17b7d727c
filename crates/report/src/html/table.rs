//! Table of all metrics.

use super::escape::{code, text};
use super::headline::number;
use super::number::Scale;
use super::symbols;
use crate::page::Page;
use std::fmt::Write;

/// From this number of subjects on columns are narrow: the unit is below the metric, and the interval below its mean.
const MANY: usize = 6;

/// Metrics in rows, subjects in columns. The box scrolls if the page is too narrow.
pub(super) fn render(page: &Page) -> String {
    let class = if page.subjects.len() < MANY { "all" } else { "all many" };
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All numbers\"><table class=\"{class}\"><thead><tr>",
    );
    out += "<th scope=\"col\">metric</th><th scope=\"col\" class=\"unit\">unit</th>";
    for (i, s) in page.subjects.iter().enumerate() {
        write!(out, "<th scope=\"col\" class=\"num\">{}{}</th>", symbols::marker(page.style(i)), text(&s.name))
            .unwrap_or_default();
    }
    out += "</tr></thead><tbody>";
    for row in &page.table.rows {
        let scale = Scale::of(row.unit, row.cells.iter().flatten());
        // The unit is included twice: narrow windows show it below the name, others in its own column.
        let label = match row.help.as_str() {
            "" => text(&row.label),
            help => format!("<details><summary>{}</summary><p>{}</p></details>", text(&row.label), code(help)),
        };
        write!(out, "<tr><th scope=\"row\">{label}<span class=\"unit\">{0}</span></th><td class=\"unit\">{0}</td>", scale.name)
            .unwrap_or_default();
        for i in 0..page.subjects.len() {
            let cell = match row.cells.get(i).copied().flatten() {
                Some(c) => number(&scale, &c),
                None => "<span class=\"none\">–</span><span class=\"h\"></span>".to_owned(),
            };
            // Narrow windows show a row as a list, each number with its subject.
            let head = text(&page.subjects[i].name);
            write!(out, "<td class=\"num\" data-head=\"{head}\"><span>{cell}</span></td>").unwrap_or_default();
        }
        out += "</tr>";
    }
    out += "</tbody></table></div>";
    let cells = || page.table.rows.iter().flat_map(|r| &r.cells).flatten();
    if cells().any(|c| c.range.is_some()) {
        out += "<p class=\"note\">± (+ and −) is the range over the seeds: with fewer than five runs, a confidence interval would say little.</p>";
    } else if cells().any(|c| c.ends.is_some()) {
        out += "<p class=\"note\">± is half the width of the 95 % confidence interval of the mean over seeds; asymmetric intervals (+ and −) are clipped at physical bounds.</p>";
    }
    out
}
