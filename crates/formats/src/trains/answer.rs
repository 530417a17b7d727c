//! The results in sentences and tables.

use crate::trains::anonymise::HostNames;
use crate::trains::options::{Gap, Options};
use crate::trains::sink::ConnectionRow;
use crate::trains::summary::{Summary, Trains};
use forebay_analysis::{Dimension, Grid, GridCell, count, list, number, quantity};

/// Results for reading.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The most important results, in one sentence.
    pub first: String,
    /// Packet trains.
    pub trains: Grid,
    /// Connections with the most bytes.
    pub connections: Grid,
    /// Further results and remarks, a line each.
    pub lines: Vec<String>,
}

fn ns(value: u64) -> String {
    quantity(value as f64 * 1e-9, Dimension::Seconds)
}

fn bytes(value: u64) -> String {
    quantity(value as f64, Dimension::Bytes)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn percent(part: u64, whole: u64) -> String {
    quantity(share(part, whole), Dimension::Fraction)
}

fn plural(n: u64, what: &str) -> String {
    count(n as usize, what)
}

/// Results of a capture for reading.
pub fn answer(summary: &Summary, options: &Options, names: &HostNames) -> Answer {
    Answer {
        first: first(summary),
        trains: trains(summary),
        connections: connections(&summary.largest, names),
        lines: lines(summary, options, names),
    }
}

fn first(s: &Summary) -> String {
    if s.segments == 0 && s.connections > 0 {
        return without_packets(s);
    }
    if s.segments == 0 {
        return format!("no TCP packets among {}", plural(s.frames, "frame"));
    }
    let sent = s.retransmissions.total();
    let retransmitted = match (sent, s.timeouts) {
        (0, _) => "no packet was retransmitted".to_owned(),
        (_, 0) => format!("{} of the data packets are retransmissions", percent(sent, s.data_packets)),
        (_, timeouts) => {
            format!(
                "{} of the data packets are retransmissions, with {}",
                percent(sent, s.data_packets),
                plural(timeouts, "timeout")
            )
        }
    };
    let incast = match s.largest_incast {
        Some(i) => format!("up to {} senders start within an RTT", i.senders),
        None => "no incast".to_owned(),
    };
    format!(
        "{} between {} carried {} in {} over {}: {} of the trains are long and carry {} of the bytes; {retransmitted}; {incast}",
        plural(s.connections, "connection"),
        plural(s.hosts.len() as u64, "host"),
        bytes(s.bytes),
        plural(s.trains.count, "packet train"),
        ns(s.duration_ns()),
        percent(s.long.count, s.trains.count),
        percent(s.long.bytes, s.trains.bytes),
    )
}

/// The results of files without packets: flow records, or sockets.
fn without_packets(s: &Summary) -> String {
    let of = format!(
        "{} between {} carried {}",
        plural(s.connections, "connection"),
        plural(s.hosts.len() as u64, "host"),
        bytes(s.bytes)
    );
    match s.sockets.count {
        0 => format!("{of} over {}, by {}", ns(s.duration_ns()), plural(s.records, "flow record")),
        count => format!("{of}, by snapshots of {}", plural(count, "socket")),
    }
}

fn cell(value: Option<u64>, text: impl Fn(u64) -> String) -> GridCell {
    value.map_or_else(|| GridCell::text("–"), |v| GridCell { text: text(v), value: Some(v as f64), shade: None })
}

fn trains(s: &Summary) -> Grid {
    let heads = ["trains", "number", "share", "bytes", "packets p50", "size p50", "size p99", "gap p50", "gap p99"];
    let row = |name: &str, t: &Trains| {
        vec![
            GridCell::text(name),
            cell(Some(t.count), |v| v.to_string()),
            cell(Some(t.count), |v| percent(v, s.trains.count)),
            cell(Some(t.bytes), |v| percent(v, s.trains.bytes)),
            cell(t.packets.quantile(0.5), |v| v.to_string()),
            cell(t.sizes.quantile(0.5), bytes),
            cell(t.sizes.quantile(0.99), bytes),
            cell(t.gaps.quantile(0.5), ns),
            cell(t.gaps.quantile(0.99), ns),
        ]
    };
    Grid {
        heads: heads.map(String::from).into(),
        rows: vec![row("short", &s.short), row("long", &s.long), row("all", &s.trains)],
    }
}

fn connections(largest: &[ConnectionRow], names: &HostNames) -> Grid {
    let heads = ["client", "server", "to server", "to client", "trains", "min RTT", "retransmitted", "timeouts"];
    let row = |c: &ConnectionRow| {
        let (up, down) = (&c.from_client, &c.from_server);
        let plain = |v: u64| v.to_string();
        vec![
            GridCell::text(names.endpoint(c.client)),
            GridCell::text(names.endpoint(c.server)),
            cell(Some(up.bytes), bytes),
            cell(Some(down.bytes), bytes),
            cell(Some(up.trains + down.trains), plain),
            cell(c.min_rtt_ns, ns),
            cell(Some(up.retransmissions.total() + down.retransmissions.total()), plain),
            cell(Some(up.timeouts + down.timeouts), plain),
        ]
    };
    Grid { heads: heads.map(String::from).into(), rows: largest.iter().map(row).collect() }
}

fn lines(s: &Summary, options: &Options, names: &HostNames) -> Vec<String> {
    let mut out = Vec::new();
    let shown = s.largest.len() as u64;
    if s.connections > shown {
        out.push(format!("the table has the {shown} connections with the most data, of {}; --out DIR writes all", s.connections));
    }
    let gap = match options.gap {
        Gap::Rtt => "the smoothed RTT of its connection".to_owned(),
        Gap::Fixed(gap) => ns(gap),
    };
    if s.segments > 0 {
        out.push(format!("a pause longer than {gap} ends a train; a long train has {} packets or more", options.long_train));
    }
    if s.records > 0 {
        let others = if s.skipped.not_tcp > 0 { format!("; {} of other protocols", s.skipped.not_tcp) } else { String::new() };
        out.push(format!(
            "sizes are estimates: the bytes of the records without 52 B of headers a packet (72 B with IPv6); retransmissions count{others}"
        ));
    }
    out.extend(sockets(s));
    let quantiles = |h: &crate::trains::Histogram| {
        let of = |q| h.quantile(q).map(ns).unwrap_or_default();
        format!("p1 {}, median {}, p99 {}", of(0.01), of(0.5), of(0.99))
    };
    if s.rtt.count() > 0 {
        out.push(format!("RTT from data to ACK: {} ({})", quantiles(&s.rtt), plural(s.rtt.count(), "sample")));
    }
    if s.handshakes.count() > 0 {
        out.push(format!("RTT of handshakes: {} ({})", quantiles(&s.handshakes), plural(s.handshakes.count(), "handshake")));
    }
    if s.retransmissions.total() > 0 {
        let kinds = s.retransmissions.by_kind();
        let kinds: Vec<String> = kinds.iter().filter(|k| k.1 > 0).map(|(name, count)| format!("{count} {name}")).collect();
        out.push(format!("retransmitted packets: {}", list(&kinds)));
    }
    if s.duplicates_reported > 0 {
        out.push(format!("receivers reported {} (D-SACK)", plural(s.duplicates_reported, "duplicate segment")));
    }
    if s.reordered > 0 {
        out.push(format!("{} arrived out of order", plural(s.reordered, "packet")));
    }
    if s.marked > 0 {
        out.push(format!("{} marked with congestion experienced", plural(s.marked, "packet")));
    }
    if let Some(i) = s.largest_incast {
        out.push(format!(
            "incast: {} of at least {} senders within an RTT; the largest: {} senders to {} within {}",
            plural(s.incasts, "event"),
            options.incast_senders,
            i.senders,
            names.host(i.receiver),
            ns(i.end_ns.saturating_sub(i.start_ns))
        ));
    }
    if s.missed_bytes > 0 {
        out.push(format!("the capture lacks {} that receivers acknowledged", bytes(s.missed_bytes)));
    }
    out.extend(skipped(s));
    out.extend(s.notes.iter().cloned());
    out
}

/// Totals of snapshots.
fn sockets(s: &Summary) -> Vec<String> {
    let t = &s.sockets;
    let mut out = Vec::new();
    if t.count == 0 {
        return out;
    }
    let all: Vec<String> = t.by_cc.iter().map(|(cc, count)| format!("{count} {cc}")).collect();
    out.push(format!("congestion controls of the sockets: {}; {} with ECN", list(&all), t.ecn));
    let (again, segments) = t.retransmitted;
    out.push(format!("retransmitted: {} of {}", plural(again, "segment"), plural(segments, "data segment")));
    let [window, buffer, application] = t.limited;
    out.push(format!(
        "senders limited by the receive window: {window}, by the send buffer: {buffer}, by the application: {application}; the table lists the socket's \
         own end as the client"
    ));
    out
}

/// Frames that are not in the results.
fn skipped(s: &Summary) -> Option<String> {
    let k = &s.skipped;
    let mut parts: Vec<String> = [
        (k.not_tcp, "without TCP"),
        (k.cut, "cut before the end of the TCP header by the snap length"),
        (k.fragments, "later IP fragments"),
        (k.malformed, "malformed"),
        (k.copies, "captured twice"),
    ]
    .iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    parts.extend(k.links.iter().map(|(link, count)| format!("{count} of link type {link}, which is not supported")));
    (!parts.is_empty() && s.frames > 0).then(|| format!("left out of {} frames: {}", number(s.frames as f64), list(&parts)))
}
