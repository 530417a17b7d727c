//! The few numbers of a run that a person compares, per transport group and for the network. Which numbers: [`GROUP_METRICS`] and
//! [`NETWORK_METRICS`].

use crate::run_info::RunInfo;
use crate::schema::duration_ps;
use crate::stats::{SizeBin, jain, quantile};
use forebay_sim::config::SimConfig;
use forebay_sim::observe::PortRow;
use forebay_sim::run::Report;
use forebay_units::PortId;

/// Dimension of a metric, which decides how it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bits per second.
    BitsPerSecond,
    /// Seconds.
    Seconds,
    /// A number of things.
    Count,
    /// Packets in a queue.
    Packets,
    /// A part of 1, printed in percent.
    Fraction,
    /// A ratio without a unit.
    Ratio,
}

/// One number of a summary `S`.
#[derive(Debug)]
pub struct Metric<S> {
    /// Label of its line.
    pub label: &'static str,
    /// Dimension.
    pub unit: Unit,
    /// The value; `None` when the run has no such thing, such as queries.
    pub get: fn(&S) -> Option<f64>,
}

/// What the flows of one transport group achieved in one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupSummary {
    /// Name of the group.
    pub name: String,
    /// Payload acknowledged over the whole run, bits per second of simulated time.
    pub goodput_bps: f64,
    /// Finite messages outside queries that started.
    pub flows: u64,
    /// Of those, completed.
    pub flows_completed: u64,
    /// Queries (barrier rounds, exchanges) that started.
    pub queries: u64,
    /// Of those, completed.
    pub queries_completed: u64,
    /// Retransmission timeouts of all messages.
    pub rtos: u64,
    /// Of those, during queries.
    pub query_rtos: u64,
    /// Retransmitted segments.
    pub segs_retx: u64,
    /// Median and 99th percentile of completion times in seconds, per size bin: completed finite messages outside queries.
    pub fct: [Option<[f64; 2]>; 3],
    /// Median and 99th percentile of slowdowns of the same messages.
    pub slowdown: Option<[f64; 2]>,
    /// Median and 99th percentile of query completion times in seconds.
    pub qct: Option<[f64; 2]>,
    /// Jain's index of the acknowledged bytes of endless flows, when there are at least two.
    pub fairness: Option<f64>,
}

/// What happened at the switches in one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NetworkSummary {
    /// Name of the port the queue numbers are of: `bottleneck` if a port is called so, else the first one whose occupancy was
    /// observed, else the one with the largest mean queue.
    pub port: String,
    /// Time average of its queue in packets.
    pub queue_mean: Option<f64>,
    /// Time-weighted 99th percentile of its queue in packets, where observed.
    pub queue_p99: Option<f64>,
    /// Its largest queue in packets.
    pub queue_max: Option<f64>,
    /// Fraction of time it transmitted.
    pub busy: Option<f64>,
    /// Packets dropped at all ports.
    pub drops: u64,
    /// Congestion marks set at all ports.
    pub marks: u64,
}

/// One run in numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// Per transport group, in the order of the configuration.
    pub groups: Vec<GroupSummary>,
    /// The switches.
    pub network: NetworkSummary,
}

const fn metric<S>(label: &'static str, unit: Unit, get: fn(&S) -> Option<f64>) -> Metric<S> {
    Metric { label, unit, get }
}

fn some(present: bool, value: f64) -> Option<f64> {
    present.then_some(value)
}

/// The lines of a transport group, in order.
pub const GROUP_METRICS: &[Metric<GroupSummary>] = &[
    metric("goodput", Unit::BitsPerSecond, |g| Some(g.goodput_bps)),
    metric("fairness of long flows (Jain)", Unit::Ratio, |g| g.fairness),
    metric("flows started", Unit::Count, |g| some(g.flows > 0, g.flows as f64)),
    metric("flows completed", Unit::Count, |g| some(g.flows > 0, g.flows_completed as f64)),
    metric("queries started", Unit::Count, |g| some(g.queries > 0, g.queries as f64)),
    metric("queries completed", Unit::Count, |g| some(g.queries > 0, g.queries_completed as f64)),
    metric("timeouts", Unit::Count, |g| Some(g.rtos as f64)),
    metric("timeouts per query", Unit::Ratio, |g| some(g.queries > 0, g.query_rtos as f64 / g.queries.max(1) as f64)),
    metric("retransmitted segments", Unit::Count, |g| Some(g.segs_retx as f64)),
    metric("FCT small (<= 100 KB) p50", Unit::Seconds, |g| g.fct[0].map(|f| f[0])),
    metric("FCT small (<= 100 KB) p99", Unit::Seconds, |g| g.fct[0].map(|f| f[1])),
    metric("FCT medium p50", Unit::Seconds, |g| g.fct[1].map(|f| f[0])),
    metric("FCT medium p99", Unit::Seconds, |g| g.fct[1].map(|f| f[1])),
    metric("FCT large (>= 10 MB) p50", Unit::Seconds, |g| g.fct[2].map(|f| f[0])),
    metric("FCT large (>= 10 MB) p99", Unit::Seconds, |g| g.fct[2].map(|f| f[1])),
    metric("slowdown p50", Unit::Ratio, |g| g.slowdown.map(|s| s[0])),
    metric("slowdown p99", Unit::Ratio, |g| g.slowdown.map(|s| s[1])),
    metric("query completion p50", Unit::Seconds, |g| g.qct.map(|q| q[0])),
    metric("query completion p99", Unit::Seconds, |g| g.qct.map(|q| q[1])),
];

/// The lines of the network, in order.
pub const NETWORK_METRICS: &[Metric<NetworkSummary>] = &[
    metric("queue mean", Unit::Packets, |n| n.queue_mean),
    metric("queue p99", Unit::Packets, |n| n.queue_p99),
    metric("queue max", Unit::Packets, |n| n.queue_max),
    metric("link busy", Unit::Fraction, |n| n.busy),
    metric("drops, all ports", Unit::Count, |n| Some(n.drops as f64)),
    metric("marks, all ports", Unit::Count, |n| Some(n.marks as f64)),
];

/// Reduces a report to its summary.
pub fn summarise(info: &RunInfo, config: &SimConfig, report: &Report) -> Summary {
    Summary {
        groups: (0..config.groups.len()).map(|g| group(g, config, report)).collect(),
        network: network(info, config, report),
    }
}

fn group(index: usize, config: &SimConfig, report: &Report) -> GroupSummary {
    let mut out = GroupSummary { name: config.groups[index].name.clone(), ..GroupSummary::default() };
    let mut endless = Vec::new();
    let mut fct: [Vec<f64>; 3] = Default::default();
    let mut slowdowns = Vec::new();
    for f in report.flows.iter().filter(|f| f.group as usize == index) {
        out.rtos += u64::from(f.rtos);
        out.segs_retx += f.segs_retx;
        if f.size_bytes == 0 {
            endless.push(f.bytes_acked as f64);
        } else if f.query_id == u64::MAX {
            out.flows += 1;
            if let Some(ps) = duration_ps(f.start_ps, f.end_ps) {
                out.flows_completed += 1;
                fct[SizeBin::of(f.size_bytes) as usize].push(ps as f64 * 1e-12);
                slowdowns.extend(crate::schema::slowdown(f));
            }
        }
    }
    let mut qct = Vec::new();
    for q in &report.queries {
        if config.workloads.get(q.workload as usize).is_some_and(|w| w.group == index) {
            out.queries += 1;
            out.query_rtos += u64::from(q.rtos);
            if let Some(ps) = duration_ps(q.start_ps, q.end_ps) {
                out.queries_completed += 1;
                qct.push(ps as f64 * 1e-12);
            }
        }
    }
    // Bytes acknowledged after the warm-up, as the ports count.
    let seconds = report.end.saturating_sub(report.measured_from).as_secs_f64();
    let acked = report.acked.get(index).copied().unwrap_or(0);
    out.goodput_bps = if seconds > 0.0 { acked as f64 * 8.0 / seconds } else { 0.0 };
    out.fct = fct.map(p50_p99);
    out.slowdown = p50_p99(slowdowns);
    out.qct = p50_p99(qct);
    out.fairness = if endless.len() > 1 { jain(&endless) } else { None };
    out
}

fn p50_p99(mut values: Vec<f64>) -> Option<[f64; 2]> {
    values.sort_unstable_by(f64::total_cmp);
    Some([quantile(&values, 0.5)?, quantile(&values, 0.99)?])
}

fn network(info: &RunInfo, config: &SimConfig, report: &Report) -> NetworkSummary {
    let drops = |p: &PortRow| p.dropped_overflow + p.dropped_shared + p.dropped_early;
    let port = bottleneck(config, report).and_then(|id| report.ports.iter().find(|p| p.port == id));
    NetworkSummary {
        port: port.map_or_else(String::new, |p| info.port(p.port).to_owned()),
        queue_mean: port.map(|p| p.queue_mean_pkts),
        queue_p99: port.and_then(|p| p.queue_percentiles).map(|q| f64::from(q[2])),
        queue_max: port.map(|p| f64::from(p.queue_max_pkts)),
        busy: port.map(|p| p.busy),
        drops: report.ports.iter().map(drops).sum(),
        marks: report.ports.iter().map(|p| p.marked).sum(),
    }
}

fn bottleneck(config: &SimConfig, report: &Report) -> Option<PortId> {
    let named = config.network.named_ports.iter().find(|(name, _)| name == "bottleneck").map(|(_, id)| *id);
    let observed = config.observe.occupancy.first().copied();
    let fullest = || report.ports.iter().max_by(|a, b| a.queue_mean_pkts.total_cmp(&b.queue_mean_pkts)).map(|p| p.port);
    named.or(observed).or_else(fullest)
}
