//! Summary metrics of rows with known answers.

use forebay_experiment::Experiment;
use forebay_experiment::assign::Assign;
use forebay_experiment::report::Report;
use forebay_experiment::rows::{FlowRow, QueryRow};
use forebay_scenario::Scenario;
use forebay_store::RunInfo;
use forebay_store::summary::{GROUP_METRICS, NETWORK_METRICS, Summary, group_value, summarise};
use forebay_types::{GroupId, QueryId, Time, TimeOrNever, WorkloadId};
use std::path::Path;

fn of(config: &Experiment, report: &Report) -> Summary {
    summarise(&RunInfo::new("a world", "v", 0, config), config, report)
}

fn group(s: &Summary, index: usize, label: &str) -> Option<f64> {
    (GROUP_METRICS.iter().find(|m| m.label == label).unwrap_or_else(|| panic!("no {label}")).get)(
        &s.groups[GroupId::from_index(index)],
    )
}

fn network(s: &Summary, label: &str) -> Option<f64> {
    (NETWORK_METRICS.iter().find(|m| m.label == label).unwrap_or_else(|| panic!("no {label}")).get)(&s.network)
}

#[test]
fn numbers_of_a_run() {
    let s = of(&crate::common::config(1), &crate::common::report(1));
    let group = |label: &str| group(&s, 0, label);
    // 125 000 bytes in 10 ms.
    assert_eq!(group("goodput"), Some(1e8));
    assert_eq!((group("flows started"), group("flows completed")), (Some(2.0), Some(1.0)));
    assert_eq!((group("queries started"), group("queries completed")), (Some(2.0), Some(1.0)));
    assert_eq!((group("timeouts"), group("timeouts per query")), (Some(2.0), Some(0.0)));
    for p in ["mean", "p50", "p99"] {
        assert!((group(&format!("FCT small (<= 100 KB) {p}")).unwrap() - 1.234e-3).abs() < 1e-11);
    }
    // The other message was still running at 10 ms, as was the second query: both count with the time so far and are marked.
    assert!((group("FCT medium p50").unwrap() - 9.998_999_1e-3).abs() < 1e-11);
    assert!((group("query completion p50").unwrap() - 6e-3).abs() < 1e-15);
    assert!((group("query completion p99").unwrap() - 9.92e-3).abs() < 1e-15);
    let running = |name: &str| group_value(&s.groups[GroupId::new(0)], name);
    assert_eq!((running("fct_small_unfinished"), running("fct_medium_unfinished")), (Some(0.0), Some(1.0)));
    assert_eq!((running("queries_unfinished"), running("messages_unfinished")), (Some(0.5), Some(0.5)));
    assert_eq!((running("fct_small_exact_quantile"), running("queries_exact_quantile")), (Some(1.0), Some(0.0)));
    for absent in ["deadlines missed", "goodput per long flow", "goodput per long flow / {first}", "message of a query, mean"] {
        assert_eq!(group(absent), None, "{absent}");
    }
    let network = |label: &str| network(&s, label);
    assert_eq!(s.network.port, "bottleneck");
    assert_eq!(
        (network("queue p99"), network("drops, all ports"), network("marks, all ports")),
        (Some(9.0), Some(7.0), Some(5.0))
    );
}

/// Two groups on one workload, measured from 10 ms to 110 ms.
fn two(flows: Vec<FlowRow>, queries: Vec<QueryRow>) -> Summary {
    let mut config = crate::common::config(1);
    config.groups.push(config.groups[GroupId::new(0)].clone());
    config.groups[GroupId::new(1)].name = "new".into();
    config.workloads[WorkloadId::new(0)].transport = Assign::share([0, 1].map(|group| (GroupId::new(group), 0.5)));
    config.duration = Some(Time::from_ms(110));
    let report = Report {
        flows,
        queries,
        measured_from: Time::from_ms(10),
        end: Time::from_ms(110),
        acked: vec![0, 0].into(),
        ..Report::default()
    };
    of(&config, &report)
}

/// A time, never for 0 ms.
fn at(ms: u64) -> TimeOrNever {
    (ms > 0).then(|| Time::from_ms(ms)).into()
}

fn long(group: u32, from: u64, to: u64, bytes_measured: u64) -> FlowRow {
    FlowRow { group: GroupId::new(group), start: Time::from_ms(from), acked: at(to), bytes_measured, ..FlowRow::default() }
}

#[test]
fn long_flow_goodput_while_active() {
    // Old: 1.25 MB and 3.75 MB in 100 ms, 100 and 300 Mbps. New: 2.5 MB in 25 ms, 800 Mbps, stopped at 75 ms; one that was over by the end
    // of the warm-up.
    let flows = vec![long(0, 0, 0, 1_250_000), long(0, 5, 0, 3_750_000), long(1, 50, 75, 2_500_000), long(1, 0, 9, 0)];
    let s = two(flows, Vec::new());
    let both = |label: &str| [group(&s, 0, label), group(&s, 1, label)];
    assert_eq!(both("long flows"), [Some(2.0), Some(1.0)]);
    assert_eq!(both("goodput per long flow").map(|bps| bps.map(f64::round)), [Some(2e8), Some(8e8)]);
    assert!((both("goodput per long flow / {first}")[1].unwrap() - 4.0).abs() < 1e-12);
    // (1 + 3)^2 / (2 (1 + 9)), and with 8: 144 / (3 * 74).
    assert_eq!(both("fairness of long flows (Jain)"), [Some(0.8), None]);
    assert!((network(&s, "fairness of long flows, all groups").unwrap() - 144.0 / 222.0).abs() < 1e-12);
}

#[test]
fn disjoint_flows_have_no_fairness() {
    let s = two(vec![long(0, 0, 40, 1_000), long(0, 40, 0, 1_000), long(1, 0, 0, 1_000)], Vec::new());
    assert_eq!((group(&s, 0, "fairness of long flows (Jain)"), network(&s, "fairness of long flows, all groups")), (None, None));
    assert_eq!(group(&s, 0, "long flows"), Some(2.0));
}

fn message(group: u32, query: u64, rtos: u32, end_ms: u64) -> FlowRow {
    FlowRow {
        size_bytes: 1_000,
        rtos,
        syn_rtos: 1,
        end: at(end_ms),
        query_id: Some(QueryId::new(query)),
        ..long(group, 20, 0, 1_000)
    }
}

/// Timeouts per query are the largest number of one sender, averaged over the queries (PRIN, section 4).
#[test]
fn several_groups_in_one_query() {
    let query = |number, end_ms: u64| QueryRow {
        query_id: QueryId::new(number),
        workload: WorkloadId::new(0),
        start: Time::from_ms(20),
        end: at(end_ms),
        fan_in: 3,
        bytes: 3_000,
        rtos: 0,
        senders_with_rto: 0,
        rtos_max: 0,
        syn_rtos: 0,
        slowest: None,
        waited: None,
    };
    let flows = vec![
        message(0, 0, 1, 23),
        message(0, 0, 2, 24),
        message(1, 0, 0, 22),
        message(0, 1, 1, 25),
        message(1, 1, 0, 0),
        message(0, 2, 0, 30),
    ];
    // Query 2 has messages of the first group only, query 3 none yet.
    let s = two(flows, vec![query(0, 24), query(1, 0), query(2, 30), query(3, 0)]);
    let both = |label: &str| [group(&s, 0, label), group(&s, 1, label)];
    assert_eq!(both("queries started"), [Some(4.0), Some(3.0)]);
    assert_eq!(both("queries completed"), [Some(2.0), Some(1.0)]);
    assert_eq!(both("timeouts"), [Some(4.0), Some(0.0)]);
    assert_eq!(both("timeouts per query"), [Some(0.75), Some(0.0)]);
    assert_eq!(both("SYN timeouts"), [Some(4.0), Some(2.0)]);
    // 3, 4, 5 and 10 ms; 2 ms, and 90 ms of one that still ran at 110 ms.
    let ms = |x: f64| (x * 1e9).round() / 1e6;
    assert_eq!(both("message of a query, mean").map(|m| m.map(ms)), [Some(5.5), Some(46.0)]);
    assert_eq!(both("flows started"), [None, None]);
}

#[test]
fn missed_deadlines_counted_when_known() {
    let due = |group, end_ms, deadline_ms: u64| FlowRow { deadline: at(deadline_ms), ..message(group, 1 << 40, 0, end_ms) };
    let flows = vec![due(0, 30, 30), due(0, 31, 30), due(0, 0, 109), due(0, 0, 111), message(1, 1 << 40, 0, 30)];
    let s = two(flows, Vec::new());
    assert_eq!((group(&s, 0, "deadlines missed"), group(&s, 1, "deadlines missed")), (Some(2.0 / 3.0), None));
}

#[test]
fn unfinished_messages_bound_quantiles() {
    // The last `n` of 200 queries were still running, for 1 ms or for 50 ms; the others took 10 ms to 11 ms.
    let known = |n: u64, age_ms: u64| {
        let query = |i: u64| {
            let start = Time::from_ms(110 - age_ms);
            let took = Time::from_ms(10) + Time::from_us(5) * i;
            let end = if i < n { TimeOrNever::NEVER } else { (start + took).into() };
            QueryRow {
                query_id: QueryId::new(i),
                workload: WorkloadId::new(0),
                start,
                end,
                fan_in: 1,
                bytes: 1_000,
                rtos: 0,
                senders_with_rto: 0,
                rtos_max: 0,
                syn_rtos: 0,
                slowest: None,
                waited: None,
            }
        };
        let s = two(Vec::new(), (0..200).map(query).collect());
        group_value(&s.groups[GroupId::new(0)], "queries_exact_quantile")
    };
    assert_eq!(known(0, 50), Some(1.0));
    // One of 200 is beyond the 99th percentile in any case, and moves the others by one rank.
    assert_eq!(known(1, 50), Some(0.99));
    assert_eq!(known(1, 1), Some(0.99));
    // Three of them are the 99th percentile; a hundred the median as well.
    assert_eq!(known(3, 50), Some(0.5));
    assert_eq!(known(100, 50), Some(0.0));
}

/// Maximum number of messages outside queries, and of queries, of a workload between two hosts.
fn asked(workload: &str) -> [Option<f64>; 2] {
    values(workload, ["flows_max", "queries_max"])
}

/// Values of a group with this workload between two hosts, and the rows of the common report.
fn values(workload: &str, names: [&str; 2]) -> [Option<f64>; 2] {
    let text = format!(
        "duration = \"1s\"\ntransport = {{ cc = \"newreno\" }}\nworkload = [{{ {workload} }}]\n[topology]\nkind = \"many-to-one\"\n\
         senders = 2\naccess = {{ rate = \"1Gbps\", delay = \"10us\" }}\nbottleneck = {{ rate = \"1Gbps\", delay = \"10us\" }}\n"
    );
    let scenario = Scenario::from_text(forebay_backends::all(), &text, "test", Path::new("."), &[], None);
    let mut resolved = scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{}", e.render()));
    let s = of(&resolved.variants.remove(0).config, &crate::common::report(1));
    names.map(|name| group_value(&s.groups[GroupId::new(0)], name))
}

/// A job ends with its last message, here with the run, as one is still running. Traffic without a number of messages is no job.
#[test]
fn job_ends_with_last_message() {
    let makespan = |workload: &str| values(workload, ["makespan_s", "makespan_exact_quantile"]);
    let [Some(seconds), Some(exact)] = makespan("kind = \"long\", size = \"1MB\", per-pair = 3") else { panic!("no makespan") };
    assert!((seconds - 9.998_999_1e-3).abs() < 1e-11 && exact == 0.0, "{seconds} {exact}");
    assert_eq!(makespan("kind = \"poisson\", sizes = \"1KB\", load = 0.1"), [None, None]);
    assert_eq!(makespan("kind = \"long\""), [None, None]);
}

#[test]
fn workload_counts_limit_starts() {
    assert_eq!(asked("kind = \"incast\", block = \"1KB\", rounds = 7"), [Some(0.0), Some(7.0)]);
    assert_eq!(asked("kind = \"incast\", block = \"1KB\""), [Some(0.0), None]);
    assert_eq!(asked("kind = \"long\", size = \"1MB\", per-pair = 3"), [Some(6.0), Some(0.0)]);
    assert_eq!(asked("kind = \"poisson\", sizes = \"1KB\", load = 0.1"), [None, Some(0.0)]);
    assert_eq!(asked("kind = \"poisson\", sizes = \"1KB\", load = 0.1, flows = 50"), [Some(50.0), Some(0.0)]);
    assert_eq!(asked("kind = \"on-off\", sizes = \"1KB\", gaps = \"1ms\", trains = 3"), [Some(6.0), Some(0.0)]);
    let requests = "kind = \"requests\", clients = \"s0\", servers = \"recv\", response = \"1KB\", count = 4";
    assert_eq!(asked(requests), [Some(0.0), Some(4.0)]);
    let queries = "kind = \"queries\", response = \"1KB\", count = 5";
    assert_eq!(asked(queries), [Some(0.0), Some(5.0)]);
}
