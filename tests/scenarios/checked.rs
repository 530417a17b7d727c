//! Validation of experiments built by a program: unknown identifiers and numbers out of range are refused with the field.

use forebay_experiment::Experiment;
use forebay_experiment::assign::Assign;
use forebay_experiment::traffic::WorkloadKind;
use forebay_tests::resolve;
use forebay_types::{GroupId, IndexVec, NodeId, PortId, Rate, Time, WorkloadId};

/// Hosts 0 to 3, their switches 4 and 5; ports of all kinds; one workload of each kind.
fn experiment() -> Experiment {
    const TEXT: &str = r#"
duration = "1ms"
[topology]
kind = "dumbbell"
left = 2
access = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us" }
[[workload]]
kind = "long"
[[workload]]
kind = "incast"
senders = "left"
receiver = "r0"
block = "1KB"
[[workload]]
kind = "poisson"
from = "left"
to = "right"
sizes = "1KB"
load = 0.1
[[workload]]
kind = "on-off"
sizes = "1KB"
gaps = "1ms"
[[workload]]
kind = "requests"
response = "1KB"
[[workload]]
kind = "queries"
aggregators = ["r0"]
workers = "left"
response = "1KB"
rate = 10.0
[[workload]]
kind = "udp"
rate = "1Mbps"
"#;
    resolve(TEXT, &[], None).remove(0).config
}

const NO_NODE: NodeId = NodeId::new(u32::MAX);
const NO_PORT: PortId = PortId::new(u32::MAX);
const SWITCH: NodeId = NodeId::new(4);

/// Field of the error after `change`.
fn refused(change: impl FnOnce(&mut Experiment)) -> String {
    let mut e = experiment();
    change(&mut e);
    match e.check() {
        Ok(_) => "nothing".into(),
        Err(mistake) => mistake.field,
    }
}

#[test]
fn scenario_experiment_is_accepted() {
    assert!(experiment().check().is_ok());
}

#[test]
fn unknown_ports_are_refused() {
    assert_eq!(refused(|e| e.observe.occupancy = vec![PortId::new(0), NO_PORT]), "observe.occupancy[1]");
    assert_eq!(refused(|e| e.observe.queue_series = vec![(NO_PORT, Time::from_us(1))]), "observe.queue_series[0]");
    assert_eq!(refused(|e| e.network.named_ports = vec![("bottleneck".into(), NO_PORT)]), "network.named_ports[0]");
    // The first that does not exist.
    let beyond = PortId::from_index(experiment().network.ports.len());
    assert_eq!(refused(|e| e.observe.occupancy = vec![beyond]), "observe.occupancy[0]");
}

#[test]
fn inconsistent_networks_are_refused() {
    let first = PortId::new(0);
    assert_eq!(refused(|e| e.network.ports[first].from = NO_NODE), "network.ports[0].from");
    assert_eq!(refused(|e| e.network.ports[first].to = NO_NODE), "network.ports[0].to");
    assert_eq!(refused(|e| e.network.ports[first].to = e.network.ports[first].from), "network.ports[0].to");
    assert_eq!(refused(|e| e.network.ports[first].rate = Rate(0)), "network.ports[0].rate");
    assert_eq!(refused(|e| e.network.ports[first].delay = Time::NEVER), "network.ports[0].delay");
    assert_eq!(refused(|e| e.network.host_groups[0].1 = vec![NO_NODE]), "network.host_groups[0]");
    // Two interfaces at one host, none at another.
    let of_host_0 = experiment().network.ports.position(|p| p.from == NodeId::new(0)).unwrap();
    assert_eq!(refused(|e| e.network.ports[of_host_0].from = NodeId::new(1)), "network.nodes[0]");
    assert_eq!(refused(|e| e.network = Default::default()), "network.nodes");
}

#[test]
fn unknown_transports_are_refused() {
    assert_eq!(refused(|e| e.groups = IndexVec::new()), "groups");
    assert_eq!(refused(|e| e.workloads[WorkloadId::new(2)].transport = Assign::One(GroupId::new(9))), "workloads[2].transport");
    assert_eq!(refused(|e| e.workloads[WorkloadId::new(0)].transport = Assign::by_host(2, [])), "workloads[0].transport");
    let nodes = experiment().network.nodes.len();
    assert_eq!(
        refused(|e| e.workloads[WorkloadId::new(0)].transport = Assign::by_host(nodes, [(NodeId::new(0), GroupId::new(0))])),
        "workloads[0].transport"
    );
    let all = |group: u32| (0..4).map(NodeId::new).map(move |h| (h, GroupId::new(group)));
    assert_eq!(refused(|e| e.workloads[WorkloadId::new(0)].transport = Assign::by_host(nodes, all(9))), "workloads[0].transport");
    assert_eq!(refused(|e| e.workloads[WorkloadId::new(0)].transport = Assign::by_host(nodes, all(0))), "nothing");
    assert_eq!(
        refused(|e| e.workloads[WorkloadId::new(0)].transport = Assign::share([0, 9].map(|group| (GroupId::new(group), 0.5)))),
        "workloads[0].transport"
    );
    assert_eq!(refused(|e| e.workloads[WorkloadId::new(0)].transport = Assign::share([])), "workloads[0].transport");
}

/// Without a duration it would run without end.
#[test]
fn work_without_end_needs_a_duration() {
    let only = |w: u32| {
        move |e: &mut Experiment| (e.duration, e.workloads) = (None, vec![e.workloads[WorkloadId::new(w)].clone()].into())
    };
    // None of these is limited; datagrams continue beside other work, but not alone.
    for w in 0..7 {
        assert_eq!(refused(only(w)), "duration", "workload {w}");
    }
    let limited = |e: &mut Experiment| {
        only(0)(e);
        e.workloads.push(experiment().workloads[WorkloadId::new(6)].clone());
        if let WorkloadKind::Long { size, .. } = &mut e.workloads[WorkloadId::new(0)].kind {
            *size = Some(1_000);
        }
    };
    assert_eq!(refused(limited), "nothing");
    let mut e = experiment();
    e.duration = None;
    let reason = e.check().expect_err("endless work").to_string();
    assert!(reason.contains("(`long`) never ends") && reason.contains("set a duration"), "{reason}");
}

#[test]
fn unknown_hosts_are_refused() {
    for (bad, w) in [NO_NODE, SWITCH].into_iter().flat_map(|bad| (0..7).map(move |w| (bad, w))) {
        let field = refused(|e| match &mut e.workloads[WorkloadId::new(w)].kind {
            WorkloadKind::Long { pairs, .. }
            | WorkloadKind::OnOff { pairs, .. }
            | WorkloadKind::Requests { pairs, .. }
            | WorkloadKind::Udp { pairs, .. } => pairs[0].0 = bad,
            WorkloadKind::Incast { receiver, .. } => *receiver = bad,
            WorkloadKind::Poisson { to, .. } => to[1] = bad,
            WorkloadKind::Queries { workers, .. } => workers[0] = bad,
            WorkloadKind::Replay { flows, .. } => flows[0].dst = bad,
        });
        let expected = ["pairs[0]", "receiver[0]", "to[1]", "pairs[0]", "pairs[0]", "workers[0]", "pairs[0]"][w as usize];
        assert_eq!(field, format!("workloads[{w}].{expected}"), "{bad}");
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    assert_eq!(refused(|e| e.groups[GroupId::new(0)].tcp.mss = 0), "groups[0].tcp.mss");
    assert_eq!(refused(|e| e.groups[GroupId::new(0)].tcp.header = 65_535), "groups[0].tcp.header");
    assert_eq!(refused(|e| e.groups[GroupId::new(0)].tcp.rto_granularity = Time::ZERO), "groups[0].tcp.rto_granularity");
    assert_eq!(refused(|e| e.groups[GroupId::new(0)].tcp.timestamp_clock = Time::ZERO), "groups[0].tcp.timestamp_clock");
    let rate = |e: &mut Experiment, new: f64| match &mut e.workloads[WorkloadId::new(2)].kind {
        WorkloadKind::Poisson { flows_per_sec, .. } => *flows_per_sec = new,
        other => panic!("{other:?}"),
    };
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(|e| rate(e, bad)), "workloads[2].flows_per_sec");
    }
}
