//! What happened to one message, in words with times: hop by hop where it waited, and event by event what its sender did.

use crate::simulate::Simulated;
use forebay_experiment::rows::{FlowRow, QueueRow, TimeoutKind};
use forebay_store::RunInfo;
use forebay_units::PortId;
use std::fmt::Write as _;
use std::io;

/// Most events that are told.
const MAX_EVENTS: usize = 24;
/// Samples in memory at a time.
const PIECE: usize = 1 << 16;

/// The ports that the packets of a message passed, in order.
pub(crate) struct Way {
    pub ports: Vec<PortId>,
}

impl Way {
    /// A line for each hop: how long its queue was while the message was on its way, and what that is in time.
    fn hops(&self, run: &Simulated, (start, end): (u64, u64)) -> String {
        let mut out = String::new();
        for port in &self.ports {
            let Some(config) = run.info.port_config(*port) else { continue };
            let mut seen = Seen::default();
            let own = |q: &&QueueRow| q.port == *port && (start..=end).contains(&q.time_ps);
            let read = run.report.queue.pieces(PIECE, &mut |rows| {
                rows.iter().filter(own).for_each(|q| seen.add(q));
                Ok::<(), io::Error>(())
            });
            if read.is_err() {
                seen = Seen::default();
            }
            let wait = |bytes: f64| time((bytes * 8.0 / config.rate.0 as f64 * 1e12) as u64);
            let name = format!("{} ({}):", run.info.port(*port), config.rate);
            let what = match seen {
                Seen { samples: 0, .. } => "its queue was not seen".to_owned(),
                Seen { packets_max: 0 | 1, .. } => "nothing waits".to_owned(),
                s => {
                    let n = s.samples as f64;
                    let (packets, bytes) = (s.packets as f64 / n, s.bytes as f64 / n);
                    format!(
                        "{packets:.1} packets in the queue on average, {} to get through; at most {}, {}",
                        wait(bytes),
                        s.packets_max,
                        wait(s.bytes_max as f64)
                    )
                }
            };
            let _ = writeln!(out, "  hop {name} {what}");
        }
        out
    }
}

/// A queue while a message was on its way.
#[derive(Default)]
struct Seen {
    samples: u64,
    packets: u64,
    bytes: u64,
    packets_max: u32,
    bytes_max: u64,
}

impl Seen {
    fn add(&mut self, q: &QueueRow) {
        self.samples += 1;
        self.packets += u64::from(q.pkts);
        self.bytes += q.bytes;
        self.packets_max = self.packets_max.max(q.pkts);
        self.bytes_max = self.bytes_max.max(q.bytes);
    }
}

/// What happened to one message, in order of time.
pub(crate) fn story(f: &FlowRow, run: &Simulated, way: &Way) -> String {
    let info: &RunInfo = &run.info;
    let end = f.end.ps().unwrap_or(run.report.end.0);
    let took = end.saturating_sub(f.start.0);
    let mut out = format!(
        "flow {}: {} ({}), {} to {}, {} B\n",
        f.flow_id,
        info.class(f.workload),
        info.group(f.group),
        info.node(f.src),
        info.node(f.dst),
        f.size_bytes
    );
    let done = if f.end.is_never() { "not delivered within" } else { "delivered after" };
    let _ = writeln!(out, "  written at {}, {done} {}; on an empty path {}", time(f.start.0), time(took), time(f.ideal.0));
    out += &way.hops(run, (f.start.0, end));
    let mut events = events(f, run, took);
    events.sort_by_key(|e| e.0);
    let more = events.len().saturating_sub(MAX_EVENTS);
    for (at, what) in events.iter().take(MAX_EVENTS) {
        let _ = writeln!(out, "  {:>10}  {what}", format!("+{}", time(at.saturating_sub(f.start.0))));
    }
    if more > 0 {
        let _ = writeln!(out, "  and {more} more events");
    }
    if let Some(w) = f.waited {
        let at = w.port().map_or(String::new(), |p| format!(" at {}", info.port(p)));
        let _ = writeln!(out, "  waited for {}{at}: {} of {}", w.cause.words(), time(w.time_ps), time(took));
    }
    out
}

fn events(f: &FlowRow, run: &Simulated, took: u64) -> Vec<(u64, String)> {
    let last = f.acked.ps().unwrap_or(run.report.end.0);
    let own = |time: u64| (f.start.0..=last).contains(&time);
    let mut events = Vec::new();
    for t in run.report.timeouts.iter().filter(|t| t.flow_id == Some(f.flow_id) && t.conn_id == f.conn_id) {
        let after = time(t.rto_ps);
        events.push((
            t.time_ps,
            match t.kind {
                TimeoutKind::Syn => format!("no answer to the SYN for {after}: it is sent again"),
                TimeoutKind::Probe => "tail loss probe".to_owned(),
                TimeoutKind::Head => {
                    format!("the retransmission timer of {after} runs out, before the first window is acknowledged")
                }
                TimeoutKind::Tail => {
                    format!("the retransmission timer of {after} runs out, with the tail of the message missing")
                }
                TimeoutKind::Other => format!("the retransmission timer of {after} runs out"),
            },
        ));
    }
    let (mut before, mut seen) = (f.start.0, None);
    // Segments sent again: from when to when, and how many.
    let mut resent: Vec<(u64, u64, u64)> = Vec::new();
    let mut state = 0;
    for s in run.report.tcp.iter().filter(|s| s.conn_id == f.conn_id) {
        if !own(s.time_ps) {
            seen = Some(s.retrans);
            continue;
        }
        let pause = s.time_ps - before;
        if pause > took / 10 && pause > 1_000_000_000 {
            events.push((s.time_ps, format!("an ACK, after {} without any; window {:.1} segments", time(pause), s.cwnd)));
        } else if before == f.start.0 {
            let rtt = s.srtt_ps.map_or(String::new(), |rtt| format!(", smoothed round trip {}", time(rtt)));
            events.push((s.time_ps, format!("first ACK; window {:.1} segments{rtt}", s.cwnd)));
        }
        let again = s.retrans.saturating_sub(seen.unwrap_or(0));
        // ACK after ACK lets more of them leave: one event.
        match resent.last_mut() {
            Some((_, until, segments)) if again > 0 && *until == before => (*until, *segments) = (s.time_ps, *segments + again),
            _ if again > 0 => resent.push((s.time_ps, s.time_ps, again)),
            _ => {}
        }
        if s.ca_state == 3 && state != 3 {
            events.push((s.time_ps, format!("a loss is noticed: fast recovery, window {:.1} segments", s.cwnd)));
        }
        (before, seen, state) = (s.time_ps, Some(s.retrans), s.ca_state);
    }
    for (from, until, segments) in resent {
        let s = if segments == 1 { "" } else { "s" };
        let within = if until > from { format!(", within {}", time(until - from)) } else { String::new() };
        events.push((from, format!("{segments} segment{s} sent again{within}")));
    }
    events.extend(f.end.ps().map(|end| (end, "the last byte is delivered".to_owned())));
    events.extend(f.acked.ps().map(|acked| (acked, "the sender knows".to_owned())));
    events
}

/// A time in the unit that suits it.
fn time(ps: u64) -> String {
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
    format!("{value:.digits$} {unit}")
}
