//! Picture behind a row: goodput, queue and congestion window of its scenarios over time.

use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::transport::Group;
use forebay_scenario::Variant;
use forebay_types::{GroupId, PortId, Time, WorkloadId};
use std::collections::BTreeMap;

/// Number of samples of a queue.
const SAMPLES: u64 = 400;

/// Series of a scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Picture {
    /// Goodput of each workload, bit/s; means over intervals.
    pub goodput: Vec<Curve>,
    /// Queue of the bottleneck, packets.
    pub queue: Vec<Curve>,
    /// Congestion window of the first sender, segments, in rows that read it.
    pub cwnd: Vec<Curve>,
    /// Rate of the bottleneck at the start, bit/s.
    pub rate: Option<f64>,
}

/// A quantity over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Name, such as that of the congestion control.
    pub name: String,
    /// Times, s.
    pub at: Vec<f64>,
    /// Values.
    pub values: Vec<f64>,
}

impl Curve {
    fn new(name: impl Into<String>, points: impl IntoIterator<Item = (u64, f64)>) -> Curve {
        let (at, values) = points.into_iter().map(|(ps, value)| (ps as f64 * 1e-12, value)).unzip();
        Curve { name: name.into(), at, values }
    }
}

/// Port that all flows of a row share.
fn bottleneck(variant: &Variant) -> Option<PortId> {
    variant.port_names.iter().position(|n| n == "bottleneck").map(PortId::from_index)
}

/// The experiment with samples of the queue at its bottleneck, which change no packet.
pub(crate) fn sampled(variant: &Variant) -> Experiment {
    let mut config = variant.config.clone();
    if let (Some(port), Some(duration)) = (bottleneck(variant), config.duration) {
        config.observe.queue_series = vec![(port, Time((duration.0 / SAMPLES).max(1)))];
    }
    config
}

/// The series of a run of `variant`.
pub(crate) fn picture(variant: &Variant, report: &Report) -> Picture {
    let mut payload: BTreeMap<(WorkloadId, GroupId), BTreeMap<(Time, Time), u64>> = BTreeMap::new();
    for d in &report.deliveries {
        *payload.entry((d.workload, d.group)).or_default().entry((d.from, d.to)).or_default() += d.bytes;
    }
    let rate = |((from, to), bytes): ((Time, Time), u64)| {
        let length = to.0.saturating_sub(from.0);
        (from.0 + length / 2, bytes as f64 * 8.0 / (length.max(1) as f64 * 1e-12))
    };
    let goodput = payload.into_iter().map(|(of, intervals)| Curve::new(name(variant, of), intervals.into_iter().map(rate)));
    let queue = report.queue.iter().map(|q| (q.time_ps, f64::from(q.pkts))).collect();
    let cwnd = report.tcp.iter().map(|t| (t.time_ps, t.cwnd)).collect();
    Picture {
        goodput: goodput.collect(),
        queue: curve("bottleneck".into(), queue),
        cwnd: curve(name(variant, (WorkloadId::new(0), GroupId::new(0))), thinned(cwnd)),
        rate: bottleneck(variant).map(|port| variant.config.network.ports[port].rate.0 as f64),
    }
}

/// A curve of these points, if there are any.
fn curve(name: String, points: Vec<(u64, f64)>) -> Vec<Curve> {
    if points.is_empty() { Vec::new() } else { vec![Curve::new(name, points)] }
}

/// At most four times [`SAMPLES`] of the points, at even distances.
fn thinned(points: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
    let step = points.len().div_ceil(4 * SAMPLES as usize).max(1);
    points.into_iter().step_by(step).collect()
}

/// Name of a workload, with the congestion control of its connections.
fn name(variant: &Variant, (workload, group): (WorkloadId, GroupId)) -> String {
    let class = variant.class_names.get(workload.index()).map_or("", String::as_str);
    match &variant.config.groups[group] {
        g if g.name == Group::DATAGRAMS => class.to_owned(),
        g => format!("{}, {class}", g.tcp.cc.name),
    }
}
