//! Document as a tree of values with their positions.

use crate::text::error::Sink;
use crate::text::message_text::short;
use crate::text::source::At;
use serde_json::{Map, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Maximum number of syntax errors reported for one file; further ones usually follow from the first.
const MAX_SYNTAX_ERRORS: usize = 10;

/// Value and its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub at: At,
    pub raw: Raw,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Raw {
    Text(String),
    Int(i64),
    /// An integer beyond 64 bits, as text.
    OutOfRange(String),
    Float(f64),
    Bool(bool),
    Date(String),
    Array(Vec<Node>),
    Table(TomlTable),
}

/// Keys in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TomlTable {
    pub items: Vec<Item>,
}

/// One key and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub key: String,
    pub key_at: At,
    pub node: Node,
}

impl TomlTable {
    pub(crate) fn get(&self, key: &str) -> Option<&Item> {
        self.items.iter().find(|i| i.key == key)
    }

    /// Table as written.
    pub(crate) fn json(&self) -> Json {
        Json::Object(self.items.iter().map(|i| (i.key.clone(), i.node.json())).collect::<Map<_, _>>())
    }
}

impl Node {
    /// Description of the value for messages.
    pub(crate) fn describe(&self) -> String {
        match &self.raw {
            Raw::Text(s) => format!("the text \"{}\"", short(s)),
            Raw::Int(i) => format!("{i}"),
            Raw::OutOfRange(s) => short(s),
            Raw::Float(f) => format!("{f}"),
            Raw::Bool(b) => format!("{b}"),
            Raw::Date(d) => format!("the date {d}"),
            Raw::Array(a) => format!("a list of {}", a.len()),
            Raw::Table(_) => "a table".into(),
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Raw::Text(s) = &self.raw { Some(s) } else { None }
    }

    /// Value as written, for the echo.
    pub(crate) fn json(&self) -> Json {
        match &self.raw {
            Raw::Text(s) | Raw::OutOfRange(s) | Raw::Date(s) => Json::String(s.clone()),
            Raw::Int(i) => Json::from(*i),
            Raw::Float(f) => Json::from(*f),
            Raw::Bool(b) => Json::Bool(*b),
            Raw::Array(a) => Json::Array(a.iter().map(Node::json).collect()),
            Raw::Table(t) => t.json(),
        }
    }
}

/// Reads a document; syntax errors go to `sink`.
pub(crate) fn parse(text: &str, source: u32, sink: &mut Sink) -> TomlTable {
    let (table, errors) = DeTable::parse_recoverable(text);
    if let (false, Some(kind)) = (errors.is_empty(), other_kind(text)) {
        let help = "a scenario is TOML; it names lists of flows in `file` of a workload `replay`, and tables of sizes in `sizes = { cdf = \"FILE\" }`";
        let message = format!("this file looks like {kind}, not like a scenario");
        sink.error(place(source, 0, &(0..0)), message, "here", Some(help.to_owned()));
        return TomlTable::default();
    }
    for e in errors.iter().take(MAX_SYNTAX_ERRORS) {
        let span = e.span().unwrap_or(text.len()..text.len());
        let at = place(source, 0, &span);
        sink.error(at, format!("not valid TOML: {}", short(e.message().lines().next().unwrap_or(""))), "here", None);
    }
    if errors.is_empty() { convert_table(table.get_ref(), source, 0) } else { TomlTable::default() }
}

/// Format of a text that is not TOML, if it is a known one.
fn other_kind(text: &str) -> Option<&'static str> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    if first.starts_with('[') || first.contains('=') {
        return None;
    }
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    forebay_experiment::workload::file_kind(first).or_else(|| match first.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [one] if is_number(one) => Some("a list of flows (HPCC)"),
        [one] if one.contains(',') => Some("a CSV file"),
        [a, b] if is_number(a) && is_number(b) => Some("a table of sizes"),
        _ => None,
    })
}

/// Reads one value, such as the right side of a `--set`; `None` if it is not TOML.
pub(crate) fn parse_value(text: &str, source: u32, offset: usize) -> Option<Node> {
    let value = DeValue::parse(text).ok()?;
    Some(convert(&value, source, offset))
}

/// Reads a value of the registries' defaults or the command line: TOML, or a bare word that stands for a string.
pub(crate) fn parse_loose(text: &str, source: u32, offset: usize) -> Node {
    let at = place(source, offset, &(0..text.len()));
    let mut node = parse_value(text, source, offset).unwrap_or_else(|| Node { at, raw: Raw::Text(text.trim().to_owned()) });
    node.at = at;
    node
}

fn place(source: u32, offset: usize, span: &std::ops::Range<usize>) -> At {
    At { source, start: (offset + span.start) as u32, end: (offset + span.end) as u32 }
}

fn convert(value: &Spanned<DeValue<'_>>, source: u32, offset: usize) -> Node {
    let raw = match value.get_ref() {
        DeValue::String(s) => Raw::Text(s.to_string()),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(v) => Raw::Int(v),
            Err(_) => Raw::OutOfRange(i.to_string()),
        },
        DeValue::Float(f) => f.as_str().parse().map_or_else(|_| Raw::OutOfRange(f.to_string()), Raw::Float),
        DeValue::Boolean(b) => Raw::Bool(*b),
        DeValue::Datetime(d) => Raw::Date(d.to_string()),
        DeValue::Array(a) => Raw::Array(a.iter().map(|v| convert(v, source, offset)).collect()),
        DeValue::Table(t) => Raw::Table(convert_table(t, source, offset)),
    };
    Node { at: place(source, offset, &value.span()), raw }
}

/// Recursion is bounded: the TOML reader refuses more than 80 levels.
fn convert_table(table: &DeTable<'_>, source: u32, offset: usize) -> TomlTable {
    let mut items: Vec<Item> = table
        .iter()
        .map(|(k, v)| Item {
            key: k.get_ref().to_string(),
            key_at: place(source, offset, &k.span()),
            node: convert(v, source, offset),
        })
        .collect();
    items.sort_by_key(|i| i.key_at);
    TomlTable { items }
}
