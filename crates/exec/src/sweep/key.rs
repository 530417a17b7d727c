//! What the result of a unit depends on, as a hash: the scenario as understood, with every default; the files it names; the seed; and the
//! program.
//!
//! Names are no part of it: neither the scenario's nor, where the file gives none, those of variants. Nor are comments, the order of
//! keys, or how a value was written, as long as it means the same.

use forebay_store::unit::{KeyHasher, UnitKey};
use serde_json::{Map, Value as Json};

/// Hash of the sources of this crate and of all that it depends on in the workspace, made when it was built (`build.rs`): the simulator
/// and its parts, the reading of scenarios, and the reduction to the numbers that are kept.
pub const SOURCES: &str = env!("FOREBAY_SOURCES");

/// The version and the sources, as `forebay --version` says them.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\nsources ", env!("FOREBAY_SOURCES"));

/// The program, as far as results depend on it: its version, its sources, and the columns of its tables.
pub fn program() -> KeyHasher {
    program_of(env!("CARGO_PKG_VERSION"), SOURCES, &forebay_store::schema_signature())
}

fn program_of(version: &str, sources: &str, schema: &str) -> KeyHasher {
    let mut h = KeyHasher::default();
    h.part("unit", b"2").part("forebay", version.as_bytes());
    h.part("sources", sources.as_bytes()).part("schema", schema.as_bytes());
    h
}

/// Adds a variant, by its echo: the scenario with every default written out.
pub fn add_variant(h: &mut KeyHasher, echo: &Json) {
    let mut echo = echo.clone();
    if let Json::Object(t) = &mut echo {
        // The seed comes by itself, and how many runs there are beside this one changes nothing.
        ["name", "seed", "runs"].iter().for_each(|k| drop(t.remove(*k)));
    }
    h.part("scenario", canonical(&echo).to_string().as_bytes());
}

/// Adds a file that the scenario names: as it is named, and what is in it.
pub fn add_file(h: &mut KeyHasher, name: &str, contents: &UnitKey) {
    h.part("file", name.as_bytes()).part("contents", contents.to_string().as_bytes());
}

/// The key of a unit.
pub fn with_seed(h: &KeyHasher, seed: u64) -> UnitKey {
    h.clone().part("seed", &seed.to_le_bytes()).key()
}

/// The same value with the keys of all tables in alphabetical order.
fn canonical(v: &Json) -> Json {
    match v {
        Json::Array(list) => Json::Array(list.iter().map(canonical).collect()),
        Json::Object(t) => {
            let mut keys: Vec<(&String, &Json)> = t.iter().collect();
            keys.sort_by_key(|k| k.0);
            Json::Object(keys.into_iter().map(|(k, v)| (k.clone(), canonical(v))).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(version: &str, echo: &Json, file: &[u8], seed: u64) -> String {
        let mut h = program_of(version, "0123", "summary 1: a");
        add_variant(&mut h, echo);
        add_file(&mut h, "a.cdf", &KeyHasher::of(file));
        with_seed(&h, seed).to_string()
    }

    #[test]
    fn what_changes_a_key_and_what_does_not() {
        let echo = json!({"name": "a", "seed": 1, "runs": 2, "topology": {"senders": 4, "rate": 0.1}, "observe": []});
        let base = key("1", &echo, b"x", 1);
        // On every machine; computed from the layout by other means.
        assert_eq!(base, "2df00084b58f417487d1c87882f514d1");
        let same = json!({"observe": [], "name": "b", "seed": 3, "topology": {"rate": 0.1, "senders": 4}});
        assert_eq!(key("1", &same, b"x", 1), base, "names, repetitions and order");
        let other = json!({"topology": {"senders": 5, "rate": 0.1}, "observe": []});
        for (what, k) in [
            ("a value", key("1", &other, b"x", 1)),
            ("a file", key("1", &echo, b"y", 1)),
            ("the seed", key("1", &echo, b"x", 2)),
            ("the version", key("2", &echo, b"x", 1)),
        ] {
            assert_ne!(k, base, "{what}");
        }
        let program = |sources: &str, schema: &str| program_of("1", sources, schema).key();
        assert_ne!(program("0123", "summary 1: a"), program("0124", "summary 1: a"), "sources");
        assert_ne!(program("0123", "summary 1: a"), program("0123", "summary 2: a"), "columns");
    }
}
