//! Every message ends, or has a reason not to: the run ended first, and its connection still tries.

use super::run::{RunOutcome, run};
use crate::case::Kind;
use crate::work::Work;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::traffic::WorkloadKind;
use forebay_sim::run::Cores;
use forebay_types::Time;
use std::collections::BTreeMap;

/// Longest simulated time, 200 days.
const LATEST: Time = Time::from_secs(200 * 86_400);
/// Time beyond the largest timeout in which a connection must try once more.
const PATIENCE: Time = Time::from_secs(1_000);

/// Attempts of each connection that has unfinished messages: segments, timeouts, acknowledged bytes.
fn attempts(r: &Report) -> BTreeMap<u64, [u64; 3]> {
    let mut all: BTreeMap<u64, ([u64; 3], bool)> = BTreeMap::new();
    for f in &r.flows {
        let (sum, open) = all.entry(f.conn_id).or_default();
        let new = [f.segs_sent, u64::from(f.rtos + f.syn_rtos + f.tlps), f.bytes_acked];
        sum.iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
        *open |= f.size_bytes > 0 && f.acked.is_never();
    }
    all.into_iter().filter(|(_, (_, open))| *open).map(|(conn, (sum, _))| (conn, sum)).collect()
}

/// Checks the messages that have not ended.
pub(super) fn have_reasons(kind: Kind, config: &Experiment, r: &Report, work: &mut Work) -> Result<(), String> {
    let open = attempts(r);
    let Some(first) = r.flows.iter().find(|f| open.contains_key(&f.conn_id) && f.acked.is_never()) else { return Ok(()) };
    let Some(duration) = config.duration else {
        // A connection whose packets never pass tries until the end of simulated time.
        return if r.end >= LATEST { Ok(()) } else { Err(format!("a run without duration ends before its messages: {first:?}")) };
    };
    let longest = config.groups.iter().map(|g| g.tcp.rto_max.max(g.tcp.rto_min).max(g.tcp.rto_initial)).max().unwrap_or_default();
    let more = longest.saturating_mul(3).saturating_add(PATIENCE);
    let extended = duration.saturating_add(more).min(LATEST);
    if extended.saturating_sub(duration) < more {
        return Ok(());
    }
    let mut longer = Experiment { duration: Some(extended), ..config.clone() };
    longer.workloads.iter_mut().zip(begun(r, config.workloads.len())).for_each(|(w, begun)| end(&mut w.kind, duration, begun));
    // Samples of idle time would fill the memory.
    (longer.observe.queue_series, longer.observe.tcp_series) = (Vec::new(), Vec::new());
    match run(&longer, Cores::ONE, kind, work) {
        RunOutcome::Report(later) => check_retransmitting(open, r, &later, (duration, extended)),
        RunOutcome::Cut => {
            work.unfinished += 1;
            Ok(())
        }
        RunOutcome::Refused(why) | RunOutcome::Failed(why) => Err(format!("a longer run fails: {why}")),
    }
}

/// Checks that connections with unfinished messages have made more attempts in a longer run, or have completed the messages.
fn check_retransmitting(
    open: BTreeMap<u64, [u64; 3]>,
    r: &Report,
    later: &Report,
    (duration, extended): (Time, Time),
) -> Result<(), String> {
    let still = attempts(later);
    for (conn, before) in open {
        if still.get(&conn) == Some(&before) {
            let row = r.flows.iter().find(|f| f.conn_id == conn && f.acked.is_never());
            return Err(format!("a connection has stopped trying: nothing happens between {duration} and {extended}, {row:?}"));
        }
    }
    Ok(())
}

/// Units of work of a workload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct StartedWork {
    /// Largest number of messages from one host to another.
    messages: u32,
    /// Queries.
    queries: u32,
}

/// Units of work of each workload in a run.
fn begun(r: &Report, workloads: usize) -> Vec<StartedWork> {
    let mut all = vec![StartedWork::default(); workloads];
    let mut messages: BTreeMap<_, u32> = BTreeMap::new();
    for f in &r.flows {
        *messages.entry((f.workload, f.src, f.dst)).or_default() += 1;
    }
    for ((workload, ..), count) in messages {
        let most = &mut all[workload.index()].messages;
        *most = count.max(*most);
    }
    for q in &r.queries {
        all[q.workload.index()].queries += 1;
    }
    all
}

/// Lets a workload begin no work after `time`, by which it has begun this much. It begins the same work until then. Without an end, the traffic of the other
/// connections would reach the limit of transmissions before the longest timeout.
fn end(kind: &mut WorkloadKind, time: Time, begun: StartedWork) {
    let earlier = |stop: &mut Option<Time>| *stop = Some(stop.map_or(time, |s| s.min(time)));
    // A unit that is begun may have no row yet.
    let at_most = |count: &mut Option<u32>, begun: u32| *count = Some(count.unwrap_or(u32::MAX).min(begun.saturating_add(1)));
    match kind {
        // `stop` must be later than `start`, and `stop-after` counts from the start of each flow.
        WorkloadKind::Long { size: None, stop_after, .. } => earlier(stop_after),
        WorkloadKind::Poisson { start, stop, .. } | WorkloadKind::Udp { start, stop, .. } if *start < time => earlier(stop),
        WorkloadKind::Queries { start, stop, .. } if *start < time => earlier(stop),
        WorkloadKind::Incast { rounds, .. } => at_most(rounds, begun.queries),
        WorkloadKind::OnOff { trains, .. } => at_most(trains, begun.messages),
        WorkloadKind::Requests { count, .. } => at_most(count, begun.messages),
        WorkloadKind::Long { .. }
        | WorkloadKind::Poisson { .. }
        | WorkloadKind::Udp { .. }
        | WorkloadKind::Queries { .. }
        | WorkloadKind::Replay { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::ran;
    use super::*;
    use crate::scenario::resolve;

    /// A run with an unfinished message, and its duration.
    fn unfinished() -> (Report, Time) {
        let (_, mut report) = ran();
        let end = report.end;
        report.flows[0].size_bytes = report.flows[0].bytes_acked + 1;
        (report, end)
    }

    #[test]
    fn idle_connections_are_found() {
        let (report, end) = unfinished();
        let open = attempts(&report);
        assert_eq!(open.len(), 1);
        let times = (end, end * 2);
        // Nothing has happened in the longer run.
        let why = check_retransmitting(open.clone(), &report, &report, times).expect_err("no attempts");
        assert!(why.starts_with("a connection has stopped trying"), "{why}");
        let mut later = report.clone();
        later.flows[0].segs_sent += 1;
        assert_eq!(check_retransmitting(open.clone(), &report, &later, times), Ok(()));
        let mut complete = report.clone();
        complete.flows[0].acked = end.into();
        assert_eq!(check_retransmitting(open, &report, &complete, times), Ok(()));
    }

    /// A link that is down for ever, beside traffic of 100 Mbps. In 1000 s that would be ten million transmissions.
    const BESIDE_TRAFFIC: &str = r#"
duration = "20ms"
[topology]
kind = "many-to-one"
senders = 3
access     = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us", buffer = "100pkt" }
failure    = [{ link = "s0->sw", down = "1ms" }]
[transport]
cc = "newreno"
[[workload]]
kind = "long"
from = "s0"
size = "10MB"
[[workload]]
kind = "udp"
from = "s1"
to = "recv"
rate = "100Mbps"
[[workload]]
kind = "on-off"
from = "s2"
to = "recv"
sizes = "10KB"
gaps = "1ms"
[[workload]]
kind = "poisson"
from = "s2"
to = "recv"
load = 0.1
sizes = "10KB"
[[workload]]
kind = "requests"
from = "s2"
to = "recv"
request = "100B"
response = "1KB"
think = "1ms"
"#;

    #[test]
    fn other_traffic_ends_in_longer_run() {
        let resolved = resolve(BESIDE_TRAFFIC).unwrap_or_else(|e| panic!("{}", e.render()));
        let config = &resolved.variants[0].config;
        let mut work = Work::default();
        let RunOutcome::Report(report) = run(config, Cores::ONE, Kind::Scenarios, &mut work) else { panic!("no report") };
        let dead = report.flows.iter().find(|f| f.size_bytes == 10_000_000).expect("a message over the failed link");
        assert!(attempts(&report).contains_key(&dead.conn_id), "{dead:?}");
        assert_eq!(have_reasons(Kind::Scenarios, config, &report, &mut work), Ok(()));
        assert_eq!((work.runs, work.unfinished), (2, 0));
        // Both runs have the same work until the end of the first one.
        assert!(work.transmissions < 3 * report.packet_hops, "{work:?}");
    }
}
