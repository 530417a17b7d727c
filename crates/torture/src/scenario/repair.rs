//! Makes a draft legal: removes the keys that errors name.

use crate::simulator;
use forebay_experiment::workload;
use forebay_scenario::{Errors, Resolved, Scenario, toml};
use serde_json::{Map, Value as Json};
use std::path::Path;

/// Rounds of repair; each removes one key.
const ROUNDS: usize = 24;
/// Keys without which nothing is left to check.
const ESSENTIAL: [&str; 9] = ["kind", "topology", "transport", "workload", "rate", "delay", "from", "to", "name"];

/// A scenario that the reader accepts.
#[derive(Debug, Clone)]
pub(crate) struct Legal {
    /// The scenario, as the keys of its file.
    pub(crate) document: Json,
    pub(crate) resolved: Resolved,
}

/// Reads the text of a scenario without its file.
pub(crate) fn resolve(text: &str) -> Result<Resolved, Errors> {
    Scenario::from_text(simulator(), text, "case.toml", Path::new(""), &[], None)?.resolve()
}

/// Removes keys from `document` until it is legal. `None` if that does not succeed.
pub(crate) fn legal(mut document: Json) -> Option<Legal> {
    for _ in 0..ROUNDS {
        let text = toml(&document);
        let errors = match resolve(&text) {
            Ok(resolved) => {
                let sound = resolved.variants.iter().all(|v| v.config.check().is_ok());
                return sound.then_some(Legal { document, resolved });
            }
            Err(errors) => errors,
        };
        if !repair(&mut document, &text, &errors) {
            return None;
        }
    }
    None
}

/// Removes a key that the first error names, or the key of its line. False if there is none.
fn repair(document: &mut Json, text: &str, errors: &Errors) -> bool {
    let Some(error) = errors.list().first() else { return false };
    // Work without an end needs a duration.
    if error.render().contains("`duration`")
        && document.get("duration").is_none()
        && let Some(root) = document.as_object_mut()
    {
        root.insert("duration".into(), "20ms".into());
        return true;
    }
    if error.message().contains("another `pattern`") && set_pattern(document) {
        return true;
    }
    let named = error.message().split('`').skip(1).step_by(2).flat_map(|word| word.rsplit('.').next());
    let line = error.line_column().and_then(|(line, _)| text.lines().nth(line.saturating_sub(1)));
    let at_line = line.and_then(|line| line.split_once('=')).map(|(key, _)| key.trim());
    let mut keys = named.chain(at_line).filter(|key| !ESSENTIAL.contains(key));
    keys.any(|key| remove(document, key))
}

/// Sets the pattern of the first workload without one to `permutation`, in which no host sends to itself. In most topologies the default hosts of both sides
/// are all, and the default pattern pairs each with itself. False if all workloads have a pattern.
fn set_pattern(document: &mut Json) -> bool {
    let has_pattern = |table: &Map<String, Json>| {
        let known = workload::REGISTRY.iter().find(|w| table.get("kind").is_some_and(|kind| kind == w.entry.name));
        known.is_some_and(|w| w.entry.params.iter().any(|p| p.key == "pattern"))
    };
    let workloads = document.get_mut("workload").and_then(Json::as_array_mut);
    let mut tables = workloads.into_iter().flatten().filter_map(Json::as_object_mut);
    let Some(table) = tables.find(|t| has_pattern(t) && !t.contains_key("pattern")) else { return false };
    table.insert("pattern".into(), "permutation".into());
    true
}

/// Removes the first key of that name, at any depth.
fn remove(value: &mut Json, key: &str) -> bool {
    match value {
        Json::Object(table) => table.shift_remove(key).is_some() || table.values_mut().any(|v| remove(v, key)),
        Json::Array(list) => list.iter_mut().any(|v| remove(v, key)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refused_keys_are_removed() {
        let link = json!({ "rate": "1Gbps", "delay": "1us" });
        let draft = json!({
            "topology": { "kind": "many-to-one", "senders": 2, "access": link, "bottleneck": link },
            "transport": { "rto-min": "0s", "ack-every": 0, "mss": 1000 },
            "workload": [{ "kind": "long", "size": "10KB" }],
        });
        let legal = legal(draft).expect("two keys to remove");
        assert_eq!(legal.document["transport"], json!({ "mss": 1000 }));
        assert_eq!(legal.resolved.variants[0].config.groups.iter().next().unwrap().tcp.mss, 1000);
    }

    #[test]
    fn hosts_do_not_send_to_themselves() {
        let link = json!({ "rate": "1Gbps", "delay": "1us" });
        let draft = json!({
            "duration": "1ms",
            "topology": { "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts-per-leaf": 2, "host": link, "fabric": link },
            "workload": [{ "kind": "long" }],
        });
        assert_eq!(legal(draft).expect("a pattern to set").document["workload"][0]["pattern"], "permutation");
    }

    #[test]
    fn drafts_beyond_repair_are_given_up() {
        assert!(legal(json!({ "topology": { "kind": "many-to-one" }, "workload": [{ "kind": "long" }] })).is_none());
    }
}
