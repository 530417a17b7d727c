//! Tables of texts, sortable by a click on a head.

use super::escape::text;
use crate::page::TitledGrid;
use std::fmt::Write;

/// Texts with more characters than this are broken into lines.
const LONG: usize = 44;
/// Steps of the scale of a heat map.
const STEPS: f64 = 6.0;

/// The box scrolls if the page is too narrow for the columns.
pub(super) fn render(titled: &TitledGrid, section: &str) -> String {
    let TitledGrid { title, grid } = titled;
    let (label, caption) = match title.as_str() {
        "" => (section, String::new()),
        title => (title, format!("<caption>{}</caption>", text(title))),
    };
    // A map keeps its order; other tables are sortable.
    let class = if grid.rows.iter().flatten().any(|c| c.shade.is_some()) { "grid map" } else { "grid sorted" };
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"{class}\">{caption}<thead><tr>",
        text(label)
    );
    let numbers = |c: usize| grid.rows.iter().any(|r| r.get(c).is_some_and(|x| x.value.is_some()));
    let class = |c: usize| if numbers(c) { " class=\"num\"" } else { "" };
    for (c, head) in grid.heads.iter().enumerate() {
        write!(out, "<th scope=\"col\"{}>{}</th>", class(c), text(head)).unwrap_or_default();
    }
    out += "</tr></thead><tbody>";
    for row in &grid.rows {
        out += "<tr>";
        for (c, cell) in row.iter().enumerate() {
            let value = cell.value.map_or_else(String::new, |v| format!(" data-value=\"{v}\""));
            // The page's policy forbids inline styles: there is a class for each step.
            let shade = cell.shade.map(|s| format!("h{}", (s * STEPS).round()));
            let long = (cell.text.chars().count() > LONG).then(|| "long".to_owned());
            let classes: Vec<String> = numbers(c).then(|| "num".to_owned()).into_iter().chain(shade).chain(long).collect();
            let classes = if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) };
            // Narrow windows show a row as a list, each cell with its head.
            let head = grid.heads.get(c).map_or("", String::as_str);
            write!(out, "<td{classes}{value} data-head=\"{}\">{}</td>", text(head), text(&cell.text)).unwrap_or_default();
        }
        out += "</tr>";
    }
    out + "</tbody></table></div>"
}
