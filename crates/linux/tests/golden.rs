//! The backend `linux` with a real kernel: every case has one trajectory, in every repetition, under load and for every user. Its fingerprints are in
//! `golden.csv`, for the kernel release that they name; `FOREBAY_UPDATE=1` writes them again.
//!
//! Without a kernel these tests fail, and say how to get one; on a machine that cannot build one they are skipped, and say so.

use crate::guest::{experiment, kernel, run_in};
use forebay_experiment::report::Report;
use forebay_experiment::world::World;
use forebay_linux::world::Linux;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::{env, fs, thread};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden.csv");

const RACK: &str = r#"
[topology]
kind = "many-to-one"
senders = 8
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "64pkt"QUEUE }
"#;

const INCAST: &str = "[[workload]]\nkind = \"incast\"\nrequest = \"0B\"\nblock = \"64KB\"\nrounds = 4\njitter = \"20us\"\n";
const LONG: &str = "duration = \"60ms\"\n";
const FLOWS: &str = "[[workload]]\nkind = \"long\"\nstagger = \"500us\"\n";
const STEP: &str = ", queue = { kind = \"dctcp-step\", k = \"20pkt\" }";

/// A rack with a queue at its bottleneck, a transport and traffic.
fn rack(head: &str, queue: &str, transport: &str, traffic: &str) -> String {
    format!("{head}{}[transport]\n{transport}\n{traffic}", RACK.replace("QUEUE", queue))
}

/// Names and texts of the cases.
fn cases() -> Vec<(&'static str, String)> {
    let fat_tree = "duration = \"20ms\"\n[topology]\nkind = \"fat-tree\"\nk = 4\nhost = { rate = \"1Gbps\", delay = \"5us\", buffer = \"50pkt\" }\n\
                    [transport]\ncc = \"cubic\"\n[[workload]]\nkind = \"poisson\"\nsizes = \"50KB\"\nload = 0.3\n";
    let datagrams = format!("{INCAST}[[workload]]\nkind = \"udp\"\nfrom = \"s0\"\nrate = \"200Mbps\"\n");
    vec![
        ("incast-ns2", rack("", "", "stack = \"ns2\"\ncc = \"newreno\"", INCAST)),
        ("incast-linux", rack("", "", "cc = \"cubic\"", INCAST)),
        ("long-reno", rack(LONG, "", "cc = \"newreno\"", FLOWS)),
        ("long-bbr", rack(LONG, "", "cc = \"bbr\"", FLOWS)),
        ("long-dctcp", rack(LONG, STEP, "cc = \"dctcp\"", FLOWS)),
        ("lossy", rack(LONG, ", queue = { kind = \"lossy\", p = 0.01 }", "cc = \"newreno\"", FLOWS)),
        ("jitter", rack("", "", "cc = \"newreno\"\nsend-jitter = \"2us\"", INCAST)),
        ("fat-tree", fat_tree.to_owned()),
        ("proboscis", rack("", STEP, "cc = { kind = \"cubic\", shim = \"proboscis\" }", INCAST)),
        ("datagrams", rack("duration = \"20ms\"\n", "", "cc = \"newreno\"", &datagrams)),
    ]
}

fn run(text: &str) -> Report {
    run_in(&Linux, &experiment(text))
}

/// The release of the kernel that the file is of, and the fingerprints in it.
fn golden() -> (String, BTreeMap<String, String>) {
    let text = fs::read_to_string(GOLDEN).unwrap_or_default();
    let release = text.lines().next().and_then(|l| l.strip_prefix("# ")).unwrap_or_default().to_owned();
    let line = |l: &str| l.split_once(',').map(|(a, b)| (a.to_owned(), b.to_owned()));
    (release, text.lines().skip(1).filter_map(line).collect())
}

/// The release of the kernel that runs, without what tells builds apart.
fn release() -> String {
    Linux.version().split(" (").next().unwrap_or_default().to_owned()
}

#[test]
fn every_case_has_its_trajectory() {
    if !kernel() {
        return;
    }
    let found: Vec<(&str, String)> =
        cases().iter().map(|(name, text)| (*name, format!("{:016x}", run(text).fingerprint))).collect();
    let written = |f: &[(&str, String)]| f.iter().map(|(n, p)| format!("{n},{p}\n")).collect::<String>();
    if env::var_os("FOREBAY_UPDATE").is_some() {
        fs::write(GOLDEN, format!("# {}\n{}", release(), written(&found))).unwrap();
        return;
    }
    let (of, golden) = golden();
    if of != release() {
        let here = release();
        return forebay_platform::doctor::requirements::skip(
            "kernel",
            &format!("{GOLDEN} is of {of}, and this kernel is {here}"),
        );
    }
    let expected: Vec<(&str, String)> = cases().iter().map(|(n, _)| (*n, golden.get(*n).cloned().unwrap_or_default())).collect();
    assert_eq!(written(&found), written(&expected), "FOREBAY_UPDATE=1 writes new ones, if these are right");
}

#[test]
fn repeats_are_equal_also_under_load() {
    if !kernel() {
        return;
    }
    let text = &cases()[1].1;
    let first = run(text);
    assert!(first.flows.iter().all(|f| !f.end.is_never()), "all messages arrive");
    assert_eq!(run(text).fingerprint, first.fingerprint);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 * thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    std::hint::black_box(0);
                }
            });
        }
        let loaded = run(text);
        over.store(true, Relaxed);
        assert_eq!((loaded.fingerprint, &loaded.flows), (first.fingerprint, &first.flows));
    });
}

/// Prints the fingerprint of a case: what another user runs.
#[test]
#[ignore = "run by another test, as another user"]
fn print_fingerprint() {
    println!("fingerprint {:016x}", run(&cases()[0].1).fingerprint);
}

/// A copy that every user may execute.
fn for_all(file: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join(file.file_name().unwrap());
    fs::copy(file, &copy).unwrap();
    Command::new("chmod").arg("755").arg(&copy).status().unwrap();
    copy
}

#[test]
fn trajectory_is_equal_without_root() {
    if !rustix::process::geteuid().is_root() {
        return forebay_platform::doctor::requirements::skip("root", "only root can run a program as another user");
    }
    if !kernel() {
        return;
    }
    let folder = env::temp_dir().join(format!("forebay-nobody-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    Command::new("chmod").arg("755").arg(&folder).status().unwrap();
    let program = for_all(&env::current_exe().unwrap(), &folder);
    let kernel = for_all(&forebay_linux::kernel::program().unwrap(), &folder);
    let nobody = Command::new(program)
        .args(["--exact", "golden::print_fingerprint", "--ignored", "--nocapture"])
        .env_clear()
        .env("FOREBAY_KERNEL", kernel)
        .current_dir("/")
        .uid(65_534)
        .gid(65_534)
        .output()
        .unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8_lossy(&nobody.stdout).into_owned();
    let own = format!("fingerprint {:016x}", run(&cases()[0].1).fingerprint);
    assert!(said.contains(&own), "{said}\n{}\nnot: {own}", String::from_utf8_lossy(&nobody.stderr));
}
