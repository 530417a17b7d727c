//! `forebay advise` from outside: the recommendation in the first line, its cost, and its continuation after an interrupt.

use crate::scratch::{Scratch, command, forebay, text, wait_until};
use std::io::Read;
use std::process::{Command, Stdio};

/// Twenty servers answer one client through a port of 60 packets, over and over: without help they wait for retransmission timeouts.
const INCAST: &str = r#"
name = "small"
duration = "150ms"

[advise]
objective = "p99 of reads"

[topology]
kind = "many-to-one"
senders = 24
access = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us", buffer = "60pkt" }

[transport]
stack = "linux"
cc = "cubic"

[[transport.group]]
name = "storage"

[[transport.group]]
name = "others"

[[workload]]
kind = "incast"
class = "reads"
transport = "storage"
senders = "s0..s19"
block = "16KB"

[[workload]]
kind = "poisson"
class = "copies"
transport = "others"
from = "s20..s23"
to = "receiver"
sizes = "50KB"
load = 0.05
"#;

#[test]
fn recommendation_first_and_no_run_twice() {
    let scratch = Scratch::new("advise");
    scratch.file("small.toml", INCAST);
    let ask = || forebay(&scratch.0, &["advise", "small.toml", "--seeds", "3"]);
    let out = ask();
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let printed = text(&out.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    // The runs are shorter than a retransmission timeout.
    let lead = "These runs cannot decide. Most promising change that was never worse than today in the networks tried: ";
    assert!(
        lines[0].starts_with(lead) && lines[1].starts_with("The runs of 150ms end before a retransmission timeout"),
        "{printed}"
    );
    let has = |start: &str| lines.iter().any(|l| l.starts_with(start));
    assert!(has("The p99 of reads falls from "), "{printed}");
    assert!(has("Effect on copies: ") && has("Of reads, ") && has("It is never worse than today in the "), "{printed}");
    assert!(printed.contains("\nHow (replace ") && has("as it is"), "{printed}");
    // The first row is the recommended change.
    let winner = lines[0].trim_start_matches(lead).split(';').next().unwrap().trim_end_matches('.');
    let rows = lines.iter().filter(|l| l.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok())).count();
    assert!(rows <= 11, "{printed}");
    assert!(has(&format!("1. {winner}")), "{printed}");
    assert!(has("messages x 4") && has("background x 4") && has("other seeds"), "{printed}");
    let page = std::fs::read_to_string(scratch.0.join("out/small-advise/report.html")).unwrap();
    assert!(page.contains(winner), "{winner}");
    // Gain against cost with the recommended change marked, the networks tried, and commands that a click selects.
    for part in ["Gain and price", "\"mark\":\"recommended\"", "In other networks", "data-head=\"command\"", "messages x 4"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(printed.contains(" runs, 0 of them already finished"), "{printed}");

    let again = text(&ask().stdout);
    let last = again.lines().find(|l| l.starts_with("results: ")).unwrap();
    let numbers: Vec<u32> = last.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
    assert_eq!(numbers[0], numbers[1], "{last}");
    assert_eq!(again.lines().next(), printed.lines().next());
}

/// Runs of 60 ms cannot show that a read takes at most 100 ms.
#[test]
fn short_runs_keep_no_limit() {
    let scratch = Scratch::new("advise-short");
    scratch.file("small.toml", INCAST);
    let limit = ["--objective", "p99 of reads at most 100ms"];
    let out = forebay(
        &scratch.0,
        &[&["advise", "small.toml", "--set", "duration=60ms", "--seeds", "1", "--no-report"], &limit[..]].concat(),
    );
    let printed = text(&out.stdout);
    assert!(printed.starts_with("These runs cannot decide"), "{printed}{}", text(&out.stderr));
    assert!(!printed.contains("keeps 100ms"), "{printed}");
}

/// The number of threads changes neither the choice of runs nor the answer.
#[test]
fn threads_do_not_change_answer() {
    let scratch = Scratch::new("advise-threads");
    scratch.file("small.toml", INCAST);
    let answer = |threads: &str| {
        let args = ["advise", "small.toml", "--seeds", "2", "--threads", threads, "--out", threads, "--format", "json"];
        let out = forebay(&scratch.0, &args);
        let text = text(&out.stdout);
        let page = std::fs::read_to_string(scratch.0.join(threads).join("report.html")).unwrap();
        assert!(text.contains("\"answer\""), "{text}");
        let units = scratch.entries(&format!("{threads}/units")).len();
        (text.replace(&format!("\"results\": \"{threads}\""), ""), page, units)
    };
    assert!(answer("1") == answer("2"));
}

/// Interrupted after the first results, it reports so, and the same command continues to the recommendation.
#[test]
fn interrupted_search_continues() {
    let scratch = Scratch::new("advise-stop");
    scratch.file("small.toml", INCAST);
    let ask = ["advise", "small.toml", "--seeds", "3", "--set", "duration=300ms"];
    let mut child = command(&scratch.0, &ask).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let units = scratch.0.join("out/small-advise/units");
    wait_until("first results", || units.is_dir());
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{err}");
    assert!(err.contains("again to continue"), "{err}");
    let out = forebay(&scratch.0, &ask);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let printed = text(&out.stdout);
    assert!(!printed.contains(" runs, 0 of them already finished"), "{printed}");
}

#[test]
fn what_cannot_be_asked_is_said() {
    let scratch = Scratch::new("advise-usage");
    scratch.file("small.toml", INCAST);
    let fails = |args: &[&str], word: &str| {
        let out = forebay(&scratch.0, &[&["advise", "small.toml"], args].concat());
        let err = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{err}");
        assert!(err.contains(word), "{word}: {err}");
    };
    fails(&["--objective", "p99 of raeds"], "did you mean `reads`?");
    fails(&["--objective", "fast"], "p99 of CLASS");
    fails(&["--set", "transport.cc=[\"cubic\",\"newreno\"]"], "as it is today");
    fails(&["--seeds", "0"], "--seeds");
    assert_eq!(scratch.entries(""), ["small.toml"]);
}

/// This command understands the commands of a recommendation: each `forebay attach` is tried without changes.
#[cfg(feature = "bpf")]
#[test]
fn its_commands_can_be_typed() {
    let scratch = Scratch::new("typed");
    scratch.file("small.toml", INCAST);
    let out = forebay(&scratch.0, &["advise", "small.toml", "--seeds", "2", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&text(&out.stdout)).unwrap();
    let mut congestion_controls = std::collections::BTreeSet::new();
    for step in all["options"].as_array().unwrap().iter().flat_map(|o| o["install"].as_array().unwrap()) {
        let step = step.as_str().unwrap();
        let Some((_, command)) = step.split_once("forebay attach ") else { continue };
        let words: Vec<&str> = command.split([',', ';']).next().unwrap().split_whitespace().collect();
        let words = words.iter().map(|w| w.replace("SUBNET", "10.1.0.0/16"));
        let args: Vec<String> = ["attach".to_owned()].into_iter().chain(words).chain(["--dry-run".to_owned()]).collect();
        let out = forebay(&scratch.0, &args.iter().map(String::as_str).collect::<Vec<_>>());
        // 2: the command line was not understood, or a parameter does not exist.
        assert_ne!(out.status.code(), Some(2), "{step}: {}", text(&out.stderr));
        congestion_controls.insert(args[1].clone());
    }
    assert!(
        all["answer"][0].as_str().unwrap().starts_with("These runs cannot decide. Most promising change ")
            && all["recommended"].as_u64().unwrap() >= 1,
        "{all}"
    );
    assert!(all["today"]["started"].as_u64().unwrap() > 0, "{all}");
    assert_eq!(congestion_controls.into_iter().collect::<Vec<_>>(), ["dctcp", "proboscis", "trim"]);
}

/// Short messages behind a copy that fills a deep buffer.
const BEHIND_COPY: &str = r#"
name = "behind"
duration = "120ms"

[advise]
objective = "mean of web"

[topology]
kind = "many-to-one"
senders = 4
access = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us", buffer = "200pkt" }

[transport]
stack = "linux"
cc = "cubic"

[[workload]]
kind = "poisson"
class = "web"
from = "s0..s2"
to = "receiver"
sizes = "2KB"
load = 0.1

[[workload]]
kind = "long"
class = "copy"
from = "s3"
to = "receiver"
"#;

#[test]
fn runs_end_when_ratio_is_known() {
    let scratch = Scratch::new("advise-ends");
    scratch.file("behind.toml", BEHIND_COPY);
    let ask = |within: &str| -> serde_json::Value {
        let common = ["advise", "behind.toml", "--seeds", "1", "--no-report", "--format", "json"];
        let out = forebay(&scratch.0, &[common.as_slice(), &["--within", within, "--out", within]].concat());
        serde_json::from_str(&text(&out.stdout)).unwrap_or_else(|e| panic!("{e}: {}", text(&out.stderr)))
    };
    let (rule, whole) = (ask("12.5%"), ask("0%"));
    assert!(rule["ended_early"].as_u64() > Some(10), "{}", rule["ended_early"]);
    assert_eq!(whole["ended_early"], 0);
    let name = |all: &serde_json::Value| all["options"][0]["name"].clone();
    assert_eq!((name(&rule), &rule["recommended"]), (name(&whole), &whole["recommended"]));
    // The shorter runs have nearly the same results.
    let gains = |all: &serde_json::Value| -> Vec<(String, f64)> {
        let of = |o: &serde_json::Value| Some((o["name"].to_string(), o["objective"]["factor"].as_f64()?));
        all["options"].as_array().unwrap().iter().filter_map(of).collect()
    };
    let all = gains(&whole);
    let mut compared = 0;
    for (name, factor) in gains(&rule) {
        let Some((_, other)) = all.iter().find(|(n, f)| *n == name && *f < 1.0) else { continue };
        assert!((factor / other).ln().abs() < 0.3, "{name}: {factor} and {other}");
        compared += 1;
    }
    assert!(compared >= 3, "{all:?}");
}

#[test]
fn wrong_accuracy_is_refused() {
    let scratch = Scratch::new("advise-within");
    scratch.file("behind.toml", BEHIND_COPY);
    for wrong in ["5", "200%", "-1%", "x%"] {
        let out = forebay(&scratch.0, &["advise", "behind.toml", &format!("--within={wrong}")]);
        assert_eq!(out.status.code(), Some(2), "{wrong}");
        assert!(text(&out.stderr).contains("a percentage from 0.1% to 100%"), "{wrong}: {}", text(&out.stderr));
    }
}
