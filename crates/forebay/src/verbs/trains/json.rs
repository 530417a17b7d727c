//! The results as one JSON object, in SI units.

use forebay_formats::trains::{
    Answer, ConnectionRow, DirectionRow, Gap, Histogram, HostNames, Incast, Options, Retransmissions, Summary, Trains,
};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

const NS: f64 = 1e-9;

fn seconds(ns: Option<u64>) -> Value {
    ns.map_or(Value::Null, |ns| json!(ns as f64 * NS))
}

/// Quantiles and bounds, in units of `unit`.
fn distribution(h: &Histogram, unit: f64) -> Value {
    let number = |v: Option<f64>| v.map_or(Value::Null, |v| json!(v * unit));
    let of = |q| number(h.quantile(q).map(|v| v as f64));
    json!({
        "count": h.count(), "mean": number(h.mean()), "min": number(h.min().map(|v| v as f64)), "p1": of(0.01), "p10": of(0.1), "p50": of(0.5),
        "p90": of(0.9), "p99": of(0.99), "max": number(h.max().map(|v| v as f64)),
    })
}

fn trains(t: &Trains) -> Value {
    json!({
        "count": t.count, "bytes": t.bytes, "size_bytes": distribution(&t.sizes, 1.0), "size_packets": distribution(&t.packets, 1.0),
        "gap_s": distribution(&t.gaps, NS),
    })
}

fn kinds(r: &Retransmissions) -> Value {
    r.by_kind().into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect::<Map<_, _>>().into()
}

fn direction(d: &DirectionRow) -> Value {
    json!({
        "packets": d.packets, "bytes": d.bytes, "data_packets": d.data_packets, "trains": d.trains, "retransmissions": kinds(&d.retransmissions),
        "timeouts": d.timeouts, "reordered": d.reordered, "marked": d.marked, "duplicates_reported": d.duplicates_reported,
        "missed_bytes": d.missed_bytes,
    })
}

fn connection(c: &ConnectionRow, names: &HostNames) -> Value {
    json!({
        "client": names.endpoint(c.client), "server": names.endpoint(c.server), "opened": c.opened, "closed": c.closed,
        "start_ns": c.start_ns, "end_ns": c.end_ns, "handshake_rtt_s": seconds(c.handshake_rtt_ns), "min_rtt_s": seconds(c.min_rtt_ns),
        "from_client": direction(&c.from_client), "from_server": direction(&c.from_server),
    })
}

fn incast(i: &Incast, names: &HostNames) -> Value {
    json!({
        "receiver": names.host(i.receiver), "start_ns": i.start_ns, "end_ns": i.end_ns, "senders": i.senders, "trains": i.trains,
        "rtt_s": i.rtt_ns as f64 * NS,
    })
}

/// The document.
pub(super) fn document(s: &Summary, options: &Options, answer: &Answer, names: &HostNames, written: &[PathBuf]) -> Value {
    let gap = match options.gap {
        Gap::Rtt => json!("rtt"),
        Gap::Fixed(ns) => seconds(Some(ns)),
    };
    let skipped = json!({
        "not_tcp": s.skipped.not_tcp, "cut": s.skipped.cut, "fragments": s.skipped.fragments, "malformed": s.skipped.malformed,
        "copies": s.skipped.copies,
        "links": s.skipped.links.iter().map(|(link, count)| (link.to_string(), json!(count))).collect::<Map<_, _>>(),
    });
    json!({
        "answer": answer.first, "lines": answer.lines, "gap": gap, "long_train_packets": options.long_train, "incast_senders": options.incast_senders,
        "frames": s.frames, "segments": s.segments, "skipped": skipped, "start_ns": s.first_ns, "duration_s": s.duration_ns() as f64 * NS,
        "hosts": s.hosts.len(), "connections": s.connections, "connections_opened": s.opened, "bytes": s.bytes, "data_packets": s.data_packets,
        "missed_bytes": s.missed_bytes, "messages": s.messages,
        "trains": {"all": trains(&s.trains), "short": trains(&s.short), "long": trains(&s.long)},
        "rtt_s": distribution(&s.rtt, NS), "handshake_rtt_s": distribution(&s.handshakes, NS),
        "retransmissions": kinds(&s.retransmissions), "timeouts": s.timeouts, "reordered": s.reordered, "marked": s.marked,
        "duplicates_reported": s.duplicates_reported,
        "incast": {"events": s.incasts, "largest": s.largest_incast.map(|i| incast(&i, names))},
        "flow_records": s.records,
        "sockets": {
            "count": s.sockets.count, "by_cc": s.sockets.by_cc, "retransmitted": s.sockets.retransmitted.0, "data_segments": s.sockets.retransmitted.1,
            "rwnd_limited": s.sockets.limited[0], "sndbuf_limited": s.sockets.limited[1], "app_limited": s.sockets.limited[2], "ecn": s.sockets.ecn,
        },
        "largest_connections": s.largest.iter().map(|c| connection(c, names)).collect::<Vec<_>>(),
        "files": written,
    })
}
