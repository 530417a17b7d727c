//! First sentence about unfinished work.

use crate::cells::tests::subject;
use crate::data::{Data, Flow, Network, Port, Query, Run};
use crate::headline;

/// A link of 10 Gbit/s into `r0` for 1 s: storage requests 40 blocks of 1 MB at 0, tenants send without end.
pub(crate) fn beside_tenants(storage_bits: u64, tenant_bits: u64, finished: bool) -> Data {
    let mut d = Data {
        networks: vec![Network { first: 0, groups: 2, ..Network::default() }],
        subjects: vec![
            subject("dctcp", 0, &[("queries_completed", &[f64::from(u8::from(finished))])]),
            subject("cubic", 0, &[("long_flows", &[1.0]), ("goodput_bps", &[tenant_bits as f64])]),
        ],
        runs: vec![Run { network: 0, end_ns: 1_000_000_000, ..Run::default() }],
        hosts: ["r0", "s0"].map(String::from).into_iter().chain((1..41).map(|i| format!("s{i}"))).collect(),
        classes: vec!["storage".into(), "tenants".into()],
        ..Data::default()
    };
    let port = |name: &str, from: &str, to: &str| Port {
        name: name.into(),
        from: from.into(),
        to: to.into(),
        rate_bps: 1e10,
        seeds: 1,
        ..Port::default()
    };
    d.ports.push(port("bottleneck", "sw", "r0"));
    d.ports.extend((0..41).map(|i| port("access", &format!("s{i}"), "sw")));
    let flow = |subject, from, size, measured: u64, fct: Option<f64>| Flow {
        subject,
        run: 0,
        size,
        acked_ns: None,
        fct,
        slowdown: None,
        measured,
        in_query: size > 0,
        class: Some(subject as u32),
        from: Some(from),
        to: Some(0),
        acked: measured,
        ..Flow::default()
    };
    let time = finished.then_some(0.9);
    d.flows = (1..41).map(|i| flow(0, i, 1_000_000, storage_bits / 320, time)).collect();
    d.flows.push(flow(1, 41, 0, tenant_bits / 8, None));
    d.queries = vec![Query {
        run: 0,
        class: Some(0),
        start_ns: 0,
        qct: time,
        bytes: 40_000_000,
        groups: 1,
        receiver: Some(0),
        ..Query::default()
    }];
    d
}

fn first(d: &Data) -> String {
    headline(d).sentences.into_iter().next().unwrap_or_default()
}

#[test]
fn starved_workload_comes_first() {
    assert_eq!(
        first(&beside_tenants(280_000_000, 9_120_000_000, false)),
        "**dctcp**: storage finished **0** of 1 queries; **starved** by other traffic at bottleneck (280 Mbit/s against 9.12 Gbit/s)."
    );
}

#[test]
fn fair_share_is_not_starvation() {
    // A third of the other traffic.
    let output = first(&beside_tenants(2_400_000_000, 7_200_000_000, false));
    assert_eq!(output, "**dctcp**: storage finished **0** of 1 queries before the run ended.");
    // Requested just before the end.
    let mut young = beside_tenants(280_000_000, 9_120_000_000, false);
    young.flows.iter_mut().for_each(|f| f.start_ns = 980_000_000);
    assert_eq!(first(&young), "**dctcp**: storage finished **0** of 1 queries before the run ended.");
}

#[test]
fn finished_workloads_are_not_mentioned() {
    assert!(!first(&beside_tenants(280_000_000, 9_120_000_000, true)).contains("finished"));
}

#[test]
fn last_unfinished_round_is_ignored() {
    let mut d = beside_tenants(280_000_000, 9_120_000_000, true);
    let round = |start_ns: i64, qct| Query {
        run: 0,
        class: Some(0),
        start_ns,
        qct,
        bytes: 40_000_000,
        groups: 1,
        receiver: Some(0),
        ..Query::default()
    };
    d.queries = (0..9).map(|i| round(i * 100_000_000, Some(0.1))).collect();
    d.queries.push(round(950_000_000, None));
    assert!(!first(&d).contains("finished"), "it ran for 50 ms, the others took 100");
    d.queries[9] = round(500_000_000, None);
    assert_eq!(first(&d), "**dctcp**: storage finished **9** of 10 queries before the run ended.");
}
