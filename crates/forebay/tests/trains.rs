//! `forebay trains` from outside: results, files, scenarios that run, and errors.

use crate::scratch::{Scratch, forebay, text};
use std::fs;
use std::path::Path;
use std::process::Output;

/// A capture of ten servers that answer a front end.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/captures/web.pcap");

fn trains(scratch: &Scratch, args: &[&str]) -> Output {
    forebay(&scratch.0, &[&["trains"], args].concat())
}

fn works(scratch: &Scratch, args: &[&str]) -> String {
    let out = trains(scratch, args);
    assert_eq!(out.status.code(), Some(0), "{args:?}: {}", text(&out.stderr));
    text(&out.stdout)
}

fn fails(scratch: &Scratch, args: &[&str], words: &[&str]) {
    let out = trains(scratch, args);
    let err = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{args:?}: {err}");
    words.iter().for_each(|word| assert!(err.contains(word), "{args:?}: {err}"));
}

#[test]
fn answer_then_tables() {
    let scratch = Scratch::new("trains");
    let out = works(&scratch, &[SAMPLE]);
    assert!(out.starts_with("10 connections between 11 hosts carried 1.65 MB in 98 packet trains"), "{out}");
    for part in ["\nshort ", "\nlong ", "10.1.0.100:", "retransmitted packets: 137 fast, 16 timeout and 2 unneeded\n"] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn json_has_the_numbers() {
    let scratch = Scratch::new("trains-json");
    let v: serde_json::Value = serde_json::from_str(&works(&scratch, &[SAMPLE, "--format", "json", "--anonymise"])).unwrap();
    assert_eq!((&v["connections"], &v["hosts"], &v["trains"]["all"]["count"]), (&10.into(), &11.into(), &98.into()));
    assert_eq!(v["retransmissions"]["fast"], 137);
    let sum: u64 = v["largest_connections"].as_array().unwrap().iter().map(|c| c["from_server"]["bytes"].as_u64().unwrap()).sum();
    // Each of the requests has 120 B.
    assert_eq!(sum + 30 * 120, v["bytes"].as_u64().unwrap());
}

#[test]
fn anonymised_output_has_no_address() {
    let scratch = Scratch::new("trains-anonymised");
    for how in ["order", "prefix"] {
        let out = works(&scratch, &[&format!("--anonymise={how}"), SAMPLE, "--out", how, "--scenario", &format!("{how}.toml")]);
        let files = ["trains.csv", "connections.csv", "incast.csv", "cdf.csv"].map(|name| format!("{how}/{name}"));
        let files = files.into_iter().chain([format!("{how}.toml"), format!("{how}.csv")]);
        let all: String = files.map(|name| fs::read_to_string(scratch.0.join(name)).unwrap()).chain([out]).collect();
        assert!(!all.contains("10.1.0."), "{how}");
    }
}

#[test]
fn tables_agree_with_the_summary() {
    let scratch = Scratch::new("trains-tables");
    works(&scratch, &[SAMPLE, "--out", "out"]);
    let rows = |name: &str| fs::read_to_string(scratch.0.join("out").join(name)).unwrap().lines().count() - 1;
    assert_eq!((rows("trains.csv"), rows("connections.csv")), (98, 10));
    let bytes = |column: usize| -> u64 {
        let table = fs::read_to_string(scratch.0.join("out/trains.csv")).unwrap();
        table.lines().skip(1).map(|l| l.split(',').nth(column).unwrap().parse::<u64>().unwrap()).sum()
    };
    let v: serde_json::Value = serde_json::from_str(&works(&scratch, &[SAMPLE, "--format", "json"])).unwrap();
    assert_eq!(Some(bytes(8)), v["bytes"].as_u64());
    fails(&scratch, &[SAMPLE, "--out", "out"], &["exists already", "--force"]);
    works(&scratch, &[SAMPLE, "--out", "out", "--force"]);
}

#[test]
fn replay_has_sizes_and_starts() {
    let scratch = Scratch::new("trains-replay");
    works(&scratch, &[SAMPLE, "--scenario", "mine.toml", "--rate", "1Gbps"]);
    /// Sizes and starts of the flows of a CSV file.
    fn flows(text: &str, columns: [&str; 2]) -> Vec<[u64; 2]> {
        let mut lines = text.lines().map(|l| l.split(',').map(str::trim).collect::<Vec<_>>());
        let header = lines.next().unwrap();
        let places = columns.map(|c| header.iter().position(|h| *h == c).unwrap());
        let mut all: Vec<_> = lines.map(|l| places.map(|at| l[at].parse().unwrap())).collect();
        all.sort_unstable();
        all
    }
    let list = fs::read_to_string(scratch.0.join("mine.csv")).unwrap();
    let run = forebay(
        &scratch.0,
        &["run", "mine.toml", "--set", "transport.cc=cubic", "--format", "csv", "--out", "run", "--no-report"],
    );
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let result = fs::read_to_string(scratch.0.join("run/flows.csv")).unwrap();
    assert_eq!(flows(&result, ["size_bytes", "start_ns"]), flows(&list, ["bytes", "start_ns"]));
    fails(&scratch, &[SAMPLE, "--scenario", "mine.toml"], &["exists already"]);
    fails(&scratch, &[SAMPLE, "--scenario", "mine.csv"], &["not a valid name"]);
    fails(&scratch, &[SAMPLE, "--scenario", "no/mine.toml"], &["no such directory"]);
}

#[test]
fn resampled_scenario_runs() {
    let scratch = Scratch::new("trains-resample");
    works(&scratch, &[SAMPLE, "--scenario", "drawn.toml", "--resample"]);
    let run = forebay(&scratch.0, &["run", "drawn.toml", "--set", "transport.cc=cubic", "--no-report", "--quiet"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
}

#[test]
fn errors_name_file_and_place() {
    let scratch = Scratch::new("trains-errors");
    let good = fs::read(SAMPLE).unwrap();
    let mut bad = good.clone();
    bad[24 + 8 + 3] = 0x70;
    fs::write(scratch.0.join("bad.pcap"), &bad).unwrap();
    fs::write(scratch.0.join("cut.pcap"), &good[..good.len() - 5]).unwrap();
    fs::write(scratch.0.join("text.txt"), "hello, this is no capture").unwrap();
    fails(&scratch, &["bad.pcap"], &["`bad.pcap`, record 1 at byte 24: the frame claims"]);
    fails(&scratch, &["text.txt"], &["`text.txt`: is not a capture"]);
    fails(&scratch, &["none.pcap"], &["`none.pcap`"]);
    fails(&scratch, &[SAMPLE, "--gap", "fast"], &["500us"]);
    fails(&scratch, &["-"], &["standard input", "is empty"]);
    assert!(works(&scratch, &["cut.pcap"]).contains("`cut.pcap` ends within record "));
}

/// The halves of a capture, in the wrong order, are the whole.
#[test]
fn files_are_read_in_order() {
    let scratch = Scratch::new("trains-files");
    let all = fs::read(SAMPLE).unwrap();
    let mut at = 24;
    while at < all.len() / 2 {
        at += 16 + u32::from_le_bytes(all[at + 8..at + 12].try_into().unwrap()) as usize;
    }
    let write = |name: &str, body: &[u8]| fs::write(scratch.0.join(Path::new(name)), [&all[..24], body].concat()).unwrap();
    write("first.pcap", &all[24..at]);
    write("second.pcap", &all[at..]);
    assert_eq!(works(&scratch, &["second.pcap", "first.pcap"]), works(&scratch, &[SAMPLE]));
}
