//! Results that were edited, or that another program wrote: refused with a reason, and nothing outside of them is read.

use crate::scratch::{PATIENCE, SMALL, Scratch, command, forebay, text};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Finished results in `r`, of which `manifest` and `table` (a file, replaced by a command) are changed; the output of `forebay report`.
fn doctored(name: &str, manifest: impl Fn(&mut serde_json::Value), files: impl Fn(&Scratch)) -> String {
    let s = Scratch::new(name);
    s.file("small.toml", SMALL);
    let out = forebay(&s.0, &["run", "small.toml", "--quiet", "--no-report", "--out", "r", "--format", "csv"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let path = s.0.join("r/manifest.json");
    let mut value: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    manifest(&mut value);
    value.as_object_mut().unwrap().remove("sha256");
    fs::write(&path, forebay_store::seal(&serde_json::to_string_pretty(&value).unwrap())).unwrap();
    files(&s);
    let mut child = command(&s.0, &["report", "r"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{name}: it hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let out = child.wait_with_output().unwrap();
    let err = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{name}: {err}");
    assert!(!s.0.join("r/report.html").exists(), "{name}");
    err
}

/// The entry of a table in the manifest.
fn table<'a>(manifest: &'a mut serde_json::Value, name: &str) -> &'a mut serde_json::Value {
    let tables = manifest["tables"].as_array_mut().unwrap();
    tables.iter_mut().find(|t| t["name"] == name).unwrap()
}

#[test]
fn changed_manifest_refused() {
    for (name, change, says) in [
        ("rows", (|t| t["rows"] = 7_000.into()) as fn(&mut serde_json::Value), "7000"),
        ("no-rows", |t| t["rows"] = 0.into(), "instead of the 0 of the manifest"),
        ("newer", |t| t["schema_version"] = 99.into(), "version 99 of its columns is newer"),
        ("older", |t| t["schema_version"] = (t["schema_version"].as_u64().unwrap() - 1).into(), "of its columns is older"),
        ("parent", |t| t["file"] = "../small.toml".into(), "outside of the directory"),
        ("absolute", |t| t["file"] = "/etc/passwd".into(), "outside of the directory"),
        ("through", |t| t["file"] = "a/../../flows.csv".into(), "outside of the directory"),
        ("empty", |t| t["file"] = "".into(), "outside of the directory"),
        ("dot", |t| t["file"] = ".".into(), "outside of the directory"),
        ("gone", |t| t["file"] = "nothing.csv".into(), "nothing.csv"),
        ("a-table-too-many", |t| t["file"] = "ports.csv".into(), "SHA-256"),
    ] {
        let err = doctored(&format!("doctored-{name}"), |m| change(table(m, "summary")), |_| ());
        assert!(err.contains(says), "{name}: {err}");
    }
    for (name, change, says) in [
        ("layout", (|m| m["manifest_version"] = 99.into()) as fn(&mut serde_json::Value), "newer than"),
        ("kind", |m| m["kind"] = "other".into(), "no results"),
        ("type", |m| m["runs"] = "many".into(), "cannot be read"),
        ("negative", |m| m["wall_s"] = "x".into(), "cannot be read"),
    ] {
        let err = doctored(&format!("doctored-{name}"), change, |_| ());
        assert!(err.contains(says), "{name}: {err}");
    }
}

#[test]
fn tables_must_be_valid_files() {
    let replace = |s: &Scratch, name: &str, how: &dyn Fn(&std::path::Path)| {
        let path = s.0.join("r").join(name);
        let _ = fs::remove_file(&path);
        how(&path);
    };
    let fifo = |p: &std::path::Path| assert!(Command::new("mkfifo").arg(p).status().unwrap().success());
    let err = doctored("doctored-fifo", |_| (), |s| replace(s, "summary.csv", &fifo));
    assert!(err.contains("a pipe"), "{err}");
    let err = doctored("doctored-manifest-fifo", |_| (), |s| replace(s, "manifest.json", &fifo));
    assert!(err.contains("a pipe") && err.contains("manifest.json"), "{err}");
    let err = doctored("doctored-link", |_| (), |s| replace(s, "summary.csv", &|p| symlink("/etc/passwd", p).unwrap()));
    assert!(err.contains("a symbolic link"), "{err}");
    let err = doctored("doctored-folder", |_| (), |s| replace(s, "summary.csv", &|p| fs::create_dir(p).unwrap()));
    assert!(err.contains("a directory"), "{err}");
    let err = doctored("doctored-binary", |_| (), |s| replace(s, "summary.csv", &|p| fs::write(p, [0xff; 999]).unwrap()));
    assert!(err.contains("summary.csv"), "{err}");
    let cut = |p: &std::path::Path| fs::write(p, "variant,run\nnewreno").unwrap();
    let err = doctored("doctored-cut", |_| (), |s| replace(s, "summary.csv", &cut));
    assert!(err.contains("summary.csv"), "{err}");
    let err = doctored("doctored-json", |_| (), |s| replace(s, "manifest.json", &|p| fs::write(p, "{\"kind\": ").unwrap()));
    assert!(err.contains("manifest.json"), "{err}");
    let deep = "[".repeat(1_000_000);
    let err = doctored("doctored-deep", |_| (), |s| replace(s, "manifest.json", &|p| fs::write(p, &deep).unwrap()));
    assert!(err.contains("manifest.json"), "{err}");
}

/// A changed byte in any file of results: `report` and `explain` refuse them, and the page stays.
#[test]
fn changed_bytes_are_refused() {
    let s = Scratch::new("bytes");
    s.file("small.toml", SMALL);
    s.ok(&["run", "small.toml", "--quiet", "--capture", "bottleneck", "--out", "r"]);
    let (page, mut tried) = (s.bytes("r/report.html"), 0);
    for name in s.entries("r").into_iter().filter(|name| name != "report.html") {
        let whole = s.bytes(&format!("r/{name}"));
        for (part, change) in [(1, 0x01), (3, 0x80), (5, 0xff)] {
            let (mut bytes, at) = (whole.clone(), whole.len() * part / 6);
            bytes[at] ^= change;
            fs::write(s.0.join("r").join(&name), bytes).unwrap();
            for args in [&["report", "r", "--force"][..], &["explain", "r", "--flow", "0"]] {
                let out = s.run(args);
                assert_eq!(out.status.code(), Some(1), "{args:?}: byte {at} of {name}: {}", text(&out.stdout));
            }
            assert!(s.bytes("r/report.html") == page, "byte {at} of {name}");
            tried += 1;
        }
        fs::write(s.0.join("r").join(&name), whole).unwrap();
    }
    assert!(tried > 20, "{tried}");
    s.ok(&["explain", "r", "--flow", "0"]);
}

/// As above, for the files of a sweep.
#[test]
fn changed_sweeps_are_refused() {
    let s = Scratch::new("sweep-bytes");
    s.file("small.toml", SMALL);
    s.ok(&["run", "small.toml", "--quiet", "--sweep", "topology.senders=[2, 3]", "--format", "csv", "--out", "r"]);
    let page = s.bytes("r/report.html");
    for name in ["summary.parquet", "summary.csv", "manifest.json"] {
        let whole = s.bytes(&format!("r/{name}"));
        for part in 1..6 {
            let (mut bytes, at) = (whole.clone(), whole.len() * part / 6);
            bytes[at] ^= 1;
            fs::write(s.0.join("r").join(name), bytes).unwrap();
            let out = s.run(&["report", "r", "--force"]);
            assert_eq!(out.status.code(), Some(1), "byte {at} of {name}: {}", text(&out.stdout));
            assert!(text(&out.stderr).contains(name) && s.bytes("r/report.html") == page, "{}", text(&out.stderr));
        }
        fs::write(s.0.join("r").join(name), whole).unwrap();
    }
    s.ok(&["report", "r", "--force"]);
}
