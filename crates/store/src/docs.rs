//! Generates the tables of `docs/reference/results.md` from the schema.

use crate::column::TableSchema;
use crate::{schema, summary_table};
use arrow_schema::DataType;
use std::fmt::Write;

/// Markers around the generated part of the page.
const BEGIN: &str = "<!-- generated from crates/store/src/schema: begin -->";
const END: &str = "<!-- generated from crates/store/src/schema: end -->";

/// All tables with their columns, as Markdown.
pub fn markdown() -> String {
    let mut out = String::new();
    table(&mut out, &schema::FLOWS);
    table(&mut out, &schema::PORTS);
    table(&mut out, &schema::QUEUE);
    table(&mut out, &schema::TCP);
    table(&mut out, &schema::QUERIES);
    table(&mut out, &schema::TIMEOUTS);
    table(&mut out, &schema::GOODPUT);
    table(&mut out, &schema::EVENTS);
    summary(&mut out);
    out
}

fn summary(out: &mut String) {
    let columns: Vec<_> = summary_table::columns();
    head(out, "summary", summary_table::VERSION, summary_table::DOC);
    for (name, data_type, unit, doc) in columns {
        let kind = match data_type {
            DataType::Int64 => "int64",
            DataType::UInt64 => "uint64",
            DataType::Float64 => "float64",
            _ => "utf8",
        };
        line(out, name, kind, unit, doc);
    }
    out.push('\n');
}

fn table<R>(out: &mut String, table: &TableSchema<R>) {
    head(out, table.name, table.version, table.doc);
    for c in table.columns {
        line(out, c.name, c.type_name(), c.unit, c.doc);
    }
    out.push('\n');
}

// Writing to a string cannot fail, so its results are ignored below.

fn head(out: &mut String, name: &str, version: u32, doc: &str) {
    let _ = writeln!(out, "### `{name}` (version {version})\n\n{doc}\n");
    let _ = writeln!(out, "| column | type | unit | meaning |\n|---|---|---|---|");
}

fn line(out: &mut String, name: &str, kind: &str, unit: &str, doc: &str) {
    let _ = writeln!(out, "| `{name}` | {kind} | {unit} | {doc} |");
}

/// `page` with its generated part replaced; `None` when the page lacks the two marker lines.
pub fn replace_generated(page: &str) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}\n\n{}{END}{tail}", markdown()))
}
