//! `forebay repro` hands its arguments to Python, and says which sources it was built from.

use crate::scratch::{Scratch, command, forebay, text};
use forebay_exec::sweep::key::SOURCES;
use std::os::unix::fs::PermissionsExt;

/// Stands in for Python: `-c` is the question whether all is installed.
fn python(scratch: &Scratch, installed: bool, code: u8) -> String {
    let probe = if installed { "exit 0" } else { "echo No module named forebay >&2; exit 69" };
    scratch.file(
        "python",
        &format!("#!/bin/sh\n[ \"$1\" = -c ] && {{ {probe}; }}\necho \"$@\"\necho \"$FOREBAY_SOURCES\"\nexit {code}\n"),
    );
    let path = scratch.0.join("python");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn arguments_sources_and_code_are_passed_on() {
    let scratch = Scratch::new("repro");
    let words = ["repro", "trim", "--quick", "--claim", "a", "--claim", "b", "--out", "x y", "--threads", "2", "-v", "dctcp"];
    for code in [0, 1, 130] {
        let mut c = command(&scratch.0, &words);
        let out = c.env("FOREBAY_PYTHON", python(&scratch, true, code)).output().unwrap();
        let told = text(&out.stdout);
        let expected = "-m forebay.repro --claim a --claim b --out x y --threads 2 --quick --verbose -- trim dctcp";
        assert_eq!(told.lines().collect::<Vec<_>>(), [expected, SOURCES]);
        assert_eq!((out.status.code(), text(&out.stderr)), (Some(i32::from(code)), String::new()));
    }
    let mut c = command(&scratch.0, &["repro", "--scale", "document"]);
    let out = c.env("FOREBAY_PYTHON", python(&scratch, true, 0)).output().unwrap();
    assert_eq!(text(&out.stdout), format!("-m forebay.repro --scale document\n{SOURCES}\n"));
    let out = command(&scratch.0, &["repro", "--scale", "document", "--quick"]).output().unwrap();
    assert_eq!(out.status.code(), Some(2), "how much is run is said once");
}

#[test]
fn what_is_missing_is_said() {
    let scratch = Scratch::new("repro-missing");
    let run = |python: &str| command(&scratch.0, &["repro"]).env("FOREBAY_PYTHON", python).output().unwrap();
    let out = run(&python(&scratch, false, 0));
    let told = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1));
    assert!(
        told.contains("No module named forebay") && told.contains("pip install") && told.contains("FOREBAY_PYTHON"),
        "{told}"
    );
    let told = text(&run("/no/such/python").stderr);
    assert!(told.contains("/no/such/python") && told.contains("FOREBAY_PYTHON"), "{told}");
    assert_eq!(forebay(&scratch.0, &["repro", "--slow"]).status.code(), Some(2));
}
