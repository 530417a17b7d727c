//! Planned traffic of a workload.

use forebay_experiment::Experiment;
use forebay_experiment::traffic::{Arrival, LastTrain, ReplayFlow, ResponseSize, WorkloadKind};
use forebay_scenario::Resolved;
use forebay_types::{IndexVec, NodeId, Time, WorkloadId};

/// Limits per source above this count as exact: their random variation is below 2 %. Our choice.
const LARGE: u64 = 1_000;

/// Largest number of flows that are drawn as the run draws them; for more, the mean is close. Our choice: a tenth of a second.
const DRAWN: f64 = 500_000.0;
/// Seeds for which they are drawn.
const SEEDS: u32 = 5;

/// Planned traffic of a workload, averaged over runs; `None` without a limit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Planned {
    pub(super) messages: Option<f64>,
    pub(super) bytes: Option<f64>,
    /// Fraction of the bytes that the links of the hosts can carry by the end.
    pub(super) in_time: Option<f64>,
}

/// Planned traffic of the workload `id` of a variant. The sizes of flows may vary so much that their mean does not predict a short run.
/// Therefore flows of open-loop workloads are drawn as the runs of `resolved` draw them.
pub(super) fn planned(resolved: &Resolved, config: &Experiment, id: WorkloadId) -> Planned {
    let kind = &config.workloads[id].kind;
    let duration = config.duration.map(|d| d.as_secs_f64());
    let few = arrivals(kind, duration).is_some_and(|n| n <= DRAWN);
    if !few {
        let bytes = planned_bytes(kind, duration);
        return Planned { messages: planned_messages(kind, duration), bytes, in_time: bytes };
    }
    let mut rate: IndexVec<NodeId, u64> = IndexVec::repeat(0, config.network.nodes.len());
    for port in config.network.ports.iter() {
        rate[port.from] = rate[port.from].saturating_add(port.rate.0);
    }
    let seeds = resolved.repetitions().clamp(1, SEEDS);
    let (mut messages, mut bytes, mut in_time) = (0.0, 0.0, 0.0);
    for flow in (0..seeds).flat_map(|run| forebay_apps::flows(config, resolved.run_seed(run), id)) {
        let size = flow.bytes as f64;
        let left = duration.map_or(f64::INFINITY, |d| (d - flow.start.as_secs_f64()).max(0.0));
        messages += 1.0;
        bytes += size;
        in_time += size.min(left * rate[flow.src].min(rate[flow.dst]) as f64 / 8.0);
    }
    let mean = |sum: f64| Some(sum / f64::from(seeds));
    Planned { messages: mean(messages), bytes: mean(bytes), in_time: mean(in_time) }
}

/// Flows of a Poisson process that arrive in a run of this many seconds, infinitely many without an end; `None` for other workloads.
pub(super) fn arrivals(kind: &WorkloadKind, duration: Option<f64>) -> Option<f64> {
    let WorkloadKind::Poisson { from, flows_per_sec, per_source, .. } = kind else { return None };
    let (begin, end) = active(kind, duration);
    let by_rate = end.map_or(f64::INFINITY, |end| flows_per_sec * (end - begin).max(0.0));
    let limit = kind.flow_limit().map_or(f64::INFINITY, |n| n as f64);
    let Some(each) = per_source.filter(|n| by_rate.is_finite() && *n <= LARGE && *n > 0) else { return Some(by_rate.min(limit)) };
    // Sources reach their limits at different times.
    let sources = (kind.flow_limit().unwrap_or(0) as f64 / each as f64).ceil().min(from.len() as f64).max(1.0);
    Some((sources * limited(by_rate / sources, each)).min(limit))
}

/// Mean of the smaller of `limit` and a Poisson number of mean `mean`.
fn limited(mean: f64, limit: u64) -> f64 {
    let (mut log, mut below) = (-mean, 0.0);
    for k in 0..limit {
        below += (limit - k) as f64 * log.exp();
        log += mean.max(1e-300).ln() - ((k + 1) as f64).ln();
    }
    (limit as f64 - below).max(0.0)
}

/// Bytes that a workload plans to send in a run of this many seconds; `None` without a limit.
pub(super) fn planned_bytes(kind: &WorkloadKind, duration: Option<f64>) -> Option<f64> {
    if let WorkloadKind::OnOff { pairs, sizes, trains, last, total, .. } = kind {
        let each = match (total, trains) {
            (Some((total, _)), _) => *total as f64,
            (None, trains) => sizes.mean() * f64::from((*trains)?),
        };
        let with_last = match last {
            Some((_, LastTrain::Bytes(bytes))) => each + *bytes as f64,
            Some((_, LastTrain::UpToTotal(all))) => *all as f64,
            None => each,
        };
        return Some(pairs.len() as f64 * with_last);
    }
    if let WorkloadKind::Replay { flows, .. } = kind {
        return Some(begun(flows, duration).map(|f| f.bytes as f64).sum());
    }
    // All messages have the same mean length.
    planned_messages(kind, duration).zip(message_bytes(kind)).map(|(n, bytes)| n * bytes)
}

/// Messages that a workload plans to send in a run of this many seconds; `None` without a limit.
pub(super) fn planned_messages(kind: &WorkloadKind, duration: Option<f64>) -> Option<f64> {
    Some(match kind {
        WorkloadKind::Long { .. } => begun_flows(kind, duration) as f64,
        WorkloadKind::Incast { senders, rounds, .. } => messages_each(kind) * senders.len() as f64 * f64::from((*rounds)?),
        WorkloadKind::Poisson { .. } => arrivals(kind, duration).filter(|n| n.is_finite())?,
        WorkloadKind::OnOff { pairs, trains, last, .. } => {
            pairs.len() as f64 * (f64::from((*trains)?) + f64::from(u8::from(last.is_some())))
        }
        WorkloadKind::Requests { pairs, count, .. } => 2.0 * pairs.len() as f64 * f64::from((*count)?),
        WorkloadKind::Queries { aggregators, fan_out, arrival, count, .. } => {
            let (begin, end) = active(kind, duration);
            let by_rate = match (arrival, end) {
                (Arrival::Rate(rate), Some(end)) => rate * (end - begin).max(0.0),
                _ => f64::INFINITY,
            };
            let n = by_rate.min(count.map_or(f64::INFINITY, f64::from));
            n.is_finite().then_some(n * messages_each(kind) * f64::from(*fan_out) * aggregators.len() as f64)?
        }
        WorkloadKind::Udp { pairs, .. } => pairs.len() as f64,
        WorkloadKind::Replay { flows, .. } => begun(flows, duration).count() as f64,
    })
}

/// Messages of a server in a query: its response, and the request if that is one.
pub(super) fn messages_each(kind: &WorkloadKind) -> f64 {
    if kind.request_bytes().is_some() { 2.0 } else { 1.0 }
}

/// Mean bytes of the messages of a server in a query with `response` bytes.
fn with_request(kind: &WorkloadKind, response: f64) -> f64 {
    (response + kind.request_bytes().unwrap_or(0) as f64) / messages_each(kind)
}

/// Flows of a list that begin in a run of this many seconds.
fn begun(flows: &[ReplayFlow], duration: Option<f64>) -> impl Iterator<Item = &ReplayFlow> {
    flows.iter().take_while(move |f| duration.is_none_or(|d| f.start.as_secs_f64() < d))
}

/// Mean bytes of a message; `None` for one without an end.
pub(super) fn message_bytes(kind: &WorkloadKind) -> Option<f64> {
    Some(match kind {
        WorkloadKind::Long { size, .. } => (*size)? as f64,
        WorkloadKind::Incast { block, .. } => with_request(kind, *block as f64),
        WorkloadKind::Poisson { sizes, .. } | WorkloadKind::OnOff { sizes, .. } => sizes.mean(),
        WorkloadKind::Requests { request, response, .. } => (request.mean() + response.mean()) / 2.0,
        WorkloadKind::Queries { fan_out, response, .. } => {
            let response = match response {
                ResponseSize::Each(sizes) => sizes.mean(),
                ResponseSize::Shared(total) => *total as f64 / f64::from((*fan_out).max(1)),
            };
            with_request(kind, response)
        }
        WorkloadKind::Udp { .. } => return None,
        WorkloadKind::Replay { flows, .. } => flows.iter().map(|f| f.bytes as f64).sum::<f64>() / flows.len().max(1) as f64,
    })
}

/// Start and end of a workload in a run of this many seconds, s. Without a stop of its own it lasts until the end of the run, which may be
/// unknown.
pub(super) fn active(kind: &WorkloadKind, duration: Option<f64>) -> (f64, Option<f64>) {
    let stop = match kind {
        WorkloadKind::Long { pairs, size: None, start, stagger, jitter, stop_after: Some(after), .. } => {
            Some(after_all(pairs.len(), *start, *stagger, *jitter).saturating_add(*after))
        }
        WorkloadKind::Poisson { stop, .. } | WorkloadKind::Queries { stop, .. } | WorkloadKind::Udp { stop, .. } => *stop,
        WorkloadKind::OnOff { last, .. } => last.map(|(at, _)| at),
        _ => None,
    };
    (begins(kind).as_secs_f64(), stop.map(|t| t.as_secs_f64()).into_iter().chain(duration).reduce(f64::min))
}

/// Flows of a `long` workload that begin in a run of this many seconds; none of other kinds.
fn begun_flows(kind: &WorkloadKind, duration: Option<f64>) -> usize {
    let WorkloadKind::Long { pairs, start, stagger, .. } = kind else { return 0 };
    let Some(left) = duration.map(|d| d - start.as_secs_f64()) else { return pairs.len() };
    match stagger.as_secs_f64() {
        _ if left <= 0.0 => 0,
        0.0 => pairs.len(),
        // Starts at 0, 1, 2, ... times the stagger, before the end.
        stagger => pairs.len().min((left / stagger).ceil() as usize),
    }
}

/// Start of the last of `flows` that start one after the other.
fn after_all(flows: usize, start: Time, stagger: Time, jitter: Time) -> Time {
    start.saturating_add(Time(stagger.0.saturating_mul(flows.saturating_sub(1) as u64))).saturating_add(jitter)
}

/// Earliest start of a workload's traffic.
pub(super) fn begins(kind: &WorkloadKind) -> Time {
    match kind {
        WorkloadKind::Long { start, .. }
        | WorkloadKind::Incast { start, .. }
        | WorkloadKind::Poisson { start, .. }
        | WorkloadKind::OnOff { start, .. }
        | WorkloadKind::Requests { start, .. }
        | WorkloadKind::Queries { start, .. }
        | WorkloadKind::Udp { start, .. } => *start,
        WorkloadKind::Replay { flows, .. } => flows.first().map_or(Time::ZERO, |f| f.start),
    }
}

/// Time at which all connections that a workload opens without waiting for others have started, in a run of this many seconds.
pub(super) fn all_begun(kind: &WorkloadKind, duration: Option<f64>) -> Time {
    match kind {
        WorkloadKind::Long { start, stagger, jitter, .. } => after_all(begun_flows(kind, duration), *start, *stagger, *jitter),
        WorkloadKind::OnOff { start, jitter, .. } | WorkloadKind::Udp { start, jitter, .. } => start.saturating_add(*jitter),
        _ => begins(kind),
    }
}

/// Connections that a workload has from the start.
pub(super) fn connections(kind: &WorkloadKind) -> usize {
    match kind {
        WorkloadKind::Long { pairs, .. } | WorkloadKind::OnOff { pairs, .. } => pairs.len(),
        WorkloadKind::Requests { pairs, .. } => 2 * pairs.len(),
        WorkloadKind::Incast { senders, .. } => messages_each(kind) as usize * senders.len(),
        WorkloadKind::Queries { aggregators, workers, .. } => messages_each(kind) as usize * aggregators.len() * workers.len(),
        WorkloadKind::Replay { flows, .. } => flows.len(),
        WorkloadKind::Poisson { .. } | WorkloadKind::Udp { .. } => 0,
    }
}
