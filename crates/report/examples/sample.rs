//! A page with every kind of chart and difficult data, for inspection and for the browser tests; the numbers are invented.
//!
//! `cargo run -p forebay-report --example sample -- DIRECTORY` writes `three.html`, `small.html`, `twelve.html`, `one.html` and `hostile.html`; the
//! first has 20 000 points a line.

use forebay_report::page::*;
use forebay_report::render;
use std::f64::consts::PI;

/// Noise from 0 to 1 that is equal on every machine.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

fn main() -> std::io::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let three = ["newreno", "cubic", "dctcp"].map(String::from);
    let twelve: Vec<String> =
        ["newreno", "cubic", "dctcp", "trim", "bbr", "pias", "prin", "pfabric", "ictcp", "proboscis", "d2tcp", "hull"]
            .iter()
            .enumerate()
            .map(|(i, n)| format!("{n}, {} flows", 8 << (i % 4)))
            .collect();
    let evil = ["</script><img src=x onerror=alert(1)>", "\"><svg onload=alert(2)>", "=cmd|' /C calc'!A0"].map(String::from);
    for (name, subjects, points, title) in [
        ("three", &three[..], 20_000, "Incast over web-search traffic"),
        ("small", &three[..], 1_000, "Incast over web-search traffic"),
        ("twelve", &twelve[..], 2_000, "Twelve transports on a leaf-spine fabric"),
        ("one", &three[2..], 1_000, "DCTCP alone"),
        ("hostile", &evil[..], 1_000, "</title></script><img src=x onerror=alert(document.title)>"),
    ] {
        std::fs::write(format!("{dir}/{name}.html"), render(&page(title, subjects, points)))?;
    }
    Ok(())
}

fn cell(mean: f64, half: f64) -> Option<Cell> {
    Some(Cell { mean, ends: (half > 0.0).then_some((mean - half, mean + half)), ..Cell::default() })
}

/// A value for each subject.
fn each(n: usize, value: impl Fn(f64) -> Option<Cell>) -> Vec<Option<Cell>> {
    (0..n).map(|i| value(i as f64)).collect()
}

fn page(title: &str, names: &[String], points: usize) -> Page {
    let n = names.len();
    let subject = |i: usize| names[i % n].clone();
    Page {
        title: title.to_owned(),
        summary: format!("{n} transports, 3 seeds each, 20 s of simulated time; 40 senders to one receiver over a 10 Gbit/s port of 225 kB"),
        facts: [
            ("fingerprint", "5f1c09c2a8b7e310"),
            ("forebay", "0.1.0"),
            ("started", "2026-11-21 09:30:00 UTC"),
            ("machine", "AMD EPYC, 2 cores"),
            ("speed", "31.2 M packet-hops/s"),
        ]
        .iter()
        .map(|(l, v)| Fact { label: (*l).to_owned(), value: (*v).to_owned() })
        .collect(),
        notes: vec!["The marking threshold of 65 packets is below the 0.17 × bandwidth × delay that DCTCP needs to keep the link full.".into()],
        subjects: names.iter().map(|name| Subject { name: name.clone(), ..Subject::default() }).collect(),
        headline: Headline {
            sentences: vec![
                format!("**{}** finishes queries in 1.21 ms at the 99th percentile, **168 times** sooner than {}.", subject(2), subject(0)),
                format!("{} had 412 retransmission timeouts, {} none; the queue at the receiver's port was 20 packets instead of 143.", subject(0), subject(2)),
            ],
            charts: vec![
                HeadlineChart {
                    title: "Query completion, p99".into(),
                    unit: Dimension::Seconds,
                    better: "less is better".into(),
                    values: each(n, |i| cell(203.4e-3 / (1.0 + 2.0 * i), 9.1e-3 / (1.0 + i))),
                },
                HeadlineChart {
                    title: "Goodput".into(),
                    unit: Dimension::BitsPerSecond,
                    better: "more is better".into(),
                    values: each(n, |i| if i == 1.0 { None } else { cell(3.1e9 + 6e9 * (i / 12.0), 0.2e9) }),
                },
                HeadlineChart {
                    title: "Mean queue".into(),
                    unit: Dimension::Packets,
                    better: "less is better".into(),
                    values: each(n, |i| cell(143.0 - 11.0 * i, 3.0)),
                },
            ],
        },
        differences: (n > 1).then(|| differences(names)),
        table: table(n),
        sections: sections(names, points),
        scenarios: vec![ScenarioText {
            file: format!("scenarios/{title}.toml"),
            text: "# Incast over background traffic\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\n\n[[workload]]\nkind = \"incast\"\nfanout = 40\nsize = \"64 kB\"\n".into(),
            overrides: vec!["run.seeds=[1, 2, 3]".into(), "transport.cc=[\"newreno\", \"cubic\", \"dctcp\"]".into()],
            resolved: names.iter().map(|s| (s.clone(), "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nrate = \"10Gbps\"\n".repeat(6))).collect(),
        }],
        glossary: vec![
            Term { name: "goodput".into(), unit: "bit/s".into(), text: "Bytes of messages delivered to applications in the measured time, times 8.".into() },
            Term { name: "slowdown".into(), unit: String::new(), text: "Completion time of a flow over what it would be alone in the network.".into() },
            Term { name: "queue".into(), unit: "packets".into(), text: "What waits at a port, without the packet on the wire; means are over time.".into() },
            Term { name: "alpha".into(), unit: String::new(), text: "DCTCP's estimate of the fraction of marked bytes (RFC 8257, 3.3).".into() },
        ],
        ..Page::default()
    }
}

/// Changes from the first subject: clear ones, unclear ones, and one without a ratio.
fn differences(names: &[String]) -> Differences {
    let value = |mean: f64| Cell { mean, ends: Some((0.9 * mean, 1.1 * mean)), ..Cell::default() };
    let change = |unit: f64, subject: usize| {
        let ratio = (subject % 5 < 4).then(|| 2f64.powi(1 - subject as i32));
        Change {
            subject,
            name: names[subject].clone(),
            base: value(unit),
            value: value(unit * ratio.unwrap_or(2.0)),
            ratio,
            ends: ratio.map(|r| (r / 1.4, r * 1.5)),
            clear: ratio.is_some_and(|r| !(1.0 / 1.5..=1.4).contains(&r)),
            words: if ratio.is_some() {
                "many times shorter (from some to others)"
            } else {
                "unknown: work was unfinished at the end"
            }
            .into(),
        }
    };
    let quantity = |title: &str, unit: Dimension, size: f64| Quantity {
        title: title.into(),
        unit,
        changes: (1..names.len()).map(|s| change(size, s)).collect(),
    };
    let quantities = vec![
        quantity("queries of incast: 99th percentile", Dimension::Seconds, 0.203),
        quantity("retransmission timeouts", Dimension::Count, 24_521.0),
    ];
    Differences { base: names[0].clone(), quantities, note: "Intervals are invented.".into() }
}

fn table(n: usize) -> MetricTable {
    let row = |label: &str, unit, help: &str, cells| MetricRow { label: label.into(), unit, help: help.into(), cells };
    MetricTable {
        rows: vec![
            row(
                "goodput",
                Dimension::BitsPerSecond,
                "Bytes delivered to applications, times 8, over the measured time.",
                each(n, |i| cell(9.41e9 / (1.0 + i / 4.0), 0.02e9)),
            ),
            row(
                "query completion, p50",
                Dimension::Seconds,
                "Half of the queries took no longer.",
                each(n, |i| cell(812e-6 * (1.0 + i), 15e-6)),
            ),
            row(
                "query completion, p99",
                Dimension::Seconds,
                "One of a hundred took longer.",
                each(n, |i| cell(203e-3 / (1.0 + 60.0 * i), 1e-3 / (1.0 + i))),
            ),
            row(
                "queue, mean",
                Dimension::Packets,
                "Mean over time at the receiver's port.",
                each(n, |i| cell(143.2 / (1.0 + i), 1.1)),
            ),
            row(
                "marks",
                Dimension::Count,
                "Congestion marks set by queues.",
                each(n, |i| if i < 2.0 { None } else { cell(1234567.0, 3201.0) }),
            ),
            row(
                "timeouts",
                Dimension::Count,
                "Retransmission timers that ran out.",
                each(n, |i| cell(f64::max(0.0, 412.0 - 206.0 * i), 4.0)),
            ),
            row("link utilization", Dimension::Fraction, "", each(n, |i| cell(0.998 - 0.03 * i, 0.001))),
            row(
                "Jain's index",
                Dimension::Ratio,
                "Fairness of goodput among flows: 1 is equal shares.",
                each(n, |i| cell(0.71 + 0.02 * i, 0.01)),
            ),
            row(
                "bytes retransmitted",
                Dimension::Bytes,
                "Payload sent more than once.",
                each(n, |i| cell(5.2e6 / (1.0 + 900.0 * i), 2e4)),
            ),
        ],
    }
}

fn figure(id: &str, title: &str, text: &str, choice: &str, views: Vec<(&str, Chart)>) -> Figure {
    let views = views.into_iter().map(|(name, chart)| View { name: name.into(), chart }).collect();
    Figure { id: id.into(), title: title.into(), text: text.into(), choice: choice.into(), views }
}

fn sections(names: &[String], long: usize) -> Vec<Section> {
    let section = |id: &str, title: &str, text: &str, figures| Section {
        id: id.into(),
        title: title.into(),
        text: text.into(),
        figures,
        ..Section::default()
    };
    // One long view; the others are alternatives.
    let seeds = |names: &[String]| {
        [("seed 3", 3, long), ("seed 5", 5, 1_000), ("seed 10", 10, 1_000)]
            .map(|(name, seed, points)| (name, queue(names, seed, points)))
            .into()
    };
    vec![
        section(
            "queue",
            "Queue",
            "What waited at the port that leads to the receiver.",
            vec![
                figure(
                    "queue-time",
                    "Queue over time",
                    "The band is from the least to the most within a point's time.",
                    "seed",
                    seeds(names),
                ),
                figure("queue-cdf", "How often the queue was how long", "", "", vec![("", queue_cdf(names))]),
            ],
        ),
        section(
            "flows",
            "Completion times",
            "From the first byte's sending to the last one's arrival.",
            vec![
                figure(
                    "fct",
                    "Completion time by size",
                    "Bars are medians.",
                    "size bins",
                    vec![
                        ("small/medium/large", bars(names, &["< 100 kB", "100 kB – 1 MB", "> 1 MB"], false)),
                        (
                            "equal counts",
                            bars(names, &["0.1–1.2 kB", "1.2–3.1 kB", "3.1–9.8 kB", "9.8–55 kB", "55–300 kB", "0.3–30 MB"], true),
                        ),
                        (
                            "by length",
                            bars(
                                names,
                                &["1 kB", "2 kB", "5 kB", "10 kB", "20 kB", "50 kB", "100 kB", "200 kB", "500 kB", "1 MB"],
                                true,
                            ),
                        ),
                    ],
                ),
                figure("fct-cdf", "Distribution of completion times", "", "", vec![("", fct_cdf(names))]),
            ],
        ),
        section(
            "incast",
            "Goodput against the number of senders",
            "",
            vec![figure("sweep", "Incast curve", "Bands are 95 % confidence intervals.", "", vec![("", sweep(names))])],
        ),
        section(
            "slowest",
            "Slowest query",
            "",
            vec![figure("lanes", "Timeline of the slowest query", "", "", vec![("", lanes())])],
        ),
        section(
            "windows",
            "Windows of chosen connections",
            "",
            vec![figure("tcp", "Window, alpha and round-trip time", "", "", vec![("", windows(names, long))])],
        ),
        section(
            "network",
            "The network",
            "",
            vec![figure("topology", "Utilization of links", "", "", vec![("", network(names))])],
        ),
    ]
}

/// Two servers, of which one has two timeouts and is unfinished, and one a tail loss probe.
fn lanes() -> Chart {
    let span = |kind, from, to| Span { kind, from, to, unfinished: false, text: vec![format!("{from} s to {to} s")] };
    let response = |to| span(SpanKind::Response, 0.001, to);
    let lane = |name: &str, spans| TimelineRow { name: name.into(), spans };
    Chart::Lanes(LaneChart {
        subject: 0,
        caption: "Query 17 of seed 3 was unfinished after 700 ms. Main cause of delay: retransmission timeout.".into(),
        command: "forebay explain out/a-directory-with-a-long-name --variant 'newreno' --run 2 --query 17".into(),
        lanes: vec![
            lane(
                "leaf0-host12",
                vec![
                    span(SpanKind::Request, 0.0, 0.001),
                    Span { unfinished: true, ..response(0.7) },
                    span(SpanKind::Timeout, 0.004, 0.204),
                    span(SpanKind::Timeout, 0.21, 0.61),
                ],
            ),
            lane("h3", vec![span(SpanKind::Request, 0.0, 0.001), response(0.05), span(SpanKind::Probe, 0.002, 0.022)]),
        ],
        length: 0.7,
    })
}

/// 20 s of reduced series, with gaps and events.
fn queue(names: &[String], seed: u64, points: usize) -> Chart {
    let step = 20.0 / points as f64;
    let (mut lines, mut events) = (Vec::new(), Vec::new());
    for (i, name) in names.iter().enumerate() {
        let mut noise = Noise(seed * 1000 + i as u64);
        let level = 150.0 / (1.0 + i as f64);
        let (mut y, mut low) = (Vec::new(), Vec::new());
        for k in 0..points {
            let saw = (k as f64 * step / (0.9 + 0.13 * i as f64)).fract();
            let base = level * (0.55 + 0.45 * saw);
            let gap = i == 1 && (9.0..9.8).contains(&(k as f64 * step));
            y.push((!gap).then(|| (base + 12.0 * noise.next()).round()));
            low.push((!gap).then(|| (base * 0.8 - 8.0 * noise.next()).max(0.0).round()));
        }
        lines.push(TimeLine {
            subject: Some(i),
            label: name.clone(),
            at: Times::Even { from: 0.0, step },
            y,
            low,
            strokes: false,
        });
        let mut times = |n: usize, kind| {
            let mut at: Vec<f64> = (0..n).map(|_| (noise.next().powi(2) * 20.0 * 1e4).round() / 1e4).collect();
            at.sort_by(f64::total_cmp);
            let n = at.iter().map(|_| 1 + (noise.next() * 30.0) as u64).collect();
            events.push(Events {
                subject: Some(i),
                label: format!(
                    "{name} {}",
                    match kind {
                        EventKind::Mark => "marks",
                        EventKind::Drop => "drops",
                        EventKind::Timeout => "timeouts",
                    }
                ),
                kind,
                at,
                n,
            });
        };
        if (2..4).contains(&i) {
            times(2500, EventKind::Mark);
        }
        if i < 2 {
            times(160, EventKind::Drop);
            times(14, EventKind::Timeout);
        }
    }
    Chart::Time(TimeChart {
        panels: vec![Panel {
            title: "Queue of leaf0 to host0".into(),
            unit: Dimension::Packets,
            lines,
            events,
            thresholds: vec![Threshold { name: "K".into(), value: 65.0 }],
            tall: false,
        }],
        note: format!("Each point stands for {} ms: the least and the most within it.", step * 1e3),
    })
}

/// Three panels; two connections of each subject with different sample times.
fn windows(names: &[String], points: usize) -> Chart {
    let mut panels: Vec<Panel> =
        [("Congestion window", Dimension::Segments), ("Alpha", Dimension::Ratio), ("Round-trip time", Dimension::Seconds)]
            .map(|(title, unit)| Panel { title: title.into(), unit, ..Panel::default() })
            .into();
    for (i, name) in names.iter().enumerate().take(4) {
        for c in 0..2 {
            let mut noise = Noise(77 + 10 * i as u64 + c);
            let mut at = Vec::new();
            let (mut cwnd, mut alpha, mut rtt) = (Vec::new(), Vec::new(), Vec::new());
            let (mut t, mut w) = (0.01 * c as f64, 10.0);
            while t < 20.0 {
                t += (18.0 / points as f64).max(0.004) * (0.5 + noise.next());
                w = if w > 40.0 + 10.0 * i as f64 + 6.0 * noise.next() { w * 0.5 } else { w + 0.4 };
                at.push((t * 1e6).round() / 1e6);
                cwnd.push(Some((w * 100.0_f64).round() / 100.0));
                alpha.push(Some(((0.3 + 0.2 * (t / 3.0 + i as f64).sin()) * 1e4).round() / 1e4));
                rtt.push(Some((100e-6 + w * 1.2e-6 + 5e-6 * noise.next()) * 1.0));
            }
            for (panel, y) in panels.iter_mut().zip([cwnd, alpha, rtt]) {
                panel.lines.push(TimeLine {
                    subject: Some(i),
                    label: format!("{name}, connection {}", 3 + 4 * c),
                    at: Times::List(at.clone()),
                    y,
                    low: Vec::new(),
                    strokes: false,
                });
            }
        }
        panels[0].events.push(Events {
            subject: Some(i),
            label: format!("{name} timeouts"),
            kind: EventKind::Timeout,
            at: vec![3.0 + i as f64, 9.5],
            n: vec![1, 2],
        });
    }
    Chart::Time(TimeChart { panels, note: String::new() })
}

fn queue_cdf(names: &[String]) -> Chart {
    let line = |(i, name): (usize, &String)| {
        let x: Vec<f64> = (0..160).map(f64::from).collect();
        let y = x.iter().map(|q| Some(1.0 / (1.0 + (-(q - 140.0 / (1.0 + i as f64)) / 7.0).exp()))).collect();
        XyLine { subject: Some(i), label: name.clone(), x, y, step: true, ..XyLine::default() }
    };
    Chart::Lines(LineChart {
        x: Axis { title: "queue".into(), unit: Dimension::Packets, log: false },
        y: Axis { title: "Part of the time".into(), unit: Dimension::Fraction, log: false },
        points: false,
        lines: names.iter().enumerate().map(line).collect(),
    })
}

fn fct_cdf(names: &[String]) -> Chart {
    let line = |(i, name): (usize, &String)| {
        let x: Vec<f64> = (0..400).map(|k| 50e-6 * 10f64.powf(k as f64 / 90.0)).collect();
        let y = x.iter().map(|t| Some(1.0 / (1.0 + (-(t.log10() + 3.4 - 0.15 * i as f64) * 3.0).exp()))).collect();
        XyLine { subject: Some(i), label: name.clone(), x, y, step: true, dash: i == 1, ..XyLine::default() }
    };
    Chart::Lines(LineChart {
        x: Axis { title: "completion time".into(), unit: Dimension::Seconds, log: true },
        y: Axis { title: "Part of the flows".into(), unit: Dimension::Fraction, log: false },
        points: false,
        lines: names.iter().enumerate().map(line).collect(),
    })
}

fn sweep(names: &[String]) -> Chart {
    let x: Vec<f64> = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128].map(f64::from).into();
    let line = |(i, name): (usize, &String)| {
        let value = |n: f64| 9.4e9 / (1.0 + (n / (12.0 + 14.0 * i as f64)).powi(4) * 0.2);
        let of = |f: f64| x.iter().map(|n| (*n != 24.0 || i != 0).then(|| value(*n) * f)).collect();
        XyLine {
            subject: Some(i),
            label: name.clone(),
            x: x.clone(),
            y: of(1.0),
            low: of(0.9),
            high: of(1.08),
            ..XyLine::default()
        }
    };
    Chart::Lines(LineChart {
        x: Axis { title: "senders".into(), unit: Dimension::Count, log: true },
        y: Axis { title: "Goodput".into(), unit: Dimension::BitsPerSecond, log: false },
        points: true,
        lines: names.iter().enumerate().map(line).collect(),
    })
}

fn bars(names: &[String], categories: &[&str], log: bool) -> Chart {
    let series = |i: usize| {
        let value = |k: usize| 120e-6 * 10f64.powf(3.2 * k as f64 / categories.len() as f64) * (1.0 + 0.3 * i as f64);
        Bars {
            subject: i,
            value: (0..categories.len()).map(|k| (k != 1 || i != 1).then(|| value(k))).collect(),
            mark: (0..categories.len())
                .map(|k| (k != 1 || i != 1).then(|| value(k) * (1.4 + (k as f64 * PI + i as f64).sin().abs())))
                .collect(),
            mark_name: "p99".into(),
            n: (0..categories.len()).map(|k| Some(12_000 / (k as u64 + 1))).collect(),
            ..Bars::default()
        }
    };
    Chart::Bars(BarChart {
        x_title: "size of the message".into(),
        y: Axis { title: "Completion time".into(), unit: Dimension::Seconds, log },
        categories: categories.iter().map(|c| (*c).to_owned()).collect(),
        series: (0..names.len()).map(series).collect(),
    })
}

fn network(names: &[String]) -> Chart {
    let mut nodes = Vec::new();
    for i in 0..2 {
        nodes.push(Node { name: format!("spine{i}"), count: 1, switch: true, x: 0.3 + 0.4 * f64::from(i), y: 0.0 });
    }
    for i in 0..4 {
        nodes.push(Node { name: format!("leaf{i}"), count: 1, switch: true, x: 0.1 + 0.2667 * f64::from(i), y: 0.45 });
    }
    for i in 0..8 {
        nodes.push(Node {
            name: if i == 0 { "host0".into() } else { format!("host{}–{}", 5 * i, 5 * i + 4) },
            count: if i == 0 { 1 } else { 5 },
            switch: false,
            x: f64::from(i) / 7.0,
            y: 1.0,
        });
    }
    let mut links = Vec::new();
    let mut noise = Noise(5);
    let mut link = |from: usize, to: usize, count, rate_bps| {
        for (a, b) in [(from, to), (to, from)] {
            let hot = b == 6 || (b == 2 && a < 2);
            let each = |f: &mut dyn FnMut(usize) -> f64| (0..names.len()).map(f).collect::<Vec<f64>>();
            links.push(Link {
                from: a,
                to: b,
                name: format!("{} → {}", nodes[a].name, nodes[b].name),
                count,
                rate_bps,
                utilization: each(&mut |i| if hot { 0.99 - 0.04 * i as f64 } else { 0.3 * noise.next() }),
                drops: each(&mut |i| if hot && i < 2 { 3120.0 } else { 0.0 }),
                marks: each(&mut |i| if hot && i >= 2 { 91234.0 } else { 0.0 }),
                queue_max: each(&mut |i| if hot { 150.0 - 10.0 * i as f64 } else { 4.0 }),
            });
        }
    };
    for leaf in 2..6 {
        for spine in 0..2 {
            link(spine, leaf, 1, 40e9);
        }
    }
    for host in 6..14 {
        link(2 + (host - 6) / 2, host, if host == 6 { 1 } else { 5 }, 10e9);
    }
    Chart::Topology(Topology {
        nodes,
        links,
        subjects: (0..names.len()).collect(),
        labels: names.to_vec(),
        note: "Hosts of one leaf are drawn together, five at a time.".into(),
    })
}
