//! Rendering of a page as one self-contained HTML file: no server, no network, no second file, no storage.

mod assets;
mod escape;
mod figures;
mod grid;
mod headline;
mod number;
mod prose;
mod symbols;
mod table;

use crate::page::Page;
use escape::{json, text};
use std::fmt::Write;

/// The page as HTML. Everything except the charts is readable without a script, including the charts' data.
///
/// A policy in the file allows only its own script and style sheet, by their hashes, and no loading, so that markup that escaped the escaping could
/// do nothing.
pub fn render(page: &Page) -> String {
    let (style, script) = (assets::style(), assets::SCRIPT);
    let title = text(&page.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
         <meta name=\"generator\" content=\"forebay {}\"><title>{title} – forebay</title><link rel=\"icon\" href=\"data:,\">\
         <style>{style}</style></head>\n<body>{}",
        assets::policy(&style, script),
        env!("CARGO_PKG_VERSION"),
        symbols::definitions()
    );
    let (network, sections): (Vec<_>, Vec<_>) = page.sections.iter().partition(|s| figures::is_topology(s));

    let mut contents = String::new();
    let mut body = String::new();
    let mut add = |id: &str, title: &str, html: String| {
        write!(contents, "<li><a href=\"#{}\">{}</a></li>", text(id), text(title)).unwrap_or_default();
        body += &html;
        body += "\n";
    };
    let plain = |id: &str, title: &str, html: String| open(id, title) + &html + "</section>";

    let short =
        format!("<section id=\"headline\" aria-label=\"In short\">{}{}</section>", headline::render(page), prose::notes(page));
    add("headline", "In short", short);
    for s in sections {
        add(&s.id, &s.title, figures::section(s));
    }
    if !page.table.rows.is_empty() {
        add("numbers", "All numbers", plain("numbers", "All numbers", table::render(page)));
    }
    for s in network {
        add(&s.id, &s.title, figures::section(s));
    }
    if !page.scenarios.is_empty() {
        add("scenario", "Scenario", plain("scenario", "Scenario", prose::scenarios(page)));
    }
    if !page.glossary.is_empty() {
        add("glossary", "Glossary", plain("glossary", "Glossary", prose::glossary(page)));
    }
    if !page.facts.is_empty() {
        add("about", "About this report", plain("about", "About this report", prose::facts(page)));
    }

    write!(
        out,
        "<a class=\"skip\" href=\"#headline\">Skip to the results</a>\
         <nav aria-label=\"Contents\"><p class=\"brand\"><b>forebay</b> report</p><ol>{contents}</ol></nav>\n\
         <main><header><h1>{title}</h1><p class=\"summary\">{}</p></header>\n{body}</main>\n\
         <script type=\"application/json\" id=\"subjects\">{}</script>\n<script>{script}</script></body></html>\n",
        text(&page.summary),
        json(&page.subjects)
    )
    .unwrap_or_default();
    out
}

/// Begins a section.
fn open(id: &str, title: &str) -> String {
    format!("<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h2 id=\"{0}-title\">{1}</h2>", text(id), text(title))
}

#[cfg(test)]
mod tests;
