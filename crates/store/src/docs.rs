//! The tables of `docs/results.md`, written from the schema.

use crate::column::Table;
use crate::schema;
use std::fmt::Write;

/// Lines between which the generated part of the page stands.
const BEGIN: &str = "<!-- generated from crates/store/src/schema.rs: begin -->";
const END: &str = "<!-- generated from crates/store/src/schema.rs: end -->";

/// All tables with their columns, as Markdown.
pub fn markdown() -> String {
    let mut out = String::new();
    table(&mut out, &schema::FLOWS);
    table(&mut out, &schema::PORTS);
    table(&mut out, &schema::QUEUE);
    table(&mut out, &schema::TCP);
    table(&mut out, &schema::QUERIES);
    out
}

fn table<R>(out: &mut String, table: &Table<R>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "### `{}` (version {})\n\n{}\n", table.name, table.version, table.doc);
    let _ = writeln!(out, "| column | type | unit | meaning |\n|---|---|---|---|");
    for c in table.columns {
        let unit = if c.unit.is_empty() { "" } else { c.unit };
        let _ = writeln!(out, "| `{}` | {} | {unit} | {} |", c.name, c.type_name(), c.doc);
    }
    out.push('\n');
}

/// `page` with its generated part brought up to date; `None` when the page lacks the two marker lines.
pub fn replace_generated(page: &str) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}\n\n{}{END}{tail}", markdown()))
}
