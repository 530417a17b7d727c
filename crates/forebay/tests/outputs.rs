//! Places of results and reports: replaced, kept and removed files.

use crate::scratch::{SMALL, Scratch, command, forebay, text};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::{Command, Stdio};

fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.file("small.toml", SMALL);
    scratch
}

/// Number of a process that has ended.
fn dead() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

#[test]
fn a_report_replaces_plain_files_only() {
    let s = scratch("report-targets");
    assert!(forebay(&s.0, &["run", "small.toml", "--quiet", "--out", "r", "--no-report"]).status.success());
    assert!(Command::new("mkfifo").arg(s.0.join("pipe")).status().unwrap().success());
    s.file("precious.txt", "mine");
    symlink("precious.txt", s.0.join("link")).unwrap();
    symlink("nowhere", s.0.join("dangling")).unwrap();
    fs::create_dir(s.0.join("folder")).unwrap();
    for (target, is) in [
        ("pipe", "a pipe"),
        ("/dev/null", "a pipe, a socket or a device"),
        ("link", "a symbolic link"),
        ("dangling", "a symbolic link"),
        ("folder", "a directory"),
    ] {
        for force in [&[][..], &["--force"]] {
            let out = forebay(&s.0, &[&["report", "r", "--out", target][..], force].concat());
            let err = text(&out.stderr);
            assert_eq!(out.status.code(), Some(2), "{target} {force:?}: {err}");
            assert!(err.contains(target) && err.contains(is) && err.contains("--out"), "{err}");
        }
    }
    assert!(fs::symlink_metadata(s.0.join("pipe")).unwrap().file_type().is_fifo());
    assert!(fs::symlink_metadata("/dev/null").unwrap().file_type().is_char_device());
    assert_eq!(fs::read_to_string(s.0.join("precious.txt")).unwrap(), "mine");
    assert!(fs::symlink_metadata(s.0.join("link")).unwrap().is_symlink());
    assert!(forebay(&s.0, &["report", "r", "--out", "precious.txt", "--force"]).status.success());
    assert!(fs::read_to_string(s.0.join("precious.txt")).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn run_replaces_only_own_directories() {
    let s = scratch("run-targets");
    assert!(forebay(&s.0, &["run", "small.toml", "--quiet", "--out", "r", "--no-report"]).status.success());
    assert!(Command::new("mkfifo").arg(s.0.join("pipe")).status().unwrap().success());
    symlink("r", s.0.join("link")).unwrap();
    symlink("nowhere", s.0.join("dangling")).unwrap();
    fs::create_dir_all(s.0.join("other/inside")).unwrap();
    for target in ["pipe", "link", "dangling", "other", "small.toml"] {
        for force in [&[][..], &["--force"]] {
            let out = forebay(&s.0, &[&["run", "small.toml", "--quiet", "--out", target][..], force].concat());
            let err = text(&out.stderr);
            assert_eq!(out.status.code(), Some(2), "{target} {force:?}: {err}");
            assert!(err.contains(target) && err.contains("--out"), "{err}");
        }
    }
    assert_eq!(s.entries(""), ["dangling", "link", "other", "pipe", "r", "small.toml"]);
    assert_eq!(fs::read_to_string(s.0.join("small.toml")).unwrap(), SMALL);
}

#[test]
fn force_does_not_advise_force() {
    let s = scratch("force-link");
    fs::create_dir(s.0.join("pages")).unwrap();
    symlink("../small.toml", s.0.join("pages/forebay.1")).unwrap();
    for force in [&[][..], &["--force"]] {
        let out = forebay(&s.0, &[&["man", "pages"][..], force].concat());
        let err = text(&out.stderr);
        assert!(out.status.code() == Some(2) && !err.contains("--force"), "{err}");
        assert!(err.contains("`pages/forebay.1` is a symbolic link; only plain files are replaced: move it away"), "{err}");
    }
    assert_eq!((s.entries("pages"), s.bytes("small.toml")), (vec!["forebay.1".to_owned()], SMALL.as_bytes().to_vec()));
}

#[test]
fn force_keeps_other_files() {
    let s = scratch("force");
    let run = |more: &[&str]| forebay(&s.0, &[&["run", "small.toml", "--quiet", "--out", "r"][..], more].concat());
    assert!(run(&[]).status.success());
    assert!(forebay(&s.0, &["trace", "r", "--flow", "0"]).status.success());
    let own = s.entries("r");
    assert!(own.contains(&"report.html".to_owned()) && own.iter().any(|name| name.ends_with(".pcapng")), "{own:?}");
    s.file("r/zettel.txt", "mine");
    fs::create_dir_all(s.0.join("r/other-1")).unwrap();
    s.file("r/other-1/manifest.json", "{}");
    for foreign in ["r/other-1", "r/zettel.txt"] {
        let before = (s.entries("r"), s.bytes("r/manifest.json"));
        let out = run(&["--force"]);
        let err = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{err}");
        assert!(err.contains(&format!("`{foreign}`")) && err.contains("move it") && err.contains("--out"), "{err}");
        assert_eq!((s.entries("r"), s.bytes("r/manifest.json")), before);
        assert_eq!(s.bytes("r/zettel.txt"), b"mine");
        fs::rename(s.0.join(foreign), s.0.join("moved")).unwrap();
        let _ = fs::remove_dir_all(s.0.join("moved"));
    }
    fs::remove_file(s.0.join("moved")).unwrap();
    let out = run(&["--force"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(!s.entries("r").iter().any(|name| name.ends_with(".pcapng")), "all old files are gone");
    assert_eq!(s.entries(""), ["r", "small.toml"]);
}

#[test]
fn results_kept_when_name_taken() {
    let s = scratch("taken");
    s.file("long.toml", &SMALL.replace("20ms", "2s"));
    let mut child = command(&s.0, &["run", "long.toml", "--progress", "json", "--quiet", "--out", "r"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut events = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    events.read_line(&mut first).unwrap();
    assert!(first.contains("\"start\""), "{first}");
    fs::create_dir(s.0.join("r")).unwrap();
    s.file("r/precious.txt", "mine");
    let mut rest = String::new();
    events.read_to_string(&mut rest).unwrap();
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest}");
    assert!(
        rest.contains("`r` was created by another process") && rest.contains("`r-1`") && printed == "results: r-1\n",
        "{rest}{printed}"
    );
    assert_eq!(s.entries("r"), ["precious.txt"]);
    assert!(forebay(&s.0, &["report", "r-1", "--force"]).status.success(), "they are complete");
}

#[test]
fn leftovers_of_dead_processes_removed() {
    let s = scratch("leftovers");
    let (dead, alive) = (dead(), std::process::id());
    let folder = |name: String, files: &[&str]| {
        fs::create_dir_all(s.0.join("out").join(&name)).unwrap();
        files.iter().for_each(|f| s.file(&format!("out/{name}/{f}"), "x"));
    };
    folder(format!("small.tmp-{dead}"), &["flows.parquet", "ports.parquet"]);
    folder(format!("small.tmp-{dead}-1"), &[]);
    folder(format!("other.tmp-{dead}"), &["summary.csv"]);
    folder(format!("small.tmp-{alive}"), &["flows.parquet"]);
    // The number of a running process, which is not the one that wrote the directory: only the lock counts.
    folder(format!("small.tmp-{alive}-1"), &["flows.parquet"]);
    folder("small.tmp-1".to_owned(), &["flows.parquet"]);
    let lock = |path: String| {
        let file = fs::File::open(s.0.join(path)).unwrap();
        file.try_lock().unwrap();
        file
    };
    let held = lock(format!("out/small.tmp-{alive}"));
    folder(format!("photos.tmp-{dead}"), &["holiday.jpg"]);
    folder(format!("cut.tmp-{dead}"), &["flows.parquet", "manifest.json"]);
    folder(format!("complete.tmp-{dead}"), &["flows.parquet"]);
    s.file(&format!("out/complete.tmp-{dead}/manifest.json"), r#"{"kind": "forebay-run"}"#);
    s.file(&format!("out/notes.tmp-{dead}"), "mine");
    assert!(forebay(&s.0, &["run", "small.toml", "--quiet"]).status.success());
    let mut left = [
        format!("complete.tmp-{dead}"),
        format!("notes.tmp-{dead}"),
        format!("photos.tmp-{dead}"),
        "small-1".to_owned(),
        format!("small.tmp-{alive}"),
    ];
    left.sort();
    assert_eq!(s.entries("out"), left);
    drop(held);

    // A report that a killed process was writing.
    s.file(&format!("out/small-1/report.html.tmp-{dead}"), "<!doc");
    s.file(&format!("out/small-1/report.html.tmp-{alive}"), "<!doc");
    let _held = lock(format!("out/small-1/report.html.tmp-{alive}"));
    assert!(forebay(&s.0, &["report", "out/small-1", "--force"]).status.success());
    let entries = s.entries("out/small-1");
    assert!(!entries.contains(&format!("report.html.tmp-{dead}")) && entries.contains(&format!("report.html.tmp-{alive}")));
}

#[test]
fn next_run_removes_leftovers() {
    let s = scratch("killed");
    s.file("long.toml", &SMALL.replace("20ms", "1h"));
    let mut child = command(&s.0, &["run", "long.toml", "--progress", "json", "--quiet"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(s.entries("out").len(), 1, "{first}");
    // Another run does not touch files that are being written.
    assert!(forebay(&s.0, &["run", "small.toml", "--quiet"]).status.success());
    assert_eq!(s.entries("out").len(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(forebay(&s.0, &["run", "small.toml", "--quiet"]).status.success());
    assert_eq!(s.entries("out"), ["small-1", "small-2"]);
}
