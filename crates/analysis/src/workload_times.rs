//! Completion times of each workload, where a transport carries several: the median of lookups and scans together describes neither, and a few late
//! messages vanish among many others.

use crate::cells::{Cell, cell};
use crate::comparison::link_time;
use crate::data::Data;
use crate::dimension::Dimension;
use crate::format::{bold, number, quantity};
use crate::ideal_query_time;
use forebay_store::stats::{is_bound, quantile};
use std::collections::BTreeMap;

/// Minimum ratio of the median slowdowns of the slowest and the fastest workload to describe messages separately. Our choice.
const APART: f64 = 4.0;
/// Maximum number of workloads in a sentence.
const MAX_NAMED: usize = 3;

/// Times of a workload of a subject: completion times by run, and the ages of unfinished work.
#[derive(Default)]
pub(crate) struct Times {
    done: BTreeMap<usize, Vec<f64>>,
    running: BTreeMap<usize, Vec<f64>>,
    /// Slowdown of all work.
    slow: Vec<f64>,
}

impl Times {
    fn note(&mut self, run: usize, took: Option<f64>, age: f64, ideal: f64) {
        let (times, time) = took.map_or((&mut self.running, age), |took| (&mut self.done, took));
        times.entry(run).or_default().push(time);
        if ideal > 0.0 {
            self.slow.push(time / ideal);
        }
    }

    /// A quantile over the seeds, marked as a lower bound if it depends on unfinished work.
    fn quantile(&self, p: f64) -> Option<Cell> {
        let (now, never) = self.by_run(p);
        let at_least = now.iter().zip(&never).any(|(now, never)| is_bound(*now, *never));
        cell(&now).map(|c| Cell { at_least, ..c })
    }

    /// Number of unfinished queries or messages of a run.
    pub(crate) fn unfinished(&self, run: usize) -> usize {
        self.running.get(&run).map_or(0, Vec::len)
    }

    /// A quantile of each run, in their order: with the time so far of unfinished work, and if that work never ended.
    pub(crate) fn by_run(&self, p: f64) -> (Vec<f64>, Vec<f64>) {
        let none = Vec::new();
        let of = |run: &usize, running: fn(f64) -> f64| {
            let (done, open) = (self.done.get(run).unwrap_or(&none), self.running.get(run).unwrap_or(&none));
            let mut all: Vec<f64> = done.iter().copied().chain(open.iter().map(|age| running(*age))).collect();
            all.sort_unstable_by(f64::total_cmp);
            quantile(&all, p)
        };
        let mut runs: Vec<&usize> = self.done.keys().chain(self.running.keys()).collect();
        runs.sort_unstable();
        runs.dedup();
        runs.iter().filter_map(|run| Some((of(run, |age| age)?, of(run, |_| f64::MAX)?))).unzip()
    }

    /// Median and 99th percentile as a part of a sentence.
    fn words(&self) -> Option<String> {
        let text = |c: Cell| c.at_least().to_owned() + &bold(&quantity(c.mean, Dimension::Seconds));
        Some(format!("{} (median), {} (99th percentile)", text(self.quantile(0.5)?), text(self.quantile(0.99)?)))
    }

    fn median_slowness(&self) -> f64 {
        let mut slow = self.slow.clone();
        slow.sort_unstable_by(f64::total_cmp);
        quantile(&slow, 0.5).unwrap_or(1.0)
    }
}

fn age(data: &Data, run: usize, start_ns: i64) -> f64 {
    (data.runs[run].end_ns - start_ns) as f64 * 1e-9
}

/// Workloads with finished work, largest slowdown first; `None` with fewer than two.
fn ranked(times: BTreeMap<u32, Times>) -> Option<Vec<(u32, Times, f64)>> {
    let known = times.into_iter().filter(|(_, t)| !t.done.is_empty());
    let mut all: Vec<(u32, Times, f64)> =
        known.map(|(class, t)| (class, t.median_slowness(), t)).map(|(c, slow, t)| (c, t, slow)).collect();
    all.sort_by(|a, b| b.2.total_cmp(&a.2));
    (all.len() > 1).then_some(all)
}

fn name(data: &Data, class: u32) -> &str {
    data.class(Some(class)).unwrap_or("?")
}

/// Times of the queries of a subject (`true`) and of its messages outside queries, by workload.
pub(crate) fn by_class(data: &Data, subject: usize) -> BTreeMap<(Option<u32>, bool), Times> {
    let network = data.subjects[subject].network;
    let bit = 1u64 << (subject - data.networks[network].first).min(63);
    let mut times: BTreeMap<(Option<u32>, bool), Times> = BTreeMap::new();
    for q in data.queries.iter().filter(|q| data.runs[q.run].network == network && q.groups & bit != 0) {
        times.entry((q.class, true)).or_default().note(q.run, q.qct, age(data, q.run, q.start_ns), q.ideal_s);
    }
    for f in data.flows.iter().filter(|f| f.subject == subject && f.size > 0 && !f.in_query) {
        times.entry((f.class, false)).or_default().note(f.run, f.fct, age(data, f.run, f.start_ns), f.ideal_s);
    }
    times
}

/// `a query of scan takes ..., compared with 48 ms on an unloaded link; one of lookup ...`, if a subject has queries of several workloads.
pub(crate) fn queries(data: &Data, subject: usize) -> Option<String> {
    let network = data.subjects[subject].network;
    let bit = 1u64 << (subject - data.networks[network].first).min(63);
    let mut times: BTreeMap<u32, Times> = BTreeMap::new();
    let needs: BTreeMap<u32, f64> = {
        let mut classes: Vec<u32> = data.queries.iter().filter_map(|q| q.class).collect();
        classes.sort_unstable();
        classes.dedup();
        classes.into_iter().filter_map(|c| Some((c, link_time(data, subject, Some(c))?))).collect()
    };
    for q in data.queries.iter().filter(|q| data.runs[q.run].network == network && q.groups & bit != 0) {
        let Some(class) = q.class else { continue };
        let ideal = needs.get(&class).copied().unwrap_or(0.0).max(q.ideal_s);
        times.entry(class).or_default().note(q.run, q.qct, age(data, q.run, q.start_ns), ideal);
    }
    let one = |(i, (class, t, _)): (usize, &(u32, Times, f64))| {
        let whose = if i == 0 {
            format!("a query of {} takes", bold(name(data, *class)))
        } else {
            format!("one of {}", name(data, *class))
        };
        Some(format!("{whose} {}{}", t.words()?, ideal_query_time::words(data, subject, Some(*class))))
    };
    let each: Vec<String> = ranked(times)?.iter().enumerate().take(MAX_NAMED).filter_map(one).collect();
    Some(each.join("; "))
}

/// A sentence about the messages outside queries, if the slowdowns of workloads differ much.
pub(crate) fn messages(data: &Data, subject: usize) -> Option<String> {
    let mut times: BTreeMap<u32, Times> = BTreeMap::new();
    for f in data.flows.iter().filter(|f| f.subject == subject && f.size > 0 && !f.in_query) {
        let Some(class) = f.class else { continue };
        times.entry(class).or_default().note(f.run, f.fct, age(data, f.run, f.start_ns), f.ideal_s);
    }
    let all = ranked(times)?;
    if all[0].2 < APART * all[all.len() - 1].2 {
        return None;
    }
    let one = |(i, (class, t, slow)): (usize, &(u32, Times, f64))| {
        let whose = if i == 0 {
            format!("Messages of {} take", bold(name(data, *class)))
        } else {
            format!("those of {}", name(data, *class))
        };
        let empty = if i == 0 { " times as long as on an unloaded network" } else { " times" };
        Some(format!("{whose} {}, {}{empty}", t.words()?, number(*slow)))
    };
    let each: Vec<String> = all.iter().enumerate().take(MAX_NAMED).filter_map(one).collect();
    Some(each.join("; ") + ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::{Given, data as networks};
    use crate::data::{Flow, Port, Query, Run};

    fn one() -> Data {
        let named: [(&str, Given); 1] = [("dctcp", &[])];
        let mut d = networks(&named);
        d.runs.push(Run { end_ns: 1_000_000_000, ..Run::default() });
        d.classes = vec!["lookup".into(), "scan".into()];
        d.hosts.push("r0".into());
        d.ports.push(Port { to: "r0".into(), rate_bps: 1e9, ..Port::default() });
        d
    }

    #[test]
    fn query_times_by_workload() {
        let mut d = one();
        let query = |class, bytes, qct| Query {
            class: Some(class),
            bytes,
            qct: Some(qct),
            groups: 1,
            receiver: Some(0),
            ..Query::default()
        };
        d.queries = vec![query(0, 1_250, 20e-6); 99];
        d.queries.push(query(1, 12_500_000, 0.3));
        assert_eq!(
            queries(&d, 0).unwrap(),
            "a query of **scan** takes **300 ms** (median), **300 ms** (99th percentile), compared with 100 ms on an unloaded link; \
             one of lookup **20 µs** (median), **20 µs** (99th percentile), compared with 10 µs on an unloaded link"
        );
        d.queries.retain(|q| q.class == Some(0));
        assert_eq!(queries(&d, 0), None);
    }

    #[test]
    fn the_workload_that_suffers_is_named() {
        let mut d = one();
        let message = |class, fct| Flow { class: Some(class), fct: Some(fct), size: 1_000, ideal_s: 1e-5, ..Flow::default() };
        d.flows = vec![message(0, 2e-5); 99];
        d.flows.push(message(1, 5e-5));
        assert_eq!(messages(&d, 0), None, "no more than 2.5 times as slow");
        d.flows.push(message(1, 1e-2));
        d.flows.push(Flow { start_ns: 900_000_000, fct: None, ..message(1, 0.0) });
        assert_eq!(
            messages(&d, 0).unwrap(),
            "Messages of **scan** take **10 ms** (median), at least **98.2 ms** (99th percentile), 1000 times as long as on an unloaded \
             network; those of lookup **20 µs** (median), **20 µs** (99th percentile), 2 times."
        );
    }
}
