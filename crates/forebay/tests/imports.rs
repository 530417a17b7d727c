//! `forebay import` and `forebay export` from outside: scenarios from files of other simulators run, and their results go back.

use crate::scratch::{Scratch, text};
use std::fs;

/// Files in the form in which the other simulators' tools write them.
const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/imports");

fn sample(name: &str) -> String {
    format!("{SAMPLES}/{name}")
}

fn fails(scratch: &Scratch, args: &[&str], part: &str) {
    let out = scratch.run(args);
    let err = text(&out.stderr);
    // Messages are wrapped at the width of the terminal.
    let joined: Vec<&str> = err.split_whitespace().collect();
    assert_eq!(out.status.code(), Some(2), "{args:?}: {err}");
    assert!(joined.join(" ").contains(part), "{args:?}: {err}");
}

/// Rows of a table in CSV, as maps from column to value.
fn flows(scratch: &Scratch, dir: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let table = fs::read_to_string(scratch.0.join(dir).join("flows.csv")).unwrap();
    let mut lines = table.lines();
    let header: Vec<String> = lines.next().unwrap().split(',').map(str::to_owned).collect();
    lines.map(|line| header.iter().cloned().zip(line.split(',').map(str::to_owned)).collect()).collect()
}

const RUN: [&str; 5] = ["--no-report", "--quiet", "--format", "csv", "--out"];

#[test]
fn hpcc_network_and_flows_return() {
    let scratch = Scratch::new("import-hpcc");
    let files = ["topology.txt", "config.txt", "flow.txt"].map(|f| sample(&format!("hpcc/{f}")));
    let out = scratch.ok(&["import", &files[2], &files[0], &files[1], "--out", "mine.toml"]);
    assert!(out.contains("announces 470 flows and has 47") && out.contains("wrote mine-200.csv\nwrote mine.toml\n"), "{out}");
    let checked = scratch.ok(&["check", "mine.toml"]);
    assert!(checked.contains("8 hosts, 4 switches, 24 ports"), "{checked}");
    scratch.ok(&[&["run", "mine.toml"], &RUN[..], &["out"]].concat());
    let list = fs::read_to_string(&files[2]).unwrap();
    let mut expected: Vec<(u32, u32, u64, u64)> = list
        .lines()
        .skip(1)
        .map(|l| l.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .map(|f| (f[0].parse().unwrap(), f[1].parse().unwrap(), f[3].parse().unwrap(), f[4].parse().unwrap()))
        .collect();
    let done = scratch.ok(&["export", "out", "--out", "fct.txt"]);
    assert!(done.starts_with("wrote fct.txt: 47 flows of dctcp, run 0; 0 unfinished"), "{done}");
    let node = |address: &str| (u32::from_str_radix(address, 16).unwrap() >> 8) & 0xffff;
    let mut ends = Vec::new();
    let mut found: Vec<(u32, u32, u64, u64)> = Vec::new();
    for line in fs::read_to_string(scratch.0.join("fct.txt")).unwrap().lines() {
        let f: Vec<&str> = line.split(' ').collect();
        let number = |i: usize| f[i].parse::<u64>().unwrap();
        assert!(f.len() == 8 && f[0].len() == 8 && number(2) >= 10_000 && number(7) > 4_000, "{line}");
        found.push((node(f[0]), node(f[1]), number(3), number(4)));
        ends.push(number(5) + number(6));
    }
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
    assert!(ends.is_sorted());
}

/// One flow of 1 MB alone: its completion time is the standalone time, apart from half of the base RTT, which HPCC counts for the last ACK, and slow
/// start.
#[test]
fn lone_flow_has_standalone_time() {
    let scratch = Scratch::new("import-lone");
    scratch.file("topology.txt", "3 1 2\n0\n1 0 10Gbps 1us 0\n0 2 10Gbps 1us 0\n");
    scratch.file("flow.txt", "1\n1 2 3 100 1000000 2.0\n");
    scratch.ok(&["import", "topology.txt", "flow.txt"]);
    scratch.ok(&[&["run", "imported.toml"], &RUN[..], &["out"]].concat());
    scratch.ok(&["export", "out"]);
    let row = fs::read_to_string(scratch.0.join("fct.txt")).unwrap();
    let f: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(f[..6], ["0b000101", "0b000201", "10000", "100", "1000000", "0"]);
    let slowdown = f[6].parse::<f64>().unwrap() / f[7].parse::<f64>().unwrap();
    assert!((0.98..1.1).contains(&slowdown), "{row}");
}

#[test]
fn htsim_triggers_start_flows() {
    let scratch = Scratch::new("import-htsim");
    let out = scratch.ok(&["import", &sample("htsim/leaf-spine.topo"), &sample("htsim/incast.cm"), "--out", "ht.toml"]);
    assert!(out.contains("9 connections start within 7ns"), "{out}");
    scratch.ok(&[&["run", "ht.toml"], &RUN[..], &["out"]].concat());
    let flows = flows(&scratch, "out");
    assert_eq!(flows.len(), 9);
    let of = |src: &str| flows.iter().find(|f| f["src"] == src).unwrap();
    let number = |text: &String| text.parse::<u64>().unwrap();
    // The answer of host 20 begins when it has received the data of host 7.
    let (data, answer) = (of("h7"), of("h20"));
    let pause = number(&answer["start_ns"]) - number(&data["end_ns"]);
    assert!(pause <= 1_300, "{data:?} {answer:?}");
}

/// Each of four ranks passes 250 KB around a ring in six steps, with calculations of 0.5 us between them.
#[test]
fn goal_schedule_runs() {
    let scratch = Scratch::new("import-goal");
    scratch.file("ring.topo", &fs::read_to_string(sample("htsim/leaf-spine.topo")).unwrap());
    let out = scratch.ok(&["import", &sample("goal/ring.goal"), "ring.topo", "--out", "ring.toml"]);
    assert!(out.contains("4 ranks send 24 messages"), "{out}");
    scratch.ok(&[&["run", "ring.toml"], &RUN[..], &["out"]].concat());
    let flows = flows(&scratch, "out");
    let number = |text: &String| text.parse::<u64>().unwrap();
    assert!(flows.len() == 24 && flows.iter().all(|f| f["completed"] == "true"));
    let mut first: Vec<u64> = flows.iter().map(|f| number(&f["start_ns"])).collect();
    first.sort_unstable();
    assert_eq!(first[..4], [1_000, 1_200, 1_400, 1_600]);
    // Every other message begins 0.5 us after one of the rank before has arrived, or up to a link's delay later.
    for f in flows.iter().filter(|f| number(&f["start_ns"]) > 1_600) {
        let starts = number(&f["start_ns"]);
        let before = flows.iter().filter(|g| g["dst"] == f["src"]).map(|g| number(&g["end_ns"]));
        assert!(before.clone().any(|end| (500..=1_800).contains(&starts.saturating_sub(end))), "{f:?}");
    }
}

#[test]
fn simai_without_nvswitches_runs() {
    let scratch = Scratch::new("import-simai");
    let mut topology = String::from("11 4 2 1 16 H100\n8 9\n10\n");
    for gpu in 0..8 {
        topology += &format!("{gpu} {} 2880Gbps 0.000025ms 0\n{gpu} 10 400Gbps 0.0005ms 0\n", 8 + gpu / 4);
    }
    scratch.file("simai.txt", &topology);
    fails(&scratch, &["import", "simai.txt"], "host 0 has 2 links (lines 4, 5)");
    let out = scratch.ok(&["import", "simai.txt", "--without-nvswitches"]);
    assert!(out.contains("2 NVSwitches are left out") && out.contains("no list of flows was given"), "{out}");
    scratch.ok(&["run", "imported.toml", "--set", "duration=100us", "--no-report", "--quiet", "--out", "out"]);
}

/// A node of a Chakra trace, as protocol buffer: number, type, nodes that it waits for, duration and integer attributes.
fn chakra_node(id: u64, kind: u64, deps: &[u64], micros: u64, attributes: &[(&str, u64)]) -> Vec<u8> {
    let varint = |mut n: u64| {
        let mut out = Vec::new();
        while n >= 128 {
            out.push(n as u8 | 128);
            n >>= 7;
        }
        out.push(n as u8);
        out
    };
    let number = |field: u64, n: u64| [varint(field << 3), varint(n)].concat();
    let bytes = |field: u64, b: &[u8]| [varint(field << 3 | 2), varint(b.len() as u64), b.to_vec()].concat();
    let mut node = [number(1, id), number(3, kind), number(7, micros)].concat();
    deps.iter().for_each(|d| node.extend(number(5, *d)));
    for (name, value) in attributes {
        node.extend(bytes(10, &[bytes(1, name.as_bytes()), number(13, *value)].concat()));
    }
    [varint(node.len() as u64), node].concat()
}

/// Four ranks compute for 3 us, reduce 1 MB on a ring, and compute again before the next reduction.
#[test]
fn chakra_traces_run() {
    let scratch = Scratch::new("import-chakra");
    let size = [("comm_size", 1_000_000), ("comm_type", 0)];
    let trace = [
        // Metadata with a version.
        vec![7, 0x0a, 5, b'0', b'.', b'0', b'.', b'4'],
        chakra_node(1, 4, &[], 3, &[]),
        chakra_node(2, 7, &[1], 0, &size),
        chakra_node(3, 4, &[2], 5, &[]),
        chakra_node(4, 7, &[3], 0, &size),
    ]
    .concat();
    let files: Vec<String> = (0..4).map(|rank| format!("job.{rank}.et")).collect();
    files.iter().for_each(|f| fs::write(scratch.0.join(f), &trace).unwrap());
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let topology = sample("htsim/leaf-spine.topo");
    let out = scratch.ok(&[&["import", &topology, "--out", "job.toml"], &names[..]].concat());
    assert!(out.contains("4 ranks send 48 messages, 2 collectives among them"), "{out}");
    scratch.ok(&[&["run", "job.toml"], &RUN[..], &["out"]].concat());
    let flows = flows(&scratch, "out");
    let number = |text: &String| text.parse::<u64>().unwrap();
    assert!(flows.len() == 48 && flows.iter().all(|f| f["size_bytes"] == "250000" && f["completed"] == "true"));
    let mut starts: Vec<u64> = flows.iter().map(|f| number(&f["start_ns"])).collect();
    starts.sort_unstable();
    assert_eq!(starts[..4], [3_000; 4]);
    // No rank begins the second reduction before it has received all parts of the first one, and has computed.
    let first = starts[24];
    let received = flows.iter().map(|f| number(&f["end_ns"])).filter(|end| *end + 5_000 <= first).count();
    assert!(received >= 6, "{received} messages by {first}");
    fails(&scratch, &["import", &topology, "job.0.et", "job.2.et"], "job.2.et: the trace of rank 1 is missing");
}

#[test]
fn errors_name_file_and_line() {
    let scratch = Scratch::new("import-errors");
    scratch.file("topology.txt", "3 1 2\n0\n1 0 10Gbps 1us 0\n0 2 10Gbps 1us 0\n");
    scratch.file("bad.txt", "3 1 2\n0\n1 0 10Gbps 1us 0\n0 7 10Gbps 1us 0\n");
    scratch.file("flow.txt", "1\n1 0 3 100 5 2.0\n");
    scratch.file("other.json", "{}");
    fs::write(scratch.0.join("binary"), [0xff, 0xfe, 0]).unwrap();
    for (args, part) in [
        (&["bad.txt"][..], "bad.txt:4: node 7: the topology has nodes 0 to 2"),
        (&["topology.txt", "flow.txt"], "flow.txt:2: node `0` is a switch of the topology"),
        (&["flow.txt"], "flow.txt: the network is missing"),
        (&["topology.txt", "bad.txt"], "bad.txt: this is a topology of HPCC, and topology.txt has the same part"),
        (&["other.json"], "other.json: unknown format"),
        (&["binary"], "binary: it is not a text"),
        (&["none.txt"], "`none.txt` cannot be read"),
        (&["."], "it is not a file"),
        (&["topology.txt", "--out", "mine.txt"], "name a file with the extension .toml"),
    ] {
        fails(&scratch, &[&["import"], args].concat(), part);
    }
    scratch.ok(&["import", "topology.txt"]);
    fails(&scratch, &["import", "topology.txt"], "exists already");
    scratch.ok(&["import", "topology.txt", "--force"]);
    let out = scratch.run(&["export", "."]);
    assert!(out.status.code() == Some(1) && text(&out.stderr).contains("holds no results"), "{}", text(&out.stderr));
}
