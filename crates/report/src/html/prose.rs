//! Text sections: scenario, glossary, facts.

use super::escape::{self, text};
use crate::page::{Page, ScenarioText};
use std::fmt::Write;

/// Notes on the reading of the scenario.
pub(super) fn notes(page: &Page) -> String {
    if page.notes.is_empty() {
        return String::new();
    }
    let open = if page.notes.len() <= 2 { " open" } else { "" };
    let count = match page.notes.len() {
        1 => "One remark".to_owned(),
        n => format!("{n} remarks"),
    };
    let items: String = page.notes.iter().map(|n| format!("<li>{}</li>", escape::code(n))).collect();
    format!("<details class=\"notes paper\"{open}><summary>{count} on the scenario</summary><ul>{items}</ul></details>")
}

/// Scenario files, their changes, and the resolved scenarios.
pub(super) fn scenarios(page: &Page) -> String {
    page.scenarios.iter().map(scenario).collect()
}

fn scenario(s: &ScenarioText) -> String {
    let mut out = format!("<h3 class=\"file\">{}</h3>", text(&s.file));
    if !s.overrides.is_empty() {
        out += "<p>Changed on the command line:</p><ul class=\"code\">";
        for o in &s.overrides {
            write!(out, "<li><code>{}</code></li>", text(o)).unwrap_or_default();
        }
        out += "</ul>";
    }
    write!(out, "<details class=\"paper\"><summary>The file</summary>{}</details>", code(&s.text)).unwrap_or_default();
    for (variant, toml) in &s.resolved {
        let of = if variant.is_empty() { String::new() } else { format!(": {}", text(variant)) };
        write!(out, "<details><summary>With every default{of}</summary>{}</details>", code(toml)).unwrap_or_default();
    }
    out
}

/// Preformatted text in a scrolling box.
fn code(s: &str) -> String {
    format!("<pre tabindex=\"0\"><code>{}</code></pre>", text(s))
}

/// Meaning of each number.
pub(super) fn glossary(page: &Page) -> String {
    let mut out = String::from("<dl class=\"glossary\">");
    for t in &page.glossary {
        let unit = if t.unit.is_empty() { String::new() } else { format!(" <span class=\"unit\">{}</span>", text(&t.unit)) };
        write!(out, "<div><dt>{}{unit}</dt><dd>{}</dd></div>", text(&t.name), escape::code(&t.text)).unwrap_or_default();
    }
    out + "</dl>"
}

/// Origin of the numbers.
pub(super) fn facts(page: &Page) -> String {
    let mut out = String::from("<dl class=\"facts\">");
    for f in &page.facts {
        write!(out, "<div><dt>{}</dt><dd>{}</dd></div>", text(&f.label), text(&f.value)).unwrap_or_default();
    }
    out + "</dl>"
}
