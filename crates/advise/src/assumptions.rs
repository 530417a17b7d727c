//! Assumptions of a scenario that its author cannot know exactly, and variations of them.
//!
//! Each variation is a plausible network that the recommended change should also help: larger or smaller messages, more background, longer round trips,
//! another interface queue, other offloads, another fan-in, other random choices. A variation changes the network or the traffic and never a remedy.

use crate::options::Subject;
use crate::values::{inline, scaled};
use serde_json::Value as Json;

/// Largest load to which the background is raised (our choice): above it every queue grows without end.
const MAX_LOAD: f64 = 0.8;

/// Name of the variation of the random choices.
const OTHER_SEEDS: &str = "other seeds";

/// One variation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variation {
    /// Name: `messages x 4`.
    pub name: String,
    /// Overrides of the scenario.
    pub sets: Vec<String>,
    /// True for seeds that no other network has.
    pub other_seeds: bool,
}

/// Variations of a scenario in the order of their evaluation, those that most often reverse the advice first; and assumptions that cannot be varied,
/// with the reason.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variations {
    pub(crate) list: Vec<Variation>,
    pub(crate) fixed: Vec<(String, String)>,
}

impl Variations {
    /// Variations of the assumptions about `s`; `document` is the file with its overrides.
    pub(crate) fn of(s: &Subject, document: &Json) -> Variations {
        let mut out = Variations::default();
        let duration = s.echo["duration"].as_str();
        let longer = duration.and_then(|d| scaled(&Json::String(d.to_owned()), 2.0)).map(|d| format!("duration={}", inline(&d)));
        // Longer messages need a longer run for the same number of messages; twice the time is a compromise.
        out.add("messages x 4", message_size(s, 4.0).map(|sets| [sets, longer.into_iter().collect()].concat()));
        out.add("background x 4", background(s));
        out.add("offloads", offloads(s));
        out.add("interface queue", interface_queue(s));
        out.add("round trip x 3", round_trip(s));
        out.add("messages / 4", message_size(s, 0.25));
        let (less, more) = fan_in(s);
        out.add("fan-in - 50 %", less);
        out.add("fan-in + 50 %", more);
        out.add(OTHER_SEEDS, Ok(other_seeds(document)));
        out
    }

    fn add(&mut self, name: &str, sets: Result<Vec<String>, String>) {
        match sets {
            Ok(sets) => {
                let name = match name {
                    "offloads" if sets[0].contains("bare") => "no offloads",
                    "offloads" => "TSO and GRO",
                    "interface queue" if sets[0].contains("fq-codel") => "fq_codel at hosts",
                    "interface queue" => "FIFO at hosts",
                    other => other,
                };
                self.list.push(Variation { name: name.to_owned(), sets, other_seeds: name == OTHER_SEEDS });
            }
            Err(why) => self.fixed.push((name.to_owned(), why)),
        }
    }
}

/// Messages of the objective's class, `factor` times as large.
fn message_size(s: &Subject, factor: f64) -> Result<Vec<String>, String> {
    let (number, name) = &s.class;
    let workload = &s.echo["workload"][*number];
    let key = ["response", "block", "total", "size", "sizes"].iter().find(|key| !workload[**key].is_null());
    let Some(key) = key else { return Err(format!("the messages of `{name}` have no size")) };
    let size = scaled(&workload[*key], factor);
    size.map(|size| vec![format!("workload.{number}.{key}={}", inline(&size))])
        .ok_or_else(|| format!("the sizes of `{name}` are a measured table"))
}

/// Traffic of all other classes times four, up to a load of 80 %.
fn background(s: &Subject) -> Result<Vec<String>, String> {
    let mut sets = Vec::new();
    for (i, workload) in s.echo["workload"].as_array().into_iter().flatten().enumerate().filter(|(i, _)| *i != s.class.0) {
        let mut set = |key: &str, value: Option<Json>| {
            sets.extend(value.map(|v| format!("workload.{i}.{key}={}", inline(&v))));
        };
        let times = |key: &str, factor: f64| scaled(&workload[key], factor);
        match workload["kind"].as_str().unwrap_or_default() {
            "poisson" if workload["load"].is_number() => {
                let load = workload["load"].as_f64().unwrap_or(0.0);
                set("load", (load < MAX_LOAD).then(|| Json::from((4.0 * load).min(MAX_LOAD))));
            }
            "poisson" => set("rate", times("rate", 4.0)),
            "queries" if workload["rate"].is_number() => set("rate", times("rate", 4.0)),
            "queries" | "incast" => set("gap", times("gap", 0.25)),
            "requests" => set("think", times("think", 0.25)),
            "on-off" => set("gaps", times("gaps", 0.25)),
            "long" if workload["size"].is_string() => set("size", times("size", 4.0)),
            "long" => set("per-pair", times("per-pair", 4.0)),
            _ => {}
        }
    }
    if sets.is_empty() { Err("there is no other traffic that can grow".into()) } else { Ok(sets) }
}

/// Delay of every link times three.
fn round_trip(s: &Subject) -> Result<Vec<String>, String> {
    let one = |link: &String| Some(format!("{link}.delay={}", inline(&scaled(s.link(link, "delay"), 3.0)?)));
    let sets: Vec<String> = s.links.iter().filter_map(one).collect();
    if sets.is_empty() { Err("no link has a delay".into()) } else { Ok(sets) }
}

/// The other common queue of a host's interface.
fn interface_queue(s: &Subject) -> Result<Vec<String>, String> {
    let queue = s.host_queue().and_then(|q| q["kind"].as_str().or(q.as_str()));
    let other = if matches!(queue, None | Some("drop-tail")) { "fq-codel" } else { "drop-tail" };
    Ok(vec![format!("topology.host-queue=\"{other}\"")])
}

/// Segmentation and receive offload of a server, or a host without them.
fn offloads(s: &Subject) -> Result<Vec<String>, String> {
    if s.transport()["stack"].as_str() != Some("linux") {
        return Err("offloads are those of Linux".into());
    }
    if !s.transport()["tso"].is_string() {
        // As a server of Linux has them: 64 KiB, and a delay of 8 us.
        return Ok([s.every_transport("tso", "\"64KiB\""), s.every_transport("gro", "\"8us\"")].concat());
    }
    let queue = s.host_queue().map(|q| format!("topology.host-queue={}", inline(q)));
    Ok([s.every_transport("host", "\"bare\""), queue.into_iter().collect()].concat())
}

/// Half of the servers, and half as many more.
fn fan_in(s: &Subject) -> (Result<Vec<String>, String>, Result<Vec<String>, String>) {
    let (number, name) = &s.class;
    let workload = &s.echo["workload"][*number];
    let key = match workload["kind"].as_str().unwrap_or_default() {
        "queries" => "workers",
        "incast" => "senders",
        _ => {
            let why = || Err(format!("`{name}` has no fan-in"));
            return (why(), why());
        }
    };
    let servers = s.peers.class_senders(name);
    let n = servers.len();
    if let Some(fan_out) = workload["fan-out"].as_u64() {
        let less = (fan_out / 2).max(1);
        let more = (fan_out * 3 / 2).min(n as u64);
        let more = if more > fan_out {
            Ok(vec![format!("workload.{number}.fan-out={more}")])
        } else {
            Err("there are no more servers".into())
        };
        return (Ok(vec![format!("workload.{number}.fan-out={less}")]), more);
    }
    let list = |names: &[String]| inline(&Json::from(names.to_vec()));
    let less = if n >= 2 {
        Ok(vec![format!("workload.{number}.{key}={}", list(&servers[..n.div_ceil(2)]))])
    } else {
        Err("there is one server".into())
    };
    (less, more_servers(s, &servers).map(|(sets, all)| [sets, vec![format!("workload.{number}.{key}={}", list(&all))]].concat()))
}

/// Adds half as many servers as there are to the topology. Returns the overrides and the names of all servers.
fn more_servers(s: &Subject, servers: &[String]) -> Result<(Vec<String>, Vec<String>), String> {
    let topology = &s.echo["topology"];
    let added = servers.len().div_ceil(2) as u64;
    let (key, stem) = match topology["kind"].as_str() {
        Some("many-to-one") => ("senders", "s"),
        Some("leaf-spine") if topology["leaves"].as_u64() == Some(1) => ("hosts-per-leaf", "h"),
        _ => return Err("this topology has no place for more servers".into()),
    };
    let Some(present) = topology[key].as_u64() else { return Err("the number of hosts is unknown".into()) };
    let mut all = servers.to_vec();
    all.extend((present..present + added).map(|i| format!("{stem}{i}")));
    let mut sets = vec![format!("topology.{key}={}", present + added)];
    // The rate of the fabric stays.
    if let (Some("hosts-per-leaf"), Some(factor)) = (Some(key), topology["oversubscription"].as_f64()) {
        sets.push(format!("topology.oversubscription={}", factor * (present + added) as f64 / present as f64));
    }
    Ok((sets, all))
}

/// Another hash of the paths. The search takes seeds that no other network has.
fn other_seeds(document: &Json) -> Vec<String> {
    if document["topology"]["hash-seed"].is_null() { Vec::new() } else { vec!["topology.hash-seed=4711".into()] }
}
