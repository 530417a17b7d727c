//! Key of a unit's results: a hash of the scenario with all defaults, the files it names, the seed, and the program.
//!
//! Names are not hashed: neither the scenario's nor generated names of variants. Comments, the order of keys and the notation of values do not
//! matter.

use forebay_store::unit::{KeyHasher, UnitKey};
use serde_json::{Map, Value as Json};
use std::fmt::Write as _;

/// Hash of the sources of this crate and of all its workspace dependencies, computed by `build.rs`: the simulator, the scenario reader, and the
/// reduction to summary metrics. The columns of tables are in `TABLE_SOURCES`.
pub const SOURCES: &str = env!("FOREBAY_SOURCES");

/// Hash of the sources of each table's columns, as `NAME=HASH` separated by spaces.
const TABLE_SOURCES: &str = env!("FOREBAY_TABLE_SOURCES");

/// Version and source hash, as `forebay --version` prints them.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\nsources ", env!("FOREBAY_SOURCES"));

/// Hash of the program for a unit that keeps the tables `keep`: its version, its sources, and the columns of these tables. Columns of other tables
/// do not matter.
pub fn program(keep: &[String]) -> KeyHasher {
    program_of(env!("CARGO_PKG_VERSION"), SOURCES, TABLE_SOURCES, keep)
}

fn program_of(version: &str, sources: &str, table_sources: &str, keep: &[String]) -> KeyHasher {
    let mut h = KeyHasher::default();
    h.part("unit", b"4").part("forebay", version.as_bytes()).part("sources", sources.as_bytes());
    for (table, columns) in table_sources.split(' ').filter_map(|t| t.split_once('=')) {
        // Sorted, so that the order of the request does not matter.
        if keep.iter().any(|k| k == table) {
            h.part("table", table.as_bytes()).part("columns", columns.as_bytes());
        }
    }
    h
}

/// Adds a variant, by the backend that runs it and its echo: the scenario with every default written out.
pub fn add_variant(h: &mut KeyHasher, world: &str, echo: &Json) {
    let mut text = String::new();
    match echo {
        // World and seed are hashed separately, and the number of other runs does not matter.
        Json::Object(t) => write_table(&mut text, t, &["name", "seed", "runs", "world"]),
        other => write_canonical(&mut text, other),
    }
    h.part("world", world.as_bytes()).part("scenario", text.as_bytes());
}

/// Adds the variants of runs that end together, by their echoes: the end of each depends on all of them.
pub fn add_compared<'a>(h: &mut KeyHasher, echoes: impl Iterator<Item = &'a Json>) {
    for echo in echoes {
        add_variant(h, "compared", echo);
    }
}

/// Adds the version of the backend, if it has its own.
pub fn add_version(h: &mut KeyHasher, version: &str) {
    if !version.is_empty() {
        h.part("version of the world", version.as_bytes());
    }
}

/// Adds a file of the scenario: its name and contents.
pub fn add_file(h: &mut KeyHasher, name: &str, contents: &UnitKey) {
    h.part("file", name.as_bytes()).part("contents", contents.to_string().as_bytes());
}

/// Key of a unit that ends by its ratio to a finished one, whose key is `reference`.
pub fn against(unit: &UnitKey, reference: &UnitKey, rule: &str) -> UnitKey {
    let mut h = KeyHasher::default();
    for (name, value) in [("unit", unit.to_string()), ("against", reference.to_string()), ("rule", rule.to_owned())] {
        h.part(name, value.as_bytes());
    }
    h.key()
}

/// Key of a unit that ends when its own figure is known.
pub fn until_known(unit: &UnitKey, rule: &str) -> UnitKey {
    let mut h = KeyHasher::default();
    h.part("unit", unit.to_string().as_bytes()).part("until known", rule.as_bytes());
    h.key()
}

/// The key of a unit.
pub fn with_seed(h: &KeyHasher, seed: u64) -> UnitKey {
    h.clone().part("seed", &seed.to_le_bytes()).key()
}

/// Appends a value as JSON without spaces, with the keys of all tables sorted.
fn write_canonical(out: &mut String, v: &Json) {
    match v {
        Json::Array(list) => {
            out.push('[');
            for (i, v) in list.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                write_canonical(out, v);
            }
            out.push(']');
        }
        Json::Object(t) => write_table(out, t, &[]),
        // Writing to a string does not fail.
        leaf => {
            let _ = write!(out, "{leaf}");
        }
    }
}

/// Appends a table without the keys `omitted`.
fn write_table(out: &mut String, t: &Map<String, Json>, omitted: &[&str]) {
    let mut entries: Vec<(&String, &Json)> = t.iter().filter(|(key, _)| !omitted.contains(&key.as_str())).collect();
    entries.sort_unstable_by_key(|entry| entry.0);
    out.push('{');
    for (i, (key, v)) in entries.into_iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let _ = write!(out, "{comma}{}:", Json::from(key.as_str()));
        write_canonical(out, v);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TABLES: &str = "flows=aa ports=bb";

    fn key(version: &str, world: &str, echo: &Json, file: &[u8], seed: u64) -> String {
        let mut h = program_of(version, "0123", TABLES, &["flows".to_owned()]);
        add_variant(&mut h, world, echo);
        add_file(&mut h, "a.cdf", &KeyHasher::of(file));
        with_seed(&h, seed).to_string()
    }

    #[test]
    fn key_inputs() {
        let echo = json!({"name": "a", "seed": 1, "runs": 2, "topology": {"senders": 4, "rate": 0.1}, "observe": []});
        let base = key("1", "w", &echo, b"x", 1);
        // Equal on every machine; computed from the layout with other tools.
        assert_eq!(base, "e8c9d8c8b6c0681724bd96329e14a418");
        let same = json!({"observe": [], "name": "b", "seed": 3, "topology": {"rate": 0.1, "senders": 4}});
        assert_eq!(key("1", "w", &same, b"x", 1), base, "names, repetitions and order");
        let other = json!({"topology": {"senders": 5, "rate": 0.1}, "observe": []});
        for (what, k) in [
            ("a value", key("1", "w", &other, b"x", 1)),
            ("a file", key("1", "w", &echo, b"y", 1)),
            ("the seed", key("1", "w", &echo, b"x", 2)),
            ("the world", key("1", "v", &echo, b"x", 1)),
            ("the version", key("2", "w", &echo, b"x", 1)),
        ] {
            assert_ne!(k, base, "{what}");
        }
        assert_ne!(program_of("1", "0123", TABLES, &[]).key(), program_of("1", "0124", TABLES, &[]).key(), "sources");
    }

    #[test]
    fn canonical_text_sorts_keys() {
        let value = json!({"b": [1, 2.5, null, {"d": true, "c": "a\"\\\u{1}é"}], "a \"": {}, "B": [], "e": 1e300, "f": -0.0});
        let mut text = String::new();
        write_canonical(&mut text, &value);
        assert_eq!(text, r#"{"B":[],"a \"":{},"b":[1,2.5,null,{"c":"a\"\\\u0001é","d":true}],"e":1e+300,"f":-0.0}"#);
        assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), value);
    }

    #[test]
    fn compared_variants_change_key() {
        let [one, two, three] = [1, 2, 3].map(|senders| json!({"topology": {"senders": senders}}));
        let key = |others: &[&Json]| {
            let mut h = program_of("1", "0123", TABLES, &[]);
            add_variant(&mut h, "w", &one);
            add_compared(&mut h, others.iter().copied());
            with_seed(&h, 1)
        };
        assert_ne!(key(&[]), key(&[&one, &two]));
        assert_ne!(key(&[&one, &two]), key(&[&one, &three]));
        assert_ne!(key(&[&one, &two]), key(&[&one, &two, &three]));
    }

    #[test]
    fn reference_changes_key() {
        let [a, b] = ["a", "b"].map(|text| KeyHasher::of(text.as_bytes()));
        let all =
            [a, until_known(&a, "r"), against(&a, &b, "r"), against(&a, &a, "r"), against(&b, &b, "r"), against(&a, &b, "s")];
        let mut different = all.to_vec();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), all.len());
    }

    #[test]
    fn kept_table_columns_change_key() {
        let program = |tables: &str, keep: &[&str]| {
            program_of("1", "0123", tables, &keep.iter().map(|k| (*k).to_owned()).collect::<Vec<_>>()).key()
        };
        let other = "flows=aa ports=cc";
        for keep in [&[][..], &["flows"]] {
            assert_eq!(program(TABLES, keep), program(other, keep), "{keep:?} does not have the columns of ports");
        }
        for keep in [&["ports"][..], &["flows", "ports"]] {
            assert_ne!(program(TABLES, keep), program(other, keep), "{keep:?} has the columns of ports");
        }
        assert_ne!(program(TABLES, &[]), program(TABLES, &["flows"]), "what is kept");
        assert_eq!(program(TABLES, &["flows", "ports"]), program(TABLES, &["ports", "flows"]), "in whatever order");
    }

    #[test]
    fn kept_table_columns_have_digests() {
        let known: Vec<&str> = TABLE_SOURCES.split(' ').filter_map(|t| Some(t.split_once('=')?.0)).collect();
        let mut keepable = forebay_scenario::KEEPABLE.to_vec();
        keepable.sort_unstable();
        assert_eq!(known, keepable);
    }
}
