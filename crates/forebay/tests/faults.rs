//! Faults of a disk: each call that writes, syncs, creates or renames a file of a command fails (ENOSPC, EDQUOT, EROFS, EIO), or the process is
//! killed there. Afterwards no half-written result counts as complete, the next command gives the results of an undisturbed one, and nothing is left.
//!
//! A sample of the calls is tried. `FOREBAY_FAULTS=all` tries all of them, and `FOREBAY_FAULTS=merge:17:kill` one.

use crate::scratch::{Scratch, text};
use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SCENARIO: &str = r#"name = "small"
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
kind = "poisson"
sizes = "20KB"
load = 0.5
load-at = "bottleneck"
"#;

/// Selects the calls: `all`, or COMMAND:CALL:FAULT. Without it, every command is tried with every fault once.
const SELECT: &str = "FOREBAY_FAULTS";

/// Folder of results: a name that is in no other text, so that a message with it names the folder.
const OUT: &str = "resultsqz";

const KILL: &str = "kill";
const FAULTS: [(&str, i32); 5] =
    [("ENOSPC", libc::ENOSPC), ("EDQUOT", libc::EDQUOT), ("EROFS", libc::EROFS), ("EIO", libc::EIO), (KILL, 0)];

/// A command that writes results.
struct Case {
    name: &'static str,
    /// Commands before it, whose files it needs.
    before: &'static [&'static [&'static str]],
    args: &'static [&'static str],
    /// Folder of its results.
    results: &'static str,
    /// Its report comes after the results, so that the results are complete without it.
    reports: bool,
}

const CASES: [Case; 6] = [
    Case {
        name: "run",
        before: &[],
        args: &["run", "small.toml", "--capture", "bottleneck", "--out", OUT],
        results: OUT,
        reports: true,
    },
    Case {
        name: "sweep",
        before: &[],
        args: &["run", "small.toml", "--sweep", "topology.senders=[2, 3]", "--threads", "1", "--out", OUT],
        results: OUT,
        reports: true,
    },
    Case {
        name: "advise",
        before: &[],
        args: &["advise", "small.toml", "--objective", "p99 of poisson", "--seeds", "1", "--threads", "1", "--out", OUT],
        results: OUT,
        reports: false,
    },
    Case { name: "report", before: &[RUN], args: &["report", OUT, "--force"], results: OUT, reports: false },
    Case {
        name: "merge",
        before: &[&SHARD_1, &SHARD_2],
        args: &["merge", "part-1", "part-2", "--out", OUT],
        results: OUT,
        reports: true,
    },
    Case {
        name: "trace",
        before: &[&["run", "small.toml", "--out", OUT]],
        args: &["trace", OUT, "--flow", "0"],
        results: OUT,
        reports: false,
    },
];

const RUN: &[&str] = &["run", "small.toml", "--no-report", "--out", OUT];
const SHARD_1: [&str; 8] = shard("1/2", "part-1");
const SHARD_2: [&str; 8] = shard("2/2", "part-2");

const fn shard(number: &'static str, out: &'static str) -> [&'static str; 8] {
    ["run", "small.toml", "--sweep", "topology.senders=[2, 3]", "--shard", number, "--out", out]
}

/// The library that fails calls.
struct Library(Scratch);

impl Library {
    fn build() -> Library {
        let s = Scratch::new("faults-library");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/calls.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"]).arg(s.0.join("calls.so")).arg(source).arg("-ldl");
        let out = compiler.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Library(s)
    }

    /// Runs a command with a fault at a call, or counts its calls. Returns the text that the library leaves: the path of the failed call, or the
    /// number of calls.
    fn run(&self, s: &Scratch, args: &[&str], fault: Option<(u64, i32)>) -> (Output, String) {
        let record = self.0.0.join("record");
        let _ = fs::remove_file(&record);
        let mut command = s.command(args);
        command.env("LD_PRELOAD", self.0.0.join("calls.so")).env("FOREBAY_FAULT_LOG", &record).env("TMPDIR", &self.0.0);
        if let Some((at, error)) = fault {
            command.env("FOREBAY_FAULT_AT", at.to_string()).env("FOREBAY_FAULT_ERROR", error.to_string());
        }
        (command.output().unwrap(), fs::read_to_string(record).unwrap_or_default())
    }
}

/// Files below a folder by their relative paths. Times and the machine are in manifests, and in pages made from them: only the names of these are
/// compared.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut all, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let dated = path.ends_with("manifest.json") || path.extension().is_some_and(|e| e == "html");
                let bytes = if dated { Vec::new() } else { fs::read(&path).unwrap() };
                all.insert(path.strip_prefix(root).unwrap().to_owned(), bytes);
            }
        }
    }
    all
}

fn prepared(case: &Case) -> Scratch {
    let s = Scratch::new("faults");
    s.file("small.toml", SCENARIO);
    for args in case.before {
        s.ok(args);
    }
    s
}

/// True if the message names the file of the path, or its folder, or the folder of results in which it is: by a whole component of a path, without the
/// suffix of temporary names.
fn names(message: &str, path: &str) -> bool {
    fn last(name: &str) -> &str {
        name.split(".tmp-").next().unwrap_or_default()
    }
    let message = message.split_whitespace().collect::<String>();
    let named: Vec<&str> = message.split(['`', '/', ':', '\'', '"']).map(last).collect();
    let parts: Vec<&str> = path.split('/').map(last).filter(|part| !part.is_empty()).collect();
    let near = parts.iter().rev().take(2).chain(parts.iter().filter(|part| **part == OUT));
    near.into_iter().any(|part| named.contains(part))
}

/// Every page below a folder is complete.
fn pages_are_whole(root: &Path) -> bool {
    let text = |path: &PathBuf| fs::read_to_string(root.join(path)).unwrap_or_default();
    files(root).keys().filter(|p| p.extension().is_some_and(|e| e == "html")).all(|p| text(p).trim_end().ends_with("</html>"))
}

#[test]
fn message_must_name_file_or_results() {
    let unit = format!("/tmp/x/{OUT}/units/tmp/unit.tmp-3-5");
    for message in ["error: cannot write or rename: no space left on device", "error: the results of a unit in /a/tmpfs are lost"]
    {
        assert!(!names(message, &unit), "{message}");
    }
    assert!(names("error: cannot write `units/tmp/unit`", &unit));
    assert!(names(&format!("error: cannot rename a finished result to `{OUT}/units/3f/3f.parquet`"), &unit));
    assert!(names("error: cannot write `report.html`", "/tmp/x/report.html.tmp-3-5"));
}

/// Tries one fault. `whole` has the files of an undisturbed command.
fn try_fault(library: &Library, case: &Case, at: u64, (fault, error): (&str, i32), whole: &BTreeMap<PathBuf, Vec<u8>>) {
    let s = prepared(case);
    let (out, path) = library.run(&s, case.args, Some((at, error)));
    let (err, what) = (text(&out.stderr), format!("{SELECT}={}:{at}:{fault} ({path})", case.name));
    let results = s.0.join(case.results);
    match out.status.code() {
        None => assert_eq!(fault, KILL, "{what}: {err}"),
        Some(1) => assert!(err.contains("error: ") && names(&err, &path), "{what}: {err}"),
        // Complete results without a report, with a warning; or only the lock of a file failed.
        Some(0) if case.reports => {
            assert!(err.contains("warning: ") && names(&err, &path), "{what}: {err}");
            let mut without = whole.clone();
            without.remove(&Path::new(OUT).join("report.html"));
            assert!(files(&s.0) == without, "{what}: {err}");
        }
        other => panic!("{what}: {other:?}: {err}"),
    }
    assert!(!err.contains("defect"), "{what}: {err}");
    // Before another command writes pages.
    assert!(pages_are_whole(&s.0), "{what}: a half-written page");
    // Of results, what looks complete is complete.
    let manifest = fs::read_to_string(results.join("manifest.json")).unwrap_or_default();
    let complete = manifest.contains("\"tables\"") && case.name != "advise";
    let report = s.run(&["report", case.results, "--force"]);
    assert!(!report.status.success() || complete, "{what}: {}", text(&report.stdout));
    // The same command again gives the same, and removes the rest.
    let again = s.run(case.args);
    let mut said = text(&again.stderr);
    if again.status.code() == Some(2) && said.contains("already holds results") && complete {
        let forced = s.run(&[case.args, &["--force"]].concat());
        assert!(forced.status.success(), "{what}: {}", text(&forced.stderr));
        said += &text(&forced.stderr);
    } else {
        assert!(again.status.success(), "{what}: {said}");
    }
    let said = said.split_whitespace().collect::<String>();
    let left: Vec<PathBuf> =
        fs::read_dir(&s.0).unwrap().map(|e| e.unwrap().path()).filter(|p| p.to_string_lossy().contains(".tmp-")).collect();
    for copy in left {
        // Only complete results stay under a temporary name, and are named.
        let name = copy.file_name().unwrap().to_string_lossy().into_owned();
        assert!(said.contains(&format!("{name}`holdscompleteresults")), "{what}: {said}");
        fs::remove_dir_all(copy).unwrap();
    }
    let now = files(&s.0);
    let differs = |p: &&PathBuf| now.get(*p) != whole.get(*p);
    let differing: Vec<&PathBuf> = now.keys().chain(whole.keys()).filter(differs).collect();
    assert!(differing.is_empty(), "{what}: {differing:?}");
}

#[test]
fn failed_calls_leave_no_half_results() {
    let (library, selected) = (Library::build(), std::env::var(SELECT).unwrap_or_default());
    let (mut tried, mut failures) = (0, 0);
    for case in &CASES {
        let s = prepared(case);
        let (out, count) = library.run(&s, case.args, None);
        assert!(out.status.success(), "{}: {}", case.name, text(&out.stderr));
        let (calls, whole) = (count.parse::<u64>().unwrap(), files(&s.0));
        assert!(calls > 2, "{}", case.name);
        for (number, &(fault, error)) in (0..).zip(&FAULTS) {
            let mut places: Vec<u64> = (0..calls).collect();
            match selected.as_str() {
                "" => places = vec![(2 * number + 1) * calls / (2 * FAULTS.len() as u64)],
                "all" => {}
                one => places.retain(|at| one == format!("{}:{at}:{fault}", case.name)),
            }
            for at in places {
                let failed = catch_unwind(AssertUnwindSafe(|| try_fault(&library, case, at, (fault, error), &whole))).is_err();
                (tried, failures) = (tried + 1, failures + u32::from(failed));
            }
        }
    }
    assert!(tried > 0, "{SELECT}={selected} selects nothing");
    assert!(failures == 0, "{failures} of {tried} faults");
}
