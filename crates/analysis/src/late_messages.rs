//! Causes of delay of late queries and messages.
//!
//! A message is late if one cause delayed it by more than its time on an unloaded path, or if it missed its deadline. A query is late if one cause
//! delayed it by more than the time of the link into its receiver for all responses, and it took more than twice that time.

use crate::comparison::link_rate;
use crate::data::{Data, Flow, Port};
use crate::dimension::Dimension;
use crate::format::{bold, count, list, quantity};
use crate::head_of_line::DelayCause;
use forebay_experiment::waits::Cause;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum fraction of late queries and messages of a subject: it affects the 99th percentile.
const TELLING: f64 = 0.01;
/// Minimum fraction of late work for a cause to be named.
const NAMED: f64 = 0.1;
/// Maximum number of subjects in a sentence.
const MAX_SUBJECTS: usize = 3;

/// The late queries of a subject, and its late messages outside queries.
#[derive(Default)]
struct Late {
    subject: usize,
    /// Index of the workload, where the subject has several.
    class: Option<u32>,
    queries: usize,
    messages: usize,
    late: usize,
    causes: Causes,
    /// Causes of delay of the earlier messages, for those delayed by earlier messages.
    blocked_by: Causes,
    windows: Windows,
    /// Late messages by sending host, of those that the queue of that host delays.
    hosts: BTreeMap<u32, usize>,
}

/// Messages that a window delayed, in all, and those among them whose window was the initial one.
#[derive(Default, Clone, Copy)]
struct Windows {
    all: usize,
    /// The first messages of their connections.
    first: usize,
    /// Messages after an idle time, after which the window restarts (RFC 5681 section 4.1, tcp_cwnd_restart).
    after_idle: usize,
    /// Messages after losses of earlier ones on their connection, which reduced the window, and not after an idle time.
    after_loss: usize,
    /// Messages that the receive window limits for most of their time.
    by_receiver: usize,
}

/// Number of delayed messages by port; `None` for causes without a port.
type AtPorts = BTreeMap<Option<u32>, usize>;

/// Number of delayed messages by cause and port.
type Causes = BTreeMap<Cause, AtPorts>;

/// A sentence about late work; `None` if there is too little of it.
pub(crate) fn sentence(data: &Data) -> Option<String> {
    let all = by_subject(data);
    let telling: Vec<&Late> = all.iter().filter(|l| l.is_telling() && !l.causes.is_empty()).collect();
    match telling.as_slice() {
        [] => None,
        [one] => Some(one.alone(data, all.len() > 1)),
        several => {
            let each: Vec<String> = several.iter().take(MAX_SUBJECTS).map(|l| l.beside_others(data)).collect();
            let (queries, messages) = (all.iter().any(|l| l.queries > 0), all.iter().any(|l| l.messages > 0));
            let kind = match (queries, messages) {
                (true, false) => "queries",
                (true, true) => "queries and messages",
                _ => "messages",
            };
            Some(format!("Main cause of late {kind}: {}.", each.join("; ")))
        }
    }
}

/// Sentence for results without late work, if all of it finished.
pub(crate) fn nothing_late(data: &Data) -> Option<String> {
    let all = by_subject(data);
    let sum = |part: fn(&Late) -> usize| all.iter().map(part).sum::<usize>();
    let whole = Late { queries: sum(|l| l.queries), messages: sum(|l| l.messages), ..Late::default() };
    let unfinished = data.queries.iter().any(|q| q.qct.is_none()) || data.flows.iter().any(|f| f.size > 0 && !f.complete());
    (data.waits && whole.of() > 0 && sum(|l| l.late) == 0 && !unfinished).then(|| {
        format!("None of {} is late: no single cause delayed one by more than its unloaded completion time.", whole.things())
    })
}

/// Largest message that an initial window holds: ten segments (RFC 6928). Its time beyond one round trip is no slow start.
const ONE_WINDOW: u64 = 10 * 1_460;
/// Minimum median slowdown of messages that Nagle's algorithm holds. Our choice, as of the slowest tenth.
const HELD: f64 = 1.5;

/// Sentence about short messages of several writes that Nagle's algorithm holds for a round trip, where none of them is late.
pub(crate) fn held_by_nagle(data: &Data) -> Option<String> {
    let held = |subject: usize| {
        let short = |f: &&Flow| f.subject == subject && f.size > 1 && f.size <= ONE_WINDOW && f.complete() && f.ideal_s > 0.0;
        let causes = [Some(Cause::DelayedAck), Some(Cause::Interrupts), Some(Cause::Window)];
        let own: Vec<&Flow> = data.flows.iter().filter(short).collect();
        let mut slow: Vec<f64> =
            own.iter().filter(|f| causes.contains(&f.waited)).filter_map(|f| Some(f.fct? / f.ideal_s)).collect();
        slow.sort_unstable_by(f64::total_cmp);
        2 * slow.len() > own.len() && slow.get(slow.len() / 2).is_some_and(|median| *median > HELD)
    };
    let mut subjects = (0..data.subjects.len()).filter(|s| data.subjects[*s].nagle_holds);
    subjects.any(held).then(|| NAGLE_HOLDS.trim_start().to_owned())
}

/// Addition about writes that wait for a round trip.
const NAGLE_HOLDS: &str = " Nagle's algorithm holds the end of a message for a round trip, until the ACK of its beginning: applications write it by several \
     calls. `nagle = false` (TCP_NODELAY), or one call for the whole message, avoids it.";

/// Subjects and workloads with so much late work that it has a sentence.
pub(crate) fn late_workloads(data: &Data) -> BTreeSet<(usize, Option<u32>)> {
    by_subject(data).iter().filter(|l| l.is_telling()).map(|l| (l.subject, l.class)).collect()
}

/// Late work by subject and workload: workloads are never pooled.
fn by_subject(data: &Data) -> Vec<Late> {
    let mut all: BTreeMap<(usize, Option<u32>), Late> = BTreeMap::new();
    let of = |subject, class| ((subject, class), Late { subject, class, ..Late::default() });
    for f in data.flows.iter().filter(|f: &&Flow| f.size > 0 && !f.in_query) {
        let (key, new) = of(f.subject, f.class);
        let late = all.entry(key).or_insert(new);
        late.messages += 1;
        late.note(f.late, f.waited, f.delay_port, f.blocked_by);
        if let (true, Some(Cause::HostQueue), Some(host)) = (f.late, f.waited, f.from) {
            *late.hosts.entry(host).or_default() += 1;
        }
    }
    let mut rates: BTreeMap<(usize, Option<u32>), Option<f64>> = BTreeMap::new();
    for q in &data.queries {
        let network = data.runs[q.run].network;
        let n = &data.networks[network];
        let rate = *rates.entry((network, q.receiver)).or_insert_with(|| link_rate(data, network, q.receiver?));
        // Time of the link into the receiver for all bytes, at least the ideal time of the largest message.
        let unloaded = rate.map_or(0.0, |rate| q.bytes as f64 * 8.0 / rate).max(q.ideal_s);
        let took = q.qct.unwrap_or_else(|| (data.runs[q.run].end_ns - q.start_ns).max(0) as f64 * 1e-9);
        // The last response always waits for the others at the link into the receiver: that is part of the unloaded time.
        let late = q.delay_s > unloaded && took - unloaded > unloaded;
        // A late query counts for all subjects that respond to it.
        for i in (0..n.groups.min(64)).filter(|i| q.groups >> i & 1 == 1) {
            let (key, new) = of(n.first + i, q.class);
            let all = all.entry(key).or_insert(new);
            all.queries += 1;
            all.note(late, q.waited, q.delay_port, q.blocked_by);
        }
    }
    windows(data, &mut all);
    all.into_values().collect()
}

/// Counts the messages whose window delayed them, by the state of their connection when they were written.
fn windows(data: &Data, all: &mut BTreeMap<(usize, Option<u32>), Late>) {
    if data.flows.iter().all(|f| f.waited != Some(Cause::Window)) {
        return;
    }
    let mut of: BTreeMap<(usize, u64), Vec<&Flow>> = BTreeMap::new();
    for f in data.flows.iter().filter(|f| f.size > 0) {
        let Some(conn) = f.conn else { continue };
        of.entry((f.run, conn)).or_default().push(f);
    }
    for messages in of.values_mut() {
        messages.sort_by_key(|f| f.start_ns);
        let mut acked: Option<i64> = None;
        let mut lost = false;
        for f in messages {
            if f.waited == Some(Cause::Window)
                && let Some(late) = all.get_mut(&(f.subject, f.class))
            {
                let idle = acked.map(|acked| (f.start_ns - acked) as f64 * 1e-9);
                let restarts = data.subjects[f.subject].idle_restart_s;
                late.windows.all += 1;
                late.windows.first += usize::from(acked.is_none());
                late.windows.by_receiver += usize::from(waits_for_receiver(data, f));
                let restarted = idle.zip(restarts).is_some_and(|(idle, after)| idle > after);
                late.windows.after_idle += usize::from(restarted);
                late.windows.after_loss += usize::from(lost && !restarted);
            }
            lost |= f.retransmitted > 0;
            acked = Some(acked.unwrap_or(i64::MIN).max(f.acked_ns.unwrap_or(i64::MAX)));
        }
    }
}

/// Part of the time of a message from which on the receive window is the window that delays it. Our choice, as in its explanation.
const BY_RECEIVER: f64 = 0.5;

fn waits_for_receiver(data: &Data, f: &Flow) -> bool {
    let took = f.fct.unwrap_or_else(|| (data.runs[f.run].end_ns - f.start_ns) as f64 * 1e-9);
    f.rwnd_limited_s.is_some_and(|limited| limited > BY_RECEIVER * took)
}

impl Late {
    fn of(&self) -> usize {
        self.queries + self.messages
    }

    fn is_telling(&self) -> bool {
        self.late as f64 > TELLING * self.of() as f64
    }

    /// Name of the transport, the workload, or both, as far as results have several.
    fn name(&self, data: &Data) -> String {
        let transport = &data.subjects[self.subject].name;
        let mut classes = data.flows.iter().filter(|f| f.subject == self.subject && f.size > 0).map(|f| f.class);
        let several = classes.any(|c| c != self.class);
        match data.class(self.class).filter(|_| several) {
            Some(class) if data.subjects.len() > 1 => format!("{transport}, {class}"),
            Some(class) => class.to_owned(),
            None => transport.clone(),
        }
    }

    fn note(&mut self, late: bool, cause: Option<Cause>, at: Option<u32>, behind: Option<DelayCause>) {
        self.late += usize::from(late);
        if !late {
            return;
        }
        cause.into_iter().for_each(|cause| add(&mut self.causes, (cause, at)));
        behind.into_iter().for_each(|held| add(&mut self.blocked_by, held));
    }

    fn things(&self) -> String {
        let all = [
            (self.queries, if self.queries == 1 { "query" } else { "queries" }),
            (self.messages, if self.messages == 1 { "message" } else { "messages" }),
        ];
        list(&all.iter().filter(|t| t.0 > 0).map(|(n, what)| format!("{n} {what}")).collect::<Vec<_>>())
    }

    /// All work together, because late queries and late messages are counted together.
    fn counted(&self) -> String {
        if self.queries > 0 && self.messages > 0 { format!("{} queries and messages", self.of()) } else { self.things() }
    }

    fn alone(&self, data: &Data, named: bool) -> String {
        let prefix = if named { format!("{}: ", bold(&self.name(data))) } else { String::new() };
        let one = |(i, (cause, n)): (usize, &(String, usize))| {
            let part = self.part(*n);
            if i == 0 { format!("{} ({part})", bold(cause)) } else { format!("{cause} ({part})") }
        };
        let causes: Vec<String> = self.named(data).iter().enumerate().map(one).collect();
        let (late, things) = (bold(&self.late.to_string()), self.counted());
        let (are, each) = if self.late == 1 { ("is", "it") } else { ("are", "each") };
        let main = if causes.len() == 1 { "Main cause" } else { "Main causes" };
        format!(
            "{prefix}{late} of {things} {are} late: a single cause delayed {each} by more than its unloaded completion time. {main}: {}.{}{}",
            causes.join(", "),
            self.nagle(data),
            self.initial_window(data)
        )
    }

    /// Addition for messages that the window delays, if for most of them it is the initial window, or one that losses reduced.
    fn initial_window(&self, data: &Data) -> String {
        let most = self.causes.iter().max_by_key(|(_, ports)| ports.values().sum::<usize>());
        let Windows { all, first, after_idle, after_loss, by_receiver } = self.windows;
        if most.is_none_or(|(cause, _)| *cause != Cause::Window) || 2 * by_receiver > all {
            return String::new();
        }
        let part = |n: usize| quantity(n as f64 / all as f64, Dimension::Fraction);
        if 2 * after_loss > all {
            return format!(
                " {} of the messages that the window delays follow losses of earlier messages on their connections, which reduced the window{}.",
                part(after_loss),
                lost_on(data, Cause::Recovery)
            );
        }
        if 2 * (first + after_idle) <= all {
            return String::new();
        }
        if after_idle > first {
            let part = part(after_idle);
            return format!(
                " {part} of the messages that the window delays follow an idle time: the window restarts at the initial one. \
                 `slow-start-after-idle = \"off\"` keeps it."
            );
        }
        let part = part(first);
        format!(
            " {part} of the messages that the window delays are the first of their connections: the window begins with `init-cwnd`. \
             Persistent connections keep a larger one."
        )
    }

    /// Addition for messages of several writes whose last write Nagle's algorithm holds.
    fn nagle(&self, data: &Data) -> &'static str {
        let number = |ports: &AtPorts| ports.values().sum::<usize>();
        let most = self.causes.iter().max_by_key(|(_, ports)| number(ports)).map(|(cause, _)| *cause);
        // The same wait counts for other causes where interrupts or probes end it first.
        let delayed = self.causes.get(&Cause::DelayedAck).is_some_and(|ports| number(ports) as f64 >= NAMED * self.late as f64);
        match most.filter(|_| data.subjects[self.subject].nagle_holds) {
            Some(Cause::DelayedAck | Cause::Interrupts | Cause::Window) if delayed => {
                " Nagle's algorithm holds the end of a message until that ACK: applications write it by several calls. `nagle = false` (TCP_NODELAY), \
                 or one call for the whole message, avoids it."
            }
            Some(Cause::Interrupts | Cause::Window) => NAGLE_HOLDS,
            _ => "",
        }
    }

    fn beside_others(&self, data: &Data) -> String {
        let name = self.name(data);
        let most = &self.named(data)[0];
        format!("{name}: {} ({} of {})", bold(&most.0), self.part(most.1), self.late)
    }

    /// Relevant causes as text with their counts, most frequent first; at least one.
    fn named(&self, data: &Data) -> Vec<(String, usize)> {
        let mut causes: Vec<(Cause, usize, &AtPorts)> =
            self.causes.iter().map(|(c, ports)| (*c, ports.values().sum(), ports)).collect();
        causes.sort_by_key(|c| (std::cmp::Reverse(c.1), c.0));
        let least = NAMED * self.late as f64;
        let matters = causes.iter().enumerate().filter(|(i, c)| *i == 0 || c.1 as f64 >= least).take(3);
        let text = |cause: Cause, ports: &AtPorts| {
            self.cause_text(data, cause, ports) + &self.held_up(data, cause) + &lost_on(data, cause)
        };
        matters.map(|(_, (cause, n, ports))| (text(*cause, ports), *n)).collect()
    }

    /// Name of a cause with its place: of a window the one that limits most messages, of a queue of sending hosts the host that has most of them.
    fn cause_text(&self, data: &Data, cause: Cause, ports: &AtPorts) -> String {
        let Windows { all, by_receiver, .. } = self.windows;
        if cause == Cause::Window && 2 * by_receiver > all {
            return Cause::RECEIVE_WINDOW.to_owned();
        }
        let text = cause_text(cause, place(data, ports).as_deref());
        let most = self.hosts.iter().max_by_key(|h| h.1).filter(|h| 2 * *h.1 > self.hosts.values().sum());
        // Of a single sending host the name says nothing.
        let several =
            || data.flows.iter().filter(|f| f.size > 0 && f.subject == self.subject).any(|f| f.from != most.map(|m| *m.0));
        match most.and_then(|(host, _)| data.host(Some(*host))).filter(|_| cause == Cause::HostQueue && several()) {
            Some(host) => format!("{text} {host}"),
            None => text,
        }
    }

    /// Addition for messages delayed by earlier messages.
    fn held_up(&self, data: &Data, cause: Cause) -> String {
        if cause == Cause::HeadOfLine { held_up(data, &self.blocked_by) } else { String::new() }
    }

    fn part(&self, n: usize) -> String {
        quantity(n as f64 / self.late.max(1) as f64, Dimension::Fraction)
    }
}

/// Fraction of the delayed messages from which on one port has practically all of them. Our choice.
const NEARLY_ALL: f64 = 0.95;

/// The port with most delayed messages, and the number of other ports unless it has nearly all of them.
fn place(data: &Data, ports: &AtPorts) -> Option<String> {
    let (most, n) = ports.iter().max_by_key(|(port, n)| (**n, port.is_some(), std::cmp::Reverse(**port)))?;
    let name = data.places.get((*most)? as usize)?;
    let others = ports.len() - 1;
    let shared = (*n as f64) < NEARLY_ALL * ports.values().sum::<usize>() as f64;
    Some(if shared { format!("{name} and {}", count(others, "other port")) } else { name.clone() })
}

fn add(causes: &mut Causes, (cause, at): DelayCause) {
    *causes.entry(cause).or_default().entry(at).or_default() += 1;
}

/// Common cause of delay of the earlier messages, if more than half of them have it.
fn held_up(data: &Data, behind: &Causes) -> String {
    let all: usize = behind.values().flat_map(AtPorts::values).sum();
    let most = behind.iter().find(|c| 2 * c.1.values().sum::<usize>() > all);
    most.map_or_else(String::new, |(cause, ports)| format!(" (delayed by {})", cause_text(*cause, place(data, ports).as_deref())))
}

/// The common cause of `waited`, if more than half of them have it: its text with the port, and the cause of delay of earlier messages.
pub(crate) fn shared_cause(data: &Data, waited: impl Iterator<Item = (DelayCause, Option<DelayCause>)>) -> Option<String> {
    let (mut causes, mut before) = (Causes::new(), Causes::new());
    let mut all = 0;
    for (held, behind) in waited {
        add(&mut causes, held);
        behind.into_iter().for_each(|held| add(&mut before, held));
        all += 1;
    }
    let Some((cause, ports)) = causes.iter().find(|c| 2 * c.1.values().sum::<usize>() > all) else {
        return losses(data, &causes, all);
    };
    let blocked = if *cause == Cause::HeadOfLine { held_up(data, &before) } else { String::new() };
    Some(cause_text(*cause, place(data, ports).as_deref()) + &blocked + &lost_on(data, *cause))
}

/// The causes that follow from lost packets, most frequent first, if more than half of `all` delays have one of them.
fn losses(data: &Data, causes: &Causes, all: usize) -> Option<String> {
    let mut of: Vec<(Cause, usize)> =
        causes.iter().map(|(c, ports)| (*c, ports.values().sum())).filter(|(c, _)| follows_loss(*c)).collect();
    of.sort_by_key(|c| (std::cmp::Reverse(c.1), c.0));
    let sum: usize = of.iter().map(|c| c.1).sum();
    let named = of.iter().filter(|(_, n)| *n as f64 >= NAMED * all as f64).take(3);
    let names: Vec<String> = named.map(|(c, _)| c.text().to_owned()).collect();
    (2 * sum > all).then(|| list(&names) + &lost_on(data, of[0].0))
}

/// True for the sender's responses to lost packets.
fn follows_loss(cause: Cause) -> bool {
    matches!(cause, Cause::Timeout | Cause::Probe | Cause::Syn | Cause::Recovery)
}

/// For a cause that losses have: the link, the policer, or the host with a full accept queue, that loses more packets than all queues drop.
fn lost_on(data: &Data, cause: Cause) -> String {
    let all_drops = |p: &Port| p.drops * f64::from(p.seeds);
    let dropped: f64 = data.ports.iter().filter(|p| p.policed_bps.is_none()).map(all_drops).sum();
    let policers = data.ports.iter().filter(|p| p.policed_bps.is_some());
    let policer = policers.max_by(|a, b| all_drops(a).total_cmp(&all_drops(b)));
    let policer = policer.map(|p| (all_drops(p) as u64, format!(" after drops of the policer at {}", p.name)));
    let link = data.losing_links.first().map(|(link, n)| (*n, format!(" after losses on link {link}")));
    let host = data.listen_overflows.first().map(|(host, n)| (*n, format!(" after drops at the full accept queue of {host}")));
    let most = link.into_iter().chain(host).chain(policer).max_by_key(|place| place.0);
    most.filter(|place| follows_loss(cause) && place.0 as f64 > dropped).map_or_else(String::new, |place| place.1)
}

/// Name of a cause in a sentence, with its port where it has one.
fn cause_text(cause: Cause, at: Option<&str>) -> String {
    match (cause, at) {
        (Cause::SwitchQueue, Some(port)) => format!("queue of {port}"),
        (Cause::Share, Some(port)) => format!("bandwidth share of {port}"),
        _ => cause.text().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::{Given, data as networks};
    use crate::data::{Query, Run};

    /// A message of subject `s`.
    fn message(s: usize, late: bool, waited: Option<Cause>) -> Flow {
        Flow { subject: s, size: 1_000, fct: Some(0.0), late, waited, delay_port: Some(0), ..Flow::default() }
    }

    fn with(flows: Vec<Flow>, subjects: usize) -> Data {
        let named: [(&str, Given); 2] = [("a", &[]), ("b", &[])];
        let mut d = networks(&named[..subjects]);
        d.places.push("bottleneck".into());
        d.waits = true;
        d.flows = flows;
        d
    }

    #[test]
    fn most_frequent_cause_comes_first() {
        let mut flows = vec![message(0, true, Some(Cause::Timeout)); 9];
        flows.extend(vec![message(0, true, Some(Cause::Share)); 3]);
        flows.extend(vec![message(0, false, None); 8]);
        assert_eq!(
            sentence(&with(flows, 1)).unwrap(),
            "**12** of 20 messages are late: a single cause delayed each by more than its unloaded completion time. Main causes: \
             **retransmission timeout** (75 %), bandwidth share of bottleneck (25 %)."
        );
    }

    #[test]
    fn nagle_named_beside_delayed_ack() {
        let mut d = with(vec![message(0, true, Some(Cause::DelayedAck)); 3], 1);
        assert!(!sentence(&d).unwrap().contains("Nagle"));
        d.subjects[0].nagle_holds = true;
        assert!(sentence(&d).unwrap().contains("**delayed ACK** (100 %). Nagle's algorithm holds the end"), "{:?}", sentence(&d));
        d.flows.iter_mut().for_each(|f| f.waited = Some(Cause::Timeout));
        assert!(!sentence(&d).unwrap().contains("Nagle"));
    }

    #[test]
    fn full_accept_queue_named_beside_syns() {
        let mut d = with(vec![message(0, true, Some(Cause::Syn)); 3], 1);
        d.listen_overflows.push(("h0".into(), 3));
        let end = "Main cause: **SYN retransmission timeout after drops at the full accept queue of h0** (100 %).";
        assert!(sentence(&d).unwrap().ends_with(end), "{:?}", sentence(&d));
        d.ports.push(Port { drops: 4.0, seeds: 1, ..Port::default() });
        assert!(sentence(&d).unwrap().ends_with("Main cause: **SYN retransmission timeout** (100 %)."), "{:?}", sentence(&d));
    }

    #[test]
    fn causes_name_receiver_and_host() {
        let slow = Flow { fct: Some(1.0), conn: Some(0), rwnd_limited_s: Some(0.9), ..message(0, true, Some(Cause::Window)) };
        let mut d = with(vec![slow; 3], 1);
        d.runs.push(Run::default());
        assert!(sentence(&d).unwrap().ends_with("Main cause: **receive window** (100 %)."), "{:?}", sentence(&d));
        d.flows.iter_mut().for_each(|f| f.rwnd_limited_s = Some(0.1));
        assert!(sentence(&d).unwrap().contains(&format!("**{}** (100 %)", Cause::Window.text())), "{:?}", sentence(&d));
        // One of two hosts has most of the delays.
        d.hosts = vec!["a".into(), "b".into()];
        d.flows = (0..4).map(|i| Flow { from: Some(u32::from(i > 0)), ..message(0, true, Some(Cause::HostQueue)) }).collect();
        assert!(sentence(&d).unwrap().ends_with("**queue of the sending host b** (100 %)."), "{:?}", sentence(&d));
        d.flows[1].from = Some(0);
        assert!(sentence(&d).unwrap().ends_with("**queue of the sending host** (100 %)."), "{:?}", sentence(&d));
    }

    #[test]
    fn minority_port_counts_others() {
        let at = |port: u32| Flow { delay_port: Some(port), ..message(0, true, Some(Cause::Share)) };
        let mut d = with((0..12).map(|i| at(i % 4)).collect(), 1);
        d.places = (0..4).map(|i| format!("spine{i}")).collect();
        assert!(
            sentence(&d).unwrap().ends_with("Main cause: **bandwidth share of spine0 and 3 other ports** (100 %)."),
            "{:?}",
            sentence(&d)
        );
        // Another port with a majority.
        d.flows.extend(vec![at(2); 8]);
        assert!(
            sentence(&d).unwrap().ends_with("**bandwidth share of spine2 and 3 other ports** (100 %)."),
            "{:?}",
            sentence(&d)
        );
        d.flows.extend(vec![at(2); 200]);
        assert!(sentence(&d).unwrap().ends_with("Main cause: **bandwidth share of spine2** (100 %)."), "{:?}", sentence(&d));
    }

    #[test]
    fn each_transport_has_its_own_cause() {
        let mut flows = vec![message(0, true, Some(Cause::Timeout)); 2];
        flows.extend(vec![message(1, true, Some(Cause::SwitchQueue)); 4]);
        assert_eq!(
            sentence(&with(flows, 2)).unwrap(),
            "Main cause of late messages: a: **retransmission timeout** (100 % of 2); b: **queue of bottleneck** (100 % of 4)."
        );
    }

    #[test]
    fn query_late_beyond_link_time() {
        let mut d = with(vec![Flow { in_query: true, ..message(0, true, Some(Cause::Share)) }; 40], 1);
        d.runs.push(Run::default());
        d.hosts.push("r0".into());
        d.ports.push(Port { to: "r0".into(), rate_bps: 1e9, ..Port::default() });
        // 32 ms on the link.
        let query = |cause, delay_s| Query {
            qct: Some(0.033 + delay_s),
            groups: 1,
            bytes: 4_000_000,
            receiver: Some(0),
            waited: Some(cause),
            delay_s,
            ..Query::default()
        };
        d.queries = vec![query(Cause::Share, 0.031)];
        assert_eq!(sentence(&d), None, "its answers took turns on the link");
        d.queries[0] = Query { qct: Some(0.04), ..query(Cause::SwitchQueue, 0.035) };
        assert_eq!(sentence(&d), None, "the last answer waited for the others");
        assert!(nothing_late(&d).unwrap().starts_with("None of 1 query is late"));
        d.queries.push(query(Cause::Timeout, 0.2));
        let output = sentence(&d).unwrap();
        assert!(
            output.starts_with("**1** of 2 queries is late") && output.ends_with("**retransmission timeout** (100 %)."),
            "{output}"
        );
        assert_eq!(nothing_late(&d), None);
    }

    #[test]
    fn no_late_messages_sentence() {
        let d = with(vec![message(0, false, Some(Cause::Window)); 3], 1);
        assert_eq!(sentence(&d), None);
        assert_eq!(
            nothing_late(&d).unwrap(),
            "None of 3 messages is late: no single cause delayed one by more than its unloaded completion time."
        );
        assert_eq!(nothing_late(&with(Vec::new(), 1)), None, "nothing that could have been late");
        let running = Flow { fct: None, ..message(0, false, None) };
        assert_eq!(nothing_late(&with(vec![running], 1)), None, "a message still runs");
    }
}
