//! `forebay run` leaves a report, `forebay report` makes one of any finished results. The page's own data is read back.

use crate::scratch::{Scratch, forebay, text};
use serde_json::Value;
use std::fs;

/// Two transports, two seeds: queries that lose, and short flows beside them.
const SCENARIO: &str = r#"
name = "mixed"
seed = 3
runs = 2
duration = "400ms"
[topology]
kind = "many-to-one"
senders = 30
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "60pkt", queue = { kind = "dctcp-step", k = "15pkt" } }
[transport]
stack = "ns2"
cc = ["newreno", "dctcp"]
rto-min = "20ms"
[[workload]]
kind = "incast"
block = "32KB"
rounds = 8
[[workload]]
kind = "poisson"
class = "web"
sizes = { cdf = "websearch" }
load = 0.1
load-at = "bottleneck"
[observe]
queue = { port = "bottleneck", every = "100us" }
tcp = { flows = [0], every = "ack" }
"#;

/// The figures of a page: the identity of each, and the JSON that its charts are drawn from.
fn figures(html: &str) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    for part in html.split("<figure").skip(1) {
        let id = part.split("id=\"").nth(1).and_then(|p| p.split('"').next()).expect("an id");
        let (_, data) = part.split_once("type=\"application/json\">").expect("data of the charts");
        let data = &data[..data.find("</script>").expect("an end")];
        out.push((id.to_owned(), serde_json::from_str(data).expect("the data is JSON")));
    }
    out
}

#[test]
fn run_writes_report() {
    let scratch = Scratch::new("report");
    scratch.file("mixed.toml", SCENARIO);
    let out = forebay(&scratch.0, &["run", "mixed.toml", "--out", "r"]);
    assert!(out.status.success() && text(&out.stdout).contains("report: r/report.html"), "{}", text(&out.stderr));
    let html = fs::read_to_string(scratch.0.join("r/report.html")).unwrap();
    for part in ["newreno", "dctcp", "mixed", "99th percentile of query completion times", "rto-min", "fingerprint"] {
        assert!(html.contains(part), "{part}");
    }
    let data = figures(&html);
    let ids: Vec<&str> = data.iter().map(|f| f.0.as_str()).collect();
    for id in ["queue-over-time", "connections", "timeouts-over-time", "fct-by-size-flows", "cdf-queries", "topology"]
        .map(|id| format!("fig-{id}"))
    {
        assert!(ids.contains(&id.as_str()), "{id} of {ids:?}");
    }

    // The same from the tables alone, in either format, except paths and times.
    let again = forebay(&scratch.0, &["report", "r", "--out", "again.html"]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(fs::read_to_string(scratch.0.join("again.html")).unwrap() == html);
    let csv = forebay(&scratch.0, &["run", "mixed.toml", "--out", "c", "--format", "csv", "--threads", "1"]);
    assert!(csv.status.success(), "{}", text(&csv.stderr));
    let of_csv = fs::read_to_string(scratch.0.join("c/report.html")).unwrap().replace("forebay explain c ", "forebay explain r ");
    assert!(figures(&of_csv) == data, "CSV and Parquet differ");
}

#[test]
fn several_results_are_compared() {
    let scratch = Scratch::new("compare");
    scratch.file("mixed.toml", SCENARIO);
    for (dir, cc) in [("before", "newreno"), ("after", "cubic")] {
        let cc = format!("transport.cc={cc}");
        let out = forebay(&scratch.0, &["run", "mixed.toml", "--out", dir, "--set", &cc, "--quiet", "--no-report"]);
        assert_eq!(text(&out.stdout), format!("results: {dir}\n"), "{}", text(&out.stderr));
        assert!(!scratch.0.join(dir).join("report.html").exists(), "--no-report");
    }
    let out = forebay(&scratch.0, &["report", "before", "after"]);
    // The first sentence of the page, then its path.
    assert!(out.status.success() && text(&out.stdout).ends_with("\nreport: report.html\n"), "{}", text(&out.stderr));
    let html = fs::read_to_string(scratch.0.join("report.html")).unwrap();
    assert!(html.contains("before: newreno") && html.contains("after: cubic"));
    let (_, differences) = html.split_once("id=\"differences\"").expect("the differences");
    let (differences, _) = differences.split_once("</section>").unwrap();
    for part in
        ["queries of incast: median", "messages of web: 99th percentile", "retransmission timeouts", "range over the 2 seeds"]
    {
        assert!(differences.contains(part), "{part}");
    }
    assert!(differences.matches("class=\"point").count() > 4, "{differences}");

    // Existing files are not replaced without --force.
    let again = forebay(&scratch.0, &["report", "before", "after"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("--force"), "{}", text(&again.stderr));
    assert!(forebay(&scratch.0, &["report", "before", "after", "--force"]).status.success());
    let nothing = forebay(&scratch.0, &["report", "nowhere"]);
    assert!(nothing.status.code() == Some(1) && text(&nothing.stderr).contains("nowhere"), "{}", text(&nothing.stderr));
}

#[test]
fn a_sweep_has_curves() {
    let scratch = Scratch::new("curves");
    scratch.file("mixed.toml", SCENARIO);
    let axes = ["--sweep", "topology.senders=[10, 20, 30]", "--sweep", "transport.rto-min=[\"5ms\", \"20ms\"]"];
    let out = forebay(&scratch.0, &[&["run", "mixed.toml", "--out", "s", "--quiet"][..], &axes].concat());
    assert!(out.status.success() && out.stderr.is_empty(), "{}", text(&out.stderr));
    let html = fs::read_to_string(scratch.0.join("s/report.html")).unwrap();
    let figures = figures(&html);
    let (_, goodput) = figures.iter().find(|f| f.0 == "fig-sweep-goodput-bps").expect("goodput against senders");
    let lines = goodput["views"][0]["chart"]["lines"].as_array().unwrap();
    let labels: Vec<&str> = lines.iter().map(|l| l["label"].as_str().unwrap()).collect();
    // A line for each transport, and one for each of its workloads.
    let of = |rto: &str| {
        let one = |cc: &str| ["", "incast, ", "web, "].map(|class| format!("{cc}, {class}rto-min {rto}"));
        ["newreno", "dctcp"].map(one).concat()
    };
    assert_eq!(labels, [of("5ms"), of("20ms")].concat());
    assert_eq!(lines[0]["x"], serde_json::json!([10.0, 20.0, 30.0]));
    assert_eq!(lines[0]["low"].as_array().map(Vec::len), Some(3), "two seeds give a band");

    let again = forebay(&scratch.0, &["report", "s", "--out", "again.html"]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(fs::read_to_string(scratch.0.join("again.html")).unwrap() == html);
    let both = forebay(&scratch.0, &["report", "s", "s"]);
    assert!(both.status.code() == Some(2) && text(&both.stderr).contains("is a sweep"), "{}", text(&both.stderr));
}
