//! `forebay run --within`: runs end when a figure is known, and the first line says so.

use crate::scratch::{Scratch, text};
use forebay_store::RunDir;

/// Two racks with short and long messages.
const WEB: &str = r#"
name = "web"
duration = "2s"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 4
host   = { rate = "10Gbps", delay = "2us", queue = { kind = "dctcp-step", k = "65pkt" } }
fabric = { rate = "20Gbps", delay = "2us", queue = { kind = "dctcp-step", k = "130pkt" } }
[transport]
cc = "dctcp"
[[workload]]
kind = "poisson"
class = "web"
load = 0.4
sizes = { log-uniform = ["1KB", "1MB"] }
"#;

const STOP: &str = "[stop]\nknown = [{ of = \"p50 of web slowdown\", within = \"20%\" }]\n";

#[test]
fn first_line_has_known_figure() {
    let s = Scratch::new("known");
    s.file("web.toml", &format!("{WEB}{STOP}"));
    let out = s.ok(&["run", "web.toml", "--out", "r", "--no-report"]);
    let first = out.lines().next().unwrap();
    assert!(first.starts_with("p50 slowdown of messages of web ") && first.contains("; floor "), "{first}");
    assert!(first.contains(", known after ") && first.ends_with(" of 2 s."), "{first}");
    // The recorded end is part of what `explain` repeats.
    assert!(s.ok(&["explain", "r", "--flow", "0"]).contains("same fingerprint"));
}

#[test]
fn within_applies_to_first_line() {
    let s = Scratch::new("within");
    s.file("web.toml", WEB);
    let out = s.ok(&["run", "web.toml", "--within", "30%", "--out", "r", "--no-report"]);
    assert!(out.starts_with("p99 completion time of small messages "), "{out}");
    let manifest = RunDir::open(&s.0.join("r")).unwrap().manifest().clone();
    assert_eq!((manifest.known[0].of.as_str(), manifest.known[0].within), ("p99 of small fct", 0.3));
    assert!(manifest.scenario.overrides.contains(&"stop.within=30%".to_owned()), "{:?}", manifest.scenario.overrides);
}

#[test]
fn sweep_units_stop_when_known() {
    let s = Scratch::new("known-sweep");
    s.file("web.toml", &format!("{WEB}{STOP}"));
    let sweep = ["run", "web.toml", "--sweep", "workload.0.load=[0.2, 0.4]", "--out", "r", "--no-report"];
    let first = s.ok(&sweep);
    let goodput = |out: &str| out.lines().filter(|l| l.trim_start().starts_with("0.")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(goodput(&first).len(), 2, "{first}");
    assert_eq!(goodput(&s.ok(&sweep)), goodput(&first), "from the store");
    let budget = s.run(&[&sweep[..], &["--budget", "1s"]].concat());
    assert_eq!(budget.status.code(), Some(2));
    assert!(text(&budget.stderr).contains("`budget` ends runs by wall time"), "{}", text(&budget.stderr));
}

#[test]
fn ratio_of_variants_is_first_line() {
    let s = Scratch::new("known-ratio");
    s.file("web.toml", WEB);
    let run = ["run", "web.toml", "--set", "transport.cc=[\"dctcp\", \"cubic\"]", "--within", "40%", "--no-report"];
    let out = s.ok(&[&run[..], &["--out", "r"]].concat());
    let first = out.lines().next().unwrap();
    let start = "p99 completion time of small messages of cubic over that of dctcp: ";
    assert!(first.starts_with(start) && first.contains(", known after "), "{first}");
    assert!(s.ok(&["explain", "r", "--flow", "0"]).contains("same fingerprint"));
    let out = s.ok(&[&run[..], &["--set", "stop.ratio=false", "--out", "each"]].concat());
    assert!(out.starts_with("dctcp: p99 completion time of small messages "), "{out}");
}

/// Both stacks of the simulator end together, whatever the number of threads.
#[test]
fn compare_ends_when_ratio_is_known() {
    let s = Scratch::new("known-compare");
    s.file("web.toml", WEB);
    let compare = |threads: &str, more: &[&str]| {
        s.ok(&[&["compare", "web.toml", "--worlds", "sim,model", "--within", "40%", "--threads", threads][..], more].concat())
    };
    let (one, two) = (compare("1", &[]), compare("2", &[]));
    let first = one.lines().next().unwrap();
    let start = "p99 completion time of small messages of sim stack ns2 over that of sim stack linux: ";
    assert!(first.starts_with(start) && first.contains(", known after ") && first.ends_with(" of 2 s."), "{first}");
    assert_eq!(one, two);
    let document: serde_json::Value = serde_json::from_str(&compare("2", &["--format", "json"])).unwrap();
    let known = &document["known"][0];
    assert_eq!((known["over"].as_str(), known["known"].as_bool()), (Some("sim stack linux"), Some(true)), "{known}");
    assert!(known["end_ns"].as_u64().unwrap() < 2_000_000_000, "{known}");
    let both = s.run(&["compare", "web.toml", "--worlds", "model", "--within", "40%"]);
    assert!(text(&both.stderr).contains("add `sim` to --worlds"), "{}", text(&both.stderr));
    for (option, message) in [(&["--within", "10us"][..], "is a percentage"), (&["--within", "5%", "--packets"], "is a time")] {
        let out = s.run(&[&["compare", "web.toml"][..], option].concat());
        assert_eq!(out.status.code(), Some(2), "{option:?}");
        assert!(text(&out.stderr).contains(message), "{}", text(&out.stderr));
    }
}

#[test]
fn sweep_units_of_variants_end_together() {
    let s = Scratch::new("known-ratio-sweep");
    s.file("web.toml", &format!("{WEB}{STOP}"));
    let both = "transport.cc=[\"dctcp\", \"cubic\"]";
    let sweep = ["run", "web.toml", "--set", both, "--sweep", "workload.0.load=[0.2, 0.4]", "--no-report"];
    let rows = |out: &str| out.lines().filter(|l| l.trim_start().starts_with("0.")).map(str::to_owned).collect::<Vec<_>>();
    let one = rows(&s.ok(&[&sweep[..], &["--out", "one", "--threads", "1"]].concat()));
    assert_eq!(one.len(), 4, "{one:?}");
    assert_eq!(rows(&s.ok(&[&sweep[..], &["--out", "three", "--threads", "3"]].concat())), one);
    assert_eq!(rows(&s.ok(&[&sweep[..], &["--out", "one"]].concat())), one, "from the store");
}

#[test]
fn wrong_rules_name_legal_values() {
    let s = Scratch::new("rules");
    for (rule, part) in [
        ("[stop]\n", "names no figure"),
        ("[stop]\nwithin = \"0.01%\"\n", "0.1% to 100%"),
        ("[stop]\nknown = [{ of = \"p99 of small slowdown\" }]\n", "needs the key `within`"),
        ("[stop]\nknown = [{ of = \"p99 of reads fct\", within = \"5%\" }]\n", "classes here: web"),
        ("[stop]\nknown = [{ of = \"mean of nowhere queue\", within = \"5%\" }]\n", "names the port `nowhere`"),
        ("[stop]\nknown = [{ of = \"p99 of leaf0->h2 queue\", within = \"5%\" }]\n", "have a mean only"),
        ("[stop]\nwithin = \"5%\"\nbudget = \"0s\"\n", "`budget` is zero"),
        ("[stop]\nwithni = \"5%\"\n", "did you mean `within`"),
    ] {
        s.file("web.toml", &format!("{WEB}{rule}"));
        let out = s.run(&["check", "web.toml"]);
        assert_eq!(out.status.code(), Some(2), "{rule}");
        assert!(text(&out.stderr).contains(part), "{rule}: {}", text(&out.stderr));
    }
}
