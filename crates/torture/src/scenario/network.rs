//! Random topologies, queues and faults.

use super::values::Dice;
use forebay_experiment::faults::BIT_ERRORS;
use forebay_experiment::network::{HashFunction, Network, Ties};
use forebay_experiment::topology::TwoTier;
use forebay_experiment::{balance, topology};
use forebay_types::param::{Entry, Kind};
use forebay_types::{Bytes, Time};
use serde_json::{Map, Value as Json, json};

/// A topology without its faults.
pub(super) fn topology(dice: &mut Dice) -> Json {
    let at = dice.rng.below(topology::REGISTRY.len() as u64) as usize;
    let entry = &topology::REGISTRY[at].entry;
    let mut table = Map::from_iter([("kind".to_owned(), Json::from(entry.name))]);
    // Names of a custom topology, which its links need.
    let (mut hosts, mut switches) = (Vec::new(), Vec::new());
    for p in entry.params {
        let value = match p.kind {
            Kind::Link if p.default.is_none() || dice.chance(60) => Some(link(dice)),
            Kind::Link => None,
            Kind::Names if p.key == "hosts" => {
                hosts = names("x", 2 + dice.rng.below(5));
                Some(json!(hosts))
            }
            Kind::Names => {
                switches = names("w", 1 + dice.rng.below(4));
                Some(json!(switches))
            }
            Kind::Links => Some(links(dice, &hosts, &switches)),
            // A fat tree of k = 2 or 4; the numbers of other topologies are drawn below.
            Kind::Int(..) if p.key == "k" => Some(dice.one(&[2, 4]).into()),
            Kind::Int(least, most) if p.default.is_none() => {
                Some(dice.between(least.unsigned_abs(), most.min(8).unsigned_abs()).into())
            }
            _ if p.key.starts_with("shared") && dice.chance(80) => None,
            _ if p.default.is_none() || dice.chance(20) => dice.value(p),
            _ => None,
        };
        if let Some(value) = value {
            table.insert(p.key.to_owned(), value);
        }
    }
    Json::Object(table)
}

fn names(prefix: &str, count: u64) -> Vec<String> {
    (0..count).map(|i| format!("{prefix}{i}")).collect()
}

/// Links of a custom topology: each host at a switch, the switches joined as a tree, and some links more, which make paths of different delays.
fn links(dice: &mut Dice, hosts: &[String], switches: &[String]) -> Json {
    let mut list = Vec::new();
    let mut add = |dice: &mut Dice, from: &str, to: &str| {
        let Json::Object(properties) = link(dice) else { return };
        let ends = [("from".to_owned(), Json::from(from)), ("to".to_owned(), Json::from(to))];
        list.push(Json::Object(ends.into_iter().chain(properties).collect()));
    };
    for host in hosts {
        let at = dice.rng.below(switches.len() as u64) as usize;
        add(dice, host, &switches[at]);
    }
    for i in 1..switches.len() {
        let other = dice.rng.below(i as u64) as usize;
        add(dice, &switches[other], &switches[i]);
        if dice.chance(40) {
            add(dice, &switches[other], &switches[i]);
        }
    }
    json!(list)
}

/// Rate, delay, and mostly a buffer and a queue; sometimes a loss.
fn link(dice: &mut Dice) -> Json {
    let mut table = Map::new();
    table.insert("rate".into(), dice.rate());
    let delay = match dice.rng.below(12) {
        0 => dice.one(&[0, 1, 999]),
        1 => dice.between(1_000_000_000, 10_000_000_000_000),
        _ => dice.between(100_000, 1_000_000_000),
    };
    table.insert("delay".into(), Time(delay).to_string().into());
    if dice.chance(75) {
        table.insert("buffer".into(), dice.queue_len());
    }
    if dice.chance(65) {
        table.insert("queue".into(), queue(dice));
    }
    if dice.chance(8) {
        table.insert("loss".into(), loss(dice));
    }
    Json::Object(table)
}

fn queue(dice: &mut Dice) -> Json {
    let at = dice.rng.below(forebay_queues::REGISTRY.len() as u64) as usize;
    let mut queue = dice.entry(&forebay_queues::REGISTRY[at].entry, 25);
    // A queue that always loses packets lets no connection end.
    if let Some(p) = queue.get_mut("p")
        && p.as_f64().is_some_and(|p| p > 0.3)
    {
        *p = dice.one(&[1e-6, 0.001, 0.02, 0.2]).into();
    }
    queue
}

fn loss(dice: &mut Dice) -> Json {
    let p = dice.one(&[1e-6, 0.001, 0.01, 0.05, 0.2]);
    match dice.rng.below(4) {
        0 => json!({ "p": p, "burst": dice.between(1, 30) }),
        1 => json!({ "to-bad": p, "to-good": dice.one(&[0.05, 0.3, 1.0]), "loss-bad": dice.one(&[0.5, 1.0]) }),
        2 => json!({ "drop": { "connection": dice.rng.below(4), "packets": [1 + dice.rng.below(20)] } }),
        _ => json!({ "p": p }),
    }
}

/// Kinds of load balancing that are legal in `network`.
pub(super) fn balances(network: &Network) -> Vec<&'static Entry> {
    let tiers = TwoTier::of(network).is_ok();
    // Its leaves and spines must be those of the network.
    balance::REGISTRY.iter().map(|e| &e.entry).filter(|e| tiers || e.name != "conga").collect()
}

/// Adds the keys of `[topology]` that every kind has.
pub(super) fn faults(dice: &mut Dice, table: &mut Map<String, Json>, balances: &[&Entry]) {
    let words = |names: Vec<&'static str>, dice: &mut Dice| Json::from(dice.one(&names));
    // Few networks have two tiers, which all kinds support.
    if dice.chance(if balances.len() == balance::REGISTRY.len() { 80 } else { 25 }) {
        let entry = dice.one(balances);
        table.insert("balance".into(), dice.entry(entry, 50));
    }
    if dice.chance(10) {
        table.insert("hash".into(), words(HashFunction::NAMES.iter().map(|n| n.0).collect(), dice));
    }
    if dice.chance(10) {
        table.insert("hash-seed".into(), dice.rng.below(1 << 40).into());
    }
    if dice.chance(20) {
        table.insert("ties".into(), words(Ties::NAMES.iter().map(|n| n.0).collect(), dice));
    }
    if dice.chance(15) {
        table.insert("host-queue".into(), queue(dice));
    }
    if dice.chance(10) {
        let (host, more) = (dice.host(), dice.between(1, 10_000_000_000));
        table.insert("extra-delay".into(), format!("{}: {}", host.as_str().unwrap_or_default(), Time(more)).into());
    }
    if dice.chance(20) {
        let failures: Vec<Json> = (0..1 + dice.rng.below(3)).map(|_| failure(dice)).collect();
        table.insert("failure".into(), json!(failures));
    }
    if dice.chance(12) {
        let errors = dice.one(&[BIT_ERRORS.0, 1e-9, 1e-7, 1e-6, 1e-5]);
        table.insert("corruption".into(), json!([{ "port": dice.port(), "bit-errors": errors }]));
    }
    if dice.chance(12) {
        let Json::Object(mut one) = loss(dice) else { return };
        one.insert("port".into(), dice.port());
        table.insert("loss".into(), json!([one]));
    }
    if dice.chance(12) {
        let changes: Vec<Json> = (0..1 + dice.rng.below(3)).map(|_| change(dice)).collect();
        table.insert("change".into(), json!(changes));
    }
    if dice.chance(8) {
        let p = dice.one(&[1e-6, 0.01, 0.1, 1.0]);
        let by = Time(dice.between(1, 10_000_000_000)).to_string();
        table.insert("reorder".into(), json!([{ "port": dice.port_to_switch(), "p": p, "by": by }]));
    }
    if dice.chance(8) {
        let every = Time(dice.between(1, 10_000_000_000)).to_string();
        table.insert("batch".into(), json!([{ "port": dice.port_to_switch(), "every": every }]));
    }
    if dice.chance(6) {
        let total = Bytes(dice.between(10_000, 2_000_000)).to_string();
        table.insert("shared-buffer".into(), json!({ "total": total, "alpha": dice.one(&[0.1, 0.5, 1.0, 8.0]) }));
    }
}

/// A link that goes down, mostly while packets flow, and mostly comes back.
fn failure(dice: &mut Dice) -> Json {
    let down = if dice.chance(10) { 0 } else { dice.between(1_000_000, 100_000_000_000) };
    let mut one = Map::from_iter([("link".to_owned(), dice.port()), ("down".to_owned(), Time(down).to_string().into())]);
    if dice.chance(85) {
        let up = down + dice.between(1_000, 100_000_000_000);
        one.insert("up".into(), Time(up).to_string().into());
    }
    if dice.chance(60) {
        let reroute = dice.between(1, 10_000_000_000);
        one.insert("reroute".into(), Time(reroute).to_string().into());
    }
    Json::Object(one)
}

/// A link that changes one to three of its properties, mostly while packets flow.
fn change(dice: &mut Dice) -> Json {
    let at = if dice.chance(10) { 0 } else { dice.between(1_000_000, 100_000_000_000) };
    let mut one = Map::from_iter([("port".to_owned(), dice.switch_port()), ("at".to_owned(), Time(at).to_string().into())]);
    if dice.chance(50) {
        one.insert("rate".into(), dice.rate());
    }
    if dice.chance(50) {
        one.insert("delay".into(), Time(dice.between(1, 1_000_000_000)).to_string().into());
    }
    if one.len() == 2 || dice.chance(30) {
        one.insert("loss".into(), dice.one(&[0.0, 0.001, 0.05, 0.3]).into());
    }
    Json::Object(one)
}
