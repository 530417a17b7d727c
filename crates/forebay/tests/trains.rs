//! `forebay trains` from outside: results, files, scenarios that run, and errors.

use crate::scratch::{Scratch, forebay, text};
use std::collections::BTreeMap;
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

/// A capture that turns out to be damaged while it is read leaves the tables of the one before, and no temporary files.
#[test]
fn failed_trains_leave_earlier_tables() {
    let scratch = Scratch::new("trains-failed");
    let mut bad = fs::read(SAMPLE).unwrap();
    bad[24 + 8 + 3] = 0x70;
    fs::write(scratch.0.join("bad.pcap"), &bad).unwrap();
    works(&scratch, &[SAMPLE, "--out", "out"]);
    let names = scratch.entries("out");
    assert_eq!(names, ["cdf.csv", "connections.csv", "incast.csv", "trains.csv"]);
    let read = |name: &String| fs::read(scratch.0.join("out").join(name)).unwrap();
    let before: Vec<Vec<u8>> = names.iter().map(read).collect();
    fails(&scratch, &["bad.pcap", "--out", "out", "--force"], &["`bad.pcap`"]);
    assert_eq!(scratch.entries("out"), names);
    assert!(names.iter().map(read).eq(before));
    #[cfg(unix)]
    for name in &names {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(scratch.0.join("out").join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name} contains addresses");
    }
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

/// Sources, destinations, sizes and starts of messages in the CSV table of a run, with starts from that of the first.
fn messages(scratch: &Scratch, table: &str) -> Vec<(String, String, u64, u64)> {
    let text = fs::read_to_string(scratch.0.join(table)).unwrap();
    let mut lines = text.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let at = ["src", "dst", "size_bytes", "start_ns"].map(|name| header.iter().position(|h| *h == name).unwrap());
    let number = |line: &[&str], place: usize| line[at[place]].parse::<u64>().unwrap();
    let rows = lines.map(|l| (l[at[0]].to_owned(), l[at[1]].to_owned(), number(&l, 2), number(&l, 3)));
    let mut rows: Vec<_> = rows.collect();
    let first = rows.iter().map(|r| r.3).min().unwrap();
    rows.iter_mut().for_each(|r| r.3 -= first);
    rows.sort_by_key(|r| (r.3, r.2));
    rows
}

/// Three servers send messages to one receiver.
const WORKLOAD: &str = r#"
[topology]
kind = "many-to-one"
senders = 3
access     = { rate = "1Gbps", delay = "20us" }
bottleneck = { rate = "1Gbps", delay = "20us", buffer = "20pkt" }
[transport]
stack = "linux"
host = "bare"
cc = "cubic"
[[workload]]
kind = "poisson"
sizes = { uniform = ["1KB", "90KB"] }
rate = 2000
flows = 60
"#;

/// A run of `mine.toml` is captured, its capture gives a scenario, and a run of that has the messages of the first one.
fn roundtrip(scratch: &Scratch, name: &str, more: &[&str]) {
    let (original, scenario, replay) = (format!("original-{name}"), format!("{name}.toml"), format!("replay-{name}"));
    let options = ["--format", "csv", "--no-report", "--quiet"];
    scratch.ok(&[&["run", "mine.toml", "--capture", "hosts", "--out", &original], &options[..], more].concat());
    let capture = format!("{original}/capture-cubic-0.pcapng");
    let out = works(scratch, &[&capture, "--scenario", &scenario, "--rate", "1Gbps", "--anonymise"]);
    assert!(out.starts_with("60 connections between 4 hosts"), "{out}");
    scratch.ok(&[&["run", &scenario, "--set", "transport.cc=cubic", "--out", &replay], &options[..]].concat());
    // Hosts are numbered in the order in which the capture shows them.
    let [was, is] = [&original, &replay].map(|dir| messages(scratch, &format!("{dir}/flows.csv")));
    assert_eq!(was.iter().map(|m| (m.3, m.2)).collect::<Vec<_>>(), is.iter().map(|m| (m.3, m.2)).collect::<Vec<_>>());
    let mut names = BTreeMap::new();
    for (a, b) in was.iter().zip(&is) {
        for (name, number) in [(&a.0, &b.0), (&a.1, &b.1)] {
            assert_eq!(names.entry(name).or_insert(number), &number);
        }
    }
    assert_eq!(names.len(), 4);
}

#[test]
fn captured_run_is_replayed() {
    let scratch = Scratch::new("trains-roundtrip");
    scratch.file("mine.toml", WORKLOAD);
    for ip in ["ipv4", "ipv6"] {
        roundtrip(&scratch, ip, &["--set", &format!("observe.capture-ip=\"{ip}\"")]);
    }
}

/// The same with the packets of a real kernel.
#[cfg(target_os = "linux")]
#[test]
fn captured_guest_is_replayed() {
    // The version of the backend is that of its kernel.
    if forebay_backends::all().find("linux").is_none_or(|world| world.version().is_empty()) {
        return forebay_platform::doctor::requirements::skip(
            "kernel",
            "there is no kernel for the backend linux: forebay kernel build",
        );
    }
    let scratch = Scratch::new("trains-roundtrip-linux");
    scratch.file("mine.toml", WORKLOAD);
    roundtrip(&scratch, "linux", &["--world", "linux", "--yes"]);
}

/// Flow records and snapshots of sockets.
#[test]
fn files_without_packets() {
    let scratch = Scratch::new("trains-records");
    let line = |start: &str, end: &str, src: &str, sport: u16, flags: &str, packets: u64, bytes: u64| {
        format!("2024-01-15 {start},2024-01-15 {end},0,{src},10.0.0.9,{sport},80,TCP,{flags},0,0,{packets},{bytes},0,0\n")
    };
    let header = "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt\n";
    let first = line("10:00:00.000", "10:05:00.000", "10.0.0.1", 5_000, "...AP.S.", 100, 105_200);
    let second = line("10:05:00.500", "10:05:10.000", "10.0.0.1", 5_000, "...AP..F", 10, 10_520);
    let other = line("10:00:01.000", "10:00:02.000", "10.0.0.2", 6_000, "...AP.SF", 20, 21_040);
    scratch.file("flows.csv", &[header, &second, &first, &other].concat());
    let out = works(&scratch, &["flows.csv", "--scenario", "mine.toml", "--anonymise"]);
    assert!(out.starts_with("2 connections between 3 hosts carried 130 kB over 310 s, by 3 flow records\n"), "{out}");
    assert!(!out.contains("ends a train") && !out.contains("10.0.0."), "{out}");
    let list = fs::read_to_string(scratch.0.join("mine.csv")).unwrap().replace(' ', "");
    assert_eq!(list, "src,dst,bytes,start_ns,data_ns\nh0,h1,110000,0,0\nh2,h1,20000,1000000000,1000000000\n");
    scratch.ok(&["check", "mine.toml"]);
    let split = works(&scratch, &["flows.csv", "--join", "1", "--format", "json"]);
    assert!(split.contains("\"flow_records\": 3") && split.contains("\"connections\": 2"), "{split}");

    scratch.file(
        "sockets.txt",
        "ESTAB 0 0 10.0.0.1:5000 10.0.0.2:80 ts sack bbr rtt:0.5/0.1 bytes_acked:5001 data_segs_out:4 retrans:0/1 app_limited\n",
    );
    let out = works(&scratch, &["sockets.txt"]);
    assert!(out.starts_with("1 connection between 2 hosts carried 5 kB, by snapshots of 1 socket\n"), "{out}");
    assert!(out.contains("congestion controls of the sockets: 1 bbr") && out.contains("by the application: 1"), "{out}");
    fails(&scratch, &["sockets.txt", "--scenario", "no.toml"], &["snapshots of sockets have no times"]);
    scratch.file("bad.csv", &[header, &first.replace("105200", "many")].concat());
    fails(&scratch, &["bad.csv"], &["`bad.csv`, line 2: the number of bytes is `many`", "nfdump -N"]);
}

/// The hosts of a capture have the names of a network of the user.
#[test]
fn hosts_have_names_of_rules() {
    let scratch = Scratch::new("trains-hosts");
    scratch.file("hosts.csv", "10.1.0.100,frontend\n10.1.0.0/24,rack1-*\n");
    let out = works(&scratch, &[SAMPLE, "--hosts", "hosts.csv", "--scenario", "mine.toml", "--rate", "1Gbps"]);
    assert!(out.contains("frontend:43080") && out.contains("rack1-9:80"), "{out}");
    let list = fs::read_to_string(scratch.0.join("mine.csv")).unwrap();
    assert!(list.lines().skip(1).all(|l| l.contains("frontend") && l.contains("rack1-")), "{list}");
    scratch.ok(&["check", "mine.toml"]);
    works(&scratch, &[SAMPLE, "--hosts", "hosts.csv", "--scenario", "drawn.toml", "--resample", "--rate", "1Gbps"]);
    scratch.ok(&["check", "drawn.toml"]);
    scratch.file("bad.csv", "\n10.1.0.5/24,rack\n");
    fails(&scratch, &[SAMPLE, "--hosts", "bad.csv"], &["bad.csv:2: `10.1.0.5/24` has bits behind the prefix; set them to 0"]);
    fails(&scratch, &[SAMPLE, "--hosts", "none.csv"], &["`none.csv` cannot be read"]);
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
