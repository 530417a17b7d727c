//! Lines on a terminal of 80 columns, and in a pipe.

use crate::scratch::{Scratch, text};

/// Three transports and two groups of one of them: tables and sentences wider than 80 columns.
const WIDE: &str = r#"
name = "wide"
duration = "60ms"
runs = 3
[topology]
kind = "many-to-one"
senders = 6
access     = { rate = "10Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us", buffer = "60pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "linux"
cc = ["cubic", "dctcp", "newreno", "bbr"]
[[workload]]
kind = "poisson"
class = "web-search-of-the-front-end"
sizes = { cdf = "websearch" }
load = 0.5
load-at = "bottleneck"
[[workload]]
kind = "incast"
block = "32KB"
rounds = 5
"#;

fn widest(text: &str) -> usize {
    text.lines().map(|l| l.chars().count()).max().unwrap_or(0)
}

/// All printed words.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn lines_fit_columns() {
    let s = Scratch::new("columns");
    s.file("s.toml", WIDE);
    let at = |columns: &str, args: &[&str]| {
        let out = s.command(args).env("COLUMNS", columns).output().unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout)
    };
    let run = at("80", &["run", "s.toml", "--out", "r", "--force"]);
    assert!(widest(&run) <= 80, "{run}");
    let pipe = s.ok(&["run", "s.toml", "--out", "r", "--force"]);
    assert!(widest(&pipe) > 120, "a pipe has no width: {pipe}");
    // Each sentence is one line in a pipe, and complete where it is wrapped.
    let first = pipe.lines().next().unwrap();
    assert!(first.ends_with('.') && first.len() > 80, "{first}");
    assert_eq!(words(&run)[..words(first).len()], words(first)[..]);
    // The table is split into blocks, each with its labels and its heads.
    let heads = |text: &str| text.lines().filter(|l| l.starts_with("drops, all ports")).count();
    assert_eq!((heads(&pipe), heads(&run) > 1), (1, true), "{run}");
    let name = |name: &str| run.lines().any(|l| l.starts_with("      ") && l.split_whitespace().any(|w| w == name));
    assert!(["cubic", "dctcp", "newreno", "bbr"].iter().all(|n| name(n)), "{run}");
    for args in [
        &["check", "s.toml"][..],
        &["list"],
        &["list", "dctcp"],
        &["explain", "stack"],
        &["report", "r", "--out", "p.html"],
        &["explain", "r"],
    ] {
        let printed = at("80", args);
        let long: Vec<&str> = printed.lines().filter(|l| l.chars().count() > 80 && l.trim().contains(' ')).collect();
        assert!(long.is_empty(), "{args:?}: {long:#?}");
    }
}

#[test]
fn machine_output_never_wrapped() {
    let s = Scratch::new("unwrapped");
    s.file("s.toml", WIDE);
    let at = |columns: &str, args: &[&str]| {
        let out = s.command(args).env("COLUMNS", columns).output().unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout)
    };
    for args in [
        &["check", "s.toml", "--resolved"][..],
        &["check", "s.toml", "--format", "json", "--no-forecast"],
        &["list", "--format", "json"],
    ] {
        assert_eq!(at("40", args), s.ok(args), "{args:?}");
    }
    let run = at("40", &["run", "s.toml", "--out", "r", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&run).unwrap();
    assert!(document["answer"][0].as_str().unwrap().len() > 80);
    assert_eq!(at("0", &["list"]), s.ok(&["list"]), "a width of nothing is none");
}
