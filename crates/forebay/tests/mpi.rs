//! `forebay run` on the processes of `mpirun`: the bytes of a single process, and no results if one of them fails.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const FOREBAY: &str = env!("CARGO_BIN_EXE_forebay");

const REST: &str = r#"
[transport]
stack = "linux"
cc = ["dctcp", "cubic"]
rto-min = "2ms"
[observe]
timeouts = true
warmup = "1ms"
[[workload]]
kind = "poisson"
from = "all"
to = "all"
sizes = { cdf = "websearch" }
load = 0.6
[[workload]]
kind = "queries"
total = "200KB"
gap = "100us"
"#;

const FAT_TREE: &str = r#"
duration = "5ms"
runs = 2
[topology]
kind = "fat-tree"
k = 4
host = { rate = "1Gbps", delay = "10us", buffer = "30pkt", queue = { kind = "dctcp-step", k = "10pkt" } }
"#;

const LEAF_SPINE: &str = r#"
duration = "8ms"
[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts-per-leaf = 4
host = { rate = "1Gbps", delay = "10us", buffer = "30pkt", queue = { kind = "dctcp-step", k = "10pkt" } }
oversubscription = 2
"#;

/// An empty folder with a scenario.
fn folder(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mpi-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("s.toml"), text).unwrap();
    folder
}

/// `forebay` in `folder` on this many processes; 1: without mpirun.
fn forebay(folder: &Path, processes: u32, args: &[&str]) -> Command {
    let mut command = if processes == 1 {
        Command::new(FOREBAY)
    } else {
        let mut mpirun = Command::new("mpirun");
        // Tests may run as root, on fewer cores than there are processes, without a network.
        for (name, value) in [
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            ("OMPI_MCA_mpi_yield_when_idle", "1"),
            ("OMPI_MCA_btl", "self,vader"),
            ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
        ] {
            mpirun.env(name, value);
        }
        mpirun.args(["-n", &processes.to_string(), FOREBAY]);
        mpirun
    };
    command.args(args).current_dir(folder);
    command
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Tables and fingerprint of the results in `folder`.
fn results(folder: &Path) -> (Vec<(String, Vec<u8>)>, String) {
    let mut tables: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "parquet"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap()))
        .collect();
    tables.sort();
    let manifest = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let line = manifest.lines().find(|line| line.contains("\"fingerprint\"")).unwrap().to_owned();
    (tables, line)
}

#[test]
fn processes_give_identical_results() {
    for (name, text) in [("fat-tree", FAT_TREE), ("leaf-spine", LEAF_SPINE)] {
        let folder = folder(name, &format!("{text}{REST}"));
        for processes in [1, 2, 3] {
            let out = format!("out-{processes}");
            let output = forebay(&folder, processes, &["run", "s.toml", "--no-report", "--out", &out]).output().unwrap();
            assert!(output.status.success(), "{}", printed(&output));
            let words = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(words.matches("fingerprint:").count(), 1, "one process speaks: {words}");
            assert!(processes == 1 || words.contains(&format!("on {processes} threads")), "{words}");
        }
        let one = results(&folder.join("out-1"));
        assert!(one.0.len() > 5 && one.0.iter().any(|(table, bytes)| table == "flows.parquet" && bytes.len() > 10_000));
        for processes in [2, 3] {
            let several = results(&folder.join(format!("out-{processes}")));
            assert_eq!(several.1, one.1, "{name} on {processes} processes");
            let others: Vec<&str> = one.0.iter().zip(&several.0).filter(|(a, b)| a != b).map(|(a, _)| a.0.as_str()).collect();
            assert!(others.is_empty() && several.0.len() == one.0.len(), "{name} on {processes} processes: other {others:?}");
        }
    }
}

#[test]
fn indivisible_commands_refused_once() {
    let folder = folder("refused", &format!("{LEAF_SPINE}{REST}"));
    let cases: [(&[&str], &str); 5] = [
        (&["check", "s.toml"], "start other commands without it"),
        (&["run", "nowhere.toml"], "no such scenario file"),
        (&["run", "s.toml", "--set", "duration=many"], "is not a time"),
        (&["run", "s.toml", "--sweep", "duration=[\"1ms\", \"2ms\"]"], "--shard"),
        (&["run", "s.toml", "--set", "transport.shim=proboscis"], "both ends of a shim"),
    ];
    for (args, words) in cases {
        let output = forebay(&folder, 2, args).output().unwrap();
        let printed = printed(&output);
        assert!(output.status.code() == Some(2) && printed.matches(words).count() == 1, "{args:?}: {printed}");
        assert_eq!(printed.matches("error:").count(), 1, "{args:?}: {printed}");
    }
    // The folder may exist, as results would have gone into it.
    let left = fs::read_dir(folder.join("out")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "results of what was refused");
}

/// A process that dies takes the others with it, and no results are left.
#[test]
fn a_killed_process_ends_all() {
    let folder = folder("killed", &format!("{LEAF_SPINE}{REST}").replace("8ms", "100s"));
    let mut mpirun =
        forebay(&folder, 2, &["run", "s.toml", "--out", "out", "--progress", "json"]).stderr(Stdio::piped()).spawn().unwrap();
    // It reports its start, and then its progress.
    let mut lines = BufReader::new(mpirun.stderr.take().unwrap()).lines().map(|line| line.unwrap());
    assert!(lines.any(|line| line.contains("\"start\"")), "nothing has begun");
    assert!(lines.any(|line| line.contains("\"progress\"")), "nothing runs");
    let others = Command::new("pgrep").args(["-P", &mpirun.id().to_string(), "forebay"]).output().unwrap();
    let second = String::from_utf8(others.stdout).unwrap().lines().last().unwrap().to_owned();
    assert!(Command::new("kill").args(["-9", &second]).status().unwrap().success());
    let (clock, patience) = (Instant::now(), Duration::from_secs(60));
    let status = loop {
        match mpirun.try_wait().unwrap() {
            Some(status) => break status,
            None if clock.elapsed() > patience => panic!("the others go on"),
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    assert!(!status.success() && !folder.join("out").exists());
}

/// Without forebay-mpi beside it the program reports this, instead of running the same several times.
#[test]
fn program_without_mpi_is_refused() {
    let folder = folder("without", LEAF_SPINE);
    let alone = folder.join("forebay");
    fs::copy(FOREBAY, &alone).unwrap();
    let output = Command::new(&alone).args(["list"]).env("PMI_SIZE", "2").env("PMI_RANK", "0").output().unwrap();
    assert!(output.status.code() == Some(2) && printed(&output).contains("built without MPI"), "{}", printed(&output));
    let output = Command::new(&alone).args(["list"]).env("PMI_SIZE", "1").env("PMI_RANK", "0").output().unwrap();
    assert!(output.status.success(), "one process is a plain one: {}", printed(&output));
}
