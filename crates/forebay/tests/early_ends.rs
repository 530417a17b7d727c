//! Early ends: `--max-time`, Ctrl-C and SIGTERM end a command in every phase and leave the right files. Bounds on time are far above normal times.

use crate::hostile::{PATIENCE, ends, words};
use crate::hostile_machine::heed_signals;
use crate::scratch::{SMALL, Scratch, text};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// PIE's idle queue catches up on a million updates for each packet.
const PIE_FAST_UPDATES: &str = r#"
name = "pie"
[topology]
kind = "many-to-one"
senders = 20
access = { rate = "64Kbps", delay = "800ms" }
bottleneck = { rate = "900Kbps", delay = "2us" }
host-queue = { kind = "pie", update = "1783852ps" }
[transport]
mss = 9000
[[workload]]
kind = "long"
from = "all"
to = "all"
pattern = "all-pairs"
size = "217KB"
"#;

/// Windows of 20 ms, in which each host sends a hundred thousand packets.
const LONG_WINDOWS: &str = r#"
name = "windows"
duration = "1h"
[topology]
kind = "many-to-one"
senders = 4
access = { rate = "100Gbps", delay = "20ms" }
bottleneck = { rate = "100Gbps", delay = "20ms", buffer = "100pkt" }
[[workload]]
kind = "udp"
from = "senders"
rate = "100Gbps"
packet = "1500B"
"#;

/// Millions of samples of one queue, which take far longer to be written than the network takes to be simulated.
const MANY_SAMPLES: &str = r#"
name = "samples"
duration = "150ms"
[topology]
kind = "many-to-one"
senders = 2
access = { rate = "10Gbps", delay = "10us" }
bottleneck = { rate = "10Gbps", delay = "10us", buffer = "100pkt" }
[transport]
cc = "newreno"
[[workload]]
kind = "long"
[observe]
queue = { port = "bottleneck", every = "30ns" }
"#;

const SLOW: [(&str, &str); 2] = [("pie.toml", PIE_FAST_UPDATES), ("windows.toml", LONG_WINDOWS)];

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap().success());
}

/// Waits until `condition` holds. False if the process ends before.
fn waits_for(child: &mut Child, condition: impl Fn(u32) -> bool) -> bool {
    let began = Instant::now();
    while !condition(child.id()) {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(began.elapsed() < PATIENCE, "the condition is not met in time");
        thread::sleep(Duration::from_millis(2));
    }
    true
}

/// Processor time of a process, clock ticks of 10 ms.
fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |f| f.1);
    fields.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum()
}

/// Starts a command that handles signals, waits for `condition`, sends `name` and waits for the end: the exit code (`None`: ended by the signal itself)
/// and standard error. Must end soon.
fn signalled(s: &Scratch, args: &[&str], name: &str, condition: impl Fn(u32) -> bool) -> (bool, Option<i32>, String) {
    let mut command = s.command(args);
    heed_signals(&mut command);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let came = waits_for(&mut child, condition);
    if came {
        signal(&child, name);
    }
    let began = Instant::now();
    assert!(waits_for_end(&mut child, began), "{args:?} still runs after SIG{name}");
    let out = child.wait_with_output().unwrap();
    (came, out.status.code(), text(&out.stderr))
}

fn waits_for_end(child: &mut Child, began: Instant) -> bool {
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
    true
}

fn manifest(s: &Scratch, dir: &str) -> serde_json::Value {
    serde_json::from_slice(&s.bytes(&format!("{dir}/manifest.json"))).unwrap()
}

fn rows(manifest: &serde_json::Value, table: &str) -> u64 {
    let tables = manifest["tables"].as_array().unwrap();
    tables.iter().find(|t| t["name"] == table).unwrap()["rows"].as_u64().unwrap()
}

/// Eight lines with an MSS of zero, which must not cause endless segments without payload.
#[test]
fn zero_mss_script_ends() {
    let s = Scratch::new("mss-0");
    s.file(
        "mss-0.pkt",
        "    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n   +0 bind(3, ..., ...) = 0\n   +0 listen(3, 1) = 0\n\
         \x20  +0 < S 0:0(0) win 65535 <mss 0>\n   +0 > S. 0:0(0) ack 1 <...>\n  +.1 < . 1:1(0) ack 1 win 1000\n\
         \x20  +0 accept(3, ..., ...) = 4\n   +0 write(4, ..., 1) = 1\n",
    );
    assert!(ends(&s, &words(&["conform", "mss-0.pkt"])).status.success());
}

#[test]
fn max_time_ends_slow_runs() {
    for (name, scenario) in SLOW {
        let s = Scratch::new("slow");
        s.file(name, scenario);
        let out = ends(&s, &words(&["run", name, "--yes", "--max-time", "3s", "--threads", "1", "--quiet", "--out", "r"]));
        let (printed, err) = (text(&out.stdout), text(&out.stderr));
        let ended = if out.status.success() {
            manifest(&s, "r")["partial"].as_str().is_some_and(|p| p.contains("ended after 3.0 s by --max-time"))
        } else {
            // A single step of the simulation took longer than the limit.
            assert!(
                err.contains("--max-time") && err.contains("did not end by themselves") && s.entries("") == [name],
                "{name}: {printed}{err}"
            );
            true
        };
        // Fast scenarios end normally; the last one has an hour of simulated time.
        assert!(ended || name != "windows.toml", "{name}: {printed}{err}");
    }
}

/// The forecast runs the first moments of a scenario and checks the time.
#[test]
fn forecasts_of_slow_runs_end() {
    for (name, scenario) in SLOW {
        let s = Scratch::new("slow-forecast");
        s.file(name, scenario);
        let out = ends(&s, &words(&["check", name]));
        assert!(out.status.success() && text(&out.stdout).contains("forecast:"), "{name}: {}", text(&out.stderr));
    }
}

#[test]
fn signals_end_slow_runs() {
    for (name, scenario) in SLOW {
        for kind in ["INT", "TERM"] {
            let s = Scratch::new("slow");
            s.file(name, scenario);
            let args = ["run", name, "--yes", "--quiet", "--out", "r"];
            // The run has begun: it has an output folder and has used processor time since.
            let (came, code, err) = signalled(&s, &args, kind, |pid| !staging(&s).is_empty() && ticks(pid) > 30);
            assert!(!came || code == Some(130) && err.contains("interrupted"), "{name} {kind}: {code:?} {err}");
            assert!(came || name != "windows.toml", "{name} does not run for long");
            assert!(!came || s.entries("") == [name], "{name}: {:?}", s.entries(""));
        }
    }
}

/// Folders in which results are being written.
fn staging(s: &Scratch) -> Vec<String> {
    s.entries("").into_iter().filter(|e| e.contains(".tmp-")).collect()
}

#[test]
fn signals_end_writing() {
    for kind in ["INT", "TERM"] {
        let s = Scratch::new("writing");
        s.file("samples.toml", MANY_SAMPLES);
        let writes = |_| {
            let folder = staging(&s).pop().unwrap_or_default();
            fs::metadata(s.0.join(folder).join("queue.parquet")).is_ok_and(|m| m.len() > 1_000)
        };
        let (came, code, err) = signalled(&s, &["run", "samples.toml", "--yes", "--quiet", "--out", "r"], kind, writes);
        assert!(came, "nothing was written");
        assert!(code == Some(130) && err.contains("interrupted; no results were kept"), "{kind}: {code:?} {err}");
        assert_eq!(s.entries(""), ["samples.toml"], "{kind}");
    }
}

/// Ended runs that take longer to be written than the limit allows have fewer samples, and report it; all numbers of the table `summary` exist.
#[test]
fn max_time_ends_writing() {
    let s = Scratch::new("limit-writing");
    s.file("samples.toml", &MANY_SAMPLES.replace("30ns", "1ns"));
    let out = ends(&s, &words(&["run", "samples.toml", "--yes", "--max-time", "3s", "--out", "r"]));
    let printed = text(&out.stdout);
    assert!(out.status.success(), "{printed}{}", text(&out.stderr));
    let m = manifest(&s, "r");
    let (partial, written) = (m["partial"].as_str().unwrap(), rows(&m, "queue"));
    assert!(partial.contains("ended after 3.0 s by --max-time"), "{partial}");
    assert_eq!((rows(&m, "summary"), rows(&m, "flows")), (1, 2), "{m}");
    // A fast machine may have written everything.
    if let Some((_, tables)) = partial.split_once("incomplete tables: ") {
        assert!(
            tables.starts_with(&format!("the first {written} of ")) && tables.ends_with("rows of `queue`"),
            "{partial} {written}"
        );
        assert!(text(&out.stderr).contains("`forebay report r` writes it") && !s.0.join("r/report.html").exists());
    }
    assert!(ends(&s, &words(&["report", "r", "--force"])).status.success(), "what is there is whole");
}

/// A thousand million flows a second over links on which only thousands begin: the run checks its memory often enough.
#[test]
fn max_memory_ends_floods_of_flows() {
    let s = Scratch::new("brim");
    let many = "[[workload]]\nkind = \"poisson\"\nsizes = \"1B\"\nrate = 1e9\n";
    s.file("flood.toml", &SMALL.replace(SMALL.split_once("[[workload]]").unwrap().1, "").replace("[[workload]]", many));
    let out = ends(&s, &words(&["run", "flood.toml", "--yes", "--max-memory", "400MB", "--quiet", "--no-report", "--out", "r"]));
    let printed = text(&out.stdout);
    assert!(out.status.success(), "{printed}{}", text(&out.stderr));
    assert!(printed.contains("ended by --max-memory") && printed.contains("of 400 MB"), "{printed}");
    assert!(rows(&manifest(&s, "r"), "flows") > 0, "finished flows are kept");
}

/// A network of a million hosts is not ready when the time is over.
#[test]
fn max_time_ends_setup() {
    let s = Scratch::new("setup");
    s.file("big.toml", &SMALL.replace("senders = 4", "senders = 1000000"));
    let out = ends(&s, &words(&["run", "big.toml", "--yes", "--max-time", "10ms", "--out", "r"]));
    let err = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert!(err.contains("--max-time, before the first run had begun; there are no results"), "{err}");
    assert_eq!(s.entries(""), ["big.toml"]);
    let out = ends(
        &s,
        &words(&["run", "big.toml", "--sweep", "topology.senders=[4, 1000000]", "--yes", "--max-time", "10ms", "--out", "r"]),
    );
    assert!(!out.status.success());
}

/// Commands without output files, or with output that is always complete, end at once.
#[test]
fn signals_end_other_verbs() {
    let s = Scratch::new("verbs");
    s.file("long.toml", &SMALL.replace("20ms", "1h"));
    s.file("big.toml", &SMALL.replace("senders = 4", "senders = 1000000"));
    s.file("samples.toml", &MANY_SAMPLES.replace("30ns", "200ns"));
    assert!(s.run(&["run", "samples.toml", "--quiet", "--no-report", "--out", "samples"]).status.success());
    let before = s.entries("");
    for (args, enough, code) in [
        (&["check", "big.toml"][..], 20, None),
        (&["report", "samples"], 5, None),
        (&["compare", "long.toml", "--worlds", "sim"], 40, Some(130)),
        (&["advise", "long.toml", "--out", "advice"], 40, Some(130)),
    ] {
        let (came, got, err) = signalled(&s, args, "TERM", |pid| ticks(pid) > enough);
        assert!(!came || got == code, "{args:?}: {got:?} {err}");
        assert!(came || args[0] == "report", "{args:?} ended by itself: {err}");
        let _ = fs::remove_dir_all(s.0.join("advice"));
        assert_eq!(s.entries(""), before, "{args:?}");
        assert!(!s.entries("samples").iter().any(|f| f.contains(".tmp-")), "{args:?}");
    }
}

/// A process that is killed between its last file and the name of the folder leaves a complete copy. The next command reports its path, and keeps it.
#[test]
fn complete_copies_are_named() {
    let s = Scratch::new("copies");
    s.file("small.toml", SMALL);
    // Process numbers are at most 4194304.
    let copies = ["x.tmp-4200000", "x.tmp-4200001-2", "y.tmp-4200000"];
    for copy in copies {
        s.ok(&["run", "small.toml", "--quiet", "--out", "done"]);
        fs::rename(s.0.join("done"), s.0.join(copy)).unwrap();
    }
    let half = s.0.join("x.tmp-4200003");
    fs::create_dir(&half).unwrap();
    fs::write(half.join("flows.parquet"), "").unwrap();
    for args in [
        &["run", "small.toml", "--quiet", "--out", "x"][..],
        &["run", "small.toml", "--quiet", "--out", "x", "--force"],
        &["run", "small.toml", "--quiet", "--sweep", "topology.senders=[4, 5]", "--out", "x"],
    ] {
        if args.contains(&"--sweep") {
            fs::remove_dir_all(s.0.join("x")).unwrap();
        }
        let out = s.run(args);
        let err = text(&out.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.status.success(), "{err}");
        for copy in &copies[..2] {
            assert!(err.contains(&format!("{copy}` holds complete results")) && err.contains("mv "), "{args:?}: {err}");
        }
        assert!(!err.contains("y.tmp-") && !err.contains("4200003"), "{err}");
        assert!(copies.iter().all(|copy| s.0.join(copy).join("manifest.json").is_file()), "{args:?}");
    }
    assert!(!half.exists(), "what is not complete is removed");
    let out = s.run(&["run", "small.toml", "--quiet", "--progress", "json", "--out", "z"]);
    assert!(!text(&out.stderr).contains("holds complete results"), "of another name");
}

/// True if a folder is on a tmpfs, by the kernel's list of mounts.
fn is_tmpfs(folder: &str) -> bool {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    mounts.lines().any(|l| l.split(' ').skip(1).take(2).eq([folder, "tmpfs"])) && fs::metadata(folder).is_ok()
}

/// Results on a tmpfs are memory: they are refused, or end the runs, as rows in memory do.
#[test]
fn results_in_memory_count_as_memory() {
    if !is_tmpfs("/dev/shm") {
        return forebay_platform::doctor::requirements::skip("shm", "/dev/shm is no tmpfs");
    }
    struct Removed(String);
    impl Drop for Removed {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
    let s = Scratch::new("tmpfs");
    s.file("samples.toml", &MANY_SAMPLES.replace("30ns", "5ns"));
    let shm = Removed(format!("/dev/shm/forebay-cli-{}", std::process::id()));
    fs::create_dir(&shm.0).unwrap();
    let to = |folder: &str| format!("{folder}/r");
    let there = to(&shm.0);
    let run = |out: &str, more: &[&str]| {
        ends(
            &s,
            &words(&[&["run", "samples.toml", "--quiet", "--no-report", "--max-memory", "150MB", "--out", out], more].concat()),
        )
    };
    let out = run(&there, &[]);
    let err = text(&out.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(out.status.code(), Some(2), "{err}");
    for part in ["150 MB that --max-memory allows", "which is also memory (tmpfs)", "--out", "--yes"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    assert!(fs::read_dir(&shm.0).unwrap().next().is_none(), "nothing is left");
    let out = run(&there, &["--yes"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let text_of = fs::read_to_string(Path::new(&there).join("manifest.json")).unwrap();
    assert!(text_of.contains("ended by --max-memory") && text_of.contains("which is also memory"), "{text_of}");
}
