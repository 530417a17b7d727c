//! A small configuration and a report with known numbers.

use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::rows::{
    DeliveryRow, EventKind, EventRow, FlowRow, PortRow, QueryRow, QueueRow, TcpRow, TimeoutKind, TimeoutRow,
};
use forebay_scenario::Scenario;
use forebay_types::{GroupId, NodeId, PortId, QueryId, Time, TimeOrNever, WorkloadId};
use std::path::Path;

const SCENARIO: &str = r#"
duration = "1s"
topology = { kind = "custom", hosts = ["h0", "h1"], links = [{ from = "h0", to = "h1", rate = "1Gbps", delay = "10us" }] }
transport = { cc = "newreno" }
workload = [{ kind = "long", from = "h0", to = "h1" }]
"#;

/// Two hosts, one link each way, of which one is called `bottleneck`; a transport called `a "b", c` to try the quoting.
pub(crate) fn config(seed: u64) -> Experiment {
    let resolved =
        Scenario::from_text(forebay_backends::all(), SCENARIO, "test", Path::new("."), &[], None).and_then(|s| s.resolve());
    let mut config = resolved.unwrap_or_else(|e| panic!("{}", e.render())).variants.remove(0).config;
    config.seed = seed;
    config.network.named_ports = vec![("bottleneck".into(), PortId::new(0))];
    config.groups[GroupId::new(0)].name = "a \"b\", c".into();
    config.workloads[WorkloadId::new(0)].class = "background".into();
    config
}

/// A completed message of 50 KB in 1.234 ms, one of 1 MB that never ends, two queries; `n` queue samples.
pub(crate) fn report(n: u64) -> Report {
    let done = FlowRow {
        flow_id: 0,
        dst: NodeId::new(1),
        size_bytes: 50_000,
        start: Time(1_000_900),
        end: Time(1_235_000_901).into(),
        acked: Time(1_300_000_000).into(),
        ideal: Time(617_000_000),
        bytes_acked: 50_000,
        ..FlowRow::default()
    };
    let open = FlowRow {
        flow_id: 1,
        size_bytes: 1_000_000,
        end: TimeOrNever::NEVER,
        acked: TimeOrNever::NEVER,
        rtos: 2,
        bytes_acked: 75_000,
        ..done.clone()
    };
    let query = QueryRow {
        query_id: QueryId::new(0),
        workload: WorkloadId::new(0),
        start: Time::ZERO,
        end: Time(2_000_000_000).into(),
        fan_in: 4,
        bytes: 1_000,
        rtos: 1,
        senders_with_rto: 1,
        rtos_max: 1,
        syn_rtos: 0,
        slowest: None,
        waited: None,
    };
    Report {
        captured: Default::default(),
        undelivered: Default::default(),
        measured_from: Time::ZERO,
        acked: vec![done.bytes_acked + open.bytes_acked].into(),
        flows: vec![done, open],
        ports: vec![
            PortRow {
                port: PortId::new(0),
                queue_mean_pkts: 3.5,
                queue_percentiles: Some([3, 8, 9]),
                queue_max_pkts: 12,
                dropped_overflow: 7,
                ..PortRow::default()
            },
            PortRow { port: PortId::new(1), marked: 5, ..PortRow::default() },
        ],
        queue: (0..n)
            .map(|i| QueueRow { time_ps: i * 1_000, port: PortId::new(0), pkts: 1, bytes: 1_500, drops: 0, marks: i })
            .collect(),
        tcp: vec![TcpRow {
            time_ps: 5_000,
            conn_id: 0,
            cwnd: 2.0,
            ssthresh: None,
            unacked_bytes: 2_920,
            srtt_ps: None,
            rto_ps: 1_000_000_000_000,
            alpha: None,
            bytes_acked: 0,
            retrans: 0,
            ca_state: 0,
            cc: Default::default(),
        }]
        .into(),
        queries: vec![query, QueryRow { query_id: QueryId::new(1), end: TimeOrNever::NEVER, ..query }],
        timeouts: vec![TimeoutRow {
            time_ps: 2_000_000_000,
            flow_id: Some(1),
            dst: NodeId::new(1),
            kind: TimeoutKind::Tail,
            rto_ps: 1_000_000_000,
            ..TimeoutRow::default()
        }]
        .into(),
        events: vec![
            EventRow {
                time_ps: 0,
                kind: EventKind::Spraying,
                port: None,
                until_ps: None,
                packets: None,
                flows: None,
                pairs: None,
            },
            EventRow {
                time_ps: 5_000_000,
                kind: EventKind::LinkDown,
                port: Some(PortId::new(0)),
                until_ps: Some(9_000_000),
                packets: Some(312),
                flows: Some(41),
                pairs: Some(0),
            },
        ],
        deliveries: vec![DeliveryRow { to: Time::from_ms(10), bytes: 125_000, ..DeliveryRow::default() }],
        end: Time::from_ms(10),
        cut: false,
        packet_hops: 1_000,
        fingerprint: 0xabcd,
        peak_connections: 2,
        packets: Default::default(),
        remark: String::new(),
        predicted: None,
    }
}
