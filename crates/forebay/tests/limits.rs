//! Cost of runs: the forecast before they start, and the limits while they run.

use crate::scratch::{Scratch, command, forebay, text};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Two hosts that each send to one; the overrides set duration and number of messages.
const BASE: &str = r#"
name = "base"
duration = "100ms"
[topology]
kind = "many-to-one"
senders = 8
access     = { rate = "10Gbps", delay = "10us" }
bottleneck = { rate = "10Gbps", delay = "10us", buffer = "300pkt", queue = { kind = "dctcp-step", k = "65pkt" } }
[transport]
stack = "ns2"
rto-min = "10ms"
cc = "dctcp"
[[workload]]
kind = "poisson"
sizes = "20KB"
load = 0.5
load-at = "bottleneck"
"#;

fn json(scratch: &Scratch, args: &[&str]) -> serde_json::Value {
    let out = forebay(&scratch.0, args);
    assert!(out.status.success(), "{args:?}: {}", text(&out.stderr));
    serde_json::from_str(&text(&out.stdout)).unwrap()
}

/// The arguments that `one_command` runs `forebay` with, one a line.
const ARGUMENTS: &str = "FOREBAY_LIMITS_ARGUMENTS";

/// Runs a scenario; its largest memory as the kernel accounts it at the end of the process, and its manifest.
fn measured(scratch: &Scratch, args: &[&str]) -> (u64, serde_json::Value) {
    let args = [&["run"], args, &["--quiet", "--out", "r"]].concat().join("\n");
    let mut own = Command::new(std::env::current_exe().unwrap());
    own.args(["--exact", "limits::one_command", "--ignored", "--nocapture"]).current_dir(&scratch.0).env(ARGUMENTS, args);
    let out = own.output().unwrap();
    let printed = text(&out.stdout);
    let peak = printed.lines().find_map(|l| l.split("peak ").nth(1)).and_then(|l| l.split(' ').next()?.parse().ok());
    assert!(out.status.success() && peak.is_some(), "{printed}{}", text(&out.stderr));
    let peak = peak.unwrap_or(0);
    let manifest = serde_json::from_str(&fs::read_to_string(scratch.0.join("r/manifest.json")).unwrap()).unwrap();
    fs::remove_dir_all(scratch.0.join("r")).unwrap();
    (peak, manifest)
}

/// Runs `forebay`, and prints its largest memory. In a small process of its own, because the account of a child begins with what its parent has at
/// its start.
#[test]
#[ignore = "run by others"]
fn one_command() {
    let Ok(args) = std::env::var(ARGUMENTS) else { return };
    let args: Vec<&str> = args.lines().collect();
    let status = command(".".as_ref(), &args).stdout(Stdio::null()).status().unwrap();
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure lives through the call, and any bytes are a legal value of it.
    let usage = unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()), 0);
        usage.assume_init()
    };
    writeln!(std::io::stdout(), "peak {} bytes", usage.ru_maxrss * 1024).unwrap();
    assert!(status.success());
}

/// Memory within a factor of 1.5, messages, samples and transmissions within 1.5: of a few rows and of many of each kind.
#[test]
fn forecasts_come_true() {
    let s = Scratch::new("forecasts");
    s.file("base.toml", BASE);
    let observed = "observe={ queue = { port = \"bottleneck\", every = \"500ns\" }, tcp = { flows = [0, 1], every = \"ack\" } }";
    let long = "workload=[{ kind = \"long\" }]";
    let incast = "workload=[{ kind = \"incast\", block = \"64KB\", rounds = 30 }]";
    let trains = "workload=[{ kind = \"on-off\", from = \"senders\", to = \"recv\", per-pair = 500, sizes = \"3KB\", \
                  gaps = { uniform = [\"1us\", \"40ms\"] }, trains = 3 }]";
    let requests =
        "workload=[{ kind = \"requests\", clients = \"s0..s3\", servers = \"s4..s7\", response = \"50KB\", think = \"1ms\" }]";
    // Hundreds of thousands of timeouts; samples beyond what a page draws; and a link that goes down and comes up a thousand times.
    let refused = "topology.bottleneck={ rate = \"10Gbps\", delay = \"10us\", buffer = \"20pkt\", queue = \"pfabric\" }";
    let endless = "workload=[{ kind = \"long\", per-pair = 20 }]";
    let timeouts =
        [refused, "transport.cc=pfabric", "transport.rto-min=300us", "transport.handshake=false", endless, "duration=900ms"];
    let dense =
        "observe={ queue = { port = \"bottleneck\", every = \"50ns\" }, tcp = { flows = [0, 1, 2, 3], every = \"1us\" } }";
    let failures =
        (0..1_000).map(|i| format!("{{ link = \"s0->sw\", down = \"{}us\", up = \"{}us\" }}", 100 * i + 10, 100 * i + 20));
    let failures = format!("topology.failure=[{}]", failures.collect::<Vec<_>>().join(", "));
    let cases: [&[&str]; 13] = [
        &[],
        &["duration=300ms", "workload.0.sizes=2KB"],
        &["duration=800ms", "workload.0.sizes=1KB"],
        &["duration=400ms", long],
        &["duration=400ms", long, observed],
        &["duration=10s", incast],
        &["duration=1s", trains],
        &["duration=300ms", requests],
        &["topology.senders=400", "runs=3", "duration=200ms"],
        &timeouts,
        &["duration=150ms", long, dense],
        &["duration=250ms", &failures],
        &["transport.cc=[newreno, cubic, dctcp]", "runs=2", "duration=200ms", "observe={ timeouts = true }"],
    ];
    for sets in cases {
        // Lists without quotes are only for --sweep.
        let sets: Vec<String> =
            sets.iter().map(|t| t.replace("[newreno, cubic, dctcp]", "[\"newreno\", \"cubic\", \"dctcp\"]")).collect();
        let args: Vec<&str> = ["base.toml"].into_iter().chain(sets.iter().flat_map(|t| ["--set", t.as_str()])).collect();
        held_against_the_run(&s, &args);
    }
}

/// The same for overloaded networks, where connections and packets pile up, and for others that differ from `BASE`.
#[test]
fn forecasts_of_other_networks_come_true() {
    let s = Scratch::new("networks");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/forecasts");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 9, "{files:?}");
    for file in files {
        held_against_the_run(&s, &[file.to_str().unwrap()]);
    }
}

/// Messages that have not ended count as well: a run whose applications write a thousand times faster than its links send stays below its limit.
#[test]
fn open_messages_count_as_memory() {
    const LIMIT: u64 = 300_000_000;
    let s = Scratch::new("open");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/torture/queries-faster-than-packets.toml");
    let limit = format!("{LIMIT}B");
    let (peak, manifest) = measured(&s, &[file.to_str().unwrap(), "--yes", "--max-memory", &limit, "--no-report"]);
    assert!(manifest["partial"].as_str().unwrap().contains("by --max-memory at"), "{}", manifest["partial"]);
    assert!(peak < LIMIT, "{peak} bytes");
}

fn held_against_the_run(s: &Scratch, args: &[&str]) {
    let f = json(s, &[&["check"], args, &["--format", "json"]].concat())["forecast"].clone();
    let (peak, manifest) = measured(s, args);
    let rows = |name: &str| {
        let tables = manifest["tables"].as_array().unwrap();
        tables.iter().find(|t| t["name"] == name).unwrap()["rows"].as_f64().unwrap()
    };
    for (what, printed, was) in [
        ("memory", &f["memory_bytes"], peak as f64),
        ("transmissions", &f["packet_transmissions"], manifest["packet_hops"].as_f64().unwrap()),
        ("messages", &f["messages"], rows("flows")),
        ("samples", &f["samples"], rows("queue") + rows("tcp")),
        ("timeouts", &f["timeouts"], rows("timeouts")),
    ] {
        let ratio = (printed.as_f64().unwrap() + 1.0) / (was + 1.0);
        // Small numbers vary by chance; and an "at least" holds for more, too.
        let (least, most) = match what {
            "timeouts" if was < 1_000.0 => (0.0, f64::INFINITY),
            "timeouts" if f["timeouts_at_least"] == true => (0.0, 1.5),
            _ => (1.0 / 1.5, 1.5),
        };
        assert!(least < ratio && ratio < most, "{what} of {args:?}: {printed} printed, {was} found; {f}");
    }
}

#[test]
fn check_forecasts_cost() {
    let s = Scratch::new("costs");
    s.file("base.toml", BASE);
    let printed = text(&forebay(&s.0, &["check", "base.toml"]).stdout);
    let line = printed.lines().last().unwrap();
    for part in ["forecast: 1 run,", "messages", "packet transmissions", "memory", "results", "thread"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!text(&forebay(&s.0, &["check", "base.toml", "--no-forecast"]).stdout).contains("forecast"));
}

/// Every backend has a forecast, or the reason why there is none, even if it cannot run on this machine.
#[test]
fn check_forecasts_every_backend() {
    let s = Scratch::new("worlds");
    let slow = "topology.access={ rate = \"20Mbps\", delay = \"500us\" }";
    let bottleneck = "topology.bottleneck={ rate = \"20Mbps\", delay = \"500us\", buffer = \"100pkt\", queue = { kind = \"dctcp-step\", k = \"20pkt\" } }";
    let file = BASE
        .replace("stack = \"ns2\"", "stack = \"linux\"")
        .replace("[[workload]]\nkind = \"poisson\"", "[[workload]]\nkind = \"long\"");
    s.file("base.toml", &file.split("sizes").next().unwrap().replace("duration = \"100ms\"", "duration = \"20s\""));
    let worlds = s.ok(&["list", "worlds"]);
    let names: Vec<&str> = worlds.lines().filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.len() >= 4 && names.contains(&"testbed"), "{worlds}");
    let check = |world: &str, more: &[&str]| {
        let args = [&["check", "base.toml", "--world", world, "--set", slow, "--set", bottleneck], more].concat();
        // A kernel that does not exist: guests cannot run.
        let out = s.command(&args).env("FOREBAY_KERNEL", "/nowhere").output().unwrap();
        assert!(out.status.success(), "{world}: {}", text(&out.stderr));
        text(&out.stdout)
    };
    for world in names {
        let line = check(world, &[]).lines().last().unwrap().to_owned();
        let begin = match world {
            "testbed" => "forecast: 1 run in real time, 20 s on 1 thread;",
            "linux" => "forecast: none: FOREBAY_KERNEL: there is no file `/nowhere`",
            _ => "forecast: 1 run, ",
        };
        assert!(line.starts_with(begin), "{world}: {line}");
        let document: serde_json::Value = serde_json::from_str(&check(world, &["--format", "json"])).unwrap();
        let known = match world {
            "testbed" => document["forecast"]["real_time"] == true && document["forecast"]["wall_s"] == 20.0,
            "linux" => document["forecast"]["unknown"].as_str().unwrap().contains("/nowhere"),
            _ => document["forecast"]["runs"] == 1,
        };
        assert!(known, "{world}: {document}");
    }
    // Of a sweep the duration of all points.
    let swept = check("testbed", &["--sweep", "topology.senders=[2, 4, 8]"]);
    assert!(swept.lines().last().unwrap().starts_with("forecast: 3 runs in real time, 60 s on "), "{swept}");
    // The backend refuses a run, not its forecast.
    let out = s
        .command(&["run", "base.toml", "--world", "linux", "--set", "duration=1h"])
        .env("FOREBAY_KERNEL", "/nowhere")
        .output()
        .unwrap();
    assert!(out.status.code() == Some(2) && text(&out.stderr).contains("/nowhere"), "{}", text(&out.stderr));
}

/// Under a limit on address space, as batch systems set one: refused, with the key; with --yes, it ends early and keeps partial results.
#[test]
fn runs_beyond_memory_refused_or_cut() {
    let s = Scratch::new("fits");
    s.file("base.toml", BASE);
    let limited = |kb: u64, more: &[&str]| {
        let program = env!("CARGO_BIN_EXE_forebay");
        let words: Vec<String> = more.iter().map(|w| format!("'{w}'")).collect();
        let line = format!("ulimit -v {kb}; exec {program} run base.toml --quiet --threads 1 --no-report {}", words.join(" "));
        Command::new("sh").current_dir(&s.0).args(["-c", &line]).output().unwrap()
    };
    let huge = ["--set", "duration=1h", "--set", "workload.0.sizes=1KB"];
    let out = limited(600_000, &huge);
    let err = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{err}");
    assert!(err.contains("ulimit -v") && err.contains("`workload.0`") && err.contains("--yes"), "{err}");
    let out = limited(600_000, &[&huge[..], &["--yes", "--out", "r"]].concat());
    let (printed, err) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success(), "{printed}{err}");
    assert!(printed.contains("partial results: ended for lack of memory") && printed.contains("1 ended early"), "{printed}");
    let manifest = fs::read_to_string(s.0.join("r/manifest.json")).unwrap();
    assert!(manifest.contains("\"partial\": \"partial results") && manifest.contains("\"truncated\": true"), "{manifest}");
    assert!(forebay(&s.0, &["report", "r"]).status.success(), "what is there is whole");
    // The report names messages that were left out for lack of memory, with the origin of the limit.
    let out = limited(60_000, &["--set", "duration=1ms", "--out", "w"]);
    let printed = text(&out.stdout);
    let by = "the memory that the limit on address space (ulimit -v) allows";
    assert!(!out.status.success() || !printed.contains("were not analyzed") || printed.contains(by), "{printed}");
}

/// A network that does not fit into memory is an error, not an abort.
#[test]
fn exhausted_memory_is_an_error() {
    let s = Scratch::new("exhausted");
    s.file("wide.toml", BASE);
    let program = env!("CARGO_BIN_EXE_forebay");
    let line = format!("ulimit -v 200000; exec {program} check wide.toml --set topology.senders=60000");
    let out = Command::new("sh").current_dir(&s.0).args(["-c", &line]).output().unwrap();
    let err = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert!(err.contains("error: out of memory: the system refuses") && err.contains("ulimit -v"), "{err}");
    assert!(!err.contains("panicked"), "{err}");
}

/// Threads that the system refuses are no defect: the others do the work, or an error says what to do.
#[test]
fn refused_threads_are_no_defect() {
    let s = Scratch::new("threads-refused");
    s.file("base.toml", BASE);
    let program = env!("CARGO_BIN_EXE_forebay");
    let sweep = "--sweep topology.senders=[2,3,4,5,6,7,8,9]";
    for (number, kb) in [200_000, 300_000, 500_000].into_iter().enumerate() {
        for (name, more) in [("runs", "--runs 40"), ("sweep", sweep)] {
            let out = format!("--out {name}-{number} --quiet --no-report --set duration=2ms --threads 64");
            let line = format!("ulimit -v {kb}; exec {program} run base.toml {out} {more}");
            let out = Command::new("sh").current_dir(&s.0).args(["-c", &line]).output().unwrap();
            let err = text(&out.stderr);
            // glibc ends a process that lacks memory while one of its threads starts (`__cxa_thread_atexit_impl`).
            let by_libc = err.contains("Fatal glibc error: failed to register TLS destructor: out of memory");
            assert!(by_libc || out.status.code().is_some_and(|code| code <= 2), "{kb} {name}: {:?} {err}", out.status);
            assert!(!err.contains("defect") && !err.contains("panicked"), "{kb} {name}: {err}");
        }
    }
}

/// The most memory of a command under `--max-memory`, to the end: rows in their order, tables and report included.
#[test]
fn memory_stays_below_its_limit() {
    let s = Scratch::new("held");
    s.file("base.toml", BASE);
    let many = ["base.toml", "--set", "duration=1h", "--set", "workload.0.sizes=1KB", "--set", "transport.cc=cubic", "--yes"];
    let (peak, manifest) = measured(&s, &[&many[..], &["--threads", "1", "--max-memory", "150MB"]].concat());
    assert!(peak < 150_000_000, "{peak}");
    assert!(manifest["partial"].as_str().unwrap().contains("ended by --max-memory"), "{manifest}");

    // Left-out parts are printed before everything else, on the terminal and in the report: the messages of twelve runs, which are many together. Two
    // runs are far below the limit, because on a busy machine the rows of one are still being written during the next.
    let twelve = [&["run"], &many[..], &["--set", "duration=150ms", "--set", "runs=12"]].concat();
    let out = forebay(&s.0, &[&twelve[..], &["--threads", "1", "--max-memory", "300MB", "--out", "w"]].concat());
    let printed = text(&out.stdout);
    let first = printed.lines().next().unwrap_or_default();
    let begin = "Messages were not analyzed: the table `flows` has ";
    assert!(out.status.success() && first.starts_with(begin), "{printed}{}", text(&out.stderr));
    assert!(first.contains("the memory that --max-memory allows"), "{printed}");
    let page = fs::read_to_string(s.0.join("w/report.html")).unwrap();
    assert!(page.contains("<p class=\"first\"><strong>Messages were not analyzed</strong>"), "the page begins with it");
    assert!(!printed.contains("No message was late"), "{printed}");
}

#[test]
fn max_time_keeps_partial_results() {
    let s = Scratch::new("time");
    s.file("base.toml", &BASE.replace("\"dctcp\"\n", "[\"dctcp\", \"cubic\"]\n"));
    let args = [
        "run",
        "base.toml",
        "--set",
        "duration=1h",
        "--yes",
        // Few messages, so that writing them takes little time.
        "--set",
        "workload.0.sizes=2MB",
        "--max-time",
        "5s",
        "--threads",
        "1",
        "--out",
        "r",
        "--progress",
        "json",
    ];
    let out = forebay(&s.0, &args);
    let printed = text(&out.stdout);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let first = printed.lines().next().unwrap();
    assert!(first.contains("ended after 5.0 s by --max-time; 0 of 2 runs are complete, 1 ended early"), "{printed}");
    assert!(text(&out.stderr).lines().last().unwrap().contains("\"partial\":\"partial results"), "{}", text(&out.stderr));
    let manifest: serde_json::Value = serde_json::from_str(&fs::read_to_string(s.0.join("r/manifest.json")).unwrap()).unwrap();
    let run = &manifest["runs"][0];
    assert!(manifest["runs"].as_array().unwrap().len() == 1 && run["truncated"] == true, "{manifest}");
    assert!(run["end_ns"].as_u64().unwrap() < 3_600_000_000_000 && run["packet_hops"].as_u64().unwrap() > 0, "{run}");
    assert!(
        fs::read_to_string(s.0.join("r/report.html")).unwrap().contains("ended after 5.0 s by --max-time"),
        "the page says so"
    );

    // Enough time: no remark.
    let out = forebay(&s.0, &["run", "base.toml", "--max-time", "1h", "--max-memory", "4GB", "--out", "w"]);
    let manifest = fs::read_to_string(s.0.join("w/manifest.json")).unwrap();
    assert!(out.status.success() && !text(&out.stdout).contains("partial") && !manifest.contains("\"partial\""), "{manifest}");
    for bad in [["--max-time", "soon"], ["--max-memory", "1KB"], ["--max-memory", "-1GB"]] {
        assert_eq!(forebay(&s.0, &[&["run", "base.toml"], &bad[..]].concat()).status.code(), Some(2), "{bad:?}");
    }
}

/// Of the largest legal sweep a bounded number of points is checked and printed.
#[test]
fn huge_sweeps_checked_by_sample() {
    let s = Scratch::new("million");
    s.file("base.toml", BASE);
    let loads = (1..=1_000).map(|i| format!("0.{:04}", i + 1_000)).collect::<Vec<_>>().join(", ");
    let buffers = (300..1_300).map(|i| format!("\"{i}pkt\"")).collect::<Vec<_>>().join(", ");
    let axes = [format!("workload.0.load=[{loads}]"), format!("topology.bottleneck.buffer=[{buffers}]")];
    let out = forebay(&s.0, &["check", "base.toml", "--sweep", &axes[0], "--sweep", &axes[1]]);
    let (printed, err) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success(), "{err}");
    assert!(printed.contains("1000000 points") && printed.contains("checked: 500 of the 1000000 points"), "{printed}");
    assert!(printed.contains("forecast: 1.00 M runs"), "{printed}");
    // An error at the last point is found.
    let loads = (1..=900).map(|i| format!("0.{i:03}")).collect::<Vec<_>>().join(", ");
    let out = forebay(&s.0, &["check", "base.toml", "--sweep", &format!("workload.0.load=[{loads}, -1]")]);
    assert!(out.status.code() == Some(2) && text(&out.stderr).contains("`load` is -1"), "{}", text(&out.stderr));
}

/// Idle time has samples too: they would fill the disk before the first look at a limit, also while the forecast is made.
#[test]
fn samples_of_idle_hours_are_refused() {
    let s = Scratch::new("idle-samples");
    s.file(
        "idle.toml",
        "[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = { rate = \"1Gbps\", delay = \"1us\" }\n\
         bottleneck = { rate = \"1Gbps\", delay = \"1us\" }\n[[workload]]\nkind = \"on-off\"\nsizes = \"1KB\"\ngaps = \"1h\"\ntrains = 2\n\
         [observe]\nqueue = { port = \"bottleneck\", every = \"1us\" }\n",
    );
    let check = forebay(&s.0, &["check", "idle.toml"]);
    assert!(check.status.success() && text(&check.stdout).contains("7.20 G samples"), "{}", text(&check.stdout));
    let run = forebay(&s.0, &["run", "idle.toml"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(
        text(&run.stderr).contains("idle time included") && text(&run.stderr).contains("`duration`"),
        "{}",
        text(&run.stderr)
    );
    let often = ["run", "idle.toml", "--set", "observe.queue.every=1s", "--quiet"];
    assert!(forebay(&s.0, &often).status.success());
}
