//! Timeline of one message as text: delays hop by hop, and the events of its sender.

use crate::simulate::Simulated;
use forebay_experiment::Experiment;
use forebay_experiment::idle_time::idle_time;
use forebay_experiment::rows::{FlowRow, QueueRow, TcpRow, TimeoutKind, TimeoutRow};
use forebay_experiment::waits::Cause;
use forebay_store::RunInfo;
use forebay_types::{PortId, Rate, TimeOrNever};
use std::fmt::Write as _;
use std::io;

/// Maximum number of printed events.
const MAX_EVENTS: usize = 24;
/// Samples in memory at a time.
const PIECE: usize = 1 << 16;

/// Path of a message's packets.
pub(crate) struct Route {
    /// Time from which on it was used, ps.
    pub from: u64,
    pub ports: Vec<PortId>,
}

/// Paths of a message in order of time: link failures change them.
#[derive(Default)]
pub(crate) struct Routes {
    pub each: Vec<Route>,
    /// Packets or flowlets that take paths of their own, if any; these are an example.
    pub scattered: Option<&'static str>,
    /// Changes of the rates of links: port, time in ps, new rate.
    pub rates: Vec<(PortId, u64, Rate)>,
}

impl Routes {
    /// True if some port polices.
    fn policed(&self, run: &Simulated) -> bool {
        let mut ports = self.each.iter().flat_map(|route| &route.ports).filter_map(|port| run.info.port_config(*port));
        ports.any(|config| config.queue.policing_rate().is_some())
    }

    /// One line per hop of each path.
    fn hops(&self, run: &Simulated, (start, end): (u64, u64)) -> String {
        let mut out = String::new();
        if let Some(unit) = self.scattered {
            let _ = writeln!(out, "  each {unit} takes one of the shortest paths; this is one of them");
        }
        for (number, route) in self.each.iter().enumerate() {
            let until = self.each.get(number + 1).map_or(end, |next| next.from);
            if number > 0 {
                let at = stamp(route.from.saturating_sub(start));
                let _ = writeln!(out, "  from {at} on another path, because a link failed or came back:");
            }
            if route.ports.is_empty() {
                out += "  no path\n";
            }
            out += &route.hops(run, &self.rates, (route.from.max(start), until));
        }
        out
    }
}

impl Route {
    /// One line per hop: the length of its queue from `start` to `end`, and the resulting delay.
    fn hops(&self, run: &Simulated, rates: &[(PortId, u64, Rate)], (start, end): (u64, u64)) -> String {
        let mut out = String::new();
        for port in &self.ports {
            let Some(config) = run.info.port_config(*port) else { continue };
            let mut changes: Vec<(u64, Rate)> = rates.iter().filter(|c| c.0 == *port).map(|c| (c.1, c.2)).collect();
            changes.sort_unstable_by_key(|c| c.0);
            let rate = |time: u64| changes.iter().rev().find(|c| c.0 <= time).map_or(config.rate, |c| c.1);
            let mut seen = QueueStats::default();
            let own = |q: &&QueueRow| q.port == *port && (start..=end).contains(&q.time_ps);
            let read = run.report.queue.pieces(PIECE, &mut |rows| {
                rows.iter().filter(own).for_each(|q| seen.add(q, rate(q.time_ps)));
                Ok::<(), io::Error>(())
            });
            if read.is_err() {
                seen = QueueStats::default();
            }
            let policer = config.queue.policing_rate().map_or_else(String::new, |rate| format!(", policer of {rate}"));
            let changed = changes.iter().filter(|c| c.0 > start && c.0 < end);
            let changed: String = changed.map(|c| format!(", {} from {} on", c.1, stamp(c.0 - start))).collect();
            let name = format!("{} ({}{changed}{policer}):", run.info.port(*port), rate(start));
            let what = match seen {
                QueueStats { samples: 0, .. } => "no samples of its queue".to_owned(),
                QueueStats { packets_max: 0 | 1, .. } => "queue empty".to_owned(),
                s => {
                    let n = s.samples as f64;
                    let packets = s.packets as f64 / n;
                    if !config.serves_in_order() {
                        let _ = writeln!(
                            out,
                            "  hop {name} queue {packets:.1} packets on average, {} at most; the delay depends on the order of service",
                            s.packets_max
                        );
                        continue;
                    }
                    format!(
                        "queue {packets:.1} packets on average (delay {}), {} at most ({})",
                        time((s.delay_ps / n) as u64),
                        s.packets_max,
                        time(s.delay_max_ps as u64)
                    )
                }
            };
            let _ = writeln!(out, "  hop {name} {what}");
        }
        out
    }
}

/// Statistics of a queue while a message was on its path.
#[derive(Default)]
struct QueueStats {
    samples: u64,
    packets: u64,
    packets_max: u32,
    /// Sum and largest value of the time to send the queue at the rate of the link.
    delay_ps: f64,
    delay_max_ps: f64,
}

impl QueueStats {
    fn add(&mut self, q: &QueueRow, rate: Rate) {
        let delay_ps = q.bytes as f64 * 8.0 / rate.0.max(1) as f64 * 1e12;
        self.samples += 1;
        self.packets += u64::from(q.pkts);
        self.packets_max = self.packets_max.max(q.pkts);
        self.delay_ps += delay_ps;
        self.delay_max_ps = self.delay_max_ps.max(delay_ps);
    }
}

/// Timeline of one message of the run of `config`.
pub(crate) fn timeline(f: &FlowRow, run: &Simulated, config: &Experiment, routes: &Routes) -> String {
    let info: &RunInfo = &run.info;
    let end = f.end.ps().unwrap_or(run.report.end.0);
    let took = end.saturating_sub(f.start.0);
    let endless = f.size_bytes == 0;
    let size = if endless { "endless".to_owned() } else { format!("{} B", f.size_bytes) };
    let mut out = format!(
        "flow {}: {} ({}), {} to {}, {size}\n",
        f.flow_id,
        info.class(f.workload),
        info.group(f.group),
        info.node(f.src),
        info.node(f.dst),
    );
    if endless {
        let bps = f.bytes_acked as f64 * 8e12 / took.max(1) as f64;
        let _ = writeln!(
            out,
            "  started at {}, {} B acknowledged in {} ({:.3} Mbps)",
            time(f.start.0),
            f.bytes_acked,
            time(took),
            bps * 1e-6
        );
    } else {
        let done = if f.end.is_never() { "not delivered within" } else { "delivered after" };
        let _ = writeln!(out, "  written at {}, {done} {}; on an unloaded path {}", time(f.start.0), time(took), time(f.ideal.0));
    }
    out += &routes.hops(run, (f.start.0, end));
    let (events, more) = shortened(events(f, run, took));
    for e in &events {
        let _ = writeln!(out, "  {:>10}  {}", stamp(e.at.saturating_sub(f.start.0)), e.what);
    }
    if more > 0 {
        let _ = writeln!(out, "  {more} more events of loss recovery");
    }
    out += &limits(f, took, routes.policed(run)).map_or_else(String::new, |line| format!("  {line}\n"));
    out += &idle(f, run).map_or_else(String::new, |line| format!("  {line}\n"));
    if let Some(w) = f.waited {
        let at = w.port().map_or(String::new(), |p| format!(" ({})", info.port(p)));
        let _ =
            writeln!(out, "  main cause of delay: {}{at}, {} of {}", cause_text(f, w.cause, took), time(w.time_ps), time(took));
        out += &nagle(f, w.cause, config).map_or_else(String::new, |line| format!("  {line}\n"));
    }
    out
}

/// Line about a message of several writes whose end Nagle's algorithm held, with the causes that the first lines of results name beside it. A message
/// that fits into the window and lost nothing waits for no other ACK.
fn nagle(f: &FlowRow, cause: Cause, config: &Experiment) -> Option<String> {
    let calls = config.workloads.get(f.workload)?.writes.get();
    if calls < 2 || f.size_bytes < 2 || !config.groups.get(f.group)?.tcp.nagle {
        return None;
    }
    let until = match cause {
        Cause::DelayedAck => "until that ACK",
        Cause::Interrupts | Cause::Window if f.fits && f.segs_retx == 0 => "for a round trip, until the ACK of its beginning",
        _ => return None,
    };
    Some(format!("Nagle's algorithm held its end {until}: the application writes a message by {calls} calls"))
}

/// Part of the time of a message from which on the receive window is the window that delays it. Our choice: most of the time.
const MOSTLY: f64 = 0.5;

/// Name of a cause. Of the windows, the sender counts the time of the receive window.
fn cause_text(f: &FlowRow, cause: Cause, took: u64) -> &'static str {
    let by_receiver = f.rwnd_limited.ps().is_some_and(|ps| ps as f64 > MOSTLY * took as f64);
    if cause == Cause::Window && by_receiver { Cause::RECEIVE_WINDOW } else { cause.text() }
}

/// Minimum part of the time in which a limit is named. Our choice, as in the first lines of results.
const NAMED: f64 = 0.1;

/// Limits of a sender other than the congestion window, in parts of its time; `None` where the backend does not count them, and for a message that
/// they hardly limited. `policed` is true for a path with a policer.
fn limits(f: &FlowRow, took: u64, policed: bool) -> Option<String> {
    let part = |t: TimeOrNever| Some((t.ps()? as f64 / took.max(1) as f64).min(1.0));
    let (rwnd, sndbuf) = (part(f.rwnd_limited)?, part(f.sndbuf_limited)?);
    let rest = (1.0 - rwnd - sndbuf).max(0.0);
    (f.size_bytes == 0 || rwnd.max(sndbuf) >= NAMED).then(|| {
        let percent = |v: f64| format!("{:.1} %", v * 100.0);
        format!(
            "limited by the receive window {}, by the send buffer {} of the time; by the {} {}",
            percent(rwnd),
            percent(sndbuf),
            if policed { "congestion window, a link or a policer" } else { "congestion window or a link" },
            percent(rest)
        )
    })
}

/// Time in which the connection of a message had nothing to send, if it carried several messages and this is much of its time.
fn idle(f: &FlowRow, run: &Simulated) -> Option<String> {
    let end = run.report.end.0;
    let own = run.report.flows.iter().filter(|m| m.conn_id == f.conn_id && m.size_bytes > 0);
    let mut messages: Vec<(u64, u64)> = own.map(|m| (m.start.0, m.acked.ps().unwrap_or(end))).collect();
    let (idle, whole) = idle_time(&mut messages);
    let part = idle as f64 / whole.max(1) as f64;
    let why = if f.query_id.is_some() && !f.request { "its peer sent no request" } else { "its application wrote nothing" };
    (part >= NAMED).then(|| {
        format!(
            "its connection had nothing to send for {:.1} % of {}, between {} messages: {why}",
            part * 100.0,
            time(whole),
            messages.len()
        )
    })
}

/// An event of a message.
struct Event {
    /// When, ps.
    at: u64,
    priority: Priority,
    what: String,
}

/// Importance of an event. The last ones are left out first where there are too many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Priority {
    /// Timers, pauses, beginning and end.
    Always,
    /// Loss detection.
    Loss,
    /// Retransmissions.
    Resent,
    /// States of the congestion control.
    State,
}

/// The events in order of time, without the latest of the least important ones where there are too many, and the number of those.
fn shortened(mut events: Vec<Event>) -> (Vec<Event>, usize) {
    let more = events.len().saturating_sub(MAX_EVENTS);
    events.sort_by_key(|e| (e.priority, e.at));
    events.truncate(MAX_EVENTS);
    events.sort_by_key(|e| e.at);
    (events, more)
}

fn events(f: &FlowRow, run: &Simulated, took: u64) -> Vec<Event> {
    let last = f.acked.ps().unwrap_or(run.report.end.0);
    // An ACK at the moment of the write belongs to earlier data.
    let own = |time: u64| time > f.start.0 && time <= last;
    let mut events: Vec<Event> = Vec::new();
    let event = |at: u64, priority: Priority, what: String| Event { at, priority, what };
    let of_flow = |t: &TimeoutRow| t.flow_id == Some(f.flow_id) && t.conn_id == f.conn_id;
    let timers: Vec<TimeoutRow> = run.report.timeouts.iter().filter(of_flow).collect();
    for t in &timers {
        let after = time(t.rto_ps);
        events.push(event(
            t.time_ps,
            Priority::Always,
            match t.kind {
                TimeoutKind::Syn => format!("SYN retransmitted after {after}"),
                TimeoutKind::Probe => "tail loss probe".to_owned(),
                TimeoutKind::Reordering => "RACK's reordering timer expires".to_owned(),
                TimeoutKind::Head => {
                    format!("retransmission timeout after {after}, before the first window is acknowledged")
                }
                TimeoutKind::Tail => {
                    format!("retransmission timeout after {after}, with the tail of the message unacknowledged")
                }
                TimeoutKind::Other => format!("retransmission timeout after {after}"),
            },
        ));
    }
    let (mut before, mut seen) = (f.start.0, None);
    // Retransmissions: first and last time, and number of segments.
    let mut resent: Vec<(u64, u64, u64)> = Vec::new();
    let (mut state, mut cc_state) = (0, None);
    let mut timers = timers.iter().filter(|t| t.kind != TimeoutKind::Syn).map(|t| t.time_ps).peekable();
    for s in run.report.tcp.iter().filter(|s| s.conn_id == f.conn_id) {
        if !own(s.time_ps) {
            seen = Some(s.retrans);
            continue;
        }
        let pause = s.time_ps - before;
        if pause > took / 10 && pause > 1_000_000_000 {
            let what = format!("ACK after {} without any; cwnd {:.1} segments", time(pause), s.cwnd);
            events.push(event(s.time_ps, Priority::Always, what));
        } else if before == f.start.0 {
            let rtt = s.srtt_ps.map_or(String::new(), |rtt| format!(", smoothed RTT {}", time(rtt)));
            events.push(event(s.time_ps, Priority::Always, format!("first ACK; cwnd {:.1} segments{rtt}", s.cwnd)));
        }
        let mut again = s.retrans.saturating_sub(seen.unwrap_or(0));
        // Each timer since the last ACK retransmitted one segment.
        while let Some(at) = timers.next_if(|at| *at < s.time_ps) {
            if again > 0 {
                resent.push((at, at, 1));
                again -= 1;
            }
        }
        // Retransmissions on successive ACKs are one event.
        match resent.last_mut() {
            Some((_, until, segments)) if again > 0 && *until == before => (*until, *segments) = (s.time_ps, *segments + again),
            _ if again > 0 => resent.push((s.time_ps, s.time_ps, again)),
            _ => {}
        }
        if s.ca_state == 3 && state != 3 {
            let what = format!("loss detected: fast recovery, cwnd {:.1} segments", s.cwnd);
            events.push(event(s.time_ps, Priority::Loss, what));
        }
        let cc = s.cc.text("cc_state");
        if let (Some(name), true) = (cc, cc != cc_state) {
            events.push(event(s.time_ps, Priority::State, congestion_control(name, &s)));
        }
        (before, seen, state, cc_state) = (s.time_ps, Some(s.retrans), s.ca_state, cc);
    }
    // Retransmissions without other events in between are one event.
    let happened: Vec<u64> = events.iter().map(|e| e.at).collect();
    resent.dedup_by(|next, kept| {
        let one = !happened.iter().any(|at| (kept.1 + 1..=next.0).contains(at));
        if one {
            (kept.1, kept.2) = (next.1, kept.2 + next.2);
        }
        one
    });
    for (from, until, segments) in resent {
        let s = if segments == 1 { "" } else { "s" };
        let within = if until > from { format!(", within {}", time(until - from)) } else { String::new() };
        events.push(event(from, Priority::Resent, format!("{segments} segment{s} retransmitted{within}")));
    }
    events.extend(f.end.ps().map(|end| event(end, Priority::Always, "last byte delivered".to_owned())));
    events.extend(f.acked.ps().map(|acked| event(acked, Priority::Always, "last byte acknowledged".to_owned())));
    events
}

/// State that a congestion control enters, with its estimates of the path.
fn congestion_control(name: &str, s: &TcpRow) -> String {
    let mut text = format!("congestion control enters {name}");
    if let Some(bw) = s.cc.int("max_bw_bps") {
        text += &format!("; max_bw {:.1} Mbit/s", bw as f64 / 1e6);
    }
    if let Some(rtt) = s.cc.int("min_rtt_ns") {
        text += &format!(", min_rtt {}", time(rtt.unsigned_abs() * 1_000));
    }
    text
}

/// Time of an event relative to the start of the message, with one digit more than a duration, so that the order is visible.
fn stamp(ps: u64) -> String {
    format!("+{}", in_unit(ps, 1))
}

/// A time in a suitable unit.
fn time(ps: u64) -> String {
    in_unit(ps, 0)
}

/// A time with `more` additional digits beyond three.
fn in_unit(ps: u64, more: usize) -> String {
    let (value, unit) = match ps {
        0..1_000_000 => (ps as f64 * 1e-3, "ns"),
        1_000_000..1_000_000_000 => (ps as f64 * 1e-6, "us"),
        1_000_000_000..1_000_000_000_000 => (ps as f64 * 1e-9, "ms"),
        _ => (ps as f64 * 1e-12, "s"),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    let digits = digits + more;
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Timers and the end are printed, however many segments were retransmitted.
    #[test]
    fn important_events_are_kept() {
        let event = |at, priority| Event { at, priority, what: String::new() };
        let mut all: Vec<Event> = (0..100).map(|at| event(at, Priority::Resent)).collect();
        all.extend((0..10).map(|n| event(5 + 10 * n, Priority::Loss)));
        all.extend([event(40, Priority::Always), event(1_000, Priority::Always)]);
        let (kept, more) = shortened(all);
        assert_eq!((kept.len(), more), (MAX_EVENTS, 112 - MAX_EVENTS));
        assert!(kept.is_sorted_by_key(|e| e.at));
        let of = |priority| kept.iter().filter(|e| e.priority == priority).count();
        assert_eq!((of(Priority::Always), of(Priority::Loss), of(Priority::Resent)), (2, 10, MAX_EVENTS - 12));
    }

    #[test]
    fn timestamps_have_extra_digit() {
        assert_eq!((time(1_223_400_000_000), stamp(1_223_400_000_000)), ("1.22 s".to_owned(), "+1.223 s".to_owned()));
        assert_eq!((time(207_400_000_000), stamp(207_400_000_000)), ("207 ms".to_owned(), "+207.4 ms".to_owned()));
    }
}
