//! `forebay run --capture` and `forebay trace`: files with packets, and their errors.

use crate::scratch::{Scratch, forebay, text};
use std::fs;

/// Six servers answer at once into a port of eight packets: tails are lost.
const SCENARIO: &str = r#"
[topology]
kind = "many-to-one"
senders = 6
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "8pkt" }
[transport]
stack = "linux"
[[workload]]
kind = "incast"
block = "30KB"
rounds = 2
"#;

/// Type of the first block of a pcapng file, and its byte order.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const LITTLE_ENDIAN: [u8; 4] = [0x4d, 0x3c, 0x2b, 0x1a];

fn fingerprint(printed: &str) -> &str {
    printed.lines().find_map(|l| l.strip_prefix("fingerprint: ")).unwrap_or_else(|| panic!("{printed}"))
}

#[test]
fn run_writes_captured_packets() {
    let scratch = Scratch::new("capture");
    scratch.file("incast.toml", SCENARIO);
    let run = |more: &[&str]| {
        let out = forebay(&scratch.0, &[&["run", "incast.toml", "--no-report", "--runs", "2"], more].concat());
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout)
    };
    let (with, without) = (run(&["--capture", "bottleneck,s0", "--out", "r"]), run(&["--out", "plain"]));
    assert_eq!(fingerprint(&with), fingerprint(&without));
    assert!(!without.contains("packets: "), "{without}");
    let files: Vec<String> = scratch.entries("r").into_iter().filter(|f| f.ends_with(".pcapng")).collect();
    assert_eq!(files, ["capture-newreno-0.pcapng", "capture-newreno-1.pcapng"]);
    for name in &files {
        assert!(with.contains(&format!("packets: r/{name}")), "{with}");
        let bytes = fs::read(scratch.0.join("r").join(name)).expect("a capture");
        assert!(bytes.starts_with(&SECTION) && bytes[8..12] == LITTLE_ENDIAN && bytes.len() > 10_000, "{} bytes", bytes.len());
    }
    // The number of threads does not change the bytes.
    run(&["--capture", "bottleneck,s0", "--out", "threads", "--threads", "4"]);
    let bytes = |folder: &str| fs::read(scratch.0.join(folder).join(&files[0])).expect("a capture");
    assert!(bytes("r") == bytes("threads"));
    // The key of the scenario is the same.
    run(&["--set", "observe.capture=[\"bottleneck\", \"s0\"]", "--out", "key"]);
    assert!(bytes("r") == bytes("key"));
    run(&["--set", "observe.capture=[\"bottleneck\", \"s0\"]", "--set", "observe.capture-bytes=2KB", "--out", "long"]);
    assert!(bytes("long").len() > 4 * bytes("r").len());
}

/// A filter at the source keeps the chosen packets, in their order.
#[test]
fn capture_keeps_chosen_events() {
    let scratch = Scratch::new("capture-events");
    scratch.file("incast.toml", SCENARIO);
    let size = |events: &str| {
        let set = format!("observe.capture-events={events}");
        let args =
            ["run", "incast.toml", "--no-report", "--quiet", "--force", "--capture", "switches", "--set", &set, "--out", "r"];
        scratch.ok(&args);
        fs::read(scratch.0.join("r/capture-newreno-0.pcapng")).expect("a capture")
    };
    let comments = |bytes: &[u8]| bytes.windows(8).filter(|w| w == b"dropped:").count();
    let (all, dropped, marked) = (size("all"), size("dropped"), size("[\"marked\", \"lost\"]"));
    assert!(comments(&dropped) > 0 && comments(&dropped) == comments(&all) && dropped.len() < all.len() / 4);
    assert!(comments(&marked) == 0 && marked.len() < dropped.len());
    let set = ["--set", "observe.capture-events=dropped", "--set", "observe.capture-format=csv"];
    let run = ["run", "incast.toml", "--no-report", "--quiet", "--capture", "switches", "--out", "table"];
    assert!(scratch.ok(&[&run[..], &set].concat()).contains("packets: table/capture-newreno-0.csv"));
    let table = text(&fs::read(scratch.0.join("table/capture-newreno-0.csv")).expect("a table"));
    let rows: Vec<Vec<&str>> = table.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!((rows[0][3], rows.len() - 1), ("event", comments(&dropped)));
    assert!(rows[1..].iter().all(|r| r[1] == "sw->recv" && r[3] == "dropped-full" && r.len() == rows[0].len()), "{table}");
}

#[test]
fn capture_errors_name_legal_values() {
    let scratch = Scratch::new("capture-errors");
    scratch.file("incast.toml", SCENARIO);
    for (args, says) in [
        (&["--capture", "s9"][..], "there is no port and no host `s9`"),
        (&["--capture", "bottlneck"], "did you mean `bottleneck`?"),
        (&["--set", "observe.capture=3"], "`capture` must name ports or hosts"),
        (&["--set", "observe.capture-bytes=40B"], "legal: 96B, which holds all headers, to 65549B"),
        (&["--set", "observe.capture-ip=ipv6", "--set", "observe.capture-bytes=96B"], "legal: 116B, which holds"),
        (&["--set", "observe.capture-ip=ipv5"], "did you mean `ipv"),
        (&["--set", "observe.capture-events=[\"drops\"]"], "legal: `passed`, `marked`, `dropped` or `lost`"),
        (&["--capture", "s0", "--sweep", "topology.senders=[2, 4]"], "a sweep keeps numbers of its runs and no packets"),
        (&["--capture", "s0", "--world", "model"], "this backend has no packets; legal: `world = \"sim\"`, `linux` or `testbed`"),
    ] {
        let out = forebay(&scratch.0, &[&["run", "incast.toml"], args].concat());
        assert!(out.status.code() == Some(2) && text(&out.stderr).contains(says), "{args:?}: {}", text(&out.stderr));
    }
    assert_eq!(scratch.entries(""), ["incast.toml"]);
}

#[test]
fn trace_writes_three_files() {
    let scratch = Scratch::new("trace");
    scratch.file("incast.toml", SCENARIO);
    assert!(forebay(&scratch.0, &["run", "incast.toml", "--quiet", "--out", "r"]).status.success());
    // The latest message has lost packets.
    let explained = text(&forebay(&scratch.0, &["explain", "r"]).stdout);
    let flow =
        explained.lines().find_map(|l| l.strip_prefix("flow ")?.split(':').next()).unwrap_or_else(|| panic!("{explained}"));
    let out = forebay(&scratch.0, &["trace", "r", "--flow", flow]);
    let printed = text(&out.stdout);
    assert!(out.status.success() && printed.contains("repeated run with the same fingerprint"), "{printed}{}", text(&out.stderr));
    assert!(printed.contains("dropped: buffer full") && printed.contains("retransmissions"), "{printed}");
    let file = |extension: &str| {
        let name = format!("trace-newreno-0-flow-{flow}.{extension}");
        assert!(printed.contains(&format!("r/{name}")), "{printed}");
        fs::read(scratch.0.join("r").join(name)).expect("a file")
    };
    assert!(file("pcapng").starts_with(&SECTION));
    let log = text(&file("sqlog"));
    let records: Vec<serde_json::Value> =
        log.split('\u{1e}').skip(1).map(|r| serde_json::from_str(r).unwrap_or_else(|e| panic!("{e}: {r}"))).collect();
    assert_eq!(records[0]["serialization_format"], "application/qlog+json-seq");
    assert!(records.iter().any(|r| r["data"]["is_retransmission"] == true), "{log}");
    let page = text(&file("html"));
    assert!(page.contains("Time-sequence graph") && page.contains("window edge"));

    let qvis = forebay(&scratch.0, &["trace", "r", "--flow", flow, "--qlog-dialect", "qvis", "--out", "."]);
    assert!(qvis.status.success(), "{}", text(&qvis.stderr));
    let log = fs::read(scratch.0.join(format!("trace-newreno-0-flow-{flow}.qlog"))).expect("a file");
    let log: serde_json::Value = serde_json::from_slice(&log).expect("JSON");
    assert_eq!(log["qlog_version"], "0.3");
    for (args, says) in [
        (&["trace", "r", "--flow", "999"][..], "has no flow 999; the table `flows` lists them"),
        (&["trace", "r", "--flow", flow, "--variant", "bbr"], "variants: newreno"),
    ] {
        let out = forebay(&scratch.0, args);
        assert!(out.status.code() == Some(2) && text(&out.stderr).contains(says), "{args:?}: {}", text(&out.stderr));
    }
}
