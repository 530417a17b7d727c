//! What a run can come to at the most: where intervals over its repetitions end.

use crate::run_info::RunInfo;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::rows::PortRow;
use forebay_experiment::traffic::WorkloadKind;
use forebay_experiment::transport::Chosen;
use forebay_types::{GroupId, NodeId, PortId, QueueLen};
use std::collections::BTreeSet;

/// The most payload that the links between the hosts of a group carry, bit/s. Everything leaves through a sender's links, arrives through a
/// receiver's, and crosses the ports between that all of it came over: none of these cuts carries more than the rates of its ports, and of
/// that headers take at least what they take of full segments. `None` without a message.
pub(super) fn goodput_bps(group: GroupId, config: &Experiment, report: &Report) -> Option<f64> {
    let own = || report.flows.iter().filter(|f| f.group == group);
    let (src, dst): (BTreeSet<NodeId>, BTreeSet<NodeId>) = (own().map(|f| f.src).collect(), own().map(|f| f.dst).collect());
    let sum = |is: &dyn Fn(PortId, NodeId, NodeId) -> bool| -> f64 {
        let ports = config.network.ports.enumerate().filter(|(id, p)| is(*id, p.from, p.to));
        ports.map(|(_, p)| p.rate.0 as f64).sum()
    };
    let carried = report.deliveries.iter().filter(|d| d.group == group && d.bytes > 0);
    let between: Option<BTreeSet<PortId>> = carried.map(|d| d.port).collect();
    let between = between.filter(|ports| !ports.is_empty()).map(|ports| sum(&|id, _, _| ports.contains(&id)));
    let least =
        sum(&|_, from, _| src.contains(&from)).min(sum(&|_, _, to| dst.contains(&to))).min(between.unwrap_or(f64::INFINITY));
    let chosen = &config.groups[group];
    let (payload, header) = (f64::from(chosen.tcp.mss), f64::from(chosen.tcp.header));
    // Datagrams are as long as their workload says.
    let share = if chosen.tcp.cc == Chosen::NONE { 1.0 } else { payload / (payload + header) };
    (least > 0.0).then_some(least * share)
}

/// What all workloads that a group may have a part in ask for, of what `of` counts; `None` where one of them sets no number.
pub(super) fn asked(group: GroupId, config: &Experiment, of: fn(&WorkloadKind) -> Option<u64>) -> Option<u64> {
    config.workloads.iter().filter(|w| w.uses(group)).map(|w| of(&w.kind)).sum()
}

/// Finite messages outside queries that a workload asks for at the most.
pub(super) fn messages(kind: &WorkloadKind) -> Option<u64> {
    match kind {
        WorkloadKind::Long { pairs, size, .. } => Some(if size.is_some() { pairs.len() as u64 } else { 0 }),
        WorkloadKind::Poisson { .. } => kind.flow_limit(),
        // The last train comes after those that are counted.
        WorkloadKind::OnOff { pairs, trains, last, .. } => {
            trains.map(|n| (u64::from(n) + u64::from(last.is_some())) * pairs.len() as u64)
        }
        WorkloadKind::Replay { flows } => Some(flows.len() as u64),
        WorkloadKind::Incast { .. } | WorkloadKind::Requests { .. } | WorkloadKind::Queries { .. } | WorkloadKind::Udp { .. } => {
            Some(0)
        }
    }
}

/// Queries that a workload asks for at the most.
pub(super) fn queries(kind: &WorkloadKind) -> Option<u64> {
    match kind {
        WorkloadKind::Incast { rounds, .. } => rounds.map(u64::from),
        WorkloadKind::Requests { pairs, count, .. } => count.map(|n| u64::from(n) * pairs.len() as u64),
        WorkloadKind::Queries { aggregators, count, .. } => count.map(|n| u64::from(n) * aggregators.len() as u64),
        WorkloadKind::Long { .. }
        | WorkloadKind::Poisson { .. }
        | WorkloadKind::OnOff { .. }
        | WorkloadKind::Replay { .. }
        | WorkloadKind::Udp { .. } => Some(0),
    }
}

/// The most packets that a port can hold; of bytes as many as are in them on average.
pub(super) fn queue_pkts(port: &PortRow, info: &RunInfo) -> Option<f64> {
    let packets =
        |bytes: u64| (port.arrived_pkts > 0).then(|| bytes as f64 * port.arrived_pkts as f64 / port.arrived_bytes as f64);
    let own = match info.port_config(port.port)?.buffer {
        Some(QueueLen::Packets(n)) => Some(n as f64),
        Some(QueueLen::Bytes(n)) => packets(n),
        None => None,
    };
    [own, info.shared(port.port).and_then(packets)].into_iter().flatten().reduce(f64::min)
}
