//! Random transports, workloads and observation.

use super::values::Dice;
use crate::simulator;
use forebay_experiment::profile::{PARAMS, PROFILES};
use forebay_experiment::workload;
use forebay_types::Time;
use serde_json::{Map, Value as Json, json};

/// Keys of `[transport]`, a congestion control and shims.
pub(crate) fn stack(dice: &mut Dice, percent: u64) -> Map<String, Json> {
    let mut table = Map::new();
    table.insert("stack".into(), dice.one(PROFILES).into());
    table.insert("cc".into(), congestion_control(dice));
    dice.fill(&mut table, PARAMS, percent);
    if dice.chance(20) {
        let shims = simulator().shims();
        let mut list = Vec::new();
        for _ in 0..1 + dice.rng.below(2) {
            let at = dice.rng.below(shims.len() as u64) as usize;
            list.push(dice.entry(&shims[at].entry, 25));
        }
        table.insert("shim".into(), if list.len() == 1 { list.remove(0) } else { json!(list) });
    }
    table
}

fn congestion_control(dice: &mut Dice) -> Json {
    let all = simulator().congestion_controls();
    let at = dice.rng.below(all.len() as u64) as usize;
    let percent = if dice.chance(40) { 30 } else { 0 };
    dice.entry(&all[at].entry, percent)
}

/// `[transport]`, and the names of its groups.
pub(super) fn transport(dice: &mut Dice) -> (Json, Vec<String>) {
    let percent = dice.one(&[0, 8, 8, 25]);
    let mut table = stack(dice, percent);
    if !dice.chance(20) {
        return (Json::Object(table), Vec::new());
    }
    table.remove("cc");
    let names = vec!["a".to_owned(), "b".to_owned()];
    let mut groups = Vec::new();
    for name in &names {
        let mut group = Map::from_iter([("name".to_owned(), Json::from(name.as_str()))]);
        group.extend(stack(dice, percent / 2));
        groups.push(Json::Object(group));
    }
    table.insert("group".into(), json!(groups));
    (Json::Object(table), names)
}

/// One to three workloads.
pub(super) fn workloads(dice: &mut Dice, groups: &[String]) -> Json {
    let count = dice.one(&[1, 1, 2, 3]);
    json!((0..count).map(|_| workload(dice, groups)).collect::<Vec<_>>())
}

/// Returns true if one of the workloads can have flows at time zero.
pub(super) fn can_start_warm(workloads: &Json) -> bool {
    workloads.as_array().is_some_and(|list| list.iter().any(|w| w["kind"] == "poisson"))
}

fn workload(dice: &mut Dice, groups: &[String]) -> Json {
    // A flow list is a file beside the scenario.
    let known: Vec<_> = workload::REGISTRY.iter().filter(|w| w.entry.name != "replay").collect();
    let w = known[dice.rng.below(known.len() as u64) as usize];
    let mut table = Map::from_iter([("kind".to_owned(), Json::from(w.entry.name))]);
    if w.transport && !groups.is_empty() {
        let at = dice.rng.below(groups.len() as u64) as usize;
        table.insert("transport".into(), groups[at].as_str().into());
    }
    for p in w.entry.params {
        // Work has an end and a size more often than not.
        let often = ["size", "trains", "rounds", "count", "flows", "block", "response"].contains(&p.key);
        // Of a load and a rate one is needed.
        let needed = matches!((w.entry.name, p.key), ("poisson", "load") | ("udp", "stop"));
        let wanted = p.default.is_none() || needed || dice.chance(if often { 85 } else { 15 });
        if let Some(value) = wanted.then(|| dice.value(p)).flatten() {
            table.insert(p.key.to_owned(), value);
        }
    }
    Json::Object(table)
}

/// `[observe]`, or nothing. Checks add to it.
pub(super) fn observe(dice: &mut Dice, duration: Option<Time>) -> Option<Json> {
    if dice.chance(60) {
        return None;
    }
    let mut table = Map::new();
    if dice.chance(50) {
        table.insert("warmup".into(), Time(dice.between(1, 1_000_000_000_000)).to_string().into());
    }
    if dice.chance(50) {
        // Idle time has samples too, and the time of a run without a duration is not known.
        let samples = dice.between(10, 1000);
        let every = duration.map_or(Time::from_ms(100), |d| (d / samples).max(Time::from_ns(1)));
        table.insert("queue".into(), json!({ "port": dice.one(&["all", "switches"]), "every": every.to_string() }));
    }
    if dice.chance(50) {
        table.insert("occupancy".into(), dice.one(&["all", "none", "switches"]).into());
    }
    if dice.chance(30) {
        table.insert("timeouts".into(), dice.chance(50).into());
    }
    Some(Json::Object(table))
}
