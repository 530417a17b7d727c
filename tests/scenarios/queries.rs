//! Queries: selection of workers, dependencies between messages, and numbers of rows.

use crate::workloads::{RACKS, US, text};
use forebay_experiment::rows::FlowRow;
use forebay_tests::one;
use forebay_types::{NodeId, QueryId, WorkloadId};

/// DCTCP specification 4.5, 4.6: deadlines of blocks and answers count from the request.
#[test]
fn query_deadline_counts_from_request() {
    let o = one(
        &text(
            "kind = \"incast\"\nrequest = \"0B\"\nsenders = \"left\"\nreceiver = \"r0\"\nblock = \"64KB\"\nrounds = 4\njitter = \"1ms\"\ndeadline = \"3ms\"\n\
             [[workload]]\nkind = \"requests\"\nresponse = { uniform = [\"1KB\", \"5KB\"] }\ncount = 6\ndeadline = \"900us\"\ndeadline-max-size = \"3KB\"",
        ),
        &[],
    );
    let start = |f: &FlowRow| o.report.queries[f.query_id.expect("a message of a query").index()].start.0;
    let blocks = o.class("incast");
    assert!(blocks.len() == 12 && blocks.iter().all(|b| b.deadline.ps() == Some(start(b) + 3_000 * US)));
    for f in o.class("requests") {
        let answer = f.src > NodeId::new(2);
        let expected = (answer && f.size_bytes <= 3_000).then(|| start(f) + 900 * US);
        assert_eq!(f.deadline.ps(), expected);
    }
}

/// A round whose last sender has not begun when the run ends is not complete.
#[test]
fn round_cut_by_end_is_unfinished() {
    let o = one(
        &format!(
            "duration = \"200ms\"\n{}",
            text(
                "kind = \"incast\"\nrequest = \"0B\"\nsenders = \"left\"\nreceiver = \"r0\"\nblock = \"1KB\"\njitter = \"300ms\""
            )
        ),
        &["seed=3"],
    );
    let q = &o.report.queries[o.report.queries.len() - 1];
    assert!(q.fan_in < 3 && q.end.is_never(), "{q:?}");
}

/// Partition and aggregate, closed loop: all workers but the aggregator itself, one query at a time.
#[test]
fn aggregators_query_all_workers() {
    let o = one(
        &format!(
            "{RACKS}kind = \"queries\"\nrequest = \"0B\"\naggregators = [\"h0\", \"h5\"]\nworkers = \"all\"\ntotal = \"1MB\"\ngap = \"300us\"\ncount = 4\n\
             jitter = \"100us\"\nrequest-latency = \"25us\"\nstart = \"1ms\"\ndeadline = \"9ms\"\n"
        ),
        &[],
    );
    assert_eq!((o.report.queries.len(), o.report.flows.len()), (8, 88));
    for aggregator in [0, 5].map(NodeId::new) {
        let queries: Vec<_> = o
            .report
            .queries
            .iter()
            .filter(|q| o.report.flows.iter().any(|f| f.query_id == Some(q.query_id) && f.dst == aggregator))
            .collect();
        assert_eq!((queries.len(), queries[0].start.0), (4, 1_000 * US));
        assert!(queries.windows(2).all(|w| w[1].start.0 == w[0].end.ps().unwrap() + 300 * US));
        for q in queries {
            let answers: Vec<_> = o.report.flows.iter().filter(|f| f.query_id == Some(q.query_id)).collect();
            let workers: std::collections::BTreeSet<_> = answers.iter().map(|f| f.src).collect();
            assert_eq!(workers, (0..12).map(NodeId::new).filter(|h| *h != aggregator).collect());
            assert!(
                answers
                    .iter()
                    .all(|f| f.dst == aggregator && f.size_bytes == 90_910 && f.deadline.ps() == Some(q.start.0 + 9_000 * US))
            );
            let delays: Vec<u64> = answers.iter().map(|f| f.start.0 - q.start.0).collect();
            assert!(delays.iter().all(|d| (25 * US..=125 * US).contains(d)));
            assert!(delays.iter().max().unwrap() - delays.iter().min().unwrap() > 30 * US);
            assert_eq!((q.fan_in, q.bytes, q.end.ps()), (11, 1_000_010, answers.iter().map(|f| f.end.ps()).max().unwrap()));
        }
    }
}

/// Open loop: the configured rate, random sets of workers, overlapping queries.
#[test]
fn queries_as_a_poisson_process() {
    let o = one(
        &format!(
            "{RACKS}kind = \"queries\"\nrequest = \"0B\"\nfan-out = 3\nresponse = {{ uniform = [\"2KB\", \"80KB\"] }}\nrate = 400.0\nstop = \"200ms\"\n"
        ),
        &["transport.rto-min=5ms"],
    );
    // 12 hosts, 400 queries a second each, 0.2 s: five standard deviations.
    let n = o.report.queries.len() as f64;
    assert!((n - 960.0).abs() < 5.0 * 960_f64.sqrt(), "{n}");
    assert!(o.report.queries.iter().all(|q| q.fan_in == 3 && !q.end.is_never() && q.start.0 < 200_000 * US));
    let mut pairs = std::collections::BTreeMap::new();
    for q in &o.report.queries {
        let answers: Vec<_> = o.report.flows.iter().filter(|f| f.query_id == Some(q.query_id)).collect();
        let workers: std::collections::BTreeSet<_> = answers.iter().map(|f| f.src).collect();
        assert!(workers.len() == 3 && answers.iter().all(|f| f.src != f.dst && f.dst == answers[0].dst));
        answers.iter().for_each(|f| *pairs.entry((f.src, f.dst)).or_insert(0.0) += 1.0);
    }
    // Each of 132 ordered pairs is as likely as the others: chi-squared with 131 degrees of freedom, mean 131, deviation 16.
    let mean = 3.0 * n / 132.0;
    let chi: f64 = pairs.values().map(|c: &f64| (c - mean).powi(2) / mean).sum();
    assert!(pairs.len() == 132 && chi < 131.0 + 5.0 * 16.2, "{} {chi}", pairs.len());
    let of = |host: u32| o.report.flows.iter().filter(move |f| f.dst == NodeId::new(host)).filter_map(|f| f.query_id);
    let overlap = (0..12).flat_map(of).any(|id| {
        let q = &o.report.queries[id.index()];
        let dst = |id: QueryId| o.report.flows.iter().find(|f| f.query_id == Some(id)).map(|f| f.dst);
        o.report
            .queries
            .iter()
            .any(|p| p.start.0 > q.start.0 && q.end.ps().is_some_and(|end| p.start.0 < end) && dst(p.query_id) == dst(q.query_id))
    });
    assert!(overlap);
}

/// A query to all senders is a round of `incast`, to the packet.
#[test]
fn queries_of_all_senders_are_incast() {
    let text = |kind: &str| {
        let topology = "[topology]\nkind = \"many-to-one\"\nsenders = 9\naccess = { rate = \"1Gbps\", delay = \"20us\" }\n\
                        bottleneck = { rate = \"1Gbps\", delay = \"20us\", buffer = \"20pkt\" }\n[transport]\nstack = \"ns2\"\nrto-min = \"10ms\"\n";
        format!(
            "{topology}[[workload]]\nkind = \"{kind}\"\ntotal = \"900KB\"\n{} = 5\n",
            if kind == "incast" { "rounds" } else { "count" }
        )
    };
    let (queries, incast) = (one(&text("queries"), &[]), one(&text("incast"), &[]));
    assert!(incast.drops() > 0);
    assert_eq!(queries.report.fingerprint, incast.report.fingerprint);
    assert_eq!(queries.report.queries, incast.report.queries);
}

/// Each workload has its own rows, also with more than 256 workloads.
#[test]
fn queries_of_many_workloads_stay_separate() {
    const WORKLOADS: u32 = 300;
    let one_each: String = (0..WORKLOADS)
        .map(|w| {
            let bytes = 1_000 + w;
            let at = 10 * w;
            match w % 3 {
                0 => format!(
                    "[[workload]]\nclass = \"c{w}\"\nkind = \"incast\"\nrequest = \"0B\"\nsenders = [\"l0\", \"l1\"]\nreceiver = \"r0\"\n\
                     block = \"{bytes}B\"\nrounds = 2\nstart = \"{at}us\"\n"
                ),
                1 => format!(
                    "[[workload]]\nclass = \"c{w}\"\nkind = \"requests\"\nclients = [\"l0\"]\nservers = [\"r0\"]\nrequest = \"{bytes}B\"\n\
                     response = \"{bytes}B\"\ncount = 2\nstart = \"{at}us\"\n"
                ),
                _ => format!(
                    "[[workload]]\nclass = \"c{w}\"\nkind = \"queries\"\nrequest = \"0B\"\naggregators = [\"r0\"]\nworkers = [\"l0\", \"l1\"]\nfan-out = 2\n\
                     response = \"{bytes}B\"\nrate = 1000.0\ncount = 2\nstart = \"{at}us\"\n"
                ),
            }
        })
        .collect();
    let all = text("");
    let o = one(all.replacen("[[workload]]\n", &one_each, 1).as_str(), &[]);
    for w in 0..WORKLOADS {
        let queries: Vec<_> = o.report.queries.iter().filter(|q| q.workload == WorkloadId::new(w)).collect();
        assert_eq!(queries.len(), 2, "queries of workload {w}");
        for q in queries {
            let parts: Vec<_> = o.report.flows.iter().filter(|f| f.query_id == Some(q.query_id)).collect();
            assert!(
                parts.iter().all(|f| f.workload == WorkloadId::new(w) && f.size_bytes == u64::from(1_000 + w)),
                "{q:?}: {parts:?}"
            );
            // Two answers of the first and third kind; a request and its answer of the second.
            let answers = if w % 3 == 1 { 1 } else { 2 };
            assert_eq!((parts.len(), q.fan_in, q.bytes), (2, answers, u64::from(answers * (1_000 + w))), "{q:?}");
        }
    }
}
