//! `forebay export` in the formats of other programs, and `forebay report --overlay`.

use crate::scratch::{Scratch, forebay, text};
use std::fs;

/// Six hosts send at once into a port of eight packets, which drops some. Two senders are observed.
const SCENARIO: &str = r#"
seed = 5
duration = "100ms"
[topology]
kind = "many-to-one"
senders = 6
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "8pkt" }
[transport]
stack = "linux"
[[workload]]
kind = "long"
size = "300KB"
[observe]
tcp = { flows = [0, 1], every = "ack" }
"#;

/// Writes the results `r`.
fn results(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.file("six.toml", SCENARIO);
    scratch.ok(&["run", "six.toml", "--no-report", "--quiet", "--format", "csv", "--out", "r"]);
    scratch
}

/// Column `name` of a table of the results.
fn column(scratch: &Scratch, table: &str, name: &str) -> Vec<u64> {
    let csv = fs::read_to_string(scratch.0.join(format!("r/{table}.csv"))).expect("a table");
    let mut lines = csv.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let place = lines.next().and_then(|names| names.iter().position(|n| *n == name)).expect("the column");
    lines.map(|l| l[place].parse().expect("a number")).collect()
}

/// Attribute `name` of every element that has it, as a whole number.
fn attribute(document: &str, name: &str) -> Vec<u64> {
    let start = format!(" {name}=\"");
    let values = document.split(&start).skip(1).filter_map(|rest| rest.split('"').next());
    values.map(|v| v.trim_start_matches('+').trim_end_matches(".0ns").parse().expect("a number")).collect()
}

#[test]
fn flow_monitor_counts_equal_tables() {
    let scratch = results("export-flowmonitor");
    let printed = scratch.ok(&["export", "r", "--format", "flowmonitor"]);
    assert!(
        printed.starts_with("wrote flowmonitor.xml: 12 flows of newreno, run 0, two for each connection; 0 packets"),
        "{printed}"
    );
    let document = fs::read_to_string(scratch.0.join("flowmonitor.xml")).expect("the file");
    let total = |name: &str| attribute(&document, name).iter().sum::<u64>();
    let drops: u64 = column(&scratch, "ports", "dropped_overflow").iter().sum();
    assert!(drops > 0, "the scenario loses packets");
    assert_eq!(total("lostPackets"), drops);
    assert_eq!(total("txPackets"), total("rxPackets") + drops);
    // A connection sends its segments, a SYN, and a FIN with the ACK of that of its peer. The six
    // flows of data come first, as the SYNs do.
    let segments: u64 = column(&scratch, "flows", "segs_sent").iter().sum();
    let data: u64 = attribute(&document, "txPackets").iter().take(6).sum();
    assert!((segments + 6..=segments + 24).contains(&data), "{data} packets for {segments} segments");
    assert_eq!(total("timesForwarded"), total("txPackets"));
    // Two links of 25 us on the way, and at least one full packet that is sent again at the switch.
    let smallest = attribute(&document, "minDelay").into_iter().min().expect("a flow");
    assert!((50_000..52_000).contains(&smallest), "{smallest} ns");
    let pairs = attribute(&document, "maxDelay").into_iter().zip(attribute(&document, "minDelay"));
    assert!(pairs.clone().count() == 12 && pairs.into_iter().all(|(max, min)| max >= min));
}

#[test]
fn unknown_class_of_dport_refused() {
    let scratch = results("export-dport");
    for (args, expected) in [
        (&["--dport", "lnog=200"][..], "--dport: the results have no class `lnog`; legal: `long`"),
        (&["--dport", "long=1", "--dport", "long=2"], "--dport gives the class `long` two ports"),
    ] {
        let out = forebay(&scratch.0, &[&["export", "r"], args].concat());
        assert!(out.status.code() == Some(2) && text(&out.stderr).contains(expected), "{}", text(&out.stderr));
    }
    assert!(!scratch.0.join("fct.txt").exists());
    scratch.ok(&["export", "r", "--dport", "long=200"]);
    let lines = fs::read_to_string(scratch.0.join("fct.txt")).expect("the file");
    assert!(!lines.is_empty() && lines.lines().all(|l| l.split(' ').nth(3) == Some("200")), "{lines}");
}

#[test]
fn flent_export_lies_on_its_run() {
    let scratch = results("export-flent");
    let refused = forebay(&scratch.0, &["export", "r", "--format", "flent", "--out", "r.json"]);
    assert!(refused.status.code() == Some(2) && text(&refused.stderr).contains(".flent.gz"), "{}", text(&refused.stderr));
    let printed = scratch.ok(&["export", "r", "--format", "flent", "--out", "r.flent.gz"]);
    assert!(printed.starts_with("wrote r.flent.gz: 1 streams of newreno, run 0, with "), "{printed}");
    let report = ["report", "r", "--overlay", "r.flent.gz", "--overlay-series", "TCP upload sum", "--force"];
    scratch.ok(&report);
    let html = fs::read_to_string(scratch.0.join("r/report.html")).expect("the report");
    let figure =
        html.split("id=\"fig-goodput-over-time\"").nth(1).and_then(|rest| rest.split("</figure>").next()).expect("the figure");
    let data = figure.split_once("type=\"application/json\">").map(|(_, data)| &data[..data.find("</script>").expect("an end")]);
    let data: serde_json::Value = serde_json::from_str(data.expect("its data")).expect("JSON");
    let lines = data["views"][0]["chart"]["panels"][0]["lines"].as_array().expect("lines");
    let labels: Vec<&str> = lines.iter().filter_map(|l| l["label"].as_str()).collect();
    assert_eq!(labels, ["long", "r.flent.gz: TCP upload sum"]);
    // The exported series lies on that of the run, in bit/s.
    let values =
        |i: usize| lines[i]["y"].as_array().expect("values").iter().filter_map(serde_json::Value::as_f64).collect::<Vec<_>>();
    assert!(values(0).iter().any(|v| *v > 1e8) && values(0).len() == values(1).len());
    assert!(values(0).iter().zip(values(1)).all(|(run, overlay)| (run - overlay).abs() <= 1e-4 * run), "{:?}", values(1));
}

#[test]
fn illegal_overlays_refused() {
    let scratch = results("overlay-refused");
    scratch.ok(&["export", "r", "--format", "flent"]);
    let whole = fs::read(scratch.0.join("results.flent.gz")).expect("the file");
    fs::write(scratch.0.join("short.flent.gz"), &whole[..whole.len() / 2]).expect("a file");
    scratch.file("other.flent", "{}");
    for (args, expected) in [
        (&["--overlay", "short.flent.gz"][..], "short.flent.gz: the compressed data are damaged"),
        (&["--overlay", "other.flent"], "other.flent: is not a result file of Flent"),
        (&["--overlay", "missing.flent.gz"], "`missing.flent.gz` cannot be read"),
        (
            &["--overlay", "results.flent.gz", "--overlay-series", "Ping"],
            "no overlay has a series `Ping`; legal: `TCP upload avg`",
        ),
    ] {
        let out = forebay(&scratch.0, &[&["report", "r", "--force"], args].concat());
        let said = text(&out.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.status.code() == Some(2) && said.contains(expected), "{said}");
    }
    assert!(!scratch.0.join("r/report.html").exists());
}
