//! `[[expect]]`: judged by `forebay run`, with exit code 1 unless every value is within its range.

use crate::scratch::{SMALL, Scratch, forebay, text};

fn expecting(entries: &[&str]) -> String {
    let tables: Vec<String> = entries.iter().map(|e| format!("\n[[expect]]\n{e}\n")).collect();
    format!("{SMALL}{}", tables.concat())
}

#[test]
fn values_are_judged() {
    let scratch = Scratch::new("expect");
    for (entry, code, line) in [
        ("metric = \"goodput_bps\"\nbetween = [\"1Mbps\", \"1Gbps\"]\nsource = \"RFC 1\"", 0, "(RFC 1): within"),
        ("metric = \"utilization\"\nbetween = [0, \"1%\"]", 1, "expected at most 1 %: outside"),
        (
            "metric = \"fct_small_p99_s\"\nbetween = [\"1ms\", \"2ms\"]",
            1,
            "no value, expected 1 ms to 2 ms: unknown (not measured)",
        ),
        ("metric = \"drops\"\nbetween = [0, inf]", 0, "expected at least 0: within"),
    ] {
        scratch.file("s.toml", &expecting(&[entry]));
        let out = forebay(&scratch.0, &["run", "s.toml", "--no-report"]);
        let printed = text(&out.stdout);
        assert_eq!(out.status.code(), Some(code), "{entry}: {printed}{}", text(&out.stderr));
        assert!(printed.lines().any(|l| l.starts_with("expect ") && l.contains(line)), "{entry}: {printed}");
        let quiet = text(&forebay(&scratch.0, &["run", "s.toml", "--no-report", "--quiet"]).stdout);
        assert_eq!(quiet.contains("expect "), code == 1, "{quiet}");
    }
    scratch.file("s.toml", &expecting(&["metric = \"drops\"\nbetween = [-2, -1]"]));
    let out = forebay(&scratch.0, &["run", "s.toml", "--no-report", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&text(&out.stdout)).unwrap();
    assert_eq!((out.status.code(), &document["expectations"][0]["verdict"]), (Some(1), &"outside".into()));
}

#[test]
fn mistakes_have_line_and_advice() {
    let scratch = Scratch::new("expect-mistakes");
    for (entry, found) in [
        ("metric = \"qct_p98_s\"\nbetween = [0, 1]", "did you mean `qct_p99_s`"),
        ("metric = \"timeouts\"\nbetween = [0, 1]", "did you mean `rtos`"),
        ("metric = \"goodput\"\nbetween = [0, 1]", "did you mean `goodput_bps`"),
        ("metric = \"retransmitted-segments\"\nbetween = [0, 1]", "did you mean `segs_retx`"),
        ("metric = \"drops\"\nbetween = [\"1ms\", \"2ms\"]", "`between` has seconds, and `drops` is in count"),
        ("metric = \"drops\"\nbetween = [2, 1]", "the first value must not exceed the second one"),
        ("metric = \"drops\"\nbetween = [\"1ms\", \"1Gbps\"]", "two different units"),
        ("metric = \"drops\"\nbetween = [\"few\", 1]", "the text \"few\""),
        ("metric = \"drops\"", "has no `between`"),
        ("between = [0, 1]", "has no `metric`"),
        ("metric = \"drops\"\nbetween = [0, 1]\ntransport = \"newrenno\"", "did you mean `newreno`"),
        ("metric = \"rtos\"\nbetween = [0, 1]\nworkload = \"lang\"", "did you mean `long`"),
        ("metric = \"drops\"\nbetween = [0, 1]\nunit = \"pkt\"", "unknown key `unit`"),
    ] {
        scratch.file("s.toml", &expecting(&[entry]));
        for verb in ["check", "run"] {
            let out = forebay(&scratch.0, &[verb, "s.toml"]);
            let err = text(&out.stderr);
            assert_eq!(out.status.code(), Some(2), "{entry}: {err}");
            assert!(err.contains("s.toml:") && err.contains(found), "{entry}: {err}");
        }
    }
    let swept = expecting(&["metric = \"drops\"\nbetween = [0, 1]"]) + "\n[sweep]\ntopology.senders = [2, 3]\n";
    scratch.file("s.toml", &swept);
    assert!(text(&forebay(&scratch.0, &["run", "s.toml"]).stderr).contains("[[expect]]"));
}

#[test]
fn referee_writes_its_scenarios() {
    let scratch = Scratch::new("referee");
    let out = forebay(&scratch.0, &["referee", "halving", "--out", "rows", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&text(&out.stdout)).unwrap();
    assert_eq!((out.status.code(), &document["cc"]), (Some(1), &"halving".into()));
    let names = scratch.entries("rows");
    assert!(names.contains(&"alone-halving.toml".to_owned()), "{names:?}");
    let out = forebay(&scratch.0, &["run", "rows/alone-halving.toml", "--no-report"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert_eq!(forebay(&scratch.0, &["referee", "nonsense"]).status.code(), Some(2));
}

/// Existing files are named before anything runs, and links are not followed.
#[test]
#[cfg(unix)]
fn referee_keeps_existing_files() {
    let scratch = Scratch::new("referee-files");
    scratch.file("mine.html", "mine");
    std::fs::create_dir(scratch.0.join("rows")).unwrap();
    scratch.file("rows/mine.toml", "mine");
    std::os::unix::fs::symlink("mine.html", scratch.0.join("link.html")).unwrap();
    for args in [&["--out", "rows"][..], &["--page", "mine.html"], &["--page", "link.html"], &["--page", "link.html", "--force"]]
    {
        let out = forebay(&scratch.0, &[&["referee", "halving"][..], args].concat());
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        let reason = if args.contains(&"link.html") { "`link.html` is a symbolic link" } else { "exists already" };
        assert!(text(&out.stderr).contains(reason), "{args:?}: {}", text(&out.stderr));
    }
    assert_eq!(std::fs::read_to_string(scratch.0.join("mine.html")).unwrap(), "mine");
}
