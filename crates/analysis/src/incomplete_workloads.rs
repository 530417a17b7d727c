//! Unfinished work, and starvation as its cause. These sentences come first: a transport that finished nothing has no completion times to compare.
//!
//! Every run that ends at a given time interrupts some work. Work that has been running no longer than nearly all finished work took is ignored.

use crate::comparison::link_rate;
use crate::data::{Data, Flow, Query, Subject};
use crate::dimension::Dimension;
use crate::format::{bold, list, quantity};
use crate::head_of_line::DelayCause;
use crate::late_messages;
use crate::loads::{self, Load};
use crate::overload;
use crate::paths::Paths;
use forebay_experiment::waits::Cause;
use forebay_store::stats::quantile;
use std::collections::BTreeMap;

/// Minimum fraction of unfinished messages or queries of a workload: it affects the 99th percentile.
const TAIL: f64 = 0.01;
/// Minimum fraction of running messages or queries, of any age, if they change the median by the factor `CHANGED`. Our choice.
const MANY: f64 = 0.2;
/// Minimum factor by which the median would change if they never ended. Our choice.
const CHANGED: f64 = 1.05;
/// Maximum number of transports with a sentence each about the same workload if some of them starved; else one less.
const FEW: usize = 3;
/// Minimum ratio of the other traffic to that of a starved workload on the same link. Our choice.
pub(crate) const STARVED: f64 = 4.0;
/// Minimum share of the other traffic in the link's rate. Our choice.
pub(crate) const TAKEN: f64 = 0.5;
/// Minimum waiting time of a starved workload, in multiples of the time that the link needs for its bytes: half the link would have sufficed. A
/// workload is starved, too, if it got less than 1 / `STARVED` of the bytes that half the link would have carried. Our choice.
const WAITED: f64 = 2.0;
/// Minimum work of a starved workload, in seconds of the link: smaller work waits for timers or queues. Our choice.
const LEAST_WORK_S: f64 = 1e-3;

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Queries,
    /// Outside queries.
    Messages,
}

/// A workload of a subject with unfinished work.
struct IncompleteWorkload {
    subject: usize,
    class: Option<u32>,
    kind: Kind,
    /// Completion times, s.
    done: Vec<f64>,
    running: Vec<Running>,
}

/// Unfinished work.
struct Running {
    /// Age at the end, s.
    age: f64,
    /// True if an unloaded network would have finished it, or if it had half of the run.
    due: bool,
    /// Main cause of delay, with its port.
    waited: Option<(DelayCause, Option<DelayCause>)>,
}

/// A sentence about each workload with a relevant amount of unfinished work, least finished first. If many transports are affected, they share a
/// sentence.
/// Each has the finished fraction of its work.
pub(crate) fn sentences(data: &Data, loads: &[Load]) -> Vec<(f64, String)> {
    let with = |u: IncompleteWorkload| {
        let starved = u.starved(data, loads);
        (u, starved)
    };
    let mut found: Vec<(IncompleteWorkload, Option<Starved>)> =
        (0..data.subjects.len()).flat_map(|s| of_subject(data, s)).map(with).collect();
    // For equal progress, starved ones first.
    found.sort_by(|a, b| a.0.part_done().total_cmp(&b.0.part_done()).then(a.1.is_none().cmp(&b.1.is_none())));
    let mut out: Vec<(f64, String)> = Vec::new();
    let mut together: Vec<(Option<u32>, Kind)> = Vec::new();
    for (u, starved) in &found {
        let alike: Vec<&(IncompleteWorkload, Option<Starved>)> =
            found.iter().filter(|o| (o.0.class, o.0.kind) == (u.class, u.kind)).collect();
        let each = if alike.iter().any(|o| o.1.is_some()) { FEW } else { FEW - 1 };
        if alike.len() <= each {
            out.push((u.part_done(), u.sentence(data, starved.as_ref())));
        } else if !together.contains(&(u.class, u.kind)) {
            together.push((u.class, u.kind));
            out.push((u.part_done(), u.all(data, &alike)));
        }
    }
    out
}

/// Goodput of the starved workload and of the other traffic at the congested ports, bit/s, and the names of the ports.
type Starved = (f64, f64, String);

/// A cause and its port, and the cause of delay of the earlier message.
type Waited = (Option<Cause>, Option<u32>, Option<DelayCause>);

fn of_subject(data: &Data, subject: usize) -> Vec<IncompleteWorkload> {
    let Subject { network, .. } = data.subjects[subject];
    let bit = 1u64 << (subject - data.networks[network].first).min(63);
    let mut out: Vec<IncompleteWorkload> = Vec::new();
    let mut note =
        |class: Option<u32>, kind: Kind, took: Option<f64>, run: usize, (start_ns, needs): (i64, f64), waited: Waited| {
            let at = out.iter().position(|u| u.class == class && u.kind == kind).unwrap_or_else(|| {
                out.push(IncompleteWorkload { subject, class, kind, done: Vec::new(), running: Vec::new() });
                out.len() - 1
            });
            match took {
                Some(took) => out[at].done.push(took),
                None => {
                    let (age, whole) = ((data.runs[run].end_ns - start_ns) as f64 * 1e-9, data.runs[run].end_ns as f64 * 1e-9);
                    let waited = waited.0.map(|cause| ((cause, waited.1), waited.2));
                    out[at].running.push(Running { age, due: age > needs || age >= whole / 2.0, waited });
                }
            }
        };
    let own = |q: &&Query| data.runs[q.run].network == network && q.groups & bit != 0;
    data.queries.iter().filter(own).for_each(|q| {
        let needs =
            q.receiver.and_then(|r| link_rate(data, network, r)).map_or(0.0, |rate| q.bytes as f64 * 8.0 / rate).max(q.ideal_s);
        note(q.class, Kind::Queries, q.qct, q.run, (q.start_ns, needs), (q.waited, q.delay_port, q.blocked_by));
    });
    let own = |f: &&Flow| f.subject == subject && f.size > 0 && !f.in_query;
    data.flows.iter().filter(own).for_each(|f| {
        note(f.class, Kind::Messages, f.fct, f.run, (f.start_ns, f.ideal_s), (f.waited, f.delay_port, f.blocked_by));
    });
    out.iter_mut().for_each(|u| u.done.sort_unstable_by(f64::total_cmp));
    // A loop of rounds always ends with one unfinished round per run.
    let runs = data.runs.iter().filter(|r| r.network == network).count();
    out.retain(|u| u.telling(runs));
    out
}

impl IncompleteWorkload {
    fn of(&self) -> usize {
        self.done.len() + self.running.len()
    }

    fn part_done(&self) -> f64 {
        self.done.len() as f64 / self.of() as f64
    }

    /// True if a relevant fraction has been running for longer than nearly all finished work took.
    fn telling(&self, runs: usize) -> bool {
        let usual = quantile(&self.done, 1.0 - TAIL).unwrap_or(0.0);
        let old = self.running.iter().filter(|r| r.age > usual && r.due).count();
        old as f64 > TAIL * self.of() as f64 || (self.running.len() > runs && self.many())
    }

    /// True if the number of running messages is large enough to affect the median.
    fn many(&self) -> bool {
        let all = |running: f64| {
            let mut all: Vec<f64> = self.done.iter().copied().chain(self.running.iter().map(|r| r.age.max(running))).collect();
            all.sort_unstable_by(f64::total_cmp);
            quantile(&all, 0.5)
        };
        let changes = matches!((all(0.0), all(f64::MAX)), (Some(now), Some(never)) if never > CHANGED * now);
        changes && self.running.len() as f64 > MANY * self.of() as f64
    }

    fn things(&self) -> &'static str {
        if self.kind == Kind::Queries { "queries" } else { "messages" }
    }

    /// Sentence about several transports, `alike`, with the same unfinished workload.
    fn all(&self, data: &Data, alike: &[&(IncompleteWorkload, Option<Starved>)]) -> String {
        let class = data.class(self.class).unwrap_or("?");
        let range = |get: fn(&IncompleteWorkload) -> usize| {
            let (low, high) =
                (alike.iter().map(|u| get(&u.0)).min().unwrap_or(0), alike.iter().map(|u| get(&u.0)).max().unwrap_or(0));
            if low == high { low.to_string() } else { format!("{low} to {high}") }
        };
        let starved: Vec<String> =
            alike.iter().filter(|u| u.1.is_some()).map(|u| data.subjects[u.0.subject].name.clone()).collect();
        let starved = match starved.len() {
            0 => self.rest(data, alike.iter().flat_map(|u| &u.0.running)),
            n if n == alike.len() => "; all **starved** by other traffic".to_owned(),
            n if n > FEW => format!("; {n} of them **starved** by other traffic"),
            _ => format!("; {} **starved** by other traffic", list(&starved)),
        };
        let (whose, done) = (bold(&format!("{} of {}", alike.len(), data.subjects.len())), bold(&range(|u| u.done.len())));
        let (of, what) = (range(IncompleteWorkload::of), self.things());
        format!("With {whose} transports, {class} finished {done} of {of} {what} before the run ended{starved}.")
    }

    fn sentence(&self, data: &Data, starved: Option<&Starved>) -> String {
        let class = data.class(self.class).unwrap_or("?");
        let name = &data.subjects[self.subject].name;
        let what = self.things();
        let finished = format!("{}: {class} finished {} of {} {what}", bold(name), bold(&self.done.len().to_string()), self.of());
        match starved {
            Some((own, others, port)) => {
                format!("{finished}; **starved** by other traffic at {port} ({} against {}).", rate(*own), rate(*others))
            }
            None => match overload::words(data, self.subject, self.class).filter(|_| self.kind == Kind::Messages) {
                Some(overload) => format!("{finished} before the run ended; {overload}."),
                None => format!("{finished} before the run ended{}.", self.rest(data, self.running.iter())),
            },
        }
    }

    /// Cause that delayed more than half of the unfinished work, as the end of a sentence.
    fn rest<'a>(&self, data: &Data, running: impl Iterator<Item = &'a Running>) -> String {
        let running: Vec<&Running> = running.collect();
        let cause = late_messages::shared_cause(data, running.iter().filter_map(|r| r.waited));
        cause.map_or_else(String::new, |cause| format!("; main cause of delay: {cause}"))
    }

    fn has(&self, f: &Flow) -> bool {
        f.subject == self.subject && f.class == self.class && f.in_query == (self.kind == Kind::Queries)
    }

    /// Goodput of the workload and of the other traffic, bit/s, with the port: the port on its paths where the other traffic is largest. If none of
    /// the ports common to all of its traffic is congested, the ports among which the network chooses are examined. `None` if it was not starved.
    fn starved(&self, data: &Data, loads: &[Load]) -> Option<Starved> {
        let network = data.subjects[self.subject].network;
        let mut paths = Paths::of(data, network);
        let mut by_port: BTreeMap<usize, Vec<&Flow>> = BTreeMap::new();
        let mut by_choice: BTreeMap<Vec<usize>, Vec<&Flow>> = BTreeMap::new();
        for f in data.flows.iter().filter(|f| self.has(f) && f.size > 0 && !f.complete()) {
            let Some((from, to)) = data.ends(f) else { continue };
            paths.ports(from, to).into_iter().for_each(|p| by_port.entry(p).or_default().push(f));
            by_choice.entry(paths.choice(from, to)).or_default().push(f);
        }
        let seeds = data.runs.iter().filter(|r| r.network == network).count().max(1) as f64;
        let at = |(port, running): (usize, Vec<&Flow>)| {
            let of = |own: bool| {
                let whose = |l: &&Load| (l.subject == self.subject && l.class == self.class) == own;
                loads::at(loads, port).iter().filter(whose).map(|l| l.bps).sum::<f64>() / seeds
            };
            let (own, others, rate) = (of(true), of(false), data.ports[port].capacity_bps());
            self.kept_from(data, &running, (own, others, rate)).then(|| (own, others, data.ports[port].name.clone()))
        };
        // The first of equal ports on the path, where the traffic first shares a queue.
        let more = |a: &Starved, b: &Starved| a.1.total_cmp(&b.1);
        let single = by_port.into_iter().filter_map(at).rev().max_by(more);
        if single.is_some() {
            return single;
        }
        by_choice.remove(&Vec::new());
        let loads = if by_choice.is_empty() { BTreeMap::new() } else { loads::over_choices(data, network, &mut paths) };
        let among = |(ports, running): (Vec<usize>, Vec<&Flow>)| {
            let whose = |own: bool| {
                let of = loads.get(&ports).into_iter().flatten();
                of.filter(|(who, _)| (**who == (self.subject, self.class)) == own).map(|(_, bps)| bps).sum::<f64>() / seeds
            };
            let (own, others) = (whose(true), whose(false));
            let names: Vec<String> = ports.iter().map(|p| data.ports[*p].name.clone()).collect();
            let rate = ports.iter().map(|p| data.ports[*p].capacity_bps()).sum();
            let name = match names.as_slice() {
                [first, .., last] if names.len() > FEW => format!("{first} to {last}"),
                _ => list(&names),
            };
            self.kept_from(data, &running, (own, others, rate)).then_some((own, others, name))
        };
        by_choice.into_iter().filter_map(among).max_by(more)
    }

    /// True if other traffic, with `others` of `rate`, deprived the unfinished work of its share `own`.
    fn kept_from(&self, data: &Data, running: &[&Flow], (own, others, rate): (f64, f64, f64)) -> bool {
        let seeds = data.runs.iter().filter(|r| r.network == data.subjects[self.subject].network).count().max(1) as f64;
        // Age of the oldest unfinished message, and the link time of all of them.
        let waited = running.iter().map(|f| (data.runs[f.run].end_ns - f.start_ns) as f64 * 1e-9).fold(0.0, f64::max);
        let needs = running.iter().map(|f| f.size as f64 * 8.0).sum::<f64>() / rate / seeds;
        let taken = rate > 0.0 && others > TAKEN * rate && others > STARVED * own;
        // Received part of what half the link would have carried by then.
        let got = running.iter().map(|f| f.acked as f64 * 8.0).sum::<f64>() / rate / seeds;
        let behind = waited > WAITED * needs || STARVED * got < needs.min(waited / WAITED);
        taken && behind && needs > LEAST_WORK_S
    }
}

pub(crate) fn rate(bps: f64) -> String {
    quantity(bps, Dimension::BitsPerSecond)
}

#[cfg(test)]
#[path = "incomplete_workloads_tests.rs"]
pub(crate) mod tests;
