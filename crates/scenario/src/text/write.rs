//! Writer of TOML text.

use serde_json::{Map, Value as Json};
use std::fmt::Write as _;

/// Maximum width of a table on one line.
const WIDTH: usize = 130;

/// Formats a resolved scenario, as in manifests, as TOML.
pub fn toml(echo: &Json) -> String {
    let mut out = String::new();
    if let Json::Object(root) = echo {
        section(&mut out, "", root);
    }
    out
}

/// Writes plain keys first, then sub-tables that are sections.
fn section(out: &mut String, path: &str, table: &Map<String, Json>) {
    let dotted = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let is_list = |v: &Json| v.as_array().is_some_and(|a| !a.is_empty() && a.iter().all(Json::is_object));
    // At the top level every table is a section; below it only lists of groups are.
    let apart =
        |key: &str, v: &Json| (path.is_empty() && (v.is_object() || is_list(v))) || (path == "transport" && key == "group");
    for (k, v) in table.iter().filter(|(k, v)| !apart(k, v)) {
        let _ = writeln!(out, "{k} = {}", inline(v, k.len() + 3));
    }
    for (k, v) in table.iter().filter(|(k, v)| apart(k, v)) {
        match v {
            Json::Object(t) => {
                let _ = writeln!(out, "\n[{}]", dotted(k));
                section(out, &dotted(k), t);
            }
            Json::Array(list) => {
                for t in list.iter().filter_map(Json::as_object) {
                    let _ = writeln!(out, "\n[[{}]]", dotted(k));
                    section(out, "-", t);
                }
            }
            _ => {}
        }
    }
}

/// Formats a value on one line; long lists break after each element.
pub(crate) fn inline(v: &Json, indent: usize) -> String {
    match v {
        Json::Array(list) => {
            let parts: Vec<String> = list.iter().map(|v| inline(v, indent)).collect();
            let line = format!("[{}]", parts.join(", "));
            if indent + line.len() <= WIDTH || parts.len() < 2 { line } else { format!("[\n  {},\n]", parts.join(",\n  ")) }
        }
        Json::Object(t) if t.is_empty() => "{}".into(),
        Json::Object(t) => {
            let parts: Vec<String> = t.iter().map(|(k, v)| format!("{k} = {}", inline(v, indent))).collect();
            format!("{{ {} }}", parts.join(", "))
        }
        Json::String(s) => quoted(s),
        // TOML distinguishes integers from floats by the point, which JSON numbers above 1e16 lack.
        Json::Number(n) if n.is_f64() => {
            let text = n.to_string();
            if text.contains(['.', 'e']) { text } else { format!("{text}.0") }
        }
        other => other.to_string(),
    }
}

/// Formats a TOML basic string.
fn quoted(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
