//! Rendering of a page as one self-contained HTML file: no server, no network, no second file, no storage.

mod assets;
mod differences;
mod escape;
mod figures;
mod grid;
mod headline;
mod number;
mod prose;
mod symbols;
mod table;

use crate::page::{Page, Section};
use escape::{json, text};
use forebay_store::sweep::PAGE_GENERATOR;
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
         {PAGE_GENERATOR}{}\"><title>{title} – forebay</title><link rel=\"icon\" href=\"data:,\">\
         <style>{style}</style></head>\n<body>{}",
        assets::policy(&style, script),
        env!("CARGO_PKG_VERSION"),
        symbols::definitions()
    );
    let (network, sections): (Vec<_>, Vec<_>) = page.sections.iter().partition(|s| figures::is_topology(s));

    let mut contents = String::new();
    let mut body = String::new();
    let mut list = |id: &str, title: &str, html: String| {
        write!(contents, "<li><a href=\"#{}\">{}</a></li>", text(id), text(title)).unwrap_or_default();
        body += &html;
        body += "\n";
    };
    let short =
        format!("<section id=\"headline\" aria-label=\"In short\">{}{}</section>", headline::render(page), prose::notes(page));
    list("headline", "In short", short);
    // The sections after the questions are reference: they are folded where some question is.
    let reference = !page.folded.is_empty();
    let mut add = |id: &str, title: &str, html: String, folded: bool| list(id, title, section(id, title, &html, folded));
    let folded = |s: &Section| page.folded.contains(&s.id);
    if let Some(d) = &page.differences {
        add("differences", "How large are the differences?", differences::render(page, d), false);
    }
    for s in sections {
        add(&s.id, &s.title, figures::section(s), folded(s));
    }
    if !page.table.rows.is_empty() {
        add("numbers", "All numbers", table::render(page), reference);
    }
    for s in network {
        add(&s.id, &s.title, figures::section(s), folded(s));
    }
    if !page.scenarios.is_empty() {
        add("scenario", "Scenario", prose::scenarios(page), reference);
    }
    if !page.glossary.is_empty() {
        add("glossary", "Glossary", prose::glossary(page), reference);
    }
    if !page.facts.is_empty() {
        add("about", "About this report", prose::facts(page), reference);
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

/// A section; folded, its heading opens it.
fn section(id: &str, title: &str, html: &str, folded: bool) -> String {
    let (id, title) = (text(id), text(title));
    let (before, after) = if folded { ("<details class=\"fold paper\"><summary>", "</summary>") } else { ("", "") };
    let end = if folded { "</details>" } else { "" };
    format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-title\">{before}<h2 id=\"{id}-title\">{title}</h2>{after}{html}{end}</section>"
    )
}

#[cfg(test)]
mod tests;
