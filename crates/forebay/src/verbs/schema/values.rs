//! Schemas of values: of each [`Kind`] of a parameter, and of a choice from a registry.

use forebay_types::param::{Entry, Kind, Param};
use serde_json::{Map, Value, json};

/// Reference to a definition.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/definitions/{name}")})
}

/// Table with these keys and no others.
pub(super) fn table(properties: Map<String, Value>, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The value, with a description for the editor.
pub(super) fn described(mut schema: Value, text: &str) -> Value {
    // Beside a reference all other keywords are ignored (draft 7, section 8.3).
    if schema.get("$ref").is_some() {
        schema = json!({"allOf": [schema]});
    }
    if let Some(object) = schema.as_object_mut() {
        object.insert("description".into(), text.into());
    }
    schema
}

/// Text that ends with one of `units`.
fn quantity(units: &str) -> Value {
    json!({"type": "string", "pattern": format!("({units})\\s*$")})
}

/// List of `items`.
fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

/// Legal values of a kind.
pub(super) fn kind(kind: Kind) -> Value {
    match kind {
        Kind::Time => reference("time"),
        Kind::Rate => reference("rate"),
        Kind::Bytes | Kind::BytesOrZero => reference("size"),
        Kind::QueueLen => reference("queue-length"),
        Kind::QueueLens => list(&reference("queue-length")),
        Kind::Int(lo, hi) => integer(lo, hi),
        Kind::Ints(lo, hi) => list(&integer(lo, hi)),
        Kind::Float(lo, hi) if hi > 1e15 => json!({"type": "number", "minimum": lo}),
        Kind::Float(lo, hi) => json!({"type": "number", "minimum": lo, "maximum": hi}),
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Choice(words) => json!({"enum": words}),
        Kind::Text | Kind::Path => json!({"type": "string"}),
        Kind::Hosts => json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        Kind::Link => reference("link"),
        Kind::Links => list(&reference("named-link")),
        Kind::SizeDist => reference("size-distribution"),
        Kind::TimeDist => reference("time-distribution"),
        Kind::Names => json!({"type": "array", "items": {"type": "string"}}),
    }
}

fn integer(lo: i64, hi: i64) -> Value {
    let mut schema = json!({"type": "integer"});
    for (key, bound, open) in [("minimum", lo, i64::MIN), ("maximum", hi, i64::MAX)] {
        if bound != open {
            schema[key] = bound.into();
        }
    }
    schema
}

/// Schemas of parameters by their keys.
pub(super) fn parameters(params: &[Param]) -> Map<String, Value> {
    let one = |p: &Param| {
        let default = match p.default {
            None => " Required.".to_owned(),
            Some("") => String::new(),
            Some(text) => format!(" Default: {text}."),
        };
        (p.key.to_owned(), described(kind(p.kind), &format!("{}.{default}", p.doc)))
    };
    params.iter().map(one).collect()
}

/// Table with the `kind` of an entry and its parameters, with the keys `more`.
pub(super) fn entry_table(entry: &Entry, more: &Map<String, Value>) -> Value {
    let mut properties = Map::new();
    properties.insert("kind".into(), described(json!({"const": entry.name}), entry.summary));
    properties.extend(parameters(entry.params));
    for (key, schema) in more {
        properties.entry(key.clone()).or_insert_with(|| schema.clone());
    }
    let needed = entry.params.iter().filter(|p| p.default.is_none()).map(|p| p.key);
    table(properties, &std::iter::once("kind").chain(needed).collect::<Vec<_>>())
}

/// Choice from a registry: a name, or a table with parameters and the keys `more`.
pub(super) fn choice<'a>(entries: impl Iterator<Item = &'a Entry>, more: &Map<String, Value>) -> Value {
    let entries: Vec<&Entry> = entries.collect();
    // Without its required parameters an entry needs the table.
    let alone = |e: &&&Entry| e.params.iter().all(|p| p.default.is_some());
    let names = entries.iter().filter(alone).map(|e| described(json!({"const": e.name}), e.summary));
    let tables = entries.iter().map(|e| entry_table(e, more));
    json!({"anyOf": names.chain(tables).collect::<Vec<_>>()})
}

/// Distribution of values of the definition `value`; `cdf`: tables are legal.
fn distribution(value: &str, cdf: bool) -> Value {
    let (one, this) = (reference(value), format!("{value}-distribution"));
    let two = json!({"type": "array", "items": one, "minItems": 2, "maxItems": 2});
    let mut forms = vec![("uniform", two.clone()), ("log-uniform", two), ("exponential", one.clone())];
    if cdf {
        forms.push(("cdf", json!({"type": "string"})));
    }
    let parts = json!({"type": "array", "items": reference(&format!("{this}-part"))});
    forms.push(("mixture", json!({"anyOf": [{"type": "string"}, parts]})));
    let properties = forms.iter().map(|(key, schema)| ((*key).to_owned(), schema.clone())).collect();
    let mut object = table(properties, &[]);
    (object["minProperties"], object["maxProperties"]) = (1.into(), 1.into());
    json!({"anyOf": [one, object]})
}

/// Part of a mixture: the keys of a distribution, `value` and `share`.
fn part(value: &str, distribution: &Value) -> Value {
    let mut properties = distribution["anyOf"][1]["properties"].as_object().cloned().unwrap_or_default();
    properties.insert("value".into(), reference(value));
    properties.insert("share".into(), json!({"type": "number", "exclusiveMinimum": 0}));
    table(properties, &["share"])
}

/// Definitions that the schemas of kinds refer to.
pub(super) fn definitions() -> Map<String, Value> {
    let mut all = Map::new();
    all.insert("time".into(), quantity("ps|ns|us|ms|s|min|h"));
    all.insert("rate".into(), quantity("bps"));
    all.insert("size".into(), quantity("B"));
    all.insert("queue-length".into(), quantity("B|pkt"));
    for (value, cdf) in [("size", true), ("time", false)] {
        let schema = distribution(value, cdf);
        all.insert(format!("{value}-distribution-part"), part(value, &schema));
        all.insert(format!("{value}-distribution"), schema);
    }
    let queues = forebay_queues::REGISTRY.iter().map(|e| &e.entry);
    all.insert("queue".into(), choice(queues, &Map::new()));
    let link = json!({
        "rate": reference("rate"), "delay": reference("time"), "queue": reference("queue"),
        "buffer": {"anyOf": [{"const": "unlimited"}, reference("queue-length")]},
        "loss": reference("topology-keys"),
    });
    let mut properties = link.as_object().cloned().unwrap_or_default();
    all.insert("link".into(), table(properties.clone(), &["rate", "delay"]));
    for (key, schema) in
        [("from", json!({"type": "string"})), ("to", json!({"type": "string"})), ("both", json!({"type": "boolean"}))]
    {
        properties.insert(key.into(), schema);
    }
    all.insert("named-link".into(), table(properties, &["from", "to", "rate", "delay"]));
    all
}
