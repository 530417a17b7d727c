//! The built binary from outside: exit codes, messages, files.

use crate::scratch::{Scratch, command, forebay, text};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

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

#[test]
fn a_bad_file_is_named_with_line_and_key() {
    let scratch = Scratch::new("bad");
    scratch.file("bad.toml", &SMALL.replace("senders = 4", "sendres = 4"));
    for verb in ["check", "run", "model"] {
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
    // The reproductions of papers know their results by the second line.
    let version = text(&forebay(&scratch.0, &["--version"]).stdout);
    let commit = version.strip_prefix(&format!("forebay {}\ncommit ", forebay_exec::sweep::key::VERSION)).unwrap().trim_end();
    let (hash, date) = commit.split_once(", ").unwrap_or((commit, ""));
    assert!(hash == "unknown" || (hash.len() == 12 && date.len() == 10 && date.starts_with("20")), "{version}");
    assert!(text(&forebay(&scratch.0, &["completions", "bash"]).stdout).contains("_forebay"));
}

#[test]
fn one_thing_and_one_key_are_explained() {
    let scratch = Scratch::new("explain");
    let said = |args: &[&str]| {
        let out = forebay(&scratch.0, args);
        assert!(out.status.success(), "{args:?}: {}", text(&out.stderr));
        text(&out.stdout)
    };
    let dctcp = said(&["list", "dctcp"]);
    assert!(
        dctcp.starts_with("dctcp  [transport] cc") && dctcp.contains("RFC 8257") && dctcp.contains("default 0.0625"),
        "{dctcp}"
    );
    // The same name as a law and as a queue.
    assert_eq!(said(&["list", "pfabric"]).lines().filter(|l| l.starts_with("pfabric")).count(), 2);
    let json: serde_json::Value = serde_json::from_str(&said(&["list", "--format", "json"])).unwrap();
    assert!(json.as_array().unwrap().iter().any(|s| s["kind"] == "queues" && s["items"][0]["name"] == "drop-tail"), "{json}");
    let rto = said(&["explain", "transport.rto-min"]);
    assert!(rto.contains("smallest retransmission timeout") && rto.contains("200ms (ns2)") && rto.contains("1s (rfc)"), "{rto}");
    assert!(said(&["explain", "dctcp-step.k"]).lines().filter(|l| l.starts_with("k  ")).count() == 1, "one of many keys `k`");
    assert!(said(&["explain", "k"]).lines().filter(|l| l.starts_with("k  ")).count() > 3);
    assert!(said(&["explain", "duration"]).contains("end of simulated time"));
    assert!(
        said(&["explain", "topology.kind"]).contains("leaf-spine") && !said(&["explain", "topology.kind"]).contains("poisson")
    );
    let cc = said(&["explain", "transport.cc"]);
    assert!(cc.starts_with("cc  [transport]") && cc.contains("l2dct") && cc.contains("a list compares"), "{cc}");
    assert!(said(&["explain", "workload.0.class"]).starts_with("class  [[workload]]"), "not the shims' `class`");
    assert_eq!(said(&["explain", "dctcp"]), dctcp, "a name instead of a key");
    let observe = said(&["explain", "observe"]);
    assert!(observe.contains("warmup  [observe]") && observe.contains("occupancy"), "all of a table: {observe}");
    let json: serde_json::Value = serde_json::from_str(&said(&["explain", "workload.0.rounds", "--format", "json"])).unwrap();
    assert_eq!(json[0]["key"], "rounds");
    for (args, says) in [
        (["explain", "rto-mni"], "did you mean `rto-min`?"),
        (["explain", ""], "has a key"),
        (["list", "dctpc"], "did you mean `dctcp`?"),
    ] {
        let out = forebay(&scratch.0, &args);
        assert!(out.status.code() == Some(2) && text(&out.stderr).contains(says), "{args:?}: {}", text(&out.stderr));
    }
    let pages = said(&["man", "pages"]);
    let entries = scratch.entries("pages");
    assert!(
        pages.starts_with(&format!("{} manual pages", entries.len())) && entries.contains(&"forebay-run.1".to_owned()),
        "{pages}"
    );
    assert!(fs::read_to_string(scratch.0.join("pages/forebay.1")).unwrap().contains(".TH forebay 1"));
}

#[test]
fn documents_are_json() {
    let scratch = Scratch::new("documents");
    scratch.file("small.toml", SMALL);
    let json = |args: &[&str]| -> serde_json::Value {
        let out = forebay(&scratch.0, args);
        assert!(out.status.success(), "{args:?}: {}", text(&out.stderr));
        serde_json::from_str(&text(&out.stdout)).unwrap()
    };
    let check = json(&["check", "small.toml", "--format", "json"]);
    assert_eq!((&check["name"], &check["variants"][0]["resolved"]["topology"]["senders"]), (&"small".into(), &4.into()));
    assert!(check["forecast"]["packet_transmissions"].as_f64().unwrap() > 1_000.0, "{check}");
    let run = json(&["run", "small.toml", "--format", "json", "--runs", "2", "--out", "r"]);
    assert_eq!((&run["dir"], run["variants"][0]["runs"].as_array().unwrap().len()), (&"r".into(), 2));
    let group = &run["variants"][0]["runs"][0]["groups"][0];
    assert!(group["transport"] == "newreno" && group["numbers"]["goodput_bps"].as_f64().unwrap() > 1e8, "{run}");
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(scratch.0.join("r/manifest.json")).unwrap()).unwrap();
    assert!(manifest["built"].as_str().is_some_and(|b| !b.is_empty()), "{manifest}");
    assert_eq!(check["forecast"]["runs"], 1);
}

#[test]
fn packet_scripts_say_what_came_of_them() {
    let scratch = Scratch::new("conform");
    let open = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
                +0 < S 0:0(0) win 9000 <mss 1000>\n";
    scratch.file("good.pkt", &format!("{open}+0 > S. 0:0(0) ack 1 <...>\n"));
    scratch.file("bad.pkt", &format!("{open}+0 > S. 0:0(0) ack 2 <...>\n"));
    scratch.file("other.pkt", "+0 epoll_create(1) = 3\n");
    scratch.file("none.pkt", "+0 > what\n");
    let run = |files: &[&str]| forebay(&scratch.0, &[&["conform"], files].concat());
    assert_eq!(run(&["good.pkt", "other.pkt"]).status.code(), Some(0));
    assert_eq!(run(&["other.pkt"]).status.code(), Some(2));
    assert_eq!(run(&["good.pkt", "none.pkt"]).status.code(), Some(2));
    let all = run(&["."]);
    assert_eq!(all.status.code(), Some(1));
    let said = text(&all.stdout);
    assert!(
        said.contains("bad.pkt:5\n    expected S. 0:0(0) ack 2 <...> at 0 s\n    got      at 0 s: [noecn] S. 0:0(0) ack 1"),
        "{said}"
    );
    assert!(said.contains("other.pkt: uses readiness") && said.contains("NOT A SCRIPT    ./none.pkt:1: "), "{said}");
    assert!(said.ends_with("1 passed, 1 failed, 1 not applicable, 1 not a script\n"), "{said}");
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
    let files = [
        "events.csv",
        "flows.csv",
        "goodput.csv",
        "manifest.json",
        "ports.csv",
        "queries.csv",
        "queue.csv",
        "report.html",
        "summary.csv",
        "tcp.csv",
        "timeouts.csv",
    ];
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
    for table in ["flows", "ports", "queue", "tcp", "queries", "timeouts", "goodput", "events", "summary"] {
        let read = |dir: &str| fs::read(scratch.0.join(dir).join(format!("{table}.parquet"))).unwrap();
        assert!(read("a") == read("b"), "{table}");
    }
}

/// The same command in another world: what its models predict, and for what they do not cover a refusal that names keys and reasons.
#[test]
fn a_scenario_runs_in_the_world_of_the_models() {
    let scratch = Scratch::new("world");
    let marked =
        SMALL.replace("buffer = \"100pkt\" }", "buffer = \"100pkt\", queue = { kind = \"dctcp-step\", k = \"20pkt\" } }");
    scratch.file("dctcp.toml", &marked.replace("\"newreno\"", "\"dctcp\""));
    let manifest = |dir: &str| fs::read_to_string(scratch.0.join(dir).join("manifest.json")).unwrap();
    let summary = |dir: &str| {
        let text = fs::read_to_string(scratch.0.join(dir).join("summary.csv")).unwrap();
        let rows: Vec<Vec<String>> = text.lines().map(|l| l.split(',').map(str::to_owned).collect()).collect();
        let column = |name: &str| rows[0].iter().position(|c| c == name).unwrap();
        ["queue_max_pkts", "drops", "port"].map(|name| rows[1][column(name)].clone())
    };
    for world in ["sim", "model"] {
        let out = forebay(&scratch.0, &["run", "dctcp.toml", "--world", world, "--format", "csv", "--out", world]);
        assert!(out.status.success(), "{world}: {}", text(&out.stderr));
        assert!(text(&out.stdout).contains(&format!("world: {world}, stack: ")), "{}", text(&out.stdout));
        assert!(manifest(world).contains(&format!("\"world\": \"{world}\"")), "{}", manifest(world));
    }
    // However many are asked for, one run: an exact number has no interval.
    let out = forebay(&scratch.0, &["run", "dctcp.toml", "--world", "model", "--runs", "3", "--out", "once"]);
    let said = text(&out.stdout);
    assert!(said.contains("queue max") && !said.contains('±'), "{said}");
    assert!(manifest("once").contains("one run stands for all 3"), "{}", manifest("once"));
    // K + N, and nothing counted.
    assert_eq!(summary("model"), ["24", "", "bottleneck"]);
    assert_ne!(summary("sim")[1], "");
    scratch.file("small.toml", SMALL);
    let out = forebay(&scratch.0, &["check", "small.toml", "--world", "model"]);
    let err = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{err}");
    for part in ["small.toml:13", "no transport runs dctcp", "no incast workload", "`transport.cc`", "`workload`"] {
        assert!(err.contains(part), "no {part} in: {err}");
    }
    let out = forebay(&scratch.0, &["run", "small.toml", "--world", "moon"]);
    assert!(text(&out.stderr).contains("sim") && text(&out.stderr).contains("model"), "{}", text(&out.stderr));
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

/// The incast of the publication: packets of 1000 bytes, 1 Gbit/s, D = 100 us, B = 64, blocks of 256 KB. With timestamps, because the model
/// has one RTO a block, and without them back-offs outlive blocks.
const INCAST: &str = r#"
name = "incast"
runs = 2
[topology]
kind = "many-to-one"
senders = 16
access = { rate = "1Gbps", delay = "21us" }
bottleneck = { rate = "1Gbps", delay = "21us", buffer = "64pkt" }
[transport]
stack = "ns2"
cc = ["newreno", "dctcp"]
mss = 1000
header = 0
ack-size = 1
limited-transmit = false
timestamps = true
[[workload]]
kind = "incast"
block = "256KB"
rounds = 60
jitter = "100us"
"#;

/// One value of a model of a variant in the JSON output.
fn value<'a>(out: &'a serde_json::Value, model: &str, name: &str) -> &'a serde_json::Value {
    let models = out["variants"][0]["models"].as_array().unwrap();
    let model = models.iter().find(|m| m["model"] == model).unwrap_or_else(|| panic!("{model}: {out:#}"));
    let found = model["values"].as_array().unwrap().iter().find(|v| v["name"].as_str().unwrap().starts_with(name));
    found.unwrap_or_else(|| panic!("{name}: {out:#}"))
}

fn model_json(scratch: &Scratch, args: &[&str]) -> serde_json::Value {
    let out = forebay(&scratch.0, &[&["model", "s.toml", "--format", "json"], args].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    serde_json::from_str(&text(&out.stdout)).unwrap()
}

#[test]
fn models_stand_beside_the_simulation() {
    let scratch = Scratch::new("model");
    scratch.file("s.toml", &INCAST.replace(r#"["newreno", "dctcp"]"#, r#""newreno""#));
    let out = model_json(&scratch, &[]);
    assert_eq!((&out["name"], &out["runs"]), (&"incast".into(), &2.into()));
    assert_eq!(value(&out, "incast", "N*, collapse")["model"], 13.0);
    assert_eq!(value(&out, "incast", "N*, first of three")["model"], 15.0);
    let goodput = value(&out, "incast", "goodput");
    assert_eq!(goodput["unit"], "bit/s");
    assert!((goodput["model"].as_f64().unwrap() / 0.1577e9 - 1.0).abs() < 1e-3, "{goodput}");
    let (sim, model) = (goodput["sim"]["mean"].as_f64().unwrap(), goodput["model"].as_f64().unwrap());
    assert_eq!(goodput["sim"]["runs"], 2);
    assert_eq!(goodput["difference"].as_f64().unwrap(), sim / model - 1.0);
    assert!((sim / model - 1.0).abs() < 0.12, "{goodput}");
    // Nothing is written.
    assert_eq!(scratch.entries(""), ["s.toml"]);

    let table = text(&forebay(&scratch.0, &["model", "s.toml"]).stdout);
    let row = table.lines().find(|l| l.trim_start().starts_with("goodput ")).unwrap();
    assert!(row.contains("Gbps") && row.contains("0.158") && row.contains('±') && row.ends_with('%'), "{table}");
    assert!(table.contains("D: 100.016us") && table.contains("S_b: 256KB = 256 packets") && !table.contains('\x1b'), "{table}");
}

#[test]
fn models_say_why_they_do_not_apply() {
    let scratch = Scratch::new("why");
    let step = r#"buffer = "64pkt", queue = { kind = "dctcp-step", k = "20pkt" }"#;
    scratch.file("s.toml", &INCAST.replace(r#"buffer = "64pkt""#, step));
    let out = forebay(&scratch.0, &["model", "s.toml", "--no-sim"]);
    let said = text(&out.stdout);
    assert!(out.status.success() && !said.contains("simulation"), "{said}{}", text(&out.stderr));
    let (newreno, dctcp) = said.split_once("\ndctcp\n").unwrap();
    // A step that marks nobody is drop-tail to NewReno.
    assert!(newreno.contains("N*, collapse from") && newreno.contains("dctcp: no transport runs dctcp"), "{said}");
    assert!(dctcp.contains("incast: the model is of NewReno's sawtooth") && dctcp.contains("smallest K"), "{said}");
    assert!(dctcp.contains("trim: no transport runs trim") && dctcp.contains("share: it compares"), "{said}");
    for (set, why) in [
        ("topology.senders=65", "65 senders are more than the 64 places"),
        ("transport.stack=linux", "RACK-TLP repairs"),
        ("transport.dup-thresh=4", "`dup-thresh` is 4"),
        ("transport.slow-start-after-idle=rfc5681", "windows do not survive"),
        ("transport.shim=srpt", "a shim that the model does not know"),
    ] {
        let said = text(&forebay(&scratch.0, &["model", "s.toml", "--no-sim", "--set", set]).stdout);
        assert!(said.contains(why), "{set}: {said}");
    }
    let json = model_json(&scratch, &["--no-sim"]);
    assert_eq!((&json["runs"], &value(&json, "incast", "goodput")["sim"]), (&0.into(), &serde_json::Value::Null));
    let prin = model_json(&scratch, &["--no-sim", "--set", "transport.shim=prin"]);
    assert_eq!(value(&prin, "incast", "N*, collapse")["model"], 53.0);
    assert!(prin.to_string().contains("keeps no places for the last packets"), "{prin}");
    // With a queue that does: no timeouts up to N*, so that more arrives than under NewReno.
    let kept = ["--no-sim", "--set", "transport.shim=prin", "--set", "topology.bottleneck.queue=protect"];
    let prin = model_json(&scratch, &kept);
    let goodput = |json: &serde_json::Value| value(json, "incast", "goodput")["model"].as_f64().unwrap();
    assert!(goodput(&prin) > goodput(&json), "{} under PRIN, {} without", goodput(&prin), goodput(&json));
    assert_eq!(value(&prin, "incast", "timeouts per block")["model"], 0.0);
}

/// Long flows: DCTCP's queue, TRIM's queue, shares with the alpha of the run, and what the link carries at most.
#[test]
fn models_of_long_flows() {
    let scratch = Scratch::new("long-models");
    let step = r#"buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" }"#;
    let observed = "\n[observe]\nwarmup = \"50ms\"\ntcp = { flows = [0, 1], every = \"1ms\" }\n";
    let long = SMALL.replace("20ms", "300ms").replace("senders = 4", "senders = 2").replace(r#"buffer = "100pkt""#, step);
    let near = |v: &serde_json::Value, part: f64| assert!(v["difference"].as_f64().unwrap().abs() < part, "{v}");

    scratch.file("s.toml", &(long.replace(r#"cc = "newreno""#, r#"cc = "dctcp""#) + observed));
    let out = model_json(&scratch, &[]);
    near(value(&out, "dctcp", "largest queue"), 0.25);
    near(value(&out, "dctcp", "middle of the sawtooth"), 0.15);
    near(value(&out, "ceilings", "goodput of the endless flows"), 0.02);

    scratch.file("s.toml", &(long.replace(r#"cc = "newreno""#, r#"cc = "trim""#) + observed));
    let out = model_json(&scratch, &[]);
    assert_eq!(value(&out, "trim", "K, upper")["unit"], "s");
    // At 40 us the queue at K is three packets, and the one more of each flow that is cut only then (TRIM Eq. 8) two thirds of that: the
    // mean is between the two.
    let of = |name: &str, who: &str| {
        let v = &value(&out, "trim", name)[who];
        v["mean"].as_f64().or(v.as_f64()).unwrap_or_else(|| panic!("{name}, {who}: {v}"))
    };
    let between = of("queue at K", "model")..of("largest queue", "model");
    assert!(between.contains(&of("queue at K", "sim")), "{between:?}: {out:#}");
    // At 200 us, as in its publication, packets are small against it.
    let far = ["--set", "topology.access.delay=50us", "--set", "topology.bottleneck.delay=50us"];
    near(value(&model_json(&scratch, &far), "trim", "queue at K"), 0.25);

    let groups = "stack = \"ns2\"\n[[transport.group]]\nname = \"a\"\ncc = \"newreno\"\necn = \"classic\"\n\
                  [[transport.group]]\nname = \"b\"\ncc = \"dctcp\"\n";
    let pair = "from = \"s0\"\nto = \"receiver\"\ntransport = \"a\"\n\
                [[workload]]\nkind = \"long\"\nclass = \"second\"\nfrom = \"s1\"\nto = \"receiver\"\ntransport = \"b\"\n";
    let two =
        long.replace("stack = \"ns2\"\ncc = \"newreno\"\n", groups).replace("from = \"senders\"\nto = \"receiver\"\n", pair);
    scratch.file("s.toml", &(two + observed));
    let out = model_json(&scratch, &[]);
    // Alpha is at most 1, so the model sees DCTCP ahead, and so does the run.
    let ratio = value(&out, "share", "throughput of a `b` flow over a `a` flow");
    assert!(ratio["model"].as_f64().unwrap() > 1.0 && ratio["sim"]["mean"].as_f64().unwrap() > 1.0, "{ratio}");
    assert_eq!(value(&model_json(&scratch, &["--no-sim"]), "share", "throughput")["model"], serde_json::Value::Null);
}
