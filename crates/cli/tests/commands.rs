//! The built binary from outside: exit codes, messages, files.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A small scenario that any machine runs in well under a second.
const SMALL: &str = r#"
name = "small"
duration = "20ms"

[topology]
kind = "many-to-one"
senders = 4
access = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us", buffer = "100pkt" }

[transport]
stack = "ns2"
cc = "newreno"

[[workload]]
kind = "long"
from = "senders"
to = "receiver"
"#;

/// A fresh directory, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("forebay-cli-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn entries(&self, under: &str) -> Vec<String> {
        let Ok(dir) = fs::read_dir(self.0.join(under)) else { return Vec::new() };
        let mut names: Vec<String> = dir.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_forebay"));
    c.current_dir(dir).args(args).env_remove("NO_COLOR");
    c
}

fn forebay(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_bad_file_is_named_with_line_and_key() {
    let scratch = Scratch::new("bad");
    scratch.file("bad.toml", &SMALL.replace("senders = 4", "sendres = 4"));
    for verb in ["check", "run"] {
        let out = forebay(&scratch.0, &[verb, "bad.toml"]);
        let err = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{err}");
        assert!(err.contains("bad.toml:7") && err.contains("sendres") && err.contains("senders"), "{err}");
        assert!(!err.contains('\x1b'), "colours in a pipe: {err}");
    }
    assert_eq!(scratch.entries(""), ["bad.toml"]);
    assert_eq!(forebay(&scratch.0, &["check", "missing.toml"]).status.code(), Some(2));
    assert_eq!(forebay(&scratch.0, &["run", "bad.toml", "--threads", "0"]).status.code(), Some(2));
}

#[test]
fn lists_come_from_the_registries() {
    let scratch = Scratch::new("list");
    let out = text(&forebay(&scratch.0, &["list"]).stdout);
    for name in ["newreno", "dctcp-step", "many-to-one", "incast", "linux"] {
        assert!(out.lines().any(|l| l.split_whitespace().next() == Some(name)), "{name}: {out}");
    }
    let one = text(&forebay(&scratch.0, &["list", "queues"]).stdout);
    assert_eq!(forebay(&scratch.0, &["list", "fruit"]).status.code(), Some(2));
    assert_eq!(one.lines().count(), forebay_queues::REGISTRY.len(), "{one}");
    assert!(text(&forebay(&scratch.0, &["--version"]).stdout).starts_with("forebay "));
    assert!(text(&forebay(&scratch.0, &["completions", "bash"]).stdout).contains("_forebay"));
}

#[test]
fn check_explains() {
    let scratch = Scratch::new("check");
    scratch.file("small.toml", SMALL);
    let out = forebay(&scratch.0, &["check", "small.toml", "--set", "topology.senders=9"]);
    let said = text(&out.stdout);
    assert!(out.status.success() && said.contains("10 hosts") && said.contains("newreno"), "{said}{}", text(&out.stderr));
    let defaults = text(&forebay(&scratch.0, &["check", "small.toml", "--resolved"]).stdout);
    assert!(defaults.contains("name = \"small\"") && defaults.contains("rto-min = \"200ms\""), "{defaults}");
}

#[test]
fn a_run_leaves_a_complete_directory() {
    let scratch = Scratch::new("run");
    scratch.file("small.toml", SMALL);
    let out = forebay(&scratch.0, &["run", "small.toml", "--runs", "2", "--format", "csv"]);
    let said = text(&out.stdout);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(said.contains("results: out/small-1") && said.contains("fingerprint: ") && said.contains("goodput"), "{said}");
    assert!(out.stderr.is_empty() && !said.contains('\x1b'), "{said}{}", text(&out.stderr));
    let files = ["flows.csv", "manifest.json", "ports.csv", "queries.csv", "queue.csv", "tcp.csv"];
    assert_eq!(scratch.entries("out/small-1"), files);
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(scratch.0.join("out/small-1/manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["runs"].as_array().unwrap().len(), 2);
    assert_eq!(manifest["scenario"]["variants"][0]["resolved"]["runs"], 2);
    assert_eq!(manifest["scenario"]["text"], SMALL);

    forebay(&scratch.0, &["run", "small.toml", "--quiet"]);
    assert_eq!(scratch.entries("out"), ["small-1", "small-2"]);
}

#[test]
fn threads_change_nothing() {
    let scratch = Scratch::new("threads");
    scratch.file("small.toml", SMALL);
    for (threads, dir) in [("1", "a"), ("7", "b")] {
        let out = forebay(&scratch.0, &["run", "small.toml", "--runs", "5", "--threads", threads, "--out", dir]);
        assert!(out.status.success(), "{}", text(&out.stderr));
    }
    for table in ["flows", "ports", "queue", "tcp", "queries"] {
        let read = |dir: &str| fs::read(scratch.0.join(dir).join(format!("{table}.parquet"))).unwrap();
        assert!(read("a") == read("b"), "{table}");
    }
}

#[test]
fn results_are_not_overwritten() {
    let scratch = Scratch::new("force");
    scratch.file("small.toml", SMALL);
    let run = |more: &[&str]| forebay(&scratch.0, &[&["run", "small.toml", "--quiet", "--out", "r"], more].concat());
    assert_eq!(text(&run(&[]).stdout), "results: r\n");
    let again = run(&[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("`r`") && text(&again.stderr).contains("--force"), "{}", text(&again.stderr));
    assert!(run(&["--force"]).status.success());
    assert_eq!(scratch.entries(""), ["r", "small.toml"]);
}

#[test]
fn progress_events_are_json() {
    let scratch = Scratch::new("json");
    scratch.file("small.toml", SMALL);
    let out = forebay(&scratch.0, &["run", "small.toml", "--progress", "json", "--out", "r"]);
    let err = text(&out.stderr);
    let events: Vec<String> = err
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["event"].as_str().unwrap().to_owned())
        .collect();
    assert!(events.first().is_some_and(|e| e == "start") && events.last().is_some_and(|e| e == "done"), "{err}");
    assert!(events.iter().any(|e| e == "run_done"), "{err}");
    let again = forebay(&scratch.0, &["run", "small.toml", "--progress", "json", "--out", "r"]);
    let event: serde_json::Value = serde_json::from_str(&text(&again.stderr)).unwrap();
    assert!(event["event"] == "error" && again.status.code() == Some(2), "{event}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing() {
    let scratch = Scratch::new("interrupt");
    // Hours of work if nobody stops it.
    scratch.file("long.toml", &SMALL.replace("20ms", "1h"));
    let mut child = command(&scratch.0, &["run", "long.toml", "--progress", "json", "--quiet", "--out", "r"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut events = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    events.read_line(&mut first).unwrap();
    assert!(first.contains("\"start\""), "{first}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    events.read_to_string(&mut rest).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{rest}");
    assert!(rest.contains("\"interrupted\""), "{rest}");
    assert_eq!(scratch.entries(""), ["long.toml"]);
}
