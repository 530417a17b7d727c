//! All inputs of a command; `hostile_machine` has the conditions of the machine. The command ends soon by itself, prints the reason, and leaves other
//! files unchanged.

use crate::scratch::{Scratch, command, forebay, text};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub(crate) const SMALL: &str = r#"name = "small"
seed = 1
runs = 1
duration = "2ms"
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

/// Time limit of a command: far above its normal time, also on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a command to its end. It must not be ended by a signal, panic, hang, or send control characters to a terminal.
pub(crate) fn ends(scratch: &Scratch, args: &[&OsStr]) -> Output {
    let mut c = command(&scratch.0, &[]);
    let mut child = c.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Read while it runs: a full pipe would stop it.
    fn read(mut from: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
        std::thread::spawn(move || {
            let mut all = Vec::new();
            let _ = from.read_to_end(&mut all);
            all
        })
    }
    let (out, err) = (read(child.stdout.take().unwrap()), read(child.stderr.take().unwrap()));
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{args:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let out = Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() };
    let output = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(matches!(out.status.code(), Some(0..=2)), "{args:?}: {:?}: {output}", out.status);
    assert!(!output.contains("panicked") && !output.contains("a defect"), "{args:?}: {output}");
    // `conform` prints failing scripts on standard output, beside those that pass.
    assert!(out.status.success() || !output.is_empty() || !out.stdout.is_empty(), "{args:?} fails without a word");
    for c in output.chars().chain(String::from_utf8_lossy(&out.stdout).chars()) {
        assert!(
            c == '\n' || c == '\t' || !c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c),
            "{args:?}: {c:?} in {output:?}"
        );
    }
    out
}

pub(crate) fn words<'a>(args: &[&'a str]) -> Vec<&'a OsStr> {
    args.iter().copied().map(OsStr::new).collect()
}

/// Values in place of legal ones.
const VALUES: &[&str] = &[
    "\"\"",
    "\"x\"",
    "0",
    "-1",
    "-0",
    "1e400",
    "nan",
    "inf",
    "-inf",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "true",
    "[]",
    "[[]]",
    "{}",
    "[0]",
    "[\"a\", 1]",
    "1979-05-27",
    "0x7fffffff",
    "\"\\u0000\"",
    "\"\\u001b[2J\"",
    "\"\\u202edrow\"",
    "\"0us\"",
    "\"1ps\"",
    "\"18446744073709551615s\"",
    "\"-1us\"",
    "\"0Gbps\"",
    "\"999999999Gbps\"",
    "\"0pkt\"",
    "\"1000000000pkt\"",
    "\"1B\"",
    "\"999999999GB\"",
    "\"../../../etc/passwd\"",
    "\"/dev/zero\"",
    "{ kind = \"x\" }",
    "{ cdf = \"/dev/zero\" }",
    "{ exponential = \"0B\" }",
    "\"s0..s999999999\"",
    "\"s3..s0\"",
];

/// Keys of the small scenario, and some that do not exist.
const KEYS: &[&str] = &[
    "name",
    "seed",
    "runs",
    "duration",
    "world",
    "topology",
    "topology.kind",
    "topology.senders",
    "topology.access",
    "topology.access.rate",
    "topology.bottleneck.delay",
    "topology.bottleneck.buffer",
    "topology.bottleneck.queue",
    "transport",
    "transport.cc",
    "transport.stack",
    "transport.mss",
    "transport.rto-min",
    "transport.shim",
    "transport.group",
    "workload",
    "workload.0.kind",
    "workload.0.from",
    "workload.0.size",
    "workload.7",
    "observe",
    "observe.queue",
    "observe.tcp",
    "observe.warmup",
    "sweep",
    "sweep.seeds",
    "nothing.at.all",
];

/// 1280 values in illegal places.
#[test]
fn every_value_in_every_place() {
    let s = Scratch::new("hostile-values");
    s.file("small.toml", SMALL);
    // One process checks one key with one value; four at a time, as most of the time goes to starting them.
    let all: Vec<String> = KEYS.iter().flat_map(|k| VALUES.iter().map(move |v| format!("{k}={v}"))).collect();
    assert!(all.len() >= 1_280);
    std::thread::scope(|scope| {
        for part in all.chunks(all.len().div_ceil(4)) {
            let s = &s;
            scope.spawn(move || {
                for set in part {
                    ends(s, &words(&["check", "small.toml", "--no-forecast", "--set", set]));
                }
            });
        }
    });
    assert_eq!(s.entries(""), ["small.toml"]);
}

/// Files that are no scenarios.
#[test]
fn broken_huge_and_binary_files() {
    let s = Scratch::new("hostile-files");
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("empty".into(), vec![]),
        ("zeros".into(), vec![0; 4_096]),
        ("ones".into(), vec![0xff; 4_096]),
        ("all-bytes".into(), (0..=255).collect()),
        ("utf16".into(), SMALL.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("bom".into(), [b"\xef\xbb\xbf", SMALL.as_bytes()].concat()),
        ("crlf".into(), SMALL.replace('\n', "\r\n").into_bytes()),
        ("cr".into(), SMALL.replace('\n', "\r").into_bytes()),
        ("elf".into(), b"\x7fELF\x02\x01\x01\0\0\0\0".to_vec()),
        ("parquet".into(), b"PAR1\0\0PAR1".to_vec()),
        ("html".into(), b"<!doctype html><html></html>".to_vec()),
        ("json".into(), b"{\"name\": \"x\"}".to_vec()),
        ("yaml".into(), b"name: x\ntopology:\n  kind: y\n".to_vec()),
        ("limit".into(), vec![b'#'; 16_000_000]),
        ("above-limit".into(), vec![b'#'; 16_000_001]),
        ("deep-list".into(), [b"a = ".to_vec(), vec![b'['; 200_000]].concat()),
        ("deep-table".into(), format!("a = {}", "{ b = ".repeat(100_000)).into_bytes()),
        ("deep-key".into(), format!("[{}a]", "a.".repeat(200_000)).into_bytes()),
        ("long-line".into(), format!("name = \"{}\"", "x".repeat(5_000_000)).into_bytes()),
        ("many-keys".into(), (0..200_000).map(|i| format!("k{i} = 1\n")).collect::<String>().into_bytes()),
        ("many-workloads".into(), [SMALL, &"[[workload]]\nkind = \"long\"\n".repeat(20_000)].concat().into_bytes()),
        ("many-groups".into(), [SMALL, &"[[transport.group]]\ncc = \"cubic\"\n".repeat(20_000)].concat().into_bytes()),
        ("twice".into(), [SMALL, SMALL].concat().into_bytes()),
        ("escape".into(), SMALL.replace("small", "\u{1b}]0;title\u{7}").into_bytes()),
        ("direction".into(), SMALL.replace("small", "a\u{202e}b").into_bytes()),
    ];
    // Every line cut in the middle, and every line missing.
    for (n, line) in SMALL.lines().enumerate() {
        let without: String = SMALL.lines().enumerate().filter(|l| l.0 != n).map(|l| format!("{}\n", l.1)).collect();
        files.push((format!("without-{n}"), without.into_bytes()));
        let end = SMALL.find(line).unwrap() + line.len() / 2;
        files.push((format!("cut-{n}"), SMALL[..end].into()));
    }
    // Single bytes changed, all over the file.
    for (i, byte) in [0u8, b'"', b'[', b'=', 0xff, b'\n', b'9'].iter().cycle().enumerate().take(60) {
        let mut bytes = SMALL.as_bytes().to_vec();
        let at = i * bytes.len() / 60;
        bytes[at] = *byte;
        files.push((format!("byte-{i}"), bytes));
    }
    assert!(files.len() >= 110, "{}", files.len());
    for (name, bytes) in &files {
        let file = format!("{name}.toml");
        fs::write(s.0.join(&file), bytes).unwrap();
        for verb in [&["check", "--no-forecast"][..], &["run", "--quiet", "--out", "r"]] {
            let args = [&verb[..1], &[file.as_str()], &verb[1..]].concat();
            let out = ends(&s, &words(&args));
            assert!(out.stderr.len() < 200_000, "{name}: {} bytes of errors", out.stderr.len());
            let _ = fs::remove_dir_all(s.0.join("r"));
        }
        fs::remove_file(s.0.join(&file)).unwrap();
    }
    assert_eq!(s.entries(""), [""; 0]);
}

/// Senseless arguments, for every command.
#[test]
fn arguments() {
    let s = Scratch::new("hostile-arguments");
    s.file("small.toml", SMALL);
    fs::create_dir(s.0.join("folder")).unwrap();
    let verbs = [
        "check",
        "run",
        "report",
        "list",
        "explain",
        "repro",
        "conform",
        "completions",
        "licenses",
        "man",
        "new",
        "advise",
        "attach",
        "status",
        "tune",
        "watch",
        "detach",
        "record",
        "trains",
        "compare",
        "merge",
        "kernel",
        "doctor",
    ];
    let junk = [
        "",
        "-",
        "--",
        "--out",
        "--set",
        "--nonsense",
        "\u{1b}[31m",
        "\u{202e}x",
        "folder",
        "nowhere/x.toml",
        "/",
        "/dev/null",
        "a\nb",
    ];
    let mut all: Vec<Vec<&OsStr>> = Vec::new();
    for verb in verbs.iter().filter(|v| **v != "man") {
        all.extend(junk.iter().map(|word| words(&[verb, word])));
        all.push(words(&[verb, "--threads", "-1"]));
        all.push(vec![OsStr::new(verb), OsStr::from_bytes(b"\xff\xfe")]);
    }
    // Many at a time: some wait for the end of their ten seconds, one searches the whole file system for scripts.
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while let Some(args) = all.get(next.fetch_add(1, Relaxed)) {
                    ends(&s, args);
                }
            });
        }
    });
    for flags in [
        &["--threads", "0"][..],
        &["--threads", "99999"],
        &["--runs", "0"],
        &["--runs", "99999999999"],
        &["--seed", "-1"],
        &["--seed", "x"],
        &["--set"],
        &["--set", "="],
        &["--set", "=1"],
        &["--set", "a"],
        &["--set", "a="],
        &["--set", "a.b.c.d=1"],
        &["--set", ".=1"],
        &["--sweep", "x"],
        &["--sweep", "seed=[1]"],
        &["--sweep", "topology.senders=[]"],
        &["--sweep", "topology.senders=[1"],
        &["--format", "xml"],
        &["--progress", "loud"],
        &["--metrics", "speed"],
        &["--force"],
        &["--out"],
        &["--max-time", "-1s"],
        &["--max-memory", "0"],
        &["--world", "moon"],
        &["--world", ""],
    ] {
        let out = ends(&s, &words(&[&["run", "small.toml"], flags].concat()));
        assert_eq!(out.status.code(), Some(2), "{flags:?}: {}", text(&out.stderr));
    }
}

/// Inputs that are no plain files are refused without waiting for a writer.
#[test]
fn pipes_and_devices_refused() {
    let s = Scratch::new("hostile-pipes");
    s.file("small.toml", SMALL);
    assert!(forebay(&s.0, &["run", "small.toml", "--quiet", "--no-report", "--out", "r"]).status.success());
    s.file("x.pcap", "");
    for input in ["pipe.pkt", "/dev/zero", "."] {
        if input == "pipe.pkt" {
            assert!(Command::new("mkfifo").arg(s.0.join(input)).status().unwrap().success());
        }
        for args in [
            &["conform", input][..],
            &["torture", input],
            &["report", "r", "--overlay", input, "--out", "page.html"],
            &["trains", "x.pcap", "--hosts", input],
        ] {
            let out = ends(&s, &words(args));
            let all = format!("{}{}", text(&out.stdout), text(&out.stderr)).replace("\n  ", " ");
            assert_eq!(out.status.code(), Some(2), "{args:?}: {all}");
            let folder_of_scripts = args[0] == "conform" && input == ".";
            let why = if input == "." { "is a directory" } else { "is a pipe, a socket or a device: copy it" };
            let why = if folder_of_scripts { "pipe.pkt:1: cannot be read: it is a pipe" } else { why };
            assert!(all.contains(why), "{args:?}: {all}");
        }
    }
    assert_eq!(s.entries(""), ["pipe.pkt", "r", "small.toml", "x.pcap"]);
}

/// Lists of flows, tables of sizes and values that are nearly legal: each gives an error at one place, with the legal values or the reason.
#[test]
fn illegal_values_refused_with_place() {
    let s = Scratch::new("hostile-nearly");
    s.file("small.toml", SMALL);
    for (name, text) in [
        ("much.csv", "src,dst,bytes,start_s\ns0,recv,1e400,0\n"),
        ("huge.csv", "src,dst,bytes,start_s\ns0,recv,99999999999999999999,0\n"),
        ("negative.csv", "src,dst,bytes,start_s\ns0,recv,-5,0\n"),
        ("self.csv", "src,dst,bytes,start_s\ns0,s0,5,0\n"),
        ("nan.csv", "src,dst,bytes,start_s\ns0,recv,5,nan\n"),
        ("short.txt", "3\n0 1 3 100 5 0.1\n"),
        ("falls.cdf", "1 0.5\n2 0.4\n3 1\n"),
        ("huge.cdf", "1e308 0.5\n1.7e308 1\n"),
    ] {
        s.file(name, text);
    }
    let list = |file: &str| format!("workload.0={{ kind = \"replay\", file = \"{file}\" }}");
    let sizes = |file: &str| format!("workload.0={{ kind = \"poisson\", load = 0.1, sizes = {{ cdf = \"{file}\" }} }}");
    let load = |load: &str| format!("workload.0={{ kind = \"poisson\", load = {load}, sizes = \"1KB\" }}");
    let queue = |queue: &str| format!("topology.bottleneck.queue={{ {queue} }}");
    for (set, parts) in [
        (list("much.csv"), ["much.csv:2:", "too large"]),
        (list("huge.csv"), ["huge.csv:2:", "too large"]),
        (list("negative.csv"), ["negative.csv:2:", "negative"]),
        (list("self.csv"), ["self.csv:2:", "sends to itself"]),
        (list("nan.csv"), ["nan.csv:2:", "not a finite decimal number"]),
        (list("short.txt"), ["short.txt:3:", "ends after 1 of 3 flows"]),
        (list("a\\u0000b"), ["`file`", "none of them zero"]),
        (sizes("falls.cdf"), ["falls.cdf:2:", "must not fall"]),
        (sizes("huge.cdf"), ["huge.cdf:1:", "the largest legal size"]),
        (sizes("."), ["is a directory", "built-in tables"]),
        (load("inf"), ["`load` is inf", "legal: a number"]),
        (load("nan"), ["`load` is NaN", "legal: a number"]),
        (queue("kind = \"wfq\", weights = [0, 1]"), ["`weights` is 0", "legal: 1 to 1000"]),
        (queue("kind = \"wfq\", weights = [1, 999999999999]"), ["`weights` is 999999999999", "legal: 1 to 1000"]),
        (queue("kind = \"dwrr\", weights = [1, 1], map = [9]"), ["`map` is 9", "legal: 0 to 7"]),
        ("topology.extra-delay=\"s0: 1ms, s0: 2ms\"".into(), ["`s0` is in", "legal: each host once"]),
        ("topology.extra-delay=\"::,,\"".into(), ["`extra-delay`", "such as \"s0..s7: 100us\""]),
        ("topology.extra-delay=\"s0: -1ms\"".into(), ["`extra-delay`", "such as \"s0..s7: 100us\""]),
        ("topology.failure={ link = \"switches\", down = \"1ms\" }".into(), ["no port `switches`", "such as `sw->recv`"]),
        ("topology.corruption={ port = \"all\", bit-errors = 1e-8 }".into(), ["no port `all`", "such as `sw->recv`"]),
        (
            "transport.shim={ kind = \"pias\", demotion-thresholds = [\"1KB\", \"1KB\"] }".into(),
            ["`demotion-thresholds`", "each above the one before it"],
        ),
        ("workload.0.class=\"a\\nb\"".into(), ["`class`", "printable characters"]),
        ("observe.warmup=\"1h\"".into(), ["`warmup`", "below the duration"]),
        ("duration=10000h".into(), ["`duration`", "too large"]),
        ("topology.senders=4\nsenders=5".into(), ["`senders`", "legal: an integer"]),
    ] {
        let out = ends(&s, &words(&["check", "small.toml", "--no-forecast", "--set", &set]));
        let err = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{set}: {err}");
        assert!(parts.iter().all(|part| err.contains(part)) && err.contains("--set:1:"), "{set}: {err}");
    }
    for (sweep, part) in [
        ("sweep.seeds=[1, 2]", "a sweep is not part of itself"),
        ("topology.senders=[4, 4]", "lists 4 twice"),
        ("topology.senders=[4, 0]", "legal: 1 to 1048574"),
        ("workload.9.size=[\"1KB\"]", "workload"),
    ] {
        let out = ends(&s, &words(&["check", "small.toml", "--no-forecast", "--sweep", sweep]));
        let err = text(&out.stderr);
        assert!(out.status.code() == Some(2) && err.contains(part) && err.contains("--sweep:1:"), "{sweep}: {err}");
    }
}
