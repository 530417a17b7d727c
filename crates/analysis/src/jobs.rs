//! Jobs: a fixed number of messages that start together or wait for each other, such as a shuffle, a ring or an exchange between all hosts. The time
//! until the last one is complete is what counts. Where messages arrive at given times, that time says more about the arrivals than about the network.

use crate::cells::{Cell, cells};
use crate::data::{Data, Flow};
use crate::headline_metrics::MAKESPAN;
use crate::late_messages;
use forebay_experiment::waits::Cause;
use std::collections::BTreeMap;

/// Messages that start in this fraction of the job start together. Our choice.
const TOGETHER: f64 = 0.1;
/// Maximum time between the end of a message and the start of one that waited for it, as a fraction of the job. Our choice.
const AT_ONCE: f64 = 1e-3;
/// Minimum fraction of messages that start together or wait for others. Our choice.
const MOST: f64 = 0.5;

/// Start and end of a message, ns.
type Span = (i64, i64);

/// Time until all messages of a subject are complete; `None` if they are no job, or some did not finish.
pub(crate) fn makespan(data: &Data, subject: usize) -> Option<Cell> {
    let cell = cells(data, MAKESPAN)[subject].filter(|c| !c.at_least)?;
    let mut runs: Vec<Vec<Span>> = vec![Vec::new(); data.runs.len()];
    for f in data.flows.iter().filter(|f| f.subject == subject) {
        if f.in_query {
            return None;
        }
        runs[f.run].push((f.start_ns, f.end_ns()?));
    }
    runs.retain(|spans| !spans.is_empty());
    (!runs.is_empty() && runs.iter().all(|spans| spans.len() > 1 && is_job(spans))).then_some(cell)
}

/// Cause of delay of the message that ends last in each seed, if it is a stall: a timer, or the repair of losses. A bandwidth share needs no name, as
/// a job uses the links that it has.
pub(crate) fn stall_of_the_last(data: &Data, subject: usize) -> Option<String> {
    let mut last: BTreeMap<usize, (i64, &Flow)> = BTreeMap::new();
    for f in data.flows.iter().filter(|f| f.subject == subject) {
        let Some(end) = f.end_ns() else { continue };
        let of = last.entry(f.run).or_insert((end, f));
        if end > of.0 {
            *of = (end, f);
        }
    }
    let stalls = [Cause::Timeout, Cause::Probe, Cause::Syn, Cause::DelayedAck, Cause::Recovery];
    let stalled = last.values().filter(|(_, f)| f.waited.is_some_and(|cause| stalls.contains(&cause))).count();
    let waited = last.values().filter_map(|(_, f)| Some(((f.waited?, f.delay_port), f.blocked_by)));
    late_messages::shared_cause(data, waited).filter(|_| 2 * stalled > last.len())
}

/// True if most messages start together, or when another one ends.
fn is_job(spans: &[Span]) -> bool {
    let first = spans.iter().map(|s| s.0).min().unwrap_or(0);
    let mut ends: Vec<i64> = spans.iter().map(|s| s.1).collect();
    ends.sort_unstable();
    let whole = (ends.last().copied().unwrap_or(first) - first).max(0) as f64;
    let follows = |start: i64| {
        let before = ends.partition_point(|end| *end <= start);
        before > 0 && (start - ends[before - 1]) as f64 <= AT_ONCE * whole
    };
    let own = spans.iter().filter(|(start, _)| (start - first) as f64 <= TOGETHER * whole || follows(*start)).count();
    own as f64 >= MOST * spans.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffle_and_ring_are_jobs() {
        let shuffle: Vec<Span> = (0..16).map(|i| (1_000 * i, 1_000_000 + 50_000 * i)).collect();
        assert!(is_job(&shuffle));
        let ring: Vec<Span> = (0..16).map(|i| (100_000 * i, 100_000 * (i + 1))).collect();
        assert!(is_job(&ring));
    }

    #[test]
    fn arrivals_are_no_job() {
        let arrivals: Vec<Span> = (0..16).map(|i| (1_000_000 * i, 1_000_000 * i + 70_000)).collect();
        assert!(!is_job(&arrivals));
    }
}
