//! Changes of the application that sends: fewer servers for each request, and requests that do not arrive at once.

use super::{Choice, Family, Subject};
use crate::install::Step;
use crate::values::seconds;

/// Smallest fan-in that can be halved.
const MIN_FAN_IN: usize = 4;

pub(super) fn add(s: &Subject, out: &mut Vec<Choice>) {
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
