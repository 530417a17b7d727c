//! `forebay torture` from outside.

use crate::scratch::{Scratch, forebay, text};

#[test]
fn cases_of_each_sort_hold() {
    let scratch = Scratch::new("torture");
    let out = forebay(&scratch.0, &["torture", "--seed", "7", "--cases", "4", "--out", "failures"]);
    let printed = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{printed}{}", text(&out.stderr));
    assert!(printed.starts_with("4 cases: 2 scenarios, 1 sets of connections, 1 crowds\n"), "{printed}");
    assert!(printed.ends_with("no invariant was broken\n"), "{printed}");
    assert!(scratch.entries("").is_empty(), "a folder without failures");
}

#[test]
fn shown_case_runs_as_a_file() {
    let scratch = Scratch::new("torture-show");
    for case in ["2", "5"] {
        let shown = text(&forebay(&scratch.0, &["torture", "--case", case, "--show"]).stdout);
        scratch.file("case.toml", &shown);
        let out = forebay(&scratch.0, &["torture", "case.toml"]);
        assert_eq!(out.status.code(), Some(0), "{shown}{}{}", text(&out.stdout), text(&out.stderr));
        assert!(text(&out.stdout).starts_with("1 cases: "), "{}", text(&out.stdout));
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let scratch = Scratch::new("torture-wrong");
    scratch.file("bad.toml", "[topology]\nkind = \"star\"\n");
    for (args, expected) in [
        (&["torture", "missing.toml"][..], "missing.toml: the file cannot be read"),
        (&["torture", "bad.toml"], "many-to-one"),
        (&["torture", "--hours", "0"], "--hours: expected a time above 0"),
        (&["torture", "--seconds", "nan"], "--seconds: expected a time above 0"),
        (&["torture", "--kind", "storms"], "connections"),
    ] {
        let out = forebay(&scratch.0, args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stdout));
        assert!(text(&out.stderr).contains(expected), "{args:?}: {}", text(&out.stderr));
    }
}

#[test]
fn case_numbers_have_a_limit() {
    let scratch = Scratch::new("torture-last");
    for args in [
        &["--first", "18446744073709551615", "--cases", "1"][..],
        &["--case", "18446744073709551615"],
        &["--cases", "0"],
        &["--cases", "9223372036854775808"],
    ] {
        let out = forebay(&scratch.0, &[&["torture"], args].concat());
        let err = text(&out.stderr);
        assert!(out.status.code() == Some(2) && err.contains("..=9223372036854775807"), "{args:?}: {err}");
    }
}
