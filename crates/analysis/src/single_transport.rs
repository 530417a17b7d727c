//! Headline of a single subject: a description instead of a comparison.

use crate::application_limits;
use crate::cells::{Cell, cell, cells};
use crate::comparison::median_wait;
use crate::data::{Data, Flow, Query, Timeout};
use crate::dimension::Dimension;
use crate::format::{bold, number, quantity};
use crate::headline_metrics::MISSED;
use crate::ideal_query_time;
use crate::jobs::{self, Job};
use crate::late_messages;
use crate::long_flow_limits;
use crate::missing_marks;
use crate::tail;
use crate::workload_shares::{WorkloadShare, workload_shares};
use crate::workload_times;
use std::collections::BTreeMap;

/// Fraction of missed deadlines from which on they come first. Our choice: the 99th percentile misses its deadline.
pub(crate) const LATE: f64 = 0.01;

/// Minimum ratio of the goodputs of flows of two workloads to be named. Our choice.
const UNEQUAL: f64 = 1.5;
/// Minimum fraction of the time in timeouts of endless flows to be named. Our choice.
const WAITING: f64 = 0.1;

/// Minimum ratio of the longest query to the 99th percentile, and minimum fraction of the run time, to be named. Our choice.
const FAR: f64 = 4.0;
const TELLING_PART: f64 = 0.1;
/// Minimum ratio of the largest to the smallest median of the seeds for both to be named. Our choice.
const SEEDS_APART: f64 = 4.0;

/// Sentences about the only subject.
pub(crate) fn sentences(data: &Data) -> Vec<String> {
    if data.subjects.is_empty() {
        return Vec::new();
    }
    let mut out = traffic(data, 0);
    let late =
        late_messages::sentence(data).or_else(|| tail::slowest_tenth(data, 0)).or_else(|| late_messages::nothing_late(data));
    let nagle = late_messages::held_by_nagle(data).filter(|_| late.as_ref().is_none_or(|s| !s.contains("Nagle")));
    out.extend(late);
    out.extend(nagle);
    out.extend(application_limits::sentence(data));
    out.extend(missing_marks::sentence(data));
    out.extend(queue(data));
    out
}

/// Up to three sentences about the traffic of a subject.
pub(crate) fn traffic(data: &Data, subject: usize) -> Vec<String> {
    let of = One { data, subject };
    let missed = of.value(MISSED).is_some_and(|part| part > LATE);
    let (first, second) = if missed { (of.deadlines(), of.queries()) } else { (of.queries(), None) };
    let mut out: Vec<String> = [first, second, of.messages(), of.long_flows()].into_iter().flatten().take(3).collect();
    if let (false, Some(part)) = (missed, of.value(MISSED)) {
        // The first sentence is about the work that has the deadlines.
        let met = if part > 0.0 { of.misses(part) } else { "all meet their deadline".to_owned() };
        if let Some(first) = out.first_mut() {
            *first = format!("{}; {met}.", first.trim_end_matches('.'));
        }
    }
    if out.is_empty() {
        out.extend(of.goodput());
    }
    out
}

/// A subject.
struct One<'a> {
    data: &'a Data,
    subject: usize,
}

fn seconds(v: f64) -> String {
    quantity(v, Dimension::Seconds)
}

impl One<'_> {
    fn cell(&self, metric: &str) -> Option<Cell> {
        cells(self.data, metric)[self.subject]
    }

    fn value(&self, metric: &str) -> Option<f64> {
        self.cell(metric).map(|c| c.mean)
    }

    /// A time in bold, marked if it is a lower bound.
    fn time(&self, metric: &str) -> Option<String> {
        self.cell(metric).map(|c| c.at_least().to_owned() + &bold(&seconds(c.mean)))
    }

    /// `; 1.72 ms to 180 ms by seed`, if the values of the seeds differ so much that their mean describes none of them; otherwise empty.
    fn seeds_apart(&self, metric: &str) -> String {
        let values = self.data.values(self.subject, metric);
        let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
        if values.len() < 2 || high <= SEEDS_APART * low {
            return String::new();
        }
        format!("; {} to {} by seed", seconds(low), seconds(high))
    }

    fn queries(&self) -> Option<String> {
        // An earlier sentence covers this case.
        if self.value("queries_completed") == Some(0.0) {
            return None;
        }
        let (p50, p99) = (self.time("qct_p50_s")?, self.time("qct_p99_s")?);
        let apart = self.seeds_apart("qct_p50_s");
        let takes = workload_times::queries(self.data, self.subject).unwrap_or_else(|| {
            let needs = ideal_query_time::words(self.data, self.subject, None);
            format!("a query takes {p50} (median{apart}), {p99} (99th percentile){needs}")
        });
        let tail = tail::tails(self.data, self.subject, true).first().map(|t| format!("; {}", t.words(self.data)));
        let takes = takes + &tail.or_else(|| self.longest()).unwrap_or_default();
        Some(match (self.value("rtos_per_query"), median_wait(self.data, &[self.subject])) {
            (Some(rate), Some(wait)) if rate >= 0.01 => {
                let each = format!("A timeout costs {} (median).", seconds(wait));
                let rate = number(rate);
                let plural = if rate == "1" { "" } else { "s" };
                format!("{}: {takes}. {each}", bold(&format!("{rate} timeout{plural} per query")))
            }
            _ => format!("A{}.", &takes[1..]),
        })
    }

    /// The longest query, if it is far beyond the 99th percentile and takes a large part of the run time: rounds wait for each other.
    fn longest(&self) -> Option<String> {
        let data = self.data;
        let network = data.subjects[self.subject].network;
        let bit = 1u64 << (self.subject - data.networks[network].first).min(63);
        let own = data.queries.iter().filter(|q| data.runs[q.run].network == network && q.groups & bit != 0);
        let took = |q: &Query| q.qct.unwrap_or_else(|| (data.runs[q.run].end_ns - q.start_ns) as f64 * 1e-9);
        let longest = own.max_by(|a, b| took(a).total_cmp(&took(b)))?;
        let whole = data.runs[longest.run].end_ns as f64 * 1e-9;
        let time = took(longest);
        (time > FAR * self.value("qct_p99_s")? && time > TELLING_PART * whole).then(|| {
            let waited = longest.waited.map(|cause| ((cause, longest.delay_port), longest.blocked_by));
            let cause =
                late_messages::shared_cause(data, waited.into_iter()).map_or_else(String::new, |c| format!(" (main cause: {c})"));
            let least = if longest.qct.is_some() { "" } else { "at least " };
            format!("; the longest query takes {least}{}{cause}", bold(&seconds(time)))
        })
    }

    /// `0.0031 % (4) of 129032 answers miss their deadline`: a small percentage says little without the number of messages.
    fn misses(&self, part: f64) -> String {
        let own = || self.data.deadlines.iter().filter(|d| d.subject == self.subject);
        let (missed, known): (usize, usize) = (own().map(|d| d.missed).sum(), own().map(|d| d.known).sum());
        let percent = quantity(part, Dimension::Fraction);
        let with_deadline = |f: &Flow| f.subject == self.subject && own().any(|d| f.class == Some(d.class));
        let all_answer = self.data.flows.iter().filter(|f| with_deadline(f)).all(|f| f.in_query);
        let noun = if all_answer { "answers" } else { "messages" };
        match missed {
            0 => format!("{percent} of the {noun} miss their deadline"),
            1 => format!("1 of {known} {noun} misses its deadline"),
            _ => format!("{percent} ({missed}) of {known} {noun} miss their deadline"),
        }
    }

    fn deadlines(&self) -> Option<String> {
        let late = self.value("deadlines_missed")?;
        Some(format!("{} of the messages with a deadline are late.", bold(&quantity(late, Dimension::Fraction))))
    }

    /// Completion of a fixed number of messages, and their times.
    fn messages(&self) -> Option<String> {
        let times = self.message_times()?;
        let jobs = self.jobs();
        if jobs.is_empty() {
            return Some(times);
        }
        let rest = times.strip_prefix('M').map_or_else(|| times.clone(), |rest| format!("m{rest}"));
        Some(format!("{}; {rest}", jobs.join("; ")))
    }

    /// `All 240 messages are complete after 14 ms` for each job.
    fn jobs(&self) -> Vec<String> {
        let jobs = jobs::of(self.data, self.subject);
        jobs.iter().filter(|job| job.messages > 1.0).enumerate().map(|(i, job)| self.job(job, i == 0)).collect()
    }

    fn job(&self, job: &Job, first: bool) -> String {
        let all = match (job.messages == 2.0, first) {
            (true, true) => "Both".to_owned(),
            (true, false) => "both".to_owned(),
            (false, true) => format!("All {}", number(job.messages)),
            (false, false) => format!("all {}", number(job.messages)),
        };
        let whose =
            job.class.and_then(|c| self.data.class(Some(c))).map_or_else(String::new, |name| format!(" of {}", bold(name)));
        let cause = jobs::stall_of_the_last(self.data, self.subject, job.class);
        let cause = cause.map_or_else(String::new, |cause| format!(" (main cause of delay of the last: {cause})"));
        format!("{all} messages{whose} are complete after {}{cause}", bold(&seconds(job.makespan_s)))
    }

    fn message_times(&self) -> Option<String> {
        if self.value("flows_completed") == Some(0.0) {
            return None;
        }
        let tail = tail::tails(self.data, self.subject, false).first().map(|t| format!("; {}", t.words(self.data)));
        let tail = tail.unwrap_or_default();
        if let Some(apart) = workload_times::messages(self.data, self.subject) {
            return Some(apart.trim_end_matches('.').to_owned() + &tail + ".");
        }
        let of = |class: &str| Some((self.time(&format!("fct_{class}_mean_s"))?, self.time(&format!("fct_{class}_p99_s"))?));
        let kinds = [
            ("small", "Messages up to 100 KB take"),
            ("medium", "Messages from 100 KB to 10 MB take"),
            ("large", "Messages from 10 MB take"),
        ];
        let (text, (mean, p99)) = kinds.iter().find_map(|(class, text)| Some((text, of(class)?)))?;
        let slow = self.value("slowdown_p50").map_or_else(String::new, |s| match s {
            s if s < 1.05 => "; the median message takes as long as on an unloaded network".into(),
            s => format!("; the median message takes {} times as long as on an unloaded network", number(s)),
        });
        Some(format!("{text} {mean} on average, {p99} at the 99th percentile{slow}{tail}."))
    }

    fn long_flows(&self) -> Option<String> {
        let n = self.value("long_flows").filter(|n| *n > 0.0)?;
        if let Some(apart) = self.by_port() {
            return Some(apart);
        }
        if let Some(nothing) = self.undelivered(n) {
            return Some(nothing);
        }
        if let Some(datagrams) = self.datagrams(n) {
            return Some(datagrams);
        }
        let goodput = quantity(self.of_long().or_else(|| self.value("goodput_bps"))?, Dimension::BitsPerSecond);
        let fair = self.value("long_fairness").map_or_else(String::new, |f| format!("; Jain's fairness index is {}", number(f)));
        let flows = if n == 1.0 { "1 long flow has a".into() } else { format!("{} long flows have a total", number(n)) };
        let (apart, waits) = (self.apart().unwrap_or_default(), self.waits_of_long().unwrap_or_default());
        let limited = if waits.is_empty() { self.limited() } else { self.limited_by_place() }.unwrap_or_default();
        let cut = if self.greedy().all(|f| f.unreachable) && self.greedy().next().is_some() {
            format!("; the run is too short to finish {} on an unloaded network", if n == 1.0 { "it" } else { "them" })
        } else {
            String::new()
        };
        Some(format!("{flows} goodput of {}{fair}{apart}{waits}{limited}{cut}.", bold(&goodput)))
    }

    /// Sentence about sources of datagrams, which have no congestion control; `None` for TCP.
    fn datagrams(&self, n: f64) -> Option<String> {
        let data = self.data;
        let lost = self.value("datagrams_lost")?;
        let goodput = bold(&quantity(self.of_long().or_else(|| self.value("goodput_bps"))?, Dimension::BitsPerSecond));
        // Without a loss anywhere, the rest was under way when the run ended.
        let dropped = data.ports.iter().any(|p| p.drops > 0.0) || !data.losing_links.is_empty();
        let lost = if lost > 0.0 && dropped {
            format!("{} of the datagrams are lost", bold(&quantity(lost, Dimension::Fraction)))
        } else {
            "no datagram is lost".to_owned()
        };
        let sources = if n == 1.0 { "1 UDP source delivers".to_owned() } else { format!("{} UDP sources deliver", number(n)) };
        Some(format!("{sources} {goodput}; {lost}."))
    }

    /// Sentence about long flows of which nothing was acknowledged, unless a timer ran out: the runs are shorter than a round trip.
    fn undelivered(&self, n: f64) -> Option<String> {
        let data = self.data;
        let waited = data.timeouts.iter().any(|t| t.subject == self.subject);
        let nothing = self.greedy().next().is_some() && self.greedy().all(|f| f.acked == 0) && !waited;
        let end = self.greedy().map(|f| data.runs[f.run].end_ns).max()? as f64 * 1e-9;
        nothing.then(|| {
            let flows = if n == 1.0 { "1 long flow has".to_owned() } else { format!("{} long flows have", number(n)) };
            format!("{flows} {}: nothing is acknowledged when the run ends after {}.", bold("no goodput yet"), seconds(end))
        })
    }

    /// Limits of the endless flows, where these are not a full link.
    fn limited(&self) -> Option<String> {
        Some(format!("; {}", long_flow_limits::limits(self.data, self.subject, None)?.words(self.data)?))
    }

    /// The full link or the policer that limits the endless flows: with many timeouts, another limit would be their consequence.
    fn limited_by_place(&self) -> Option<String> {
        Some(format!("; {}", long_flow_limits::limits(self.data, self.subject, None)?.place(self.data)?))
    }

    /// Number of seeds.
    fn seeds(&self) -> usize {
        self.data.runs.iter().filter(|r| r.network == self.data.subjects[self.subject].network).count()
    }

    /// Endless flows that run to the end.
    fn greedy(&self) -> impl Iterator<Item = &Flow> {
        self.data.flows.iter().filter(|f| f.subject == self.subject && f.greedy)
    }

    /// Active part of the measured time of an endless flow, s.
    fn active(&self, f: &Flow) -> f64 {
        let run = &self.data.runs[f.run];
        (run.end_ns - f.start_ns.max(run.measured_from_ns)).max(0) as f64 * 1e-9
    }

    /// `; a flow of local gets 370 Mbit/s, 3.27 times that of a flow of remote (113 Mbit/s)`, if workloads differ that much.
    fn apart(&self) -> Option<String> {
        let mut of: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
        for f in self.greedy() {
            let (time, sum) = (self.active(f), of.entry(f.class?).or_default());
            *sum = (sum.0 + if time > 0.0 { f.measured as f64 * 8.0 / time } else { 0.0 }, sum.1 + 1);
        }
        let mut each: Vec<(u32, f64)> = of.into_iter().map(|(class, (sum, n))| (class, sum / n as f64)).collect();
        each.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (&(first, most), &(last, least)) = (each.first()?, each.last()?);
        let name = |class| self.data.class(Some(class)).unwrap_or("?");
        let rate = |bps| quantity(bps, Dimension::BitsPerSecond);
        (least > 0.0 && most > UNEQUAL * least).then(|| {
            let times = crate::comparison::times(most, least);
            format!(
                "; a flow of {} gets {}, {times} that of a flow of {} ({})",
                bold(name(first)),
                rate(most),
                name(last),
                rate(least)
            )
        })
    }

    /// Fraction of the time that endless flows spend in timeouts, if it is large and all timeouts are theirs.
    fn waits_of_long(&self) -> Option<String> {
        if self.data.flows.iter().any(|f| f.subject == self.subject && !f.greedy) {
            return None;
        }
        let all: f64 = self.greedy().map(|f| self.active(f)).sum();
        let own = self.data.timeouts.iter().filter(|t| t.subject == self.subject);
        let waited = |t: &Timeout| {
            let from = self.data.runs[t.run].measured_from_ns;
            ((t.time_ns - from).max(0) as f64 * 1e-9).min(t.rto)
        };
        let part = own.map(waited).sum::<f64>() / all;
        (part > WAITING).then(|| {
            let subject = if self.greedy().count() <= self.seeds() { "it spends" } else { "they spend" };
            format!("; {subject} {} of the time in retransmission timeouts", bold(&quantity(part.min(1.0), Dimension::Fraction)))
        })
    }

    /// Total goodput of the endless flows from the start of the first one on, averaged over the runs, without other traffic of the transport. `None`
    /// if unknown.
    fn of_long(&self) -> Option<f64> {
        let data = self.data;
        let mut of: BTreeMap<usize, (i64, u64)> = BTreeMap::new();
        for f in data.flows.iter().filter(|f| f.subject == self.subject && f.size == 0) {
            let run = of.entry(f.run).or_insert((i64::MAX, 0));
            *run = (run.0.min(f.start_ns), run.1 + f.measured);
        }
        let rate = |(run, (start, bytes)): (&usize, &(i64, u64))| {
            let run = &data.runs[*run];
            let time = (run.end_ns - run.measured_from_ns.max(*start)) as f64 * 1e-9;
            (time > 0.0).then(|| *bytes as f64 * 8.0 / time)
        };
        let runs = data.runs.iter().filter(|r| r.network == data.subjects[self.subject].network).count();
        let all: Vec<f64> = of.iter().filter_map(rate).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / runs.max(1) as f64)
    }

    /// Long flows of several workloads with different bottlenecks, each with its goodput there: a sum would exceed the rate of a link.
    fn by_port(&self) -> Option<String> {
        let endless = |c: &WorkloadShare| c.subject == self.subject && c.count.of == 0 && c.port.is_some() && c.goodput.is_some();
        let all: Vec<WorkloadShare> = workload_shares(self.data).into_iter().filter(endless).collect();
        if all.iter().all(|c| c.port == all[0].port) {
            return None;
        }
        let one = |c: &WorkloadShare| {
            let port = c.port.map(|p| self.data.ports[p].name.as_str()).unwrap_or_default();
            let share = c.share.map_or_else(String::new, |s| format!(", {} of it", quantity(s, Dimension::Fraction)));
            let goodput = quantity(c.goodput.map_or(0.0, |g| g.mean), Dimension::BitsPerSecond);
            format!("{} gets {} at {port}{share}", c.name, bold(&goodput))
        };
        let each: Vec<String> = all.iter().take(4).map(one).collect();
        Some(format!("Long flows have different bottlenecks: {}.", each.join("; ")))
    }

    fn goodput(&self) -> Option<String> {
        let bps = self.value("goodput_bps")?;
        Some(format!("The goodput is {}.", bold(&quantity(bps, Dimension::BitsPerSecond))))
    }
}

/// Longest queue of a network whose observed port carries nothing.
fn unused(data: &Data, port: &str) -> Option<String> {
    let network = data.subjects[0].network;
    let ports = || data.ports.iter().filter(|p| p.network == network);
    ports().find(|p| p.name == port).filter(|p| p.utilization == 0.0)?;
    let longest = ports().filter(|p| p.from_switch).max_by(|a, b| a.queue_max.total_cmp(&b.queue_max))?;
    (longest.utilization > 0.0).then(|| {
        let (mean, drops) = (bold(&quantity(longest.queue_mean, Dimension::Packets)), longest.drops);
        let drops = if drops > 0.0 { format!("; it drops {} packets per run", number(drops)) } else { String::new() };
        format!(
            "No packet passes {port}; the longest queue is at {}: {mean} on average, {} at most{drops}.",
            longest.name,
            number(longest.queue_max)
        )
    })
}

/// Queue of the first subject's network.
pub(crate) fn queue(data: &Data) -> Option<String> {
    let value = |metric: &str| cell(data.values(0, metric)).map(|c| c.mean);
    let (mean, max) = (value("queue_mean_pkts")?, value("queue_max_pkts")?);
    let p99 = value("queue_p99_pkts").map_or_else(String::new, |p| format!(", {} at the 99th percentile", number(p)));
    let port = &data.network_of(0).port;
    let at = if port.is_empty() { String::new() } else { format!(" at {port}") };
    if let Some(elsewhere) = unused(data, port) {
        return Some(elsewhere);
    }
    // The drops include all ports.
    let own = data.ports.iter().find(|p| p.network == data.subjects[0].network && p.name == *port);
    let polices = own.is_some_and(|p| p.policed_bps.is_some());
    let own = own.map(|p| p.drops);
    let there = |all: f64| match own {
        Some(0.0) if all >= 0.5 => ", none of them at this port".to_owned(),
        Some(own) if all - own >= 0.5 => format!(", {} of them at this port", number(own)),
        _ => String::new(),
    };
    let none = if data.losing_links.is_empty() { "; no packet is dropped" } else { "; no packet is dropped at a queue" };
    let dropped = |d: f64| {
        // The queue itself drops only what does not fit.
        let queue_drops = max >= data.ports.iter().find(|p| p.name == *port).and_then(|p| p.limits.buffer).unwrap_or(f64::MAX);
        match own {
            Some(own) if polices && own == d && !queue_drops => format!("; its policer drops {} packets per run", number(d)),
            _ => format!("; {} packets are dropped per run{}", number(d), there(d)),
        }
    };
    let drops = value("drops").filter(|d| *d > 0.0).map_or_else(|| none.to_owned(), dropped);
    Some(format!(
        "The queue{at} holds {} on average{p99}, {} at most{drops}.",
        bold(&quantity(mean, Dimension::Packets)),
        number(max)
    ))
}
