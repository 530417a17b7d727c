//! Intervals over few seeds, from the rows of real runs to the drawn and printed ones: all are clipped at the bounds of the network.

use crate::scratch::{Scratch, text};
use forebay_report::page::{Chart, XyLine};
use forebay_store::rows::Rows;
use forebay_store::stats::estimate;
use forebay_store::sweep::SweepDir;
use std::collections::BTreeMap;

/// A link of 1 Gbit/s that the seeds use very differently, with a few large messages.
const LOADED: &str = r#"
name = "loaded"
duration = "60ms"
runs = 3
[topology]
kind = "many-to-one"
senders = 6
access     = { rate = "10Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us", buffer = "60pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "linux"
cc = ["cubic", "dctcp"]
[[workload]]
kind = "poisson"
sizes = { cdf = "websearch" }
load = 0.9
load-at = "bottleneck"
"#;

const SWEPT: &str = "[sweep]\nworkload.0.load = [0.5, 0.9]\n";

/// A full segment of stack `linux` is 1448 bytes of payload in 1500.
const MOST_BPS: f64 = 1e9 * 1448.0 / 1538.0;
const BUFFER: f64 = 60.0;

/// The values of the seeds by metric, for each point and variant.
fn rows(dir: &SweepDir) -> Vec<BTreeMap<&'static str, Vec<f64>>> {
    let mut out: BTreeMap<(i64, String), BTreeMap<&'static str, Vec<f64>>> = BTreeMap::new();
    for batch in dir.table().unwrap() {
        let rows = Rows::new(&batch);
        let (point, variant) = (rows.int("point"), rows.text("variant", str::to_owned));
        for metric in forebay_analysis::metrics() {
            let column = rows.float(metric.name);
            for row in 0..rows.len() {
                let key = (point.get(row).unwrap(), variant.get(row).unwrap().clone());
                out.entry(key).or_default().entry(metric.name).or_default().extend(column.get(row));
            }
        }
    }
    out.into_values().collect()
}

#[test]
fn sweep_bands_clipped_at_bounds() {
    let s = Scratch::new("bands");
    s.file("s.toml", &format!("{LOADED}{SWEPT}"));
    s.ok(&["run", "s.toml", "--out", "r"]);
    let dir = SweepDir::open(&s.0.join("r")).unwrap();
    let rows = rows(&dir);
    let largest = |metric: &str| rows.iter().flat_map(|r| &r[metric]).copied().fold(0.0, f64::max);
    // The intervals of the rows without bounds.
    let widest = |metric: &str, side: f64| {
        let ends = rows.iter().filter_map(|r| estimate(&r[metric])).map(|e| e.mean + side * e.half_width.unwrap());
        if side > 0.0 { ends.fold(0.0, f64::max) } else { ends.fold(f64::INFINITY, f64::min) }
    };
    assert!(widest("goodput_bps", 1.0) > 1.05 * MOST_BPS, "the seeds of this scenario differ enough to need a limit");
    assert!(widest("queue_mean_pkts", 1.0) > BUFFER || widest("fct_large_p99_s", -1.0) < 0.0 || widest("rtos", -1.0) < 0.0);
    for of in rows.iter() {
        assert!(of["goodput_max_bps"].iter().all(|m| (m - MOST_BPS).abs() < 1.0), "{:?}", of["goodput_max_bps"]);
        assert!(of["queue_limit_pkts"].iter().all(|m| *m == BUFFER), "{:?}", of["queue_limit_pkts"]);
    }
    let page = forebay_report::chapters::sweep_read::page(&dir).unwrap();
    let figures: Vec<_> = page.sections.iter().flat_map(|s| &s.figures).collect();
    let mut cut = 0;
    for f in &figures {
        let metric = f.id.strip_prefix("sweep-").unwrap().replace('-', "_");
        let most = match metric.as_str() {
            "goodput_bps" => MOST_BPS.max(largest("goodput_bps")),
            "utilization" | "deadlines_missed" => 1.0,
            "flows_completed" => largest("flows"),
            m if m.starts_with("queue_") && m.ends_with("_pkts") => BUFFER.max(largest(m)),
            _ => f64::INFINITY,
        };
        // Running messages count with their time so far, which may be shorter than an empty path needs.
        let shortest = || rows.iter().flat_map(|r| &r[metric.as_str()]).copied().fold(1.0, f64::min);
        let least = if metric.starts_with("slowdown") { shortest() } else { 0.0 };
        let Chart::Lines(c) = &f.views[0].chart else { panic!("{}", f.id) };
        let all = |of: fn(&XyLine) -> &Vec<Option<f64>>| c.lines.iter().flat_map(of).flatten().copied().collect::<Vec<f64>>();
        let (low, high) = (all(|l| &l.low), all(|l| &l.high));
        assert!(
            low.iter().all(|v| *v >= least * 0.9999) && high.iter().all(|v| *v <= most * 1.0001),
            "{metric}: {low:?} to {high:?}, most {most}"
        );
        cut += usize::from(high.iter().any(|v| (*v - most).abs() <= 1e-4 * most));
        cut += usize::from(low.contains(&least));
    }
    assert!(figures.len() >= 8 && cut >= 3, "{} figures, {cut} cut", figures.len());
}

/// Every `mean ± half` and `mean +up −down` that the terminal prints, against the rows.
#[test]
fn printed_intervals_clipped_at_bounds() {
    let s = Scratch::new("printed");
    s.file("s.toml", LOADED);
    let out = text(&s.run(&["run", "s.toml", "--all", "--out", "r"]).stdout);
    let numbers = |line: &str| -> Vec<f64> {
        let clean: String = line.chars().map(|c| if c.is_ascii_digit() || c == '.' { c } else { ' ' }).collect();
        clean.split_whitespace().filter_map(|w| w.parse().ok()).collect()
    };
    let row = |label: &str| out.lines().find(|l| l.starts_with(label)).unwrap_or_else(|| panic!("{label}: {out}")).to_owned();
    let goodput = row("goodput ");
    assert!(goodput.contains('+') && goodput.contains('−'), "{goodput}");
    for cell in goodput.split("Gbps").nth(1).unwrap().split("  ").filter(|c| !c.trim().is_empty()) {
        let n = numbers(cell);
        let up = n[1];
        assert!(n[0] + up <= MOST_BPS / 1e9 + 0.002, "{cell}");
    }
    for line in out.lines().filter(|l| l.contains('±') && !l.starts_with('±')) {
        for cell in line.split("  ").filter(|c| c.contains('±')) {
            let n = numbers(cell.trim());
            let [.., mean, half] = n[..] else { panic!("{line}") };
            assert!(half <= mean * 1.001 + 1e-9, "{cell} in {line}");
        }
    }
}
