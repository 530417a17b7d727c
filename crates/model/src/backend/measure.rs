//! Measurements of a run that models predict.

use forebay_experiment::report::Report;
use forebay_experiment::rows::{FlowRow, PortRow, QueryRow};
use forebay_types::{GroupId, PortId, QueryId, WorkloadId};

/// Completed rounds of workload `w` with their durations, s. The first sixth is excluded, like 20 of 120 rounds in the incast simulations, because
/// the first slow start overshoots and causes timeouts.
fn rounds(run: &Report, w: WorkloadId) -> Vec<(&QueryRow, f64)> {
    let took = |q: &QueryRow| q.end.ps().map(|end| (end - q.start.0) as f64 * 1e-12);
    let all: Vec<(&QueryRow, f64)> = run.queries.iter().filter(|q| q.workload == w).filter_map(|q| Some((q, took(q)?))).collect();
    let skip = all.len().div_ceil(6);
    all[skip..].to_vec()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0_u64);
    for v in values {
        sum += v;
        n += 1;
    }
    (n > 0).then(|| sum / n as f64)
}

/// Mean duration of a round, s.
pub(crate) fn round_time(run: &Report, w: WorkloadId) -> Option<f64> {
    mean(rounds(run, w).iter().map(|(_, took)| *took))
}

/// Payload of rounds over their total duration, without pauses in between, bit/s.
pub(crate) fn round_goodput(run: &Report, w: WorkloadId) -> Option<f64> {
    let rounds = rounds(run, w);
    let bits: f64 = rounds.iter().map(|(q, _)| 8.0 * q.bytes as f64).sum();
    let time: f64 = rounds.iter().map(|(_, took)| took).sum();
    (time > 0.0).then(|| bits / time)
}

/// Largest number of timeouts of a sender in a round, mean over rounds.
pub(crate) fn round_timeouts(run: &Report, w: WorkloadId) -> Option<f64> {
    mean(rounds(run, w).iter().map(|(q, _)| f64::from(q.rtos_max)))
}

/// Blocks of a round with a timeout before any byte of the first window was acknowledged, mean over rounds.
pub(crate) fn head_timeouts(run: &Report, w: WorkloadId) -> Option<f64> {
    let mut ids: Vec<QueryId> = rounds(run, w).iter().map(|(q, _)| q.query_id).collect();
    ids.sort_unstable();
    let hit = |f: &FlowRow| f.query_id.is_some_and(|id| ids.binary_search(&id).is_ok());
    let blocks = run.flows.iter().filter(|f| f.workload == w && f.rtos_head > 0 && hit(f)).count();
    (!ids.is_empty()).then(|| blocks as f64 / ids.len() as f64)
}

/// The totals of a port.
pub(crate) fn port(run: &Report, id: PortId) -> Option<&PortRow> {
    run.ports.iter().find(|p| p.port == id)
}

/// Smallest sample of a port's queue, packets; requires its time series.
pub(crate) fn queue_min(run: &Report, id: PortId) -> Option<f64> {
    let from = run.measured_from.0;
    run.queue.iter().filter(|r| r.port == id && r.time_ps >= from).map(|r| f64::from(r.pkts)).reduce(f64::min)
}

/// Payload acknowledged in a transport, bit/s. ACKs are cumulative, so a recovery that is open at the end of the warm-up includes earlier data.
pub(crate) fn goodput(run: &Report, group: GroupId) -> Option<f64> {
    let seconds = run.end.saturating_sub(run.measured_from).as_secs_f64();
    let acked = *run.acked.get(group)?;
    (seconds > 0.0).then(|| 8.0 * acked as f64 / seconds)
}

/// Mean of DCTCP's marked fraction over the samples of a transport's connections; requires their time series.
pub(crate) fn alpha(run: &Report, group: GroupId) -> Option<f64> {
    let mut conns: Vec<u64> = run.flows.iter().filter(|f| f.group == group).map(|f| f.conn_id).collect();
    conns.sort_unstable();
    let from = run.measured_from.0;
    let samples = run.tcp.iter().filter(|r| r.time_ps >= from && conns.binary_search(&r.conn_id).is_ok());
    mean(samples.filter_map(|r| r.alpha))
}
