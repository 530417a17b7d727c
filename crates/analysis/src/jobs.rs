//! Jobs: a fixed number of messages that start together or wait for each other, such as a shuffle, a ring or an exchange between all hosts. The time
//! until the last one is complete is what counts. Where messages arrive at given times, that time depends more on the arrivals than on the network.

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
/// Minimum delay of the last message, as a fraction of the job, that is worth a cause. Our choice.
const LATE: f64 = 0.1;

/// Start and end of a message, ns.
type Span = (i64, i64);

/// A job.
pub(crate) struct Job {
    /// Index of its workload, where the subject has other traffic; otherwise the job is all of its messages.
    pub(crate) class: Option<u32>,
    /// Number of messages, mean over the seeds.
    pub(crate) messages: f64,
    /// Time until all are complete, s, mean over the seeds.
    pub(crate) makespan_s: f64,
}

/// The jobs of a subject: all of its messages, or those of single workloads beside other traffic of the same transport, such as a shuffle beside requests.
pub(crate) fn of(data: &Data, subject: usize) -> Vec<Job> {
    if let Some(cell) = makespan(data, subject) {
        let messages = cells(data, "flows")[subject].map_or(0.0, |c| c.mean);
        return vec![Job { class: None, messages, makespan_s: cell.mean }];
    }
    let mut runs: BTreeMap<u32, BTreeMap<usize, Vec<Option<Span>>>> = BTreeMap::new();
    let others = data.flows.iter().any(|f| f.subject == subject && (f.in_query || f.size == 0));
    for f in data.flows.iter().filter(|f| f.subject == subject && f.size > 0 && !f.in_query) {
        let Some(class) = f.class else { continue };
        runs.entry(class).or_default().entry(f.run).or_default().push(f.end_ns().map(|end| (f.start_ns, end)));
    }
    if !others && runs.len() < 2 {
        return Vec::new();
    }
    let network = data.subjects[subject].network;
    let is_fixed = |class: u32| data.fixed_work.iter().any(|(n, name)| *n == network && data.class(Some(class)) == Some(name));
    runs.retain(|class, _| is_fixed(*class));
    runs.into_iter().filter_map(|(class, runs)| complete(class, runs.into_values())).collect()
}

/// The job of a workload from its messages in each seed: the same number in each, and all complete.
fn complete(class: u32, runs: impl ExactSizeIterator<Item = Vec<Option<Span>>>) -> Option<Job> {
    let seeds = runs.len();
    let (mut messages, mut time_ns) = (None, 0);
    for spans in runs {
        let spans: Vec<Span> = spans.into_iter().collect::<Option<_>>()?;
        if spans.len() < 2 || messages.is_some_and(|n| n != spans.len()) || !is_job(&spans) {
            return None;
        }
        messages = Some(spans.len());
        time_ns += spans.iter().map(|s| s.1).max()? - spans.iter().map(|s| s.0).min()?;
    }
    Some(Job { class: Some(class), messages: messages? as f64, makespan_s: time_ns as f64 / 1e9 / seeds as f64 })
}

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
/// a job uses the links that it has. A delay that is a small part of the job does not explain its time.
pub(crate) fn stall_of_the_last(data: &Data, subject: usize, class: Option<u32>) -> Option<String> {
    // Start of the first message, end of the last, and the last.
    let mut runs: BTreeMap<usize, (i64, i64, &Flow)> = BTreeMap::new();
    for f in data.flows.iter().filter(|f| f.subject == subject && (class.is_none() || f.class == class)) {
        let Some(end) = f.end_ns() else { continue };
        let run = runs.entry(f.run).or_insert((f.start_ns, end, f));
        run.0 = run.0.min(f.start_ns);
        if end > run.1 {
            (run.1, run.2) = (end, f);
        }
    }
    let matters =
        |(begin, end, f): &&(i64, i64, &Flow)| f.fct.is_some_and(|fct| fct - f.ideal_s >= LATE * (end - begin) as f64 / 1e9);
    if 2 * runs.values().filter(matters).count() <= runs.len() {
        return None;
    }
    let stalls = [Cause::Timeout, Cause::Probe, Cause::Syn, Cause::DelayedAck, Cause::Recovery];
    let stalled = runs.values().filter(|(.., f)| f.waited.is_some_and(|cause| stalls.contains(&cause))).count();
    let waited = runs.values().filter_map(|(.., f)| Some(((f.waited?, f.delay_port), f.blocked_by)));
    late_messages::shared_cause(data, waited).filter(|_| 2 * stalled > runs.len())
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
    use crate::cells::tests::data as networks;
    use crate::data::Run;

    #[test]
    fn shuffle_and_ring_are_jobs() {
        let shuffle: Vec<Span> = (0..16).map(|i| (1_000 * i, 1_000_000 + 50_000 * i)).collect();
        assert!(is_job(&shuffle));
        let ring: Vec<Span> = (0..16).map(|i| (100_000 * i, 100_000 * (i + 1))).collect();
        assert!(is_job(&ring));
    }

    #[test]
    fn job_beside_requests_has_its_time() {
        let mut d = networks(&[("cubic", &[])]);
        d.classes = vec!["rpc".into(), "shuffle".into()];
        d.fixed_work = vec![(0, "shuffle".into())];
        d.runs.push(Run { end_ns: 1_000_000_000, ..Run::default() });
        let message = |class, fct: f64| Flow { size: 1_000, class: Some(class), fct: Some(fct), ..Flow::default() };
        d.flows = vec![message(1, 0.2), message(1, 0.3), Flow { in_query: true, ..message(0, 1e-4) }];
        let jobs = of(&d, 0);
        assert_eq!(jobs.iter().map(|j| (j.class, j.messages, j.makespan_s)).collect::<Vec<_>>(), [(Some(1), 2.0, 0.3)]);
        d.flows.push(Flow { fct: None, ..message(1, 0.0) });
        assert!(of(&d, 0).is_empty(), "one message did not finish");
        d.flows.pop();
        d.fixed_work.clear();
        assert!(of(&d, 0).is_empty(), "arrivals without end");
    }

    /// The last message of a long job is late by a little: its cause is not that of the job's time.
    #[test]
    fn small_delay_has_no_cause() {
        let mut d = networks(&[("cubic", &[])]);
        let stalled =
            |start_ns, fct| Flow { size: 1_000, start_ns, fct: Some(fct), waited: Some(Cause::DelayedAck), ..Flow::default() };
        d.flows = vec![stalled(0, 1.0), stalled(1_000_000_000, 0.04)];
        assert_eq!(stall_of_the_last(&d, 0, None), None);
        d.flows = vec![stalled(0, 0.01), stalled(10_000_000, 0.04)];
        assert_eq!(stall_of_the_last(&d, 0, None).as_deref(), Some("delayed ACK"));
    }

    #[test]
    fn arrivals_are_no_job() {
        let arrivals: Vec<Span> = (0..16).map(|i| (1_000_000 * i, 1_000_000 * i + 70_000)).collect();
        assert!(!is_job(&arrivals));
    }
}
