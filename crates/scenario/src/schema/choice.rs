//! Choice from a registry with its parameters: `"dctcp"`, or `{ kind = "dctcp", g = 0.0625 }`.

use crate::schema::context::{Cx, DEFAULTS};
use crate::schema::fields::{Fields, unknown};
use crate::schema::kind::kind_text;
use crate::schema::other_names;
use crate::schema::value;
use crate::text::doc::{Node, Raw, parse_loose};
use crate::text::message_text::{alternatives, short};
use crate::text::source::At;
use forebay_types::param::{Entry, Kind, Param, Value, Values};
use serde_json::{Map, Value as Json};

/// Parameter set: values for the builder, and the echo.
pub(crate) type Checked = (Values, Map<String, Json>);

/// Reader of a value of a kind: [`value::read`](crate::schema::value::read), or `parameter::read` if links are allowed.
pub(crate) type Read = fn(&mut Cx, Kind, &str, &Node) -> Option<(Value, Json)>;

/// Reads all of `params` from `fields` and fills in defaults. `named` and `named_at` describe the table in errors about missing keys. All parameters
/// are read even after an error, so that all errors are reported.
pub(crate) fn params(cx: &mut Cx, fields: &mut Fields<'_>, params: &[Param], named: &str, named_at: At) -> Option<Checked> {
    params_with(cx, fields, params, value::read, named, named_at)
}

/// Same as [`params`], with `read` as the reader of values.
pub(crate) fn params_with(
    cx: &mut Cx,
    fields: &mut Fields<'_>,
    params: &[Param],
    read: Read,
    named: &str,
    named_at: At,
) -> Option<Checked> {
    let mut values = Vec::with_capacity(params.len());
    let mut echo = Map::new();
    let mut ok = true;
    for p in params {
        let checked = match (fields.get(p.key), p.default) {
            (Some(item), _) => read(cx, p.kind, &format!("`{}`", p.key), &item.node),
            (None, Some("")) => Some((Value::Unset, Json::Null)),
            (None, Some(text)) => read(cx, p.kind, &format!("default of `{}`", p.key), &parse_loose(text, DEFAULTS, 0)),
            (None, None) => {
                let help = format!("{}: {}; {}", p.key, p.doc, kind_text(p.kind));
                cx.sink.error(
                    named_at,
                    format!("{named} needs the key `{}`", p.key),
                    format!("`{}` is missing", p.key),
                    Some(help),
                );
                None
            }
        };
        match checked {
            Some((v, json)) => {
                values.push((p.key, v));
                if !json.is_null() {
                    echo.insert(p.key.to_owned(), json);
                }
            }
            None => ok = false,
        }
    }
    ok.then_some((Values(values), echo))
}

/// Reads `kind` of a table and finds its entry in a registry.
pub(crate) fn kind(cx: &mut Cx, fields: &mut Fields<'_>, what: &str, entries: &[&'static Entry]) -> Option<(&'static Entry, At)> {
    let legal: Vec<&str> = entries.iter().map(|e| e.name).collect();
    let Some(item) = fields.get("kind") else {
        let message = format!("{} needs the key `kind`", fields.what);
        cx.sink.error(fields.at, message, "`kind` is missing", Some(format!("legal: {}", alternatives(legal))));
        return None;
    };
    named(cx, what, &item.node, entries).map(|e| (e, item.node.at))
}

/// Entry named by a text.
fn named(cx: &mut Cx, what: &str, node: &Node, entries: &[&'static Entry]) -> Option<&'static Entry> {
    let legal: Vec<&str> = entries.iter().map(|e| e.name).collect();
    let Some(text) = node.text() else {
        let message = format!("{what} must be a name in quotes, not {}", node.describe());
        cx.sink.error(node.at, message, "expected a name", Some(format!("legal: {}", alternatives(legal))));
        return None;
    };
    let found = entries.iter().find(|e| e.name == text).copied();
    let meant = other_names::entry(what, text).and_then(|name| entries.iter().find(|e| e.name == name));
    if let (None, Some(meant)) = (found, meant) {
        let message = format!("{what} `{}` does not exist", short(text));
        cx.sink.error(
            node.at,
            message,
            format!("nearest: \"{}\"", meant.name),
            Some(format!("{}: {}", meant.name, meant.summary)),
        );
        return None;
    }
    if found.is_none() {
        unknown(node.at, what, text, &legal, &mut cx.sink);
    }
    found
}

/// Reads a queue or a shim: a bare name, or a table with `kind` and parameters.
pub(crate) fn choice(cx: &mut Cx, what: &str, node: &Node, entries: &[&'static Entry]) -> Option<(&'static Entry, Values, Json)> {
    choice_with(cx, what, node, entries, |_, _| Some(())).map(|(e, v, j, ())| (e, v, j))
}

/// Same as [`choice`], for a table with further keys, which `more` reads.
pub(crate) fn choice_with<T>(
    cx: &mut Cx,
    what: &str,
    node: &Node,
    entries: &[&'static Entry],
    more: impl FnOnce(&mut Cx, &mut Fields<'_>) -> Option<T>,
) -> Option<(&'static Entry, Values, Json, T)> {
    let empty = crate::text::doc::TomlTable::default();
    let (entry, at, mut fields) = match &node.raw {
        Raw::Table(t) => {
            let mut fields = Fields::new(format!("the {what}"), node.at, t);
            let (entry, at) = kind(cx, &mut fields, what, entries)?;
            (entry, at, fields)
        }
        _ => (named(cx, what, node, entries)?, node.at, Fields::new(format!("the {what}"), node.at, &empty)),
    };
    fields.what = format!("the {what} `{}`", entry.name);
    let checked = params(cx, &mut fields, entry.params, &format!("the {what} `{}`", entry.name), at);
    let more = more(cx, &mut fields);
    fields.finish(&mut cx.sink);
    let ((values, echo), more) = (checked?, more?);
    let json = match echo.is_empty() {
        true => Json::from(entry.name),
        false => {
            let mut table = Map::new();
            table.insert("kind".into(), entry.name.into());
            table.extend(echo);
            Json::Object(table)
        }
    };
    Some((entry, values, json, more))
}
