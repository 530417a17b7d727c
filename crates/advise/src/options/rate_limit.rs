//! Rate limit of the connections of another class, as its application sets it (SO_MAX_PACING_RATE).
//!
//! The limit is a part of a link, divided by the connections of the class that share one receiver. Applications that open connections as work arrives
//! have a number that changes: for them it is a part of a link for each connection.

use super::{Choice, Family, Subject};
use crate::install::Step;
use crate::values::inline;
use forebay_types::Rate;
use serde_json::{Value as Json, json};

/// Parts of a link that all connections of the class may take together (our choice).
const PARTS: [f64; 2] = [0.5, 0.25];
/// Limits are multiples of this, bit/s: whole bytes per second, and a number that people can type.
const STEP: u64 = 1_000_000;
/// Name of the transport with the limit, where the file has no groups, and of that of all other traffic.
const LIMITED: &str = "limited";
const UNLIMITED: &str = "unlimited";

pub(super) fn add(s: &Subject, out: &mut Vec<Choice>) {
    for (number, workload) in s.echo["workload"].as_array().into_iter().flatten().enumerate() {
        let Some(connections) = connections(s, number, workload) else { continue };
        for part in PARTS {
            let bps = (part * s.rate.0 as f64 / connections as f64) as u64 / STEP * STEP;
            let Some(sets) = sets(s, number, workload, Rate(bps)).filter(|_| bps > 0) else { continue };
            let class = workload["class"].as_str().unwrap_or_default();
            let rate = Rate(bps);
            let text =
                format!("setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, ...) with {} bytes per second on its sockets", bps / 8);
            let mut step = Step::words(&format!("application {class}"), text);
            step.open = "follow at once if it is set on them".into();
            out.push(Choice {
                family: Family::RateLimit,
                name: format!("at most {rate} for each connection of {class}"),
                sets,
                scales: Vec::new(),
                install: vec![step],
                k: None,
            });
        }
    }
}

/// Connections of a class that send to one host at the same time, as far as they are fixed; `None` for the objective's class, and for classes without
/// bulk data.
fn connections(s: &Subject, number: usize, workload: &Json) -> Option<usize> {
    if number == s.class.0 {
        return None;
    }
    match workload["kind"].as_str()? {
        "long" | "on-off" => {
            let each = workload["per-pair"].as_u64().unwrap_or(1) as usize;
            Some(s.peers.fan_in(workload["class"].as_str()?).max(1) * each)
        }
        "poisson" | "replay" => Some(1),
        _ => None,
    }
}

/// Overrides that limit the connections of one class and no others; `None` where other classes share its transport, or it has a limit.
fn sets(s: &Subject, number: usize, workload: &Json, rate: Rate) -> Option<Vec<String>> {
    let all = s.echo["workload"].as_array()?;
    let Some(groups) = s.echo["transport"]["group"].as_array() else {
        return alone(s, number, all, rate);
    };
    let own = workload["transport"].as_str()?;
    let shared = all
        .iter()
        .enumerate()
        .any(|(i, w)| i != number && w["kind"] != "udp" && w["transport"].as_str().is_none_or(|t| t == own));
    let group = groups.iter().position(|g| g["name"] == own && g["max-pacing-rate"].is_null())?;
    (!shared).then(|| vec![format!("{}.max-pacing-rate=\"{rate}\"", s.all.get(group).map(|t| t.key.clone()).unwrap_or_default())])
}

/// The same in a file with one transport: two groups with its settings, one of which has the limit.
fn alone(s: &Subject, number: usize, all: &[Json], rate: Rate) -> Option<Vec<String>> {
    if !s.transport()["max-pacing-rate"].is_null() {
        return None;
    }
    let groups = json!([{ "name": UNLIMITED }, { "name": LIMITED, "max-pacing-rate": rate.to_string() }]);
    let mut sets = vec![format!("transport.group={}", inline(&groups))];
    for (i, w) in all.iter().enumerate().filter(|(_, w)| w["kind"] != "udp") {
        let name = if i == number { LIMITED } else { UNLIMITED };
        debug_assert!(w["transport"].is_null(), "a file without groups names none");
        sets.push(format!("workload.{i}.transport=\"{name}\""));
    }
    Some(sets)
}
