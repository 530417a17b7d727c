//! Connections that the application or its peer limits: their senders have nothing to send.

use crate::data::{Data, Flow};
use crate::dimension::Dimension;
use crate::format::{bold, quantity};
use crate::late_messages;
use forebay_experiment::idle_time::idle_time;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum part of the time in which a limit is named. Our choice, as for windows.
const NAMED: f64 = 0.1;
/// Minimum part of the time from which on it is the main limit. Our choice: windows, links and the network share the rest.
const MAIN: f64 = 0.5;
/// Maximum number of workloads in a sentence.
const MAX_WORKLOADS: usize = 3;

/// Sentence about the workloads whose connections are idle for most of the time while none of their work is late: a faster network would not increase
/// their goodput. `None` without such workloads, and where the results have no causes of delay.
pub(crate) fn sentence(data: &Data) -> Option<String> {
    let late = late_messages::late_workloads(data);
    let messages = || data.flows.iter().filter(|f| f.size > 0 && !f.request);
    let classes: BTreeSet<Option<u32>> = messages().map(|f| f.class).collect();
    let named = classes.len() > 1 || data.flows.iter().any(|f| f.size == 0);
    let one = |class: &Option<u32>| {
        let subjects: BTreeSet<usize> = messages().filter(|f| f.class == *class).map(|f| f.subject).collect();
        let main = |s: &usize| ApplicationLimit::of(data, *s, *class).filter(|l| l.part >= MAIN && !late.contains(&(*s, *class)));
        let limits: Option<Vec<ApplicationLimit>> = subjects.iter().map(main).collect();
        let whose = data.class(*class).filter(|_| named).map_or_else(String::new, |name| format!(" of {name}"));
        Some(words(&limits?, &whose))
    };
    let each: Vec<String> = classes.iter().filter_map(one).take(MAX_WORKLOADS).collect();
    (data.waits && !each.is_empty()).then(|| format!("The {}.", each.join("; the ")))
}

/// `**application** limits the connections of trains for 70.6 % of the time: it writes nothing`, from the limits of one workload with each transport.
fn words(limits: &[ApplicationLimit], whose: &str) -> String {
    let peer = limits.iter().any(|l| l.peer);
    let (low, high) = limits.iter().fold((1.0_f64, 0.0_f64), |(low, high), l| (low.min(l.part), high.max(l.part)));
    let (low, high) = (quantity(low, Dimension::Fraction), quantity(high, Dimension::Fraction));
    let part = if low == high { low } else { format!("{low} to {high}") };
    let (end, idle) = if peer { ("peer", "requests nothing") } else { ("application", "writes nothing") };
    format!("{} limits the connections{whose} for {part} of the time: it {idle}", bold(end))
}

/// Limit of the connections of a workload by the ends that use them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ApplicationLimit {
    /// Part of the time, from the first `send` to the last ACK of each connection, in which they have nothing to send.
    part: f64,
    /// True for servers: their peer has sent no request.
    peer: bool,
}

impl ApplicationLimit {
    /// Limit of the persistent connections of a workload of a subject; `None` where connections carry one message each, and below a tenth of the time.
    pub(crate) fn of(data: &Data, subject: usize, class: Option<u32>) -> Option<ApplicationLimit> {
        let mut connections: BTreeMap<(usize, u64), Vec<(u64, u64)>> = BTreeMap::new();
        let mut peer = true;
        let own = |f: &&Flow| f.subject == subject && f.class == class && f.size > 0 && !f.request;
        for f in data.flows.iter().filter(own) {
            let ns = |t: i64| u64::try_from(t).unwrap_or(0);
            let acked = f.acked_ns.unwrap_or(data.runs[f.run].end_ns);
            connections.entry((f.run, f.conn?)).or_default().push((ns(f.start_ns), ns(acked)));
            peer &= f.in_query;
        }
        let times = connections.values_mut().filter(|messages| messages.len() > 1).map(|messages| idle_time(messages));
        let (idle, whole) = times.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let part = idle as f64 / whole.max(1) as f64;
        (part >= NAMED).then_some(ApplicationLimit { part, peer })
    }

    /// Short text for a table.
    pub(crate) fn cell(self) -> String {
        format!("{} {}", if self.peer { "peer" } else { "application" }, quantity(self.part, Dimension::Fraction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::data as networks;
    use crate::data::Run;

    /// Two connections: one is idle for 6 of 10 ms, the other sends all the time.
    fn data(in_query: bool) -> Data {
        let mut d = networks(&[("a", &[])]);
        d.runs.push(Run { end_ns: 20_000_000, ..Run::default() });
        let message = |conn, start_ms: i64, acked_ms: i64| Flow {
            size: 1_000,
            conn: Some(conn),
            in_query,
            start_ns: start_ms * 1_000_000,
            acked_ns: Some(acked_ms * 1_000_000),
            ..Flow::default()
        };
        d.flows = vec![message(0, 0, 2), message(1, 0, 5), message(0, 8, 10), message(1, 4, 10)];
        d
    }

    #[test]
    fn idle_part_of_connections() {
        assert_eq!(ApplicationLimit::of(&data(false), 0, None).unwrap().cell(), "application 30 %");
        assert_eq!(ApplicationLimit::of(&data(true), 0, None).unwrap().cell(), "peer 30 %");
    }

    #[test]
    fn main_limit_has_a_sentence() {
        let mut d = data(false);
        d.waits = true;
        assert_eq!(sentence(&d), None, "30 % of the time");
        d.flows.retain(|f| f.conn == Some(0));
        assert_eq!(sentence(&d).unwrap(), "The **application** limits the connections for 60 % of the time: it writes nothing.");
        d.flows.iter_mut().for_each(|f| f.in_query = true);
        assert_eq!(sentence(&d).unwrap(), "The **peer** limits the connections for 60 % of the time: it requests nothing.");
        d.flows.iter_mut().for_each(|f| (f.in_query, f.late) = (false, true));
        assert_eq!(sentence(&d), None, "the network delays it");
    }

    #[test]
    fn single_messages_have_no_limit() {
        let mut d = data(false);
        d.flows.truncate(2);
        assert_eq!(ApplicationLimit::of(&d, 0, None), None, "one message for each connection");
    }
}
