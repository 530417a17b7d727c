//! Makes a failing case small: removes keys, tables and list elements, and simplifies the values that are left, as long as the case fails in the same
//! way.

use crate::case::Case;
use serde_json::{Value as Json, json};

/// Attempts of a whole search; each runs the case.
const ATTEMPTS: usize = 400;

/// A step into a document.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Key(String),
    Index(usize),
}

/// The smallest case found that still satisfies `fails`.
pub fn shrink(case: &Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut best = case.document().clone();
    let mut left = ATTEMPTS;
    let mut attempt = |document: &Json| {
        if left == 0 {
            return false;
        }
        left -= 1;
        fails(&case.with(document.clone()))
    };
    loop {
        let before = best.clone();
        remove_parts(&mut best, &mut attempt);
        simplify_values(&mut best, &mut attempt);
        if best == before {
            return case.with(best);
        }
    }
}

/// Removes each part that is not needed, the largest first.
fn remove_parts(best: &mut Json, attempt: &mut dyn FnMut(&Json) -> bool) {
    let mut at = 0;
    loop {
        let all = paths(best);
        let Some(path) = all.get(at) else { return };
        let mut smaller = best.clone();
        if remove(&mut smaller, path) && attempt(&smaller) {
            *best = smaller;
        } else {
            at += 1;
        }
    }
}

/// Replaces values by simpler ones.
fn simplify_values(best: &mut Json, attempt: &mut dyn FnMut(&Json) -> bool) {
    for path in paths(best) {
        let Some(old) = find(best, &path).map(|v| v.clone()) else { continue };
        for simple in simpler(&old) {
            let mut candidate = best.clone();
            let Some(place) = find(&mut candidate, &path) else { break };
            *place = simple;
            if attempt(&candidate) {
                *best = candidate;
                break;
            }
        }
    }
}

/// Values that are simpler than `value`, the simplest first.
fn simpler(value: &Json) -> Vec<Json> {
    let texts = |list: &[&str], value: &str| list.iter().take_while(|t| **t != value).map(|t| json!(t)).collect();
    match value {
        Json::String(text) if text.ends_with("bps") => texts(&["1Gbps", "10Gbps", "100Mbps"], text),
        Json::String(text) if text.ends_with("pkt") => texts(&["1pkt", "10pkt", "100pkt"], text),
        Json::String(text) if text.ends_with('B') => texts(&["1B", "1KB", "10KB", "100KB"], text),
        Json::String(text) if text.ends_with('s') && text.starts_with(|c: char| c.is_ascii_digit()) => {
            texts(&["0s", "1us", "10us", "100us", "1ms", "10ms", "1s"], text)
        }
        Json::Number(n) => match n.as_u64() {
            Some(n) => [0, 1, 2, n / 2].into_iter().filter(|m| *m < n).map(|m| json!(m)).collect(),
            None => [0.0, 0.5, 1.0].into_iter().filter(|m| n.as_f64() != Some(*m)).map(|m| json!(m)).collect(),
        },
        // A distribution, or an entry with parameters, by one value.
        Json::Object(table) if table.len() == 1 => match table.values().next() {
            Some(Json::Array(range)) => range.first().cloned().into_iter().collect(),
            Some(kind @ Json::String(_)) => vec![kind.clone()],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Paths of all parts, outer ones first.
fn paths(document: &Json) -> Vec<Vec<Step>> {
    let mut all = Vec::new();
    let mut queue = std::collections::VecDeque::from([(Vec::new(), document)]);
    while let Some((path, value)) = queue.pop_front() {
        let children: Vec<(Step, &Json)> = match value {
            Json::Object(table) => table.iter().map(|(k, v)| (Step::Key(k.clone()), v)).collect(),
            Json::Array(list) => list.iter().enumerate().map(|(i, v)| (Step::Index(i), v)).collect(),
            _ => Vec::new(),
        };
        for (step, child) in children {
            let path: Vec<Step> = path.iter().cloned().chain([step]).collect();
            all.push(path.clone());
            queue.push_back((path, child));
        }
    }
    all
}

fn find<'a>(document: &'a mut Json, path: &[Step]) -> Option<&'a mut Json> {
    path.iter().try_fold(document, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    })
}

fn remove(document: &mut Json, path: &[Step]) -> bool {
    let Some((last, parents)) = path.split_last() else { return false };
    match (find(document, parents), last) {
        (Some(Json::Object(table)), Step::Key(key)) => table.shift_remove(key).is_some(),
        (Some(Json::Array(list)), Step::Index(index)) if list.len() > 1 => {
            list.remove(*index);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A failure that needs two of many keys.
    #[test]
    fn unneeded_parts_are_removed() {
        let text = "seed = 7\nduration = \"3ms\"\n[topology]\nkind = \"dumbbell\"\naccess = { rate = \"1234bps\", delay = \"9us\" }\n\
                    [transport]\nmss = 700\nack-every = 9\n[[workload]]\nkind = \"long\"\n[[workload]]\nkind = \"udp\"\n";
        let case = Case::read(text).unwrap();
        let mut runs = 0;
        let small = shrink(&case, &mut |c| {
            runs += 1;
            let d = c.document();
            let mss = d.get("transport").and_then(|t| t.get("mss")).and_then(Json::as_u64);
            let workloads = d.get("workload").and_then(Json::as_array).map_or(0, Vec::len);
            mss.is_some_and(|mss| mss > 300) && workloads >= 1
        });
        assert_eq!(small.document()["transport"], json!({ "mss": 350 }));
        assert_eq!(small.document()["workload"].as_array().map(Vec::len), Some(1));
        assert!(small.document().get("topology").is_none() && small.document().get("seed").is_none(), "{}", small.text());
        assert!(runs < ATTEMPTS);
    }
}
