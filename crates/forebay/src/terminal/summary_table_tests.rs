//! The printed table.

use super::*;
use forebay_store::summary::{GroupSummary, NetworkSummary, Spread};
use forebay_types::GroupId;

fn summary(name: &str, goodput: f64, fct: f64, rtos: u64) -> Summary {
    let group = GroupSummary {
        name: name.into(),
        goodput_bps: Some(goodput),
        flows: 100,
        flows_completed: 98,
        rtos,
        fct: [
            Some(Spread { mean: 1.5 * fct, p50: fct, p99: 7.0 * fct, p999: None, max: None, running: 0.02, known: 0.98 }),
            None,
            None,
        ],
        ..GroupSummary::default()
    };
    let network = NetworkSummary {
        port: "bottleneck".into(),
        queue_limit: Some(100.0),
        queue_mean: Some(20.25),
        queue_p99: Some(64.0),
        queue_max: Some(100.0),
        utilization: Some(0.9731),
        active_utilization: None,
        uncounted: false,
        drops: 12,
        marks: 0,
        fairness: None,
    };
    Summary { groups: vec![group].into(), classes: Vec::new(), network }
}

#[test]
fn one_seed() {
    let variants = [("newreno", 9.4e8, 3e-4, 12), ("dctcp", 9.5e8, 1.5e-4, 0)]
        .map(|(n, g, f, r)| Variant { label: n.into(), seeds: vec![summary(n, g, f, r)] });
    let expected = "
                                  newreno   dctcp
goodput                     Gbps    0.940   0.950
flows started                         100     100
flows completed                        98      98
timeouts                               12       0
retransmitted segments                  0       0
FCT small (<= 100 KB) mean  us      ≥ 450   ≥ 225
FCT small (<= 100 KB) p50   us        300     150
FCT small (<= 100 KB) p99   ms     ≥ 2.10  ≥ 1.05
queue mean, bottleneck      pkt      20.2    20.2
queue p99, bottleneck       pkt        64      64
queue max, bottleneck       pkt       100     100
utilization, bottleneck     %        97.3    97.3
drops, all ports                       12      12
≥ at least: some were still running at the end, and count with their time so far
one run: no interval; --runs 5 adds it
";
    assert_eq!(format!("\n{}", render(&variants, None, None, false)), expected);
    assert!(render(&variants, None, None, true).contains("newreno\x1b[0m"));
}

#[test]
fn several_seeds_and_groups() {
    let seed = |g: f64| {
        let mut s = summary("dctcp", g, 1e-4, 1);
        s.groups[GroupId::new(0)].long_goodput_ratio = Some(1.0);
        s.groups.push(GroupSummary {
            name: "cubic".into(),
            goodput_bps: Some(1e8),
            long_goodput_ratio: Some(0.25),
            syn_rtos: 3,
            ..GroupSummary::default()
        });
        s
    };
    let mixed = |label: &str| Variant { label: label.into(), seeds: vec![seed(9e8), seed(9.2e8)] };
    // The name of the only variant is left out.
    let text = render(&[mixed("x"), mixed("y")], None, None, false);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].split_whitespace().eq(["x", "y"]), "{text}");
    assert!(lines[1].split_whitespace().eq(["dctcp", "cubic", "dctcp", "cubic"]), "{text}");
    let text = render(&[mixed("mixed")], None, None, false);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].split_whitespace().eq(["dctcp", "cubic"]), "{text}");
    // The range of two seeds, 0.90 and 0.92 Gbps.
    assert!(lines[1].contains("0.910 ± 0.010"), "{text}");
    let cells = |label: &str| lines.iter().find_map(|l| l.strip_prefix(label)).map(|l| l.split_whitespace().collect::<Vec<_>>());
    // The ratio names its reference; a value of only one group is missing in the other, and shared values occur once.
    assert_eq!(cells("goodput per long flow / dctcp"), Some(vec!["1.00", "±", "0.00", "0.25", "±", "0.00"]), "{text}");
    assert_eq!(cells("FCT small (<= 100 KB) p50"), Some(vec!["us", "100", "±", "0", "-"]), "{text}");
    assert_eq!(cells("queue max, bottleneck"), Some(vec!["pkt", "100", "±", "0"]), "{text}");
    // Zero beside another value; no line if all are zero.
    assert_eq!(cells("SYN timeouts"), Some(vec!["0", "±", "0", "3", "±", "0"]), "{text}");
    assert_eq!(cells("marks"), None, "{text}");
}

#[test]
fn twelve_rows_that_differ() {
    let all = [("newreno", 9.4e8, 3e-4, 12), ("dctcp", 9.5e8, 1.5e-4, 0)]
        .map(|(n, g, f, r)| Variant { label: n.into(), seeds: vec![summary(n, g, f, r)] });
    let text = render(&all, Some(3), None, false);
    let labels: Vec<&str> = text.lines().skip(1).map(|l| l.split("  ").next().unwrap()).collect();
    // The queue is the same under both; the median and the tail come before the bandwidth.
    let expected = ["goodput", "FCT small (<= 100 KB) p50", "FCT small (<= 100 KB) p99"];
    assert_eq!(labels[..3], expected, "{text}");
    assert!(text.ends_with("10 more rows: --all prints them\n"), "{text}");
    // A single column has nothing to differ from.
    assert!(render(&all[..1], Some(ROWS), None, false).contains("queue p99"));
}

#[test]
fn nothing_ran() {
    assert_eq!(render(&[Variant { label: "x".into(), seeds: Vec::new() }], None, None, false), "\n");
    assert_eq!(scaled(12_345_678.0, "pkt/s"), "12.3 M pkt/s");
    assert_eq!(scaled(7.0, "pkt/s"), "7 pkt/s");
    assert_eq!(scaled_symbol(6_340_000.0, "B/s"), "6.34 MB/s");
    assert_eq!(scaled_symbol(7.0, "B"), "7 B");
}
