use super::*;
use forebay_analysis::{Flow, Network, QueueSeries, Run, Subject, metrics};

/// `n` messages and `samples` samples of a queue for each of three transports with three seeds.
fn large(n: u64, samples: i64) -> Data {
    let mut d = Data::default();
    for (s, name) in ["a", "b", "c"].into_iter().enumerate() {
        let metrics = metrics().count();
        d.networks.push(Network { name: name.into(), variant: name.into(), first: s, groups: 1, ..Network::default() });
        d.subjects.push(Subject {
            name: name.into(),
            group: name.into(),
            network: s,
            values: vec![vec![1.0, 1.1, 1.2]; metrics],
            ..Subject::default()
        });
        for number in 0..3 {
            let run = d.runs.len();
            d.runs.push(Run { network: s, number, seed: number.into(), end_ns: samples * 1_000_000, ..Run::default() });
            // Sizes and times without a pattern, from a multiplicative generator.
            let mut state = 12_345 + run as u64;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state >> 33
            };
            for _ in 0..n / 9 {
                let size = 1_000 + next() % 20_000_000;
                let fct = size as f64 * 8e-9 * (1.0 + (next() % 1_000) as f64 / 100.0);
                d.flows.push(Flow {
                    subject: s,
                    run,
                    size,
                    acked_ns: None,
                    fct: Some(fct),
                    slowdown: Some(fct / (size as f64 * 8e-9)),
                    measured: size,
                    ..Flow::default()
                });
            }
            d.queues.push(QueueSeries {
                run,
                port: "bottleneck".into(),
                times: (0..samples).map(|i| i * 1_000_000).collect(),
                pkts: (0..samples).map(|_| (next() % 100) as f64).collect(),
                drops: (0..samples as u64).map(|i| i / 10).collect(),
                marks: (0..samples as u64).map(|i| i * 3).collect(),
            });
        }
    }
    d
}

#[test]
fn long_series_page_small_and_deterministic() {
    let d = large(9_000, 200_000);
    let page = serde_json::to_string(&from_data(&d, &[])).unwrap();
    assert!(page.len() < 2_500_000, "{} bytes", page.len());
    assert!(page.contains("minimum and maximum"), "the reduction is not noted");
    assert!(page == serde_json::to_string(&from_data(&d, &[])).unwrap());
}

#[test]
fn section_order() {
    let page = from_data(&large(900, 100), &[]);
    let ids: Vec<&str> = page.sections.iter().map(|s| s.id.as_str()).collect();
    assert_eq!(ids, ["sizes", "queue"]);
    let mut figures: Vec<&str> = page.sections.iter().flat_map(|s| &s.figures).map(|f| f.id.as_str()).collect();
    assert_eq!(
        figures,
        [
            "timeline-messages",
            "fct-by-size-flows",
            "slowdown-by-size-flows",
            "cdf-fct",
            "cdf-slowdown",
            "queue-over-time",
            "cdf-queue"
        ]
    );
    figures.sort_unstable();
    assert!(figures.windows(2).all(|w| w[0] != w[1]), "ids are unique: {figures:?}");
    let terms: Vec<&str> = page.glossary.iter().map(|t| t.name.as_str()).collect();
    assert!(terms.contains(&"goodput") && terms.contains(&"slowdown") && terms.contains(&"mark"), "{terms:?}");
}

/// Two results with the same two groups, or with one group each.
fn compared(groups: usize) -> Page {
    let mut d = Data::default();
    for network in 0..2 {
        d.networks.push(Network { first: network * groups, groups, ..Network::default() });
        for g in 0..groups {
            let name = format!("result{network}/group{g}");
            d.subjects.push(Subject { name, group: format!("group{g}"), network, ..Subject::default() });
        }
    }
    from_data(&d, &[])
}

#[test]
fn colour_is_result_symbol_is_group() {
    let page = compared(2);
    let styles: Vec<(usize, usize)> = (0..4).map(|i| page.style(i)).map(|s| (s.hue, s.shape)).collect();
    assert_eq!(styles, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    let json = serde_json::to_string(&page.subjects[2]).unwrap();
    assert_eq!(json, r#"{"name":"result1/group0","hue":1,"shape":0}"#);
    // One group for each result: colors and symbols differ.
    assert_eq!(compared(1).style(1), Style { hue: 1, shape: 1 });
    assert_eq!(serde_json::to_string(&compared(1).subjects[1]).unwrap(), r#"{"name":"result1/group0"}"#);
}
