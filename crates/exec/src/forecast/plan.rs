//! What a workload means to do, as far as its configuration says.

use forebay_experiment::traffic::{Arrival, ResponseSize, WorkloadKind};
use forebay_units::Time;

/// Flows of a Poisson process that arrive in a run of this many seconds, infinitely many without an end; `None` for other workloads.
pub(super) fn arrivals(kind: &WorkloadKind, duration: Option<f64>) -> Option<f64> {
    let WorkloadKind::Poisson { flows_per_sec, flows, start, stop, .. } = kind else { return None };
    let stop = stop.map_or(f64::INFINITY, |t| t.as_secs_f64()).min(duration.unwrap_or(f64::INFINITY));
    let by_rate = flows_per_sec * (stop - start.as_secs_f64()).max(0.0);
    Some(by_rate.min(flows.map_or(f64::INFINITY, |n| n as f64)))
}

/// Bytes that a workload means to send; `None` for one without an end.
pub(super) fn planned_bytes(kind: &WorkloadKind, duration: Option<f64>) -> Option<f64> {
    Some(match kind {
        WorkloadKind::Long { pairs, size, .. } => pairs.len() as f64 * (*size)? as f64,
        WorkloadKind::Incast { senders, block, rounds, .. } => senders.len() as f64 * *block as f64 * f64::from((*rounds)?),
        WorkloadKind::Poisson { sizes, .. } => {
            let n = arrivals(kind, duration)?;
            n.is_finite().then_some(n * sizes.mean())?
        }
        WorkloadKind::OnOff { pairs, total: Some((total, _)), .. } => pairs.len() as f64 * *total as f64,
        WorkloadKind::OnOff { pairs, sizes, trains, .. } => pairs.len() as f64 * sizes.mean() * f64::from((*trains)?),
        WorkloadKind::Requests { pairs, request, response, count, .. } => {
            pairs.len() as f64 * (request.mean() + response.mean()) * f64::from((*count)?)
        }
        WorkloadKind::Queries { aggregators, fan_out, response, arrival, count, .. } => {
            let each = match response {
                ResponseSize::Each(sizes) => sizes.mean() * f64::from(*fan_out),
                ResponseSize::Shared(total) => *total as f64,
            };
            let by_rate = match (arrival, duration) {
                (Arrival::Rate(rate), Some(d)) => rate * d,
                _ => f64::INFINITY,
            };
            let n = by_rate.min(count.map_or(f64::INFINITY, f64::from));
            n.is_finite().then_some(n * each * aggregators.len() as f64)?
        }
        WorkloadKind::Udp { .. } => return None,
        WorkloadKind::Replay { flows } => flows.iter().map(|f| f.bytes as f64).sum(),
    })
}

/// When a workload may send first.
pub(super) fn begins(kind: &WorkloadKind) -> Time {
    match kind {
        WorkloadKind::Long { start, .. }
        | WorkloadKind::Incast { start, .. }
        | WorkloadKind::Poisson { start, .. }
        | WorkloadKind::OnOff { start, .. }
        | WorkloadKind::Requests { start, .. }
        | WorkloadKind::Queries { start, .. }
        | WorkloadKind::Udp { start, .. } => *start,
        WorkloadKind::Replay { flows } => flows.first().map_or(Time::ZERO, |f| f.start),
    }
}

/// Connections that a workload has from the start.
pub(super) fn connections(kind: &WorkloadKind) -> usize {
    match kind {
        WorkloadKind::Long { pairs, .. } | WorkloadKind::OnOff { pairs, .. } => pairs.len(),
        WorkloadKind::Requests { pairs, .. } => 2 * pairs.len(),
        WorkloadKind::Incast { senders, .. } => senders.len(),
        WorkloadKind::Queries { aggregators, workers, .. } => aggregators.len() * workers.len(),
        WorkloadKind::Replay { flows } => flows.len(),
        WorkloadKind::Poisson { .. } | WorkloadKind::Udp { .. } => 0,
    }
}
