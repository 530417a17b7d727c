//! Sweeps from outside: interrupted, killed, extended, torn, and on any number of threads they give the same bytes.

use crate::scratch::{Scratch, text, wait_until};
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// 12 points, 2 transports, 2 seeds: 48 runs of a few milliseconds each.
const SWEEP: &str = r#"
name = "small"
duration = "20ms"

[topology]
kind = "many-to-one"
senders = 4
access = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us", buffer = "100pkt" }

[transport]
stack = "ns2"
cc = ["newreno", "reno"]

[[workload]]
kind = "long"
from = "senders"
to = "receiver"

[sweep]
topology.senders = [1, 2, 3]
transport.rto-min = ["10ms", "200ms"]
seeds = 2
[sweep.zip]
topology.bottleneck.buffer = ["20pkt", "100pkt"]
transport.mss = [500, 1460]
"#;

/// A fresh directory with that scenario.
fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.file("s.toml", SWEEP);
    scratch
}

impl Scratch {
    fn manifest(&self, dir: &str) -> Json {
        serde_json::from_slice(&self.bytes(&format!("{dir}/manifest.json"))).unwrap()
    }

    /// The files of the units in a directory.
    fn units(&self, dir: &str) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for folder in fs::read_dir(self.0.join(dir).join("units")).into_iter().flatten().flatten() {
            if folder.file_name() != "tmp" {
                files.extend(fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().path()));
            }
        }
        files.sort();
        files
    }
}

#[test]
fn results_independent_of_threads() {
    let s = scratch("threads");
    let printed = s.ok(&["run", "s.toml", "--threads", "1", "--out", "a", "--format", "csv"]);
    assert!(printed.contains("results: a") && printed.contains("sweep: 12 points, 48 runs"), "{printed}");
    assert!(
        printed.contains("senders") && printed.contains("goodput") && printed.contains("±") && !printed.contains('\x1b'),
        "{printed}"
    );
    s.ok(&["run", "s.toml", "--threads", "5", "--out", "b"]);
    assert!(s.bytes("a/summary.parquet") == s.bytes("b/summary.parquet"));
    assert_eq!(s.units("a").len(), 48);
    // The table: points in order, axes as typed columns in front.
    let csv = text(&s.bytes("a/summary.csv"));
    let lines: Vec<&str> = csv.lines().collect();
    let head = "point,topology.senders,transport.rto-min,transport.rto-min_s,topology.bottleneck.buffer,topology.bottleneck.buffer_pkts,\
                transport.mss,unit,variant,run,seed,world,transport,class,port,goodput_bps,";
    assert!(lines[0].starts_with(head), "{}", lines[0]);
    assert_eq!(lines.len(), 49);
    assert!(
        lines[1].starts_with("0,1,10ms,0.01,20pkt,20,500,") && lines[1].contains(",newreno,0,1,sim,newreno,,bottleneck,"),
        "{}",
        lines[1]
    );
    assert!(lines[4].starts_with("0,1,") && lines[4].contains(",reno,1,2,sim,reno,,bottleneck,"), "{}", lines[4]);
    assert!(lines[48].starts_with("11,3,200ms,0.2,100pkt,100,1460,"), "{}", lines[48]);

    // Again: everything is found, nothing runs, the bytes are the same.
    let before = s.bytes("a/summary.parquet");
    let again = s.ok(&["run", "s.toml", "--out", "a"]);
    assert!(again.contains("48 runs, 48 of them already finished") && !again.contains("per second"), "{again}");
    assert!(s.bytes("a/summary.parquet") == before);
    let m = s.manifest("a");
    assert_eq!((&m["kind"], &m["found"], m["points"].as_array().unwrap().len()), (&"forebay-sweep".into(), &48.into(), 12));
    assert_eq!((&m["axes"][1]["key"], &m["axes"][1]["numbers"][0]), (&"transport.rto-min".into(), &0.01.into()));
    assert!(m["finished"].is_string() && m["scenario"]["text"] == SWEEP);
    // Equal to the run directory of the same scenario and seed.
    let sets = ["topology.senders=1", "transport.rto-min=10ms", "topology.bottleneck.buffer=20pkt", "transport.mss=500"];
    let plain = SWEEP.split("[sweep]").next().unwrap();
    fs::write(s.0.join("plain.toml"), plain).unwrap();
    let sets: Vec<&str> = sets.iter().flat_map(|s| ["--set", s]).collect();
    s.ok(&[&["run", "plain.toml", "--runs", "2", "--out", "single", "--format", "csv"][..], &sets].concat());
    let single = text(&s.bytes("single/summary.csv"));
    let of = |line: &str| line.split_once(",newreno,0,1,sim,newreno,").map(|p| p.1.to_owned());
    let wanted = single.lines().find_map(|l| l.strip_prefix("newreno,0,1,sim,newreno,").map(str::to_owned));
    assert!(wanted.is_some() && of(lines[1]) == wanted, "{single}\n{}", lines[1]);
}

#[test]
fn killed_sweep_loses_nothing() {
    let s = scratch("kill");
    s.ok(&["run", "s.toml", "-q", "--out", "whole"]);
    let total = s.units("whole").len();
    let (mut kills, mut done) = (0, 0);
    for round in 0.. {
        let mut child =
            s.command(&["run", "s.toml", "-q", "--out", "r", "--threads", "2"]).stdout(Stdio::null()).spawn().unwrap();
        // A fifth longer each time, so that kills come early and late and the last start ends by itself, however slow the machine is. A delay of
        // this thread moves the moment of the kill.
        let limit = Duration::from_millis(10).mul_f64(1.2_f64.powi(round));
        let begin = Instant::now();
        while begin.elapsed() < limit && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = child.kill();
        let ended = child.wait().unwrap().success();
        let now = s.units("r").len();
        assert!(now >= done, "results were lost");
        assert!(round < 60, "{now} of {total}");
        done = now;
        match (ended, kills) {
            (false, _) => kills += 1,
            // This thread was delayed until all runs were done: once more from the start.
            (true, 0) => {
                eprintln!("round {round}: the command ended before it was killed");
                fs::remove_dir_all(s.0.join("r")).unwrap();
                done = 0;
            }
            (true, _) => break,
        }
    }
    let printed = s.ok(&["run", "s.toml", "--out", "r"]);
    assert!(printed.contains(&format!("{total} runs, {done} of them already finished")), "{printed}");
    assert!(s.bytes("r/summary.parquet") == s.bytes("whole/summary.parquet"));
    assert_eq!(s.manifest("r")["fingerprint"], s.manifest("whole")["fingerprint"]);
}

#[cfg(unix)]
#[test]
fn interrupt_keeps_finished_runs() {
    let s = scratch("interrupt");
    // The first points are short, the last would take hours.
    fs::write(s.0.join("long.toml"), SWEEP.replace("[sweep]\n", "[sweep]\nduration = [\"1ms\", \"1h\"]\n")).unwrap();
    let args = ["run", "long.toml", "--progress", "json", "--quiet", "--out", "r"];
    let mut child = s.command(&args).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut events = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    events.read_line(&mut line).unwrap();
    let first: Json = serde_json::from_str(&line).unwrap();
    assert_eq!((&first["event"], &first["points"], &first["runs"]), (&"start".into(), &24.into(), &96.into()));
    let mut ran = 0;
    while ran < 48 {
        line.clear();
        events.read_line(&mut line).unwrap();
        ran += usize::from(serde_json::from_str::<Json>(&line).unwrap()["event"] == "run_done");
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    events.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    let last: Json = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["done"], &last["total"]), (&"interrupted".into(), &48.into(), &96.into()));
    assert_eq!(s.units("r").len(), 48);
    assert!(s.manifest("r")["finished"].is_null() && !s.0.join("r/summary.parquet").exists());
    // As text too. A sweep writes its manifest when its points are checked, and then begins to run.
    let written = || fs::metadata(s.0.join("r/manifest.json")).unwrap().modified().unwrap();
    let before = written();
    let mut child = s.command(&["run", "long.toml", "--out", "r"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    wait_until("runs begin", || written() != before);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut printed = String::new();
    child.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // However many it had already finished by then.
    assert!(printed.ends_with("Run the same command again to continue: 48 of 96 runs done\n"), "{printed}");
}

#[test]
fn larger_axes_run_new_points_only() {
    let s = scratch("extend");
    s.ok(&["run", "s.toml", "-q", "--out", "r"]);
    let printed = s.ok(&["run", "s.toml", "--out", "r", "--sweep", "topology.senders=[3, 2, 1, 4]", "--runs", "3"]);
    // 16 points, 2 transports, 3 seeds; 48 exist. Another order of an axis is another order of the points, not another result.
    assert!(printed.contains("16 points, 96 runs, 48 of them already finished"), "{printed}");
    let m = s.manifest("r");
    assert_eq!((m["points"].as_array().unwrap().len(), &m["seeds"]), (16, &serde_json::json!([1, 2, 3])));
    assert_eq!(m["scenario"]["sweeps"][0], "topology.senders=[3, 2, 1, 4]");
    // The first sweep again: everything exists, and its table is unchanged.
    s.ok(&["run", "s.toml", "-q", "--out", "whole"]);
    assert!(s.ok(&["run", "s.toml", "--out", "r"]).contains("48 of them already finished"));
    assert!(s.bytes("r/summary.parquet") == s.bytes("whole/summary.parquet"));
    // A comment, a name, another notation of a value: the same results. Another default of the transport: other results.
    let renamed = SWEEP.replace("\"small\"", "\"other\"").replace("\"1Gbps\"", "\"1000Mbps\"") + "# a comment\n";
    fs::write(s.0.join("renamed.toml"), renamed).unwrap();
    assert!(s.ok(&["run", "renamed.toml", "--out", "r"]).contains("48 of them already finished"));
    assert!(!s.ok(&["run", "s.toml", "--out", "r", "--set", "transport.dup-thresh=4"]).contains("already finished"));
}

#[test]
fn torn_files_are_run_again() {
    let s = scratch("torn");
    s.ok(&["run", "s.toml", "-q", "--out", "r"]);
    let before = s.bytes("r/summary.parquet");
    let units = s.units("r");
    fs::write(&units[0], b"").unwrap();
    let half = fs::read(&units[1]).unwrap();
    fs::write(&units[1], &half[..half.len() / 2]).unwrap();
    let mut zeros = fs::read(&units[2]).unwrap();
    zeros[1000..1400].fill(0);
    fs::write(&units[2], zeros).unwrap();
    fs::remove_file(&units[3]).unwrap();
    // The file of another unit is intact, but not this unit's.
    fs::copy(&units[5], &units[4]).unwrap();
    let printed = s.ok(&["run", "s.toml", "--out", "r"]);
    assert!(printed.contains("48 runs, 43 of them already finished"), "{printed}");
    assert!(s.bytes("r/summary.parquet") == before);
}

#[test]
fn tables_are_kept_when_asked_for() {
    let s = scratch("keep");
    s.ok(&["run", "s.toml", "-q", "--out", "r"]);
    // Results with other tables have another key: the columns of kept tables are part of it.
    let printed = s.ok(&["run", "s.toml", "--out", "r", "--set", "sweep.keep=[\"flows\", \"queries\"]"]);
    assert!(!printed.contains("already finished"), "{printed}");
    assert_eq!(s.units("r").iter().filter(|p| p.to_string_lossy().ends_with(".flows.parquet")).count(), 48);
    let printed = s.ok(&["run", "s.toml", "--out", "r", "--set", "sweep.keep=[\"queries\", \"flows\"]"]);
    assert!(printed.contains("48 of them already finished"), "in whatever order: {printed}");
    assert!(s.ok(&["run", "s.toml", "--out", "r"]).contains("48 of them already finished"));
}

#[test]
fn damaged_kept_tables_are_computed_again() {
    let s = scratch("keep-flip");
    let args = ["run", "s.toml", "--out", "r", "--set", "sweep.keep=[\"flows\"]"];
    s.ok(&args);
    let table = s.units("r").into_iter().find(|p| p.to_string_lossy().ends_with(".flows.parquet")).unwrap();
    let whole = fs::read(&table).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    fs::write(&table, flipped).unwrap();
    let printed = s.ok(&args);
    assert!(printed.contains("48 runs, 47 of them already finished"), "{printed}");
    assert!(fs::read(&table).unwrap() == whole);
}

#[test]
fn foreign_reports_are_not_replaced() {
    let s = scratch("foreign-report");
    s.ok(&["run", "s.toml", "-q", "--out", "r"]);
    let page = s.0.join("r/report.html");
    let ours = fs::read(&page).unwrap();
    fs::write(&page, "mine").unwrap();
    let before = s.bytes("r/summary.parquet");
    // The same sweep, another one, and one that writes no report.
    for more in [&[][..], &["--sweep", "topology.senders=[4]"], &["--sweep", "topology.senders=[5]", "--no-report"]] {
        let out = s.run(&[&["run", "s.toml", "-q", "--out", "r"][..], more].concat());
        assert_eq!(out.status.code(), Some(2), "{more:?}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains("not a report that forebay wrote"), "{}", text(&out.stderr));
        assert!(fs::read(&page).unwrap() == b"mine" && s.bytes("r/summary.parquet") == before, "{more:?}");
    }
    fs::write(&page, ours).unwrap();
    s.ok(&["run", "s.toml", "-q", "--out", "r"]);
}

#[test]
fn two_at_once_do_no_harm() {
    let s = scratch("two");
    let args = ["run", "s.toml", "-q", "--out", "r"];
    let children: Vec<_> = (0..2).map(|_| s.command(&args).stdout(Stdio::null()).spawn().unwrap()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    s.ok(&["run", "s.toml", "-q", "--out", "whole"]);
    assert!(s.bytes("r/summary.parquet") == s.bytes("whole/summary.parquet"));
    assert!(s.ok(&["run", "s.toml", "--out", "r"]).contains("48 of them already finished"));
}

#[test]
fn checked_before_anything_runs() {
    let s = scratch("check");
    let printed = s.ok(&["check", "s.toml"]);
    for part in
        ["12 points x 2 transports x 2 seeds = 48 runs", "rto-min: 10ms, 200ms", "point 0: senders=1", "\npoint 0:\n", "2 hosts"]
    {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let bad = |args: &[&str]| {
        let out = s.run(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stderr));
        text(&out.stderr)
    };
    fs::write(s.0.join("bad.toml"), SWEEP.replace("[1, 2, 3]", "[1, 0, 3]")).unwrap();
    for verb in ["check", "run"] {
        let err = bad(&[verb, "bad.toml"]);
        assert!(
            err.contains("bad.toml:21:24") && err.contains("`senders` is 0") && err.contains("in point 4 of the sweep"),
            "{err}"
        );
        assert_eq!(err.matches("error:").count(), 1, "{err}");
    }
    assert!(bad(&["run", "s.toml", "--sweep", "topology.senders=8"]).contains("not a list"));
    assert!(bad(&["run", "s.toml", "--metrics", "goodputs"]).contains("goodput_bps"));
    assert!(bad(&["run", "s.toml", "--out", "r", "--force"]).contains("continues where it stopped"));
    assert!(bad(&["run", "s.toml", "--set", "sweep.seeds=[4, 5]", "--seed", "3"]).contains("exclude each other"));
    fs::write(s.0.join("plain.toml"), SWEEP.split("[sweep]").next().unwrap()).unwrap();
    for option in [&["--dry-run"][..], &["--shard", "1/2"], &["--dask", "tcp://127.0.0.1:9"], &["--metrics", "drops"]] {
        assert!(bad(&[&["run", "plain.toml"], option].concat()).contains("no [sweep]"));
    }
    assert!(bad(&["compare", "s.toml"]).contains("a sweep over many"));
    // A folder that is no result is left alone.
    fs::create_dir(s.0.join("mine")).unwrap();
    fs::write(s.0.join("mine/thesis.tex"), "x").unwrap();
    assert!(bad(&["run", "s.toml", "--out", "mine"]).contains("not a forebay"));
    assert!(!s.0.join("out").exists());

    let list = s.ok(&["run", "s.toml", "--dry-run"]);
    assert!(list.starts_with("0\tsenders=1 rto-min=10ms buffer=20pkt mss=500\t\n"), "{list}");
    assert!(list.ends_with("12 points, 48 runs, 48 missing; results: out/small-sweep\n") && !s.0.join("out").exists(), "{list}");
    let printed =
        s.ok(&["run", "s.toml", "--runs", "1", "--sweep", "topology.senders=[2]", "--metrics", "drops,utilization,timeouts"]);
    // Best and worst are ranked by goodput, regardless of the columns.
    let table = printed.split_once("\nsenders ").map_or("", |(_, table)| table);
    assert!(
        printed.contains("results: out/small-sweep")
            && table.contains("drops")
            && table.contains("utilization")
            && table.contains("rtos")
            && !table.contains("goodput"),
        "{printed}"
    );
    assert!(s.ok(&["run", "s.toml", "--dry-run"]).ends_with("48 runs, 40 missing; results: out/small-sweep\n"));
    assert!(s.ok(&["run", "s.toml", "--dry-run"]).contains("2 of 4 runs missing"));
}

/// The same points on each backend, in one table; and all of them on the backend of the command line, where further seeds add nothing.
#[test]
fn sweep_on_several_backends() {
    let scratch = scratch("worlds");
    let (base, _) = SWEEP.split_once("[sweep]").unwrap();
    let base = base.replace("[\"newreno\", \"reno\"]", "\"dctcp\"");
    let base = base.replace("buffer = \"100pkt\" }", "buffer = \"100pkt\", queue = { kind = \"dctcp-step\", k = \"20pkt\" } }");
    fs::write(scratch.0.join("w.toml"), &base).unwrap();
    let csv = |dir: &str| {
        let text = fs::read_to_string(scratch.0.join(dir).join("summary.csv")).unwrap();
        let rows: Vec<Vec<String>> = text.lines().map(|l| l.split(',').map(str::to_owned).collect()).collect();
        let columns: Vec<_> = rows[0].iter().enumerate().filter(|(_, c)| *c == "world").map(|(i, _)| i).collect();
        assert_eq!(columns.len(), 1, "{:?}", rows[0]);
        rows[1..].iter().map(|r| r[columns[0]].clone()).collect::<Vec<_>>()
    };
    let worlds = |dir: &str| {
        let manifest = fs::read_to_string(scratch.0.join(dir).join("manifest.json")).unwrap();
        serde_json::from_str::<Json>(&manifest).unwrap()["worlds"].clone()
    };
    let sweep = |more: &[&str]| {
        let out = scratch.run(&[&["run", "w.toml", "--format", "csv", "--quiet"], more].concat());
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    };
    sweep(&["--sweep", "topology.senders=[2,3]", "--sweep", "world=[\"sim\",\"model\"]", "--out", "both"]);
    assert_eq!(
        (csv("both"), worlds("both")),
        (["sim", "model", "sim", "model"].map(str::to_owned).to_vec(), json!(["sim", "model"]))
    );
    sweep(&["--sweep", "topology.senders=[2,3]", "--world", "model", "--runs", "2", "--out", "model"]);
    assert_eq!((csv("model"), worlds("model")), (vec!["model".to_owned(); 2], json!(["model"])));
}

#[test]
fn limit_ends_sweep_keeps_runs() {
    let s = scratch("limit");
    let args = ["run", "s.toml", "--quiet", "--no-report", "--max-time", "5s", "--out", "o", "--set", "duration=1000s"];
    let out = s.run(&args);
    let printed = text(&out.stderr);
    assert!(
        out.status.code() == Some(1) && printed.contains("ended after 5.0 s by --max-time; 0 of 48 runs are done"),
        "{printed}"
    );
    // 0.3 M messages a second for 1000 s.
    let many = SWEEP
        .replace("duration = \"20ms\"", "duration = \"1000s\"")
        .replace("kind = \"long\"", "kind = \"poisson\"\nsizes = \"200B\"\nload = 0.5\nload-at = \"bottleneck\"");
    fs::write(s.0.join("many.toml"), many).unwrap();
    let out = s.run(&["run", "many.toml", "--max-memory", "200MB"]);
    let printed = text(&out.stderr);
    assert!(out.status.code() == Some(2) && printed.contains("--max-memory allows"), "{printed}");
}

/// Two transports, two seeds: the runs of 5 ms end, those of 1000 s do not.
#[test]
fn ended_sweep_has_table_and_report() {
    let s = scratch("partial");
    fs::write(s.0.join("two.toml"), SWEEP.split("[sweep]").next().unwrap()).unwrap();
    let durations = "duration=[\"5ms\", \"1000s\"]";
    let more = ["--format", "csv", "--threads", "1", "--max-time", "5s", "--out", "o"];
    let args = [&["run", "two.toml", "--sweep", durations, "--runs", "2"][..], &more].concat();
    let first = "partial results: ended after 5.0 s by --max-time; 4 of 8 runs are done, run the same command to continue";
    let printed = s.ok(&args);
    let last = |of: &str, what: &str| of.lines().find(|l| l.starts_with(what)).map(str::to_owned);
    assert_eq!(printed.lines().next(), Some(first), "{printed}");
    assert!(last(&printed, "sweep: ").unwrap().contains("of 8 runs done"), "{printed}");
    assert!(last(&printed, "fingerprint").is_none(), "that of all runs: {printed}");
    let (manifest, table) = (s.manifest("o"), String::from_utf8(s.bytes("o/summary.csv")).unwrap());
    assert_eq!((manifest["partial"].as_str(), &manifest["finished"]), (Some(first), &Json::Null));
    assert_eq!(table.lines().count(), 1 + 4, "{table}");
    let page = String::from_utf8(s.bytes("o/report.html")).unwrap();
    assert!(page.contains(first), "the page says so");
    s.ok(&["report", "o", "--force"]);
    assert!(page == String::from_utf8(s.bytes("o/report.html")).unwrap());
    // It continues, and reports the missing runs again.
    let again = s.ok(&args);
    assert!(again.starts_with(first) && again.contains("4 of them already finished"), "{again}");
    // Ended before any run is done, there is nothing to show.
    let out = s.run(&["run", "two.toml", "--sweep", "duration=[\"900s\", \"1000s\"]", "--max-time", "5s", "--out", "o"]);
    let printed = text(&out.stderr);
    assert!(out.status.code() == Some(1) && printed.contains("0 of 4 runs are done and kept"), "{printed}");
    assert!(!s.0.join("o/summary.parquet").exists() && !s.0.join("o/report.html").exists());
}

#[test]
fn stack_named_in_summary() {
    let s = scratch("stack");
    let printed = s.ok(&["run", "s.toml", "--out", "o", "--no-report", "--set", "sweep.transport.stack=[\"ns2\", \"linux\"]"]);
    assert!(printed.contains("\nworld: sim, stack: ns2, linux\n"), "{printed}");
    assert_eq!(s.manifest("o")["stacks"], json!(["ns2", "linux"]));
}

#[test]
fn changed_files_of_sweeps_are_repaired() {
    let s = scratch("changed-bits");
    s.ok(&["run", "s.toml", "--out", "r"]);
    for file in ["manifest.json", "summary.parquet"] {
        let path = s.0.join("r").join(file);
        let mut bytes = fs::read(&path).unwrap();
        // A digit of the fingerprint, or a byte in the middle.
        let json = String::from_utf8_lossy(&bytes).into_owned();
        let at = json.find("\"fingerprint\": \"").map_or(bytes.len() / 2, |at| at + 16);
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
        let err = text(&s.command(&["report", "r", "--force"]).output().unwrap().stderr);
        assert!(err.contains(file) && err.contains("SHA-256"), "{err}");
        let printed = s.ok(&["run", "s.toml", "--out", "r"]);
        assert!(printed.contains("48 runs, 48 of them already finished"), "{printed}");
        s.ok(&["report", "r", "--force"]);
    }
}

/// Shards of different sweeps are refused before anything is written.
#[test]
fn refused_merge_writes_nothing() {
    let s = Scratch::new("merge-refused");
    fs::write(s.0.join("s.toml"), SWEEP.split("[sweep]").next().unwrap()).unwrap();
    for (number, axis, out) in [("1/2", "topology.senders=[1, 2]", "one"), ("2/2", "topology.senders=[1, 3]", "two")] {
        s.ok(&["run", "s.toml", "--sweep", axis, "--shard", number, "--out", out, "--quiet"]);
    }
    let out = s.run(&["merge", "one", "two", "--out", "new"]);
    let err = text(&out.stderr);
    assert!(out.status.code() == Some(2) && err.contains("new and two have different sweeps"), "{:?} {err}", out.status);
    assert_eq!(s.entries(""), ["one", "s.toml", "two"]);
}
