//! `forebay new` from outside: its scenarios run, and it replaces no files.

use crate::scratch::{Scratch, forebay, text};

const ALL: &[&str] = &["storage-incast", "web", "hadoop", "tenants", "ai-allreduce", "fabric"];

#[test]
fn every_template_listed_checked_and_run() {
    let scratch = Scratch::new("new");
    let list = text(&forebay(&scratch.0, &["new"]).stdout);
    for name in ALL {
        assert!(list.lines().any(|l| l.split_whitespace().next() == Some(name)), "{name}: {list}");
        let out = forebay(&scratch.0, &["new", name]);
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        let printed = text(&out.stdout);
        let file = format!("{name}.toml");
        assert!(printed.contains(&file) && printed.contains(&format!("forebay advise {file}")), "{printed}");
        let check = forebay(&scratch.0, &["check", &file]);
        assert_eq!(check.status.code(), Some(0), "{name}: {}", text(&check.stderr));
        let run = forebay(&scratch.0, &["run", &file, "--runs", "1", "--set", "duration=2ms", "--no-report", "--quiet"]);
        assert_eq!(run.status.code(), Some(0), "{name}: {}", text(&run.stderr));
    }
}

#[test]
fn new_never_replaces_files() {
    let scratch = Scratch::new("new-twice");
    let new = |args: &[&str]| forebay(&scratch.0, &[&["new", "tenants"], args].concat());
    assert_eq!(new(&["--rate", "25Gbps", "--switch", "trident3", "--out", "mine.toml"]).status.code(), Some(0));
    let file = std::fs::read_to_string(scratch.0.join("mine.toml")).unwrap();
    for part in ["rate = \"25Gbps\"", "switch = \"trident3\"", "k = \"163pkt\"", "forebay advise mine.toml"] {
        assert!(file.contains(part), "{part}: {file}");
    }
    let again = new(&["--out", "mine.toml"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("--out"), "{}", text(&again.stderr));
    assert_eq!(std::fs::read_to_string(scratch.0.join("mine.toml")).unwrap(), file);
    assert_eq!(new(&["--rate", "3Gbps"]).status.code(), Some(2));
    assert_eq!(forebay(&scratch.0, &["new", "fruit"]).status.code(), Some(2));
}

#[test]
fn control_characters_in_names_refused() {
    let scratch = Scratch::new("new-control");
    for name in ["x.toml\nseed = 9\n#", "a\u{1b}[2J.toml"] {
        let out = forebay(&scratch.0, &["new", "tenants", "--out", name]);
        let err = text(&out.stderr);
        assert!(out.status.code() == Some(2) && err.contains("has control characters") && !err.contains('\u{1b}'), "{err}");
    }
    assert!(scratch.entries("").is_empty());
}

#[test]
fn wrong_names_get_suggestions() {
    let scratch = Scratch::new("also-called");
    for (word, kind) in [("star", "many-to-one"), ("rack", "leaf-spine"), ("clos", "leaf-spine"), ("three-tier", "fat-tree")] {
        scratch.file("x.toml", &format!("[topology]\nkind = \"{word}\"\n[[workload]]\nkind = \"long\"\n"));
        let out = forebay(&scratch.0, &["check", "x.toml"]);
        assert_eq!(out.status.code(), Some(2));
        let err = text(&out.stderr);
        assert!(err.contains(&format!("`{word}` is called `{kind}`")), "{err}");
    }
}

#[test]
fn objectives_are_checked_with_the_file() {
    let scratch = Scratch::new("objective");
    assert_eq!(forebay(&scratch.0, &["new", "tenants"]).status.code(), Some(0));
    let out = forebay(&scratch.0, &["check", "tenants.toml", "--set", "advise.objective=p99 of requets"]);
    assert_eq!(out.status.code(), Some(2));
    let err = text(&out.stderr);
    assert!(err.contains("did you mean `requests`?"), "{err}");
}
