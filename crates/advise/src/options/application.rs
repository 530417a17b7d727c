//! Changes of the application that sends: fewer servers for each request, and requests that do not arrive at once.

use super::{Choice, Family, Subject};
use crate::format::quantity;
use crate::install::Step;
use crate::values::seconds;
use forebay_scenario::Goal;
use forebay_types::Bytes;

/// Smallest fan-in that can be halved.
const MIN_FAN_IN: usize = 4;

pub(super) fn add(s: &Subject, out: &mut Vec<Choice>) {
    spread_starts(s, out);
    let (number, name) = &s.class;
    let workload = &s.echo["workload"][*number];
    let fan_in = s.peers.fan_in(name);
    let Some(kind) = workload["kind"].as_str().filter(|k| (*k == "queries" || *k == "incast") && fan_in >= MIN_FAN_IN) else {
        return;
    };
    let place = format!("application {name}");
    let mut add = |name: String, sets: Vec<String>, scales: Vec<(String, f64)>, step: String| {
        out.push(Choice { family: Family::Application, name, sets, scales, install: vec![Step::words(&place, step)], k: None });
    };
    let key = |key: &str| format!("workload.{number}.{key}");
    if kind == "queries" && (workload["response"].is_string() || workload["total"].is_string()) {
        let half = fan_in.div_ceil(2);
        // `total` is divided over the workers by itself.
        let scales = if workload["response"].is_string() { vec![(key("response"), 2.0)] } else { Vec::new() };
        let step = format!("request twice as much from half as many servers, {half} instead of {fan_in}");
        add(format!("half the fan-in, {half} servers"), vec![format!("{}={half}", key("fan-out"))], scales, step);
    }
    if workload["jitter"].as_str().and_then(seconds).is_none_or(|j| j == 0.0) {
        for time in ["500us", "2ms"] {
            let step = format!("each server delays its answer by a random time between 0 and {time}");
            add(format!("answers spread over {time}"), vec![format!("{}=\"{time}\"", key("jitter"))], Vec::new(), step);
        }
    }
}

/// Random starts of messages that begin at once: over the time that the receiver's link needs for all of them, and over twice that time.
fn spread_starts(s: &Subject, out: &mut Vec<Choice>) {
    let (number, name) = &s.class;
    let workload = &s.echo["workload"][*number];
    let at_once = workload["jitter"].as_str().and_then(seconds).is_none_or(|j| j == 0.0);
    let size = workload["size"].as_str().and_then(|size| size.parse::<Bytes>().ok());
    let (Some("long"), Some(size), true) = (workload["kind"].as_str(), size, at_once) else { return };
    let messages = s.peers.fan_in(name) as u64 * workload["per-pair"].as_u64().unwrap_or(1);
    if messages < MIN_FAN_IN as u64 {
        return;
    }
    let busy_us = (messages * size.0 * 8) as f64 / s.rate.0 as f64 * 1e6;
    for factor in [1.0, 2.0] {
        let us = (factor * busy_us).ceil();
        let time = quantity(us * 1e-6, Goal::Mean);
        let text = format!("each sender starts at a random time within {time}; that time does not count as completion time");
        out.push(Choice {
            family: Family::Application,
            name: format!("starts spread over {time}"),
            sets: vec![format!("workload.{number}.jitter=\"{us}us\"")],
            scales: Vec::new(),
            install: vec![Step::words(&format!("application {name}"), text)],
            k: None,
        });
    }
}
