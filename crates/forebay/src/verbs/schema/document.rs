//! The schema of a scenario: its tables, from the registries, and for tables that no registry has from the keys of the reference.

use super::values::{choice, definitions, described, entry_table, kind, parameters, reference, table};
use crate::verbs::reference::{Entry as Key, everything};
use forebay_experiment::profile::{PARAMS, PROFILES};
use forebay_experiment::{balance, topology, workload};
use forebay_types::param::Kind;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Keys of the reference with their meanings, by the table of the scenario that contains them, nested tables included.
type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// Name of the table of a place such as `[[topology.loss]]`.
fn section(place: &str) -> Option<&str> {
    match place {
        "the scenario" => Some(""),
        _ => place.strip_prefix('[')?.trim_start_matches('[').split([']', '.']).next(),
    }
}

fn sections(keys: &[Key]) -> Sections {
    let mut all = Sections::new();
    for key in keys {
        let Some(name) = section(&key.place) else { continue };
        let meaning = if key.legal.is_empty() { key.meaning.clone() } else { format!("{}. {}", key.meaning, key.legal) };
        all.entry(name.to_owned()).or_default().entry(key.key.clone()).or_insert(meaning);
    }
    all
}

/// Any value. Tables in it have the keys of the section `name`.
fn any_of_section(name: &str) -> Value {
    reference(&format!("{name}-keys"))
}

/// Schema of the values of a section without a registry: its tables, at any depth, have its keys only.
fn keys_definition(name: &str, keys: &BTreeMap<String, String>) -> Value {
    let properties: Map<String, Value> = keys.iter().map(|(key, text)| (key.clone(), value_of(name, key, text))).collect();
    json!({
        "type": ["string", "number", "boolean", "array", "object"],
        "items": any_of_section(name), "properties": properties, "additionalProperties": false,
    })
}

fn value_of(name: &str, key: &str, text: &str) -> Value {
    let schema = match (name, key) {
        ("topology", "balance") => choice(balance::REGISTRY.iter().map(|e| &e.entry), &Map::new()),
        ("topology", "host-queue") => reference("queue"),
        _ => any_of_section(name),
    };
    described(schema, text)
}

/// Keys of a section, for a table that has them beside those of a registry.
fn own(all: &Sections, name: &str) -> Map<String, Value> {
    let keys = all.get(name);
    keys.into_iter().flatten().map(|(key, text)| (key.clone(), value_of(name, key, text))).collect()
}

/// Moves the schemas of keys that many tables have to the definitions, and returns references to them.
fn shared(keys: Map<String, Value>, name: &str, definitions: &mut Map<String, Value>) -> Map<String, Value> {
    let move_one = |(key, schema): (String, Value)| {
        let place = format!("{name}.{key}");
        definitions.insert(place.clone(), schema);
        (key, reference(&place))
    };
    keys.into_iter().map(move_one).collect()
}

/// `[topology]`.
fn topology(all: &Sections, definitions: &mut Map<String, Value>) -> Value {
    let more = shared(own(all, "topology"), "topology", definitions);
    let one = |e: &topology::TopologyEntry| {
        let mut schema = entry_table(&e.entry, &more);
        // The memory of a switch is a size, or a table.
        if let Some(memory) = schema["properties"].get_mut("shared-buffer") {
            *memory = json!({"anyOf": [memory.take(), any_of_section("topology")]});
        }
        schema
    };
    json!({"anyOf": topology::REGISTRY.iter().map(one).collect::<Vec<_>>()})
}

/// `[[workload]]`.
fn workloads(all: &Sections, definitions: &mut Map<String, Value>) -> Value {
    let mut more = shared(own(all, "workload"), "workload", definitions);
    // Every kind accepts these names of its ends.
    for end in ["from", "to"] {
        more.insert(end.into(), kind(Kind::Hosts));
    }
    let tables: Vec<Value> = workload::REGISTRY
        .iter()
        .map(|e| {
            let mut schema = entry_table(&e.entry, &more);
            // A required end may have its other name.
            let is_end = |key: &Value| e.entry.params.iter().any(|p| key == p.key && matches!(p.kind, Kind::Hosts));
            if let Some(required) = schema["required"].as_array_mut() {
                required.retain(|key| !is_end(key));
            }
            schema
        })
        .collect();
    json!({"type": "array", "minItems": 1, "items": {"anyOf": tables}})
}

/// Congestion controls: a name, a table with parameters and keys of `[transport]`, or a list to compare.
fn transport(all: &Sections, definitions: &mut Map<String, Value>) -> Value {
    let worlds = forebay_backends::all();
    definitions.insert("shim".into(), choice(worlds.shims().iter().map(|e| &e.entry), &Map::new()));
    let shims = json!({"anyOf": [{"const": "none"}, reference("shim"), {"type": "array", "items": reference("shim")}]});
    let mut stack = parameters(PARAMS);
    stack.insert("shim".into(), described(shims, "additions to congestion control and stack"));
    let stack = shared(stack, "transport", definitions);
    let controls = worlds.congestion_controls().iter().map(|e| &e.entry);
    definitions.insert("congestion-control".into(), choice(controls, &stack));
    let cc = reference("congestion-control");
    let mut group = stack.clone();
    group.insert("stack".into(), described(json!({"enum": PROFILES}), "set of defaults"));
    group.insert("cc".into(), described(cc.clone(), "congestion control"));
    let mut properties = group.clone();
    group.extend(own(all, "transport").into_iter().filter(|(key, _)| !properties.contains_key(key)));
    group.remove("group");
    let list = json!({"anyOf": [cc, {"type": "array", "minItems": 1, "items": cc}]});
    properties.insert("cc".into(), described(list, "congestion control, or a list to compare"));
    let groups = json!({"type": "array", "minItems": 1, "items": table(group, &["name"])});
    properties.insert("group".into(), described(groups, "transports that share the network"));
    table(properties, &[])
}

/// `[sweep]`: its own keys, and paths of the scenario.
fn sweep(all: &Sections, roots: &[&str]) -> Value {
    let properties: Map<String, Value> = all
        .get("sweep")
        .into_iter()
        .flatten()
        .map(|(key, text)| (key.clone(), json!({"description": text, "additionalProperties": true})))
        .collect();
    let path = format!("^({})(\\.|$)", roots.join("|"));
    // Tombi asks for the last keyword where any key is legal.
    let any = json!({"additionalProperties": true});
    json!({"type": "object", "properties": properties, "patternProperties": {path: any}, "additionalProperties": false})
}

/// The schema.
pub(super) fn schema() -> Value {
    let all = sections(&everything());
    let mut definitions = definitions();
    let mut properties = own(&all, "");
    for (key, schema) in [
        ("name", json!({"type": "string"})),
        ("seed", json!({"type": "integer", "minimum": 0})),
        ("runs", json!({"type": "integer", "minimum": 1, "maximum": 10_000})),
        ("world", json!({"enum": forebay_backends::all().list().iter().map(|w| w.name()).collect::<Vec<_>>()})),
        ("duration", reference("time")),
        ("start", json!({"enum": ["cold", "warm"]})),
    ] {
        let text = all.get("").and_then(|keys| keys.get(key)).map_or("", String::as_str);
        properties.insert(key.into(), described(schema, text));
    }
    for (name, keys) in all.iter().filter(|(name, _)| !name.is_empty()) {
        definitions.insert(format!("{name}-keys"), keys_definition(name, keys));
        properties.insert(name.clone(), any_of_section(name));
    }
    properties.insert("topology".into(), topology(&all, &mut definitions));
    properties.insert("workload".into(), workloads(&all, &mut definitions));
    properties.insert("transport".into(), transport(&all, &mut definitions));
    let roots: Vec<&str> = properties.keys().map(String::as_str).filter(|key| *key != "sweep").collect();
    let sweep = sweep(&all, &roots);
    properties.insert("sweep".into(), sweep);
    let mut schema = table(properties, &["topology", "workload"]);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = "forebay scenario".into();
    schema["definitions"] = definitions.into();
    schema
}
