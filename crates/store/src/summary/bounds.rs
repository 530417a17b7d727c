//! Upper limits of a run's metrics, at which confidence intervals are clipped.

use crate::run_info::RunInfo;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::rows::PortRow;
use forebay_experiment::traffic::WorkloadKind;
use forebay_experiment::transport::Chosen;
use forebay_types::{GroupId, NodeId, PortId, QueueLen};
use std::collections::BTreeSet;

/// Maximum goodput that the links between the hosts of a group carry, bit/s. All payload crosses the senders' links, the receivers' links, and the
/// ports that all of it shares; the smallest sum of rates is the limit, less the header share of full segments. `None` without a message.
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
    // Datagrams have the length of their workload.
    let share = if chosen.tcp.cc == Chosen::NONE { 1.0 } else { payload / (payload + header) };
    (least > 0.0).then_some(least * share)
}

/// Sum of `of` over all workloads that a group may take part in; `None` where one of them sets no number.
pub(super) fn asked(group: GroupId, config: &Experiment, of: fn(&WorkloadKind) -> Option<u64>) -> Option<u64> {
    config.workloads.iter().filter(|w| w.uses(group)).map(|w| of(&w.kind)).sum()
}

/// Maximum number of finite messages outside queries of a workload.
pub(super) fn messages(kind: &WorkloadKind) -> Option<u64> {
    match kind {
        WorkloadKind::Long { pairs, size, .. } => Some(if size.is_some() { pairs.len() as u64 } else { 0 }),
        WorkloadKind::Poisson { .. } => kind.flow_limit(),
        // The last train is sent after the counted ones.
        WorkloadKind::OnOff { pairs, trains, last, .. } => {
            trains.map(|n| (u64::from(n) + u64::from(last.is_some())) * pairs.len() as u64)
        }
        WorkloadKind::Replay { flows, .. } => Some(flows.len() as u64),
        WorkloadKind::Incast { .. } | WorkloadKind::Requests { .. } | WorkloadKind::Queries { .. } | WorkloadKind::Udp { .. } => {
            Some(0)
        }
    }
}

/// Maximum number of queries of a workload.
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

/// Maximum number of packets that a port can hold. A limit in bytes is converted with the mean packet size.
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
