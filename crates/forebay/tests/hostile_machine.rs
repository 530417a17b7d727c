//! Hostile machines: circular links, unreadable files, a full disk, signals, other processes at the same place. The command ends soon by itself,
//! prints the reason, and leaves other files unchanged.

use crate::hostile::{PATIENCE, SMALL, ends, words};
use crate::scratch::{Scratch, command, text};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Circular links, and files that cannot be read or written.
#[test]
fn loops_and_rights() {
    let s = Scratch::new("hostile-loops");
    s.file("small.toml", SMALL);
    symlink("b.toml", s.0.join("a.toml")).unwrap();
    symlink("a.toml", s.0.join("b.toml")).unwrap();
    symlink("loop", s.0.join("loop")).unwrap();
    symlink(".", s.0.join("here")).unwrap();
    // Opening it blocks until another process writes.
    assert!(Command::new("mkfifo").arg(s.0.join("pipe")).status().unwrap().success());
    for args in [
        &["check", "a.toml"][..],
        &["run", "a.toml"],
        &["report", "loop"],
        &["report", "here"],
        &["run", "small.toml", "--out", "loop/r"],
        &["run", "small.toml", "--out", "loop"],
        &["run", "small.toml", "--out", "/proc/r"],
        &["run", "small.toml", "--out", "/dev/full/r"],
        &["run", "small.toml", "--out", "small.toml/r"],
        &["run", "small.toml", "--out", "/"],
        &["run", "small.toml", "--out", ""],
        &["man", "/proc/pages"],
        &["man", "small.toml"],
        &["check", "small.toml", "--set", "workload.0={ kind = \"poisson\", load = 0.1, sizes = { cdf = \"a.toml\" } }"],
        &["check", "small.toml", "--set", "workload.0={ kind = \"poisson\", load = 0.1, sizes = { cdf = \"here\" } }"],
        &["check", "small.toml", "--set", "workload.0={ kind = \"replay\", file = \"loop\" }"],
        &["check", "small.toml", "--set", "workload.0={ kind = \"poisson\", load = 0.1, sizes = { cdf = \"pipe\" } }"],
        &["check", "small.toml", "--set", "workload.0={ kind = \"replay\", file = \"pipe\" }"],
        &["check", "pipe"],
        &["run", "pipe"],
        &["advise", "pipe"],
        &["report", "pipe"],
        &["explain", "pipe", "--flow", "0"],
    ] {
        let out = ends(&s, &words(args));
        assert!(!out.status.success(), "{args:?}");
    }
    assert_eq!(s.entries(""), ["a.toml", "b.toml", "here", "loop", "pipe", "small.toml"]);
    // Through a link to its own folder, results are at the requested path.
    assert!(ends(&s, &words(&["run", "small.toml", "--quiet", "--out", "here/r"])).status.success());
    assert!(s.0.join("r/manifest.json").is_file());
    let odd: OsString = OsStr::from_bytes(b"odd-\xff\x1b.toml").to_owned();
    fs::write(s.0.join(&odd), SMALL.replace("senders = 4", "sendrs = 4")).unwrap();
    assert_eq!(ends(&s, &[OsStr::new("check"), &odd]).status.code(), Some(2));
}

/// A limit on the size of files is an error, and does not end the process by a signal.
#[test]
fn limit_on_file_sizes() {
    let s = Scratch::new("hostile-file-size");
    s.file("small.toml", SMALL);
    for (command, says) in [
        ("run small.toml --quiet --out r", "raise the limit on the size of files (ulimit -f)"),
        ("new tenants --out x.toml", "`x.toml` cannot be written: File too large"),
        ("man pages", "cannot be written: File too large"),
    ] {
        let line = format!("ulimit -f 0; exec {} {command}", env!("CARGO_BIN_EXE_forebay"));
        let out = Command::new("sh").current_dir(&s.0).args(["-c", &line]).output().unwrap();
        let err = text(&out.stderr);
        assert!(out.status.code() == Some(1) && err.contains(says), "{command}: {:?} {err}", out.status);
    }
    assert_eq!((s.entries(""), s.entries("pages")), (vec!["pages".to_owned(), "small.toml".to_owned()], Vec::new()));
}

/// A full disk, as a limit on the size of files: an error, and no files left.
#[test]
fn full_disk() {
    let s = Scratch::new("hostile-full");
    s.file("small.toml", SMALL);
    for target in
        ["list > /dev/full", "check small.toml > /dev/full", "run small.toml --out r > /dev/full", "completions bash > /dev/full"]
    {
        let line = format!("exec {} {target}", env!("CARGO_BIN_EXE_forebay"));
        let out = Command::new("sh").current_dir(&s.0).args(["-c", &line]).output().unwrap();
        let err = text(&out.stderr);
        assert!(
            out.status.code() == Some(1) && err.contains("cannot write to standard output"),
            "{target}: {:?} {err}",
            out.status
        );
    }
    assert!(s.0.join("r/manifest.json").is_file(), "the results are written nevertheless");
}

/// A shell without job control starts background processes with SIGINT and SIGQUIT ignored, including these tests, and children inherit it (POSIX,
/// "Signals and Error Handling" of the shell language). The command under test runs in the foreground.
pub(crate) fn heed_signals(command: &mut Command) {
    #[cfg(target_os = "linux")]
    // SAFETY: signal(2) may be called between fork and exec (signal-safety(7)).
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(command, || {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    let _ = command;
}

/// Signals: each ends a run within a moment, without leftovers, or with leftovers that the next command removes.
#[test]
fn signals() {
    let s = Scratch::new("hostile-signals");
    s.file("long.toml", &SMALL.replace("2ms", "1h"));
    for (signal, code) in [("INT", Some(130)), ("TERM", Some(130)), ("HUP", Some(130)), ("QUIT", None), ("KILL", None)] {
        let mut run = command(&s.0, &["run", "long.toml", "--yes", "--progress", "json", "--quiet", "--out", "r"]);
        heed_signals(&mut run);
        let mut child = run.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut events = BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        events.read_line(&mut first).unwrap();
        assert!(first.contains("\"start\""), "{first}");
        assert!(Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap().success());
        let began = Instant::now();
        assert_eq!(child.wait().unwrap().code(), code, "{signal}");
        assert!(began.elapsed() < PATIENCE, "{signal}");
        assert!(!s.0.join("r").exists(), "{signal}");
    }
    s.file("small.toml", SMALL);
    assert!(ends(&s, &words(&["run", "small.toml", "--quiet", "--out", "q"])).status.success());
    assert_eq!(s.entries(""), ["long.toml", "q", "small.toml"]);
}

/// Ten at once into one place: all results are kept, each under a name of its own.
#[test]
fn races() {
    let s = Scratch::new("hostile-races");
    s.file("small.toml", &SMALL.replace("2ms", "100ms"));
    let start = |args: &[&str]| command(&s.0, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let all: Vec<_> = (0..10).map(|_| start(&["run", "small.toml", "--quiet"])).collect();
    for child in all {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(s.entries("out").len(), 10);
    // One gets the name, the others report another one, before or after their runs.
    let all: Vec<_> = (0..10).map(|_| start(&["run", "small.toml", "--quiet", "--out", "r"])).collect();
    let codes: Vec<i32> = all.into_iter().map(|c| c.wait_with_output().unwrap().status.code().unwrap()).collect();
    assert_eq!(codes.iter().filter(|c| **c == 0).count(), 1, "{codes:?}");
    let late = codes.iter().filter(|c| **c == 1).count();
    assert_eq!(s.entries("").len(), 2 + 1 + late, "{codes:?} {:?}", s.entries(""));
    // Ten reports of the same results: the last one stays, complete.
    let all: Vec<_> = (0..10).map(|_| start(&["report", "r", "--force"])).collect();
    for child in all {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert!(fs::read_to_string(s.0.join("r/report.html")).unwrap().trim_end().ends_with("</html>"));
    assert!(!s.entries("r").iter().any(|f| f.contains(".tmp-")));
}

/// A wall clock that jumps by 63 years, back and forth, at each reading. Clocks of intervals are not affected.
#[cfg(target_os = "linux")]
const JUMPS: &str = r#"#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t) {
    static int readings;
    int (*next)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int code = next(id, t);
    if (!code && id == CLOCK_REALTIME) t->tv_sec += __sync_fetch_and_add(&readings, 1) % 2 ? 2000000000L : -2000000000L;
    return code;
}
"#;

/// Jumps of the wall clock change the times of start and end in the manifest, and no table; a sweep goes on from its finished runs.
#[cfg(target_os = "linux")]
#[test]
fn clock_jumps() {
    let s = Scratch::new("hostile-clock");
    s.file("jumps.c", JUMPS);
    let build = ["-shared", "-fPIC", "-o", "jumps.so", "jumps.c", "-ldl"];
    assert!(Command::new("cc").current_dir(&s.0).args(build).status().expect("a C compiler").success());
    s.file("sweep.toml", &(SMALL.replace("runs = 1", "runs = 2") + "[sweep]\n\"topology.senders\" = [2, 4]\n"));
    let run = |to: &str, jumps: bool| {
        let mut run = command(&s.0, &["run", "sweep.toml", "--max-time", "1h", "--out", to]);
        if jumps {
            run.env("LD_PRELOAD", s.0.join("jumps.so"));
        }
        let out = run.output().unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout)
    };
    run("steady", false);
    run("jumping", true);
    let started = |of: &str| {
        let manifest: serde_json::Value = serde_json::from_slice(&s.bytes(&format!("{of}/manifest.json"))).unwrap();
        manifest["started"].as_str().unwrap()[..4].parse::<u32>().unwrap()
    };
    assert!(started("jumping").abs_diff(started("steady")) > 50, "the clock jumps");
    let tables = |of: &str| {
        let folders = s.entries(&format!("{of}/units")).into_iter().map(|folder| format!("units/{folder}"));
        let units = folders
            .flat_map(|folder| s.entries(&format!("{of}/{folder}")).into_iter().map(move |unit| format!("{folder}/{unit}")));
        let all: Vec<String> = units.chain(["summary.parquet".into()]).collect();
        let bytes: Vec<_> = all.iter().map(|table| s.bytes(&format!("{of}/{table}"))).collect();
        (all, bytes)
    };
    let steady = tables("steady");
    assert_eq!(steady.0.len(), 2 * 2 + 1);
    assert!(steady == tables("jumping"), "tables differ");
    let unit = s.0.join("jumping").join(&steady.0[0]);
    fs::remove_file(unit).unwrap();
    assert!(run("jumping", true).contains("4 runs, 3 of them already finished"));
    assert!(steady == tables("jumping"), "tables of a continued sweep differ");
}
