//! Timeline of the slowest query and of the slowest message: a lane for each server or message, with the timers that ran.
//!
//! It shows stored times only: start and end of each message, and expired timers. A retransmission timer that expired at `t` with the value `rto` ran
//! from `t - rto`, because a new acknowledgment would have restarted it (RFC 6298 section 5.3). Of other timers only the time of expiry is stored. The other parts of a message's time (sending, queues,
//! windows) are stored as a sum for its main cause, without their place in time.

use super::reduce::significant;
use super::text::argument;
use crate::page::{Chart, Dimension, Figure, LaneChart, Span, SpanKind, TimelineRow, View};
use forebay_analysis::{Data, Flow, Query, Timeout, quantity};
use forebay_experiment::rows::TimeoutKind;

/// Maximum number of lanes of a view.
const MAX_LANES: usize = 16;
/// Maximum number of views of a figure.
const MAX_VIEWS: usize = 12;

/// Figures of the slowest queries, and of the slowest messages outside queries.
pub(super) fn figures(data: &Data) -> (Option<Figure>, Option<Figure>) {
    let views = |queries: bool| {
        let of = |(subject, class): (usize, Option<u32>)| {
            let chart = if queries { query(data, subject, class) } else { message(data, subject, class) };
            let names = [Some(data.subjects[subject].name.as_str()), data.class(class).filter(|_| data.classes.len() > 1)];
            let name = names.into_iter().flatten().filter(|n| !n.is_empty()).collect::<Vec<_>>().join(", ");
            chart.map(|c| View { name, chart: Chart::Lanes(c) })
        };
        let all = kinds(data, queries).into_iter().filter_map(of);
        all.take(MAX_VIEWS).collect::<Vec<View>>()
    };
    let figure = |id: &str, title: &str, views: Vec<View>| {
        let choice = if views.len() > 1 { "transport".into() } else { String::new() };
        let text = "A bar is a message, from its first byte written until its last byte delivered. Hatched parts: the \
                    retransmission timer of its sender ran and expired, because no acknowledgment of new data arrived. A mark alone: a \
                    tail loss probe, or RACK's reordering timer. Results store queues and windows as one sum for each message, not over \
                    time.";
        (!views.is_empty()).then(|| Figure { id: id.into(), title: title.into(), text: text.into(), choice, views })
    };
    (
        figure("timeline-queries", "Timeline of the slowest query", views(true)),
        figure("timeline-messages", "Timeline of the slowest message", views(false)),
    )
}

/// Subjects and workloads with queries, or with messages outside queries.
fn kinds(data: &Data, queries: bool) -> Vec<(usize, Option<u32>)> {
    let mut out: Vec<(usize, Option<u32>)> = Vec::new();
    for f in data.flows.iter().filter(|f| f.size > 0 && f.in_query == queries) {
        if !out.contains(&(f.subject, f.class)) {
            out.push((f.subject, f.class));
        }
    }
    out.sort_unstable();
    out
}

fn seconds(s: f64) -> String {
    quantity(s, Dimension::Seconds)
}

/// Duration so far, s.
fn took(data: &Data, run: usize, start_ns: i64, done: Option<f64>) -> f64 {
    done.unwrap_or_else(|| (data.runs[run].end_ns - start_ns).max(0) as f64 * 1e-9)
}

/// Variant, seed and command of a view: `dctcp, seed 3: forebay explain ...`.
fn place(data: &Data, run: usize, option: &str) -> (String, String) {
    let r = &data.runs[run];
    let network = &data.networks[r.network];
    let path = data.paths.get(network.dir).map_or("DIR".into(), |p| argument(p));
    let variant = if network.variant.is_empty() { String::new() } else { format!(" --variant {}", argument(&network.variant)) };
    (format!("seed {}", r.seed), format!("forebay explain {path}{variant} --run {} {option}", r.number))
}

/// The messages of the query of a workload that lost most time against an unloaded network.
fn query(data: &Data, subject: usize, class: Option<u32>) -> Option<LaneChart> {
    let network = data.subjects[subject].network;
    let bit = 1u64 << (subject - data.networks[network].first).min(63);
    let own = data.queries.iter().filter(|q| data.runs[q.run].network == network && q.groups & bit != 0 && q.class == class);
    let time = |q: &Query| took(data, q.run, q.start_ns, q.qct);
    let lost = |q: &Query| time(q) - q.ideal_s;
    let slowest = own.max_by(|a, b| lost(a).total_cmp(&lost(b))).filter(|q| lost(q) > 0.0)?;
    let is_own = |f: &&Flow| f.run == slowest.run && f.query.is_some_and(|id| u64::from(id) == slowest.id);
    let mut messages: Vec<&Flow> = data.flows.iter().filter(is_own).collect();
    messages.sort_by_key(|f| (f.start_ns, f.id));
    // A lane for each server, and another one where messages of a server overlap.
    let mut lanes: Vec<(Option<u32>, Vec<&Flow>)> = Vec::new();
    for m in messages {
        let peer = if m.request { m.to } else { m.from };
        let free = |lane: &&mut (Option<u32>, Vec<&Flow>)| {
            lane.0 == peer && lane.1.last().is_none_or(|last| end(data, last).0 <= m.start_ns)
        };
        match lanes.iter_mut().find(free) {
            Some(lane) => lane.1.push(m),
            None => lanes.push((peer, vec![m])),
        }
    }
    let last = |of: &[&Flow]| of.iter().map(|f| end(data, f).0).max().unwrap_or(0);
    lanes.sort_by_key(|lane| std::cmp::Reverse(last(&lane.1)));
    let left_out = lanes.len().saturating_sub(MAX_LANES);
    let shown = lanes.iter().take(MAX_LANES).map(|(peer, of)| TimelineRow {
        name: data.host(*peer).unwrap_or("?").to_owned(),
        spans: of.iter().flat_map(|f| spans(data, f, slowest.start_ns)).collect(),
    });
    let (seed, command) = place(data, slowest.run, &format!("--query {}", slowest.id));
    let cause = slowest.waited.map_or_else(String::new, |c| cause(data, c.text(), slowest.delay_port, slowest.delay_s));
    let ended = if slowest.qct.is_some() { "took" } else { "was unfinished after" };
    let more = if left_out > 0 { format!(" {left_out} servers that ended earlier are left out.") } else { String::new() };
    Some(LaneChart {
        subject,
        caption: format!(
            "Query {} of {seed}, started at {}, {ended} {}{}.{cause}{more}",
            slowest.id,
            seconds(slowest.start_ns as f64 * 1e-9),
            seconds(time(slowest)),
            unloaded("its slowest response takes ", slowest.ideal_s)
        ),
        command,
        lanes: shown.collect(),
        length: short(time(slowest)),
    })
}

/// The message of a workload that lost most time against an unloaded network, with the messages of its connection that were under way.
fn message(data: &Data, subject: usize, class: Option<u32>) -> Option<LaneChart> {
    let own = data.flows.iter().filter(|f| f.subject == subject && f.size > 0 && !f.in_query && f.class == class);
    let time = |f: &Flow| took(data, f.run, f.start_ns, f.fct);
    let lost = |f: &Flow| time(f) - f.ideal_s;
    let slowest = own.max_by(|a, b| lost(a).total_cmp(&lost(b))).filter(|f| lost(f) > 0.0)?;
    let (until, _) = end(data, slowest);
    let others = data.flows.iter().filter(|f| {
        (f.run, f.conn, f.size > 0) == (slowest.run, slowest.conn, true)
            && f.conn.is_some()
            && f.id != slowest.id
            && f.from == slowest.from
            && f.start_ns < slowest.start_ns
            && end(data, f).0 > slowest.start_ns
            && f.start_ns < until
    });
    let mut others: Vec<&Flow> = others.collect();
    // The messages that were written last before it delay it last.
    others.sort_by_key(|f| std::cmp::Reverse(f.start_ns));
    let lane = |name: String, f: &Flow| TimelineRow { name, spans: spans(data, f, slowest.start_ns) };
    let bytes = |f: &Flow| quantity(f.size as f64, Dimension::Bytes);
    let mut lanes = vec![lane(bytes(slowest), slowest)];
    lanes.extend(others.iter().take(MAX_LANES - 1).map(|f| lane(format!("earlier, {}", bytes(f)), f)));
    let (seed, command) = place(data, slowest.run, &format!("--flow {}", slowest.id));
    let cause = slowest.waited.map_or_else(String::new, |c| cause(data, c.text(), slowest.delay_port, 0.0));
    let ended = if slowest.fct.is_some() { "took" } else { "was unfinished after" };
    let hosts = match (data.host(slowest.from), data.host(slowest.to)) {
        (Some(from), Some(to)) => format!(" from {from} to {to}"),
        _ => String::new(),
    };
    Some(LaneChart {
        subject,
        caption: format!(
            "Message {}{hosts} of {seed}, {}, written at {}, {ended} {}{}.{cause}",
            slowest.id,
            bytes(slowest),
            seconds(slowest.start_ns as f64 * 1e-9),
            seconds(time(slowest)),
            unloaded("", slowest.ideal_s)
        ),
        command,
        lanes,
        length: short(time(slowest)),
    })
}

fn unloaded(what: &str, ideal_s: f64) -> String {
    if ideal_s > 0.0 { format!(" ({what}{} on an unloaded network)", seconds(ideal_s)) } else { String::new() }
}

/// ` Main cause of delay: retransmission timeout, 200 ms.`
fn cause(data: &Data, name: &str, port: Option<u32>, delay_s: f64) -> String {
    let at = port.and_then(|p| data.places.get(p as usize)).map_or_else(String::new, |p| format!(" ({p})"));
    let time = if delay_s > 0.0 { format!(", {}", seconds(delay_s)) } else { String::new() };
    format!(" Main cause of delay: {name}{at}{time}.")
}

/// End of a message, or of its run, ns; and true if it was delivered.
fn end(data: &Data, f: &Flow) -> (i64, bool) {
    match f.fct {
        Some(fct) => (f.start_ns + (fct * 1e9).round() as i64, true),
        None => (data.runs[f.run].end_ns, false),
    }
}

fn short(s: f64) -> f64 {
    significant(s, 7)
}

/// The message and its timers, in seconds from `zero`.
fn spans(data: &Data, f: &Flow, zero: i64) -> Vec<Span> {
    let (until, delivered) = end(data, f);
    let at = |ns: i64| short((ns - zero) as f64 * 1e-9);
    let kind = match (f.in_query, f.request) {
        (true, true) => SpanKind::Request,
        (true, false) => SpanKind::Response,
        _ => SpanKind::Message,
    };
    let mut text = vec![
        quantity(f.size as f64, Dimension::Bytes),
        format!(
            "{} to {}",
            seconds(at(f.start_ns)),
            if delivered { seconds(at(until)) } else { "the end of the run, unfinished".into() }
        ),
    ];
    if f.retransmitted > 0 {
        text.push(format!("{} of {} segments retransmitted", f.retransmitted, f.segments));
    }
    if let Some(cause) = f.waited {
        let port = f.delay_port.and_then(|p| data.places.get(p as usize)).map_or_else(String::new, |p| format!(" ({p})"));
        text.push(format!("main cause of delay: {}{port}", cause.text()));
    }
    let mut out = vec![Span { kind, from: at(f.start_ns), to: at(until), unfinished: !delivered, text }];
    let mut add = |timers: &[Timeout]| {
        let own = timers.iter().filter(|t| t.run == f.run && t.flow == Some(f.id) && t.time_ns <= until);
        out.extend(own.map(|t| {
            // Only the value of the retransmission timer is known; the others are moments.
            let (kind, name, ran) = match t.kind {
                TimeoutKind::Probe => (SpanKind::Probe, "tail loss probe", None),
                TimeoutKind::Reordering => (SpanKind::Reordering, "RACK's reordering timer expired", None),
                TimeoutKind::Syn => (SpanKind::Syn, "SYN retransmitted", Some(t.rto)),
                TimeoutKind::Head | TimeoutKind::Tail | TimeoutKind::Other => {
                    (SpanKind::Timeout, "retransmission timeout", Some(t.rto))
                }
            };
            let after = ran.map_or_else(String::new, |ran| format!(" after {}", seconds(ran)));
            let from = ran.map_or(t.time_ns, |ran| (t.time_ns - (ran * 1e9) as i64).max(f.start_ns));
            let text = vec![format!("{name}{after}, at {}", seconds(at(t.time_ns)))];
            Span { kind, from: at(from), to: at(t.time_ns), unfinished: false, text }
        }));
    };
    add(&data.timeouts);
    add(&data.probes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_analysis::{Network, Run, Subject};

    fn chart(f: &Option<Figure>) -> &LaneChart {
        let Chart::Lanes(c) = &f.as_ref().expect("a figure").views[0].chart else { panic!("no lanes") };
        c
    }

    /// One query of two servers: the response of the second one stalls for 200 ms.
    fn stalled() -> Data {
        let mut d = Data { hosts: vec!["client".into(), "a".into(), "b".into()], paths: vec!["out".into()], ..Data::default() };
        d.networks.push(Network { groups: 1, variant: "dctcp".into(), ..Network::default() });
        d.subjects.push(Subject { name: "dctcp".into(), ..Subject::default() });
        d.runs.push(Run { end_ns: 1_000_000_000, seed: 7, ..Run::default() });
        let query = |id, start_ns, qct| Query { id, start_ns, qct: Some(qct), groups: 1, ideal_s: 1e-3, ..Query::default() };
        d.queries = vec![query(0, 0, 0.002), query(1, 500_000_000, 0.21)];
        let flow = |id, start_ns, fct, server, request| Flow {
            id,
            query: Some(1),
            in_query: true,
            request,
            size: 1_000,
            start_ns,
            fct: Some(fct),
            from: Some(if request { 0 } else { server }),
            to: Some(if request { server } else { 0 }),
            ..Flow::default()
        };
        d.flows = vec![
            flow(10, 500_000_000, 0.001, 1, true),
            flow(11, 500_000_000, 0.001, 2, true),
            flow(12, 501_000_000, 0.002, 1, false),
            flow(13, 501_000_000, 0.209, 2, false),
        ];
        d.timeouts = vec![Timeout { flow: Some(13), time_ns: 705_000_000, rto: 0.2, ..Timeout::default() }];
        d
    }

    #[test]
    fn slowest_query_has_lane_per_server() {
        let (queries, messages) = figures(&stalled());
        assert!(messages.is_none());
        let c = chart(&queries);
        assert_eq!(c.lanes.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["b", "a"], "the last one first");
        let spans: Vec<(SpanKind, f64, f64)> = c.lanes[0].spans.iter().map(|s| (s.kind, s.from, s.to)).collect();
        assert_eq!(
            spans,
            [(SpanKind::Request, 0.0, 0.001), (SpanKind::Response, 0.001, 0.21), (SpanKind::Timeout, 0.005, 0.205)]
        );
        assert_eq!(c.command, "forebay explain out --variant dctcp --run 0 --query 1");
        assert!(
            c.caption.starts_with(
                "Query 1 of seed 7, started at 500 ms, took 210 ms (its slowest response takes 1 ms on an unloaded network)"
            ),
            "{}",
            c.caption
        );
    }

    #[test]
    fn earlier_messages_of_connection_are_shown() {
        let mut d = stalled();
        d.queries.clear();
        d.timeouts.clear();
        d.flows = [(1, 0, 0.3), (2, 100_000_000, 0.25), (3, 900_000_000, 0.01)]
            .map(|(id, start_ns, fct)| Flow {
                id,
                start_ns,
                fct: Some(fct),
                conn: Some(4),
                size: 1_000,
                ideal_s: fct / id as f64,
                ..Flow::default()
            })
            .to_vec();
        // The second one lost most; the first one was still under way, the third one came later.
        let (queries, messages) = figures(&d);
        assert!(queries.is_none());
        let c = chart(&messages);
        assert_eq!(c.lanes.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["1 kB", "earlier, 1 kB"]);
        assert_eq!((c.lanes[1].spans[0].from, c.lanes[1].spans[0].to), (-0.1, 0.2));
        // An unfinished message lasts until the end of the run.
        d.flows[2].fct = None;
        d.flows[2].ideal_s = 0.0;
        d.flows[2].start_ns = 100_000_001;
        let c = figures(&d).1;
        assert!(chart(&c).lanes[0].spans[0].unfinished && chart(&c).caption.contains("was unfinished after 900 ms"));
    }

    /// The results name no value of these timers: they are moments.
    #[test]
    fn other_timers_are_moments() {
        let mut d = stalled();
        let timer = |kind, time_ns| Timeout { flow: Some(13), time_ns, rto: 0.2, kind, ..Timeout::default() };
        d.timeouts.clear();
        d.probes = vec![timer(TimeoutKind::Probe, 505_000_000), timer(TimeoutKind::Reordering, 705_000_000)];
        let queries = figures(&d).0;
        let spans = &chart(&queries).lanes[0].spans;
        assert_eq!((spans[2].kind, spans[2].from, spans[2].to), (SpanKind::Probe, 0.005, 0.005));
        assert_eq!((spans[3].kind, spans[3].from, spans[3].to), (SpanKind::Reordering, 0.205, 0.205));
        assert_eq!(spans[3].text, ["RACK's reordering timer expired, at 205 ms"]);
    }

    #[test]
    fn command_is_quoted_for_a_shell() {
        let mut d = stalled();
        d.networks[0].variant = "one's own".into();
        d.paths[0] = "my results".into();
        let queries = figures(&d).0;
        assert_eq!(
            shlex::split(&chart(&queries).command).expect("words"),
            ["forebay", "explain", "my results", "--variant", "one's own", "--run", "0", "--query", "1"]
        );
    }

    #[test]
    fn nothing_slow_has_no_timeline() {
        let mut d = stalled();
        d.queries.iter_mut().for_each(|q| q.ideal_s = 1.0);
        assert!(figures(&d).0.is_none());
        assert!(figures(&Data::default()).1.is_none());
    }
}
