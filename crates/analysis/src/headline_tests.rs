use super::*;
use crate::cells::tests::{Given, data as networks, subject};
use crate::data::{Network, Port, Query, Run, Timeout};

fn sentences(data: &Data) -> Vec<String> {
    headline(data).sentences
}

/// One run per value of the metrics for each network.
fn with_runs(mut d: Data, seeds: u32) -> Data {
    for network in 0..d.networks.len() {
        d.runs.extend((0..seeds).map(|number| Run { network, number, ..Run::default() }));
    }
    d
}

/// Queries that wait for timeouts, with three seeds.
fn incast() -> Data {
    let (slow, fast) = ([0.210, 0.214, 0.218], [0.021, 0.0214, 0.0218]);
    let mut d = with_runs(
        networks(&[
            ("newreno", &[("qct_p99_s", &slow), ("rtos_per_query", &[1.1, 1.2, 1.3]), ("queue_p99_pkts", &[100.0; 3])]),
            ("cubic", &[("qct_p99_s", &slow), ("rtos_per_query", &[1.2, 1.3, 1.4]), ("queue_p99_pkts", &[100.0; 3])]),
            ("dctcp", &[("qct_p99_s", &fast), ("rtos_per_query", &[0.0, 0.02, 0.01]), ("queue_p99_pkts", &[21.0, 22.0, 23.0])]),
        ]),
        3,
    );
    d.timeouts = vec![Timeout { rto: 0.2, ..Timeout::default() }; 5];
    let query = |run, qct| Query {
        run,
        class: Some(0),
        start_ns: 0,
        qct,
        bytes: 2_560_000,
        groups: 1,
        receiver: None,
        ..Query::default()
    };
    d.queries = [[query(0, Some(0.25)); 10], [query(3, Some(0.25)); 10], [query(6, Some(0.02)); 10]].concat();
    d.queries.push(query(6, None));
    d
}

#[test]
fn headline_metrics_exist() {
    let all = BY_TRAFFIC.iter().copied().flatten().chain([&TIMEOUTS, &SMALL_MEAN, &SHARE, &FAIRNESS, &GOODPUT, &QUEUE]);
    for t in all {
        assert!(metrics().any(|m| m.name == t.metric), "{}", t.metric);
    }
}

#[test]
fn comparison_names_best_and_cause() {
    let output = sentences(&incast());
    assert_eq!(
        output,
        [
            "**dctcp** has the lowest 99th percentile of query completion times: **21.4 ms**, **10 times** less than newreno (214 ms) \
             and **10 times** less than cubic (214 ms).",
            "Cause: timeouts per query: **1.2 with newreno and 1.3 with cubic**, 0.01 with dctcp. A timeout costs **200 ms** (median).",
            "The queue at bottleneck is shortest with **dctcp**: **22 packets** at the 99th percentile, against 100 with newreno and 100 \
             with cubic.",
        ]
    );
}

/// The number of queries is named if they are few.
#[test]
fn few_queries_weaken_the_cause() {
    let mut d = incast();
    let all = std::mem::take(&mut d.queries);
    d.queries = all.iter().step_by(4).copied().collect();
    let output = sentences(&d);
    let begin = "Likely cause, from only 3 queries of newreno and 2 queries of cubic: timeouts per query: **1.2 with newreno and";
    assert!(output[1].starts_with(begin), "{output:?}");
}

#[test]
fn timeouts_must_explain_the_difference() {
    let mut d = incast();
    d.timeouts.iter_mut().for_each(|t| t.rto = 0.01);
    assert!(!sentences(&d).iter().any(|s| s.contains("ause: timeouts")), "12 ms are not 230 ms");
    let mut d = incast();
    d.subjects[2] = subject("dctcp", 2, &[("qct_p99_s", &[0.021, 0.0214, 0.0218]), ("rtos_per_query", &[1.2, 1.3, 1.4])]);
    assert!(!sentences(&d).iter().any(|s| s.contains("ause: timeouts")), "the fastest has as many");
    let mut d = incast();
    d.timeouts.clear();
    assert!(!sentences(&d).iter().any(|s| s.contains("ause: timeouts")), "no timeout was recorded");
}

#[test]
fn overlapping_intervals_are_no_difference() {
    let d = with_runs(
        networks(&[
            ("a", &[("fct_small_p99_s", &[0.9e-3, 1.1e-3, 1.0e-3])]),
            ("b", &[("fct_small_p99_s", &[1.0e-3, 1.2e-3, 1.1e-3])]),
        ]),
        3,
    );
    assert_eq!(
        sentences(&d),
        [
            "No difference of 20 % or more in the 99th percentile of completion times of messages up to 100 KB between a and b: 1 ms to 1.1 ms \
             over 3 seeds."
        ]
    );
    // A third, much worse subject.
    let mut far = d.clone();
    far.networks.push(Network { first: 2, groups: 1, ..Network::default() });
    far.subjects.push(subject("c", 2, &[("fct_small_p99_s", &[9e-3, 9.1e-3, 9.2e-3])]));
    let output = sentences(&far);
    assert!(output[0].contains("**a** has the lowest") && output[0].contains("**9.1 times** less than c (9.1 ms)"), "{output:?}");
    assert!(output[0].ends_with("; the difference from b (1.1 ms ± 100 µs) is not significant over 3 seeds."), "{output:?}");
}

/// The interval of 0.6, 1.5 and 1.1 s reaches below zero, although each of them is twenty times the other subject's value.
#[test]
fn times_are_compared_as_multiples() {
    let of = |values: &'static [f64]| [("qct_p99_s", values)];
    let d = with_runs(networks(&[("a", &of(&[0.024, 0.026, 0.028])), ("b", &of(&[0.6, 1.5, 1.1]))]), 3);
    assert_eq!(
        sentences(&d)[0],
        "**a** has the lowest 99th percentile of query completion times: **26 ms**, **41 times** less than b (1.07 s)."
    );
}

#[test]
fn few_seeds_give_no_ranking() {
    let wide = |values: &'static [f64]| [("qct_p99_s", values)];
    let d = with_runs(networks(&[("a", &wide(&[0.06, 0.062])), ("b", &wide(&[0.4, 1.2]))]), 2);
    assert_eq!(
        sentences(&d)[0],
        "Too few runs to rank the 99th percentile of query completion times: a 61 ms and b 800 ms; in 2 runs the difference ranges from \
         +567 % to +1835 %; about 3 runs (--runs) would decide."
    );
}

#[test]
fn one_seed_is_noted() {
    let d = with_runs(networks(&[("a", &[("deadlines_missed", &[0.1])]), ("b", &[("deadlines_missed", &[0.2])])]), 1);
    let output = sentences(&d);
    assert_eq!(output[0], "**a** has the lowest fraction of missed deadlines: **10 %**, **2 times** less than b (20 %).");
    assert!(output[1].contains("Only one seed"), "{output:?}");
    let same = with_runs(networks(&[("a", &[("deadlines_missed", &[0.0])]), ("b", &[("deadlines_missed", &[0.0])])]), 1);
    assert_eq!(sentences(&same)[0], "a and b have the same fraction of missed deadlines: 0 %.");
    // No ratio to zero.
    let none = with_runs(networks(&[("a", &[("deadlines_missed", &[0.0])]), ("b", &[("deadlines_missed", &[0.2])])]), 1);
    assert!(sentences(&none)[0].ends_with("**0 %**, against 20 % of b."), "{:?}", sentences(&none));
}

/// One network with two groups of long flows.
fn shared(a: &[f64], b: &[f64]) -> Data {
    let mut d = Data::default();
    d.networks.push(Network { groups: 2, variant: "v".into(), ..Network::default() });
    let fair: &[f64] = &[0.61; 3];
    let of = |name, bps| subject(name, 0, &[("long_goodput_bps", bps), ("long_flows", &[4.0; 3]), ("fairness_all", fair)]);
    d.subjects = vec![of("cubic", a), of("dctcp", b)];
    with_runs(d, 3)
}

#[test]
fn groups_that_share_a_network() {
    let d = shared(&[780e6, 781e6, 779e6], &[150e6, 151e6, 149e6]);
    let h = headline(&d);
    assert_eq!(
        h.sentences,
        [
            "A long flow of **cubic** gets **780 Mbit/s**, **5.2** times that of one of dctcp (150 Mbit/s); Jain's fairness index over all \
             long flows is 0.61."
        ]
    );
    // A larger share for one is a smaller one for the other: there is no direction.
    assert_eq!((h.charts[0].title.as_str(), h.charts[0].better.as_str()), ("goodput per long flow", ""));
    let output = sentences(&shared(&[460e6, 480e6, 470e6], &[450e6, 470e6, 460e6]));
    assert!(
        output[0].starts_with("A long flow gets the same goodput in cubic and dctcp within the accuracy of 3 seeds"),
        "{output:?}"
    );
    let output = sentences(&shared(&[940e6; 3], &[0.0; 3]));
    assert!(output[0].starts_with("A long flow of **cubic** gets **940 Mbit/s**, one of dctcp 0 bit/s"), "{output:?}");
}

#[test]
fn groups_compare_across_variants() {
    let mut d = Data::default();
    for (n, variant) in ["x", "y"].into_iter().enumerate() {
        d.networks.push(Network { name: variant.into(), variant: variant.into(), first: 2 * n, groups: 2, ..Network::default() });
        for group in ["old", "new"] {
            let late = 0.1 * (n + 1) as f64;
            let mut s = subject(&format!("{variant}/{group}"), n, &[("deadlines_missed", &[late, late])]);
            s.group = group.into();
            d.subjects.push(s);
        }
    }
    let output = sentences(&with_runs(d, 2));
    assert!(output[0].starts_with("For **old**: **x/old** has the lowest fraction of missed deadlines: **10 %**"), "{output:?}");
    assert!(output[1].starts_with("For **new**: **x/new**"), "{output:?}");
}

#[test]
fn a_single_subject_is_described() {
    let metrics: Given = &[
        ("qct_p50_s", &[0.214]),
        ("qct_p99_s", &[0.230]),
        ("rtos_per_query", &[1.2]),
        ("queue_mean_pkts", &[40.0]),
        ("queue_max_pkts", &[100.0]),
        ("drops", &[500.0]),
    ];
    let mut d = with_runs(networks(&[("newreno", metrics)]), 1);
    d.hosts.push("recv".into());
    d.ports.push(Port { to: "recv".into(), from_switch: true, rate_bps: 1e9, ..Port::default() });
    d.queries = vec![Query {
        run: 0,
        class: Some(0),
        start_ns: 0,
        qct: Some(0.214),
        bytes: 2_625_000,
        groups: 1,
        receiver: Some(0),
        ..Query::default()
    }];
    d.timeouts.push(Timeout { rto: 0.2, ..Timeout::default() });
    assert_eq!(
        sentences(&d),
        [
            "**1.2 timeouts per query**: a query takes **214 ms** (median), **230 ms** (99th percentile), compared with 21 ms on an \
             unloaded link. A timeout costs 200 ms (median).",
            "The queue at bottleneck holds **40 packets** on average, 100 at most; 500 packets are dropped per run.",
        ]
    );
    // Drops at other ports are not attributed to this port.
    d.ports[0].name = "bottleneck".into();
    d.ports[0].drops = 300.0;
    assert!(sentences(&d)[1].ends_with("500 packets are dropped per run, 300 of them at this port."), "{:?}", sentences(&d));
    // Without timeouts, and with nothing but goodput.
    d.subjects[0].values[metrics_index("rtos_per_query")] = vec![0.0];
    assert!(sentences(&d)[0].starts_with("A query takes **214 ms**"), "{:?}", sentences(&d));
    let plain = networks(&[("udp", &[("goodput_bps", &[1e9])])]);
    assert_eq!(sentences(&plain), ["The goodput is **1 Gbit/s**."]);
}

fn metrics_index(name: &str) -> usize {
    metrics().position(|m| m.name == name).unwrap()
}

#[test]
fn charts_match_sentences() {
    let h = headline(&incast());
    let titles: Vec<(&str, &str)> = h.charts.iter().map(|c| (c.title.as_str(), c.better.as_str())).collect();
    let less = "less is better";
    assert_eq!(titles, [("query completion p99", less), ("timeouts per query", less), ("queue p99, bottleneck", less)]);
    assert_eq!(h.charts[0].values.len(), 3);
    assert!(headline(&Data::default()).charts.is_empty());
}

#[test]
fn unfinished_is_not_ranked_first() {
    let of = |p99: f64, known: f64| [("qct_p99_s", vec![p99]), ("queries_exact_quantile", vec![known])];
    let say = |a: f64, b: f64| {
        let (a, b) = (of(a, 0.5), of(b, 1.0));
        let given =
            |of: &'_ [(&'static str, Vec<f64>)]| subject("", 0, &of.iter().map(|(m, v)| (*m, v.as_slice())).collect::<Vec<_>>());
        let mut d = networks(&[("cut", &[]), ("whole", &[])]);
        for (s, of) in [&a, &b].into_iter().enumerate() {
            d.subjects[s].values = given(of).values;
        }
        sentences(&with_runs(d, 1))[0].clone()
    };
    assert_eq!(
        say(0.02, 0.0332),
        "The 99th percentile of query completion times of **whole** is **33.2 ms**; cut (at least 20 ms) cannot be ranked: it was \
         still running at the end."
    );
    assert_eq!(
        say(1.0, 0.0386),
        "**whole** has the lowest 99th percentile of query completion times: **38.6 ms**, **at least 26 times** less than cut (at least 1 s)."
    );
    // A bound close to the best value has no ratio to it.
    assert_eq!(
        say(0.0333, 0.0332),
        "**whole** has the lowest 99th percentile of query completion times: **33.2 ms**; cut (at least 33.3 ms) exceeds it by an unknown amount."
    );
}

#[test]
fn small_differences_are_called_small() {
    let d = with_runs(networks(&[("a", &[("goodput_bps", &[979e6; 3])]), ("b", &[("goodput_bps", &[973e6; 3])])]), 3);
    assert_eq!(sentences(&d), ["The goodput is nearly the same: 973 Mbit/s to 979 Mbit/s."]);
}

#[test]
fn groups_compare_by_position() {
    let mut d = Data::default();
    for (n, cc) in ["reno", "cubic"].into_iter().enumerate() {
        d.networks.push(Network { name: cc.into(), variant: cc.into(), first: 2 * n, groups: 2, ..Network::default() });
        let late = 0.1 * (n + 1) as f64;
        d.subjects.push(subject(cc, n, &[("deadlines_missed", &[late])]));
        d.subjects.push(subject("udp", n, &[]));
    }
    let output = sentences(&with_runs(d, 1));
    assert!(output[0].starts_with("**reno** has the lowest fraction of missed deadlines"), "{output:?}");

    let mut d = Data::default();
    d.networks.push(Network { groups: 2, ..Network::default() });
    let queries: Given = &[("qct_p50_s", &[282e-6]), ("qct_p99_s", &[628e-6])];
    let bulk: Given = &[("long_flows", &[2.0]), ("goodput_bps", &[9.6e9]), ("long_fairness", &[0.998])];
    d.subjects = vec![subject("services", 0, queries), subject("bulk", 0, bulk)];
    let output = sentences(&with_runs(d, 2));
    assert_eq!(
        output,
        [
            "**services**: A query takes **282 µs** (median), **628 µs** (99th percentile).",
            "**bulk**: 2 long flows have a total goodput of **9.6 Gbit/s**; Jain's fairness index is 0.998.",
        ]
    );
}
