//! The first lines of results and the explanation of single messages agree, on some short scenarios of `answers/first/`.

use crate::scratch::{Scratch, forebay, text};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A time such as `6.52 ms`, in seconds.
fn seconds(words: &str) -> f64 {
    let (value, unit) = words.split_once(' ').unwrap();
    let scale = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)].iter().find(|u| u.0 == unit).unwrap().1;
    value.parse::<f64>().unwrap() * scale
}

/// Text between two others, the first of each.
fn between<'a>(whole: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &whole[whole.find(before)? + before.len()..];
    Some(&rest[..rest.find(after)?])
}

/// Contradictions in the explanation of one message: the time in a queue cannot exceed the longest delay of its queues for the handshake and for the
/// data.
fn contradiction(message: &str) -> Option<String> {
    let queue = between(message, "main cause of delay: switch queue (", " of ")?;
    let waited = seconds(queue.split_once("), ")?.1);
    let hop = |line: &str| between(line, "at most (", ")").map_or(0.0, seconds);
    let longest: f64 = message.lines().filter(|l| l.trim_start().starts_with("hop ")).map(hop).sum();
    (waited > 2.1 * longest + 1e-6).then(|| message.to_owned())
}

/// Longer runs are left out: an explanation repeats the run with samples of all queues on the path.
const MOST_HOPS: u64 = 300_000;

/// Contradictions of one scenario.
fn of_scenario(name: &str) -> Vec<String> {
    let scratch = Scratch::new(&format!("explained-{name}"));
    let file = format!("{}/tests/answers/first/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let run = forebay(&scratch.0, &["run", &file, "--runs", "1", "--out", "out", "--no-report"]);
    let manifest = std::fs::read_to_string(scratch.0.join("out/manifest.json")).unwrap_or_default();
    let hops = between(&manifest, "\"packet_hops\": ", ",").and_then(|n| n.parse::<u64>().ok());
    if !text(&run.stdout).contains("ain cause") || hops.is_none_or(|n| n > MOST_HOPS) {
        return Vec::new();
    }
    let explained = forebay(&scratch.0, &["explain", "out"]);
    if !run.status.success() || !explained.status.success() {
        // A sweep has no messages to explain, and some scenarios end early on purpose.
        return Vec::new();
    }
    let (first, explained) = (text(&run.stdout), text(&explained.stdout));
    let mut wrong: Vec<String> = explained.split("\nflow ").skip(1).filter_map(contradiction).collect();
    // Of one late message, both name the same cause.
    let mut causes = explained.lines().filter_map(|l| l.trim_start().strip_prefix("main cause of delay: "));
    let only = first.contains("1 of 1 message is late") && !first.contains("; ");
    if only && let (Some(cause), Some(said)) = (causes.next(), between(&first, "Main cause: ", " (100 %)")) {
        let cause = cause.split([',', '(']).next().unwrap_or("").trim();
        let queue = cause == "switch queue" && said.starts_with("queue of ");
        let same = said.contains(cause) || queue || cause.starts_with("bandwidth share");
        if !same {
            wrong.push(format!("{said} against {cause}"));
        }
    }
    wrong
}

#[test]
fn explanations_agree_with_first_lines() {
    let names = ["idle-restart", "window-lost", "outage-stall", "syn-again", "three-round-trips", "overlap"];
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Relaxed)) {
                    wrong.lock().unwrap().extend(of_scenario(name).into_iter().map(|w| format!("{name}: {w}")));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
