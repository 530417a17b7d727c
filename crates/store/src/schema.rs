//! The one list of result tables and columns. Parquet and CSV files, their metadata and `docs/results.md` come from here.
//!
//! To add a column: one line here; then `UPDATE_DOCS=1 cargo test -p forebay-store` refreshes the documentation.

use crate::column::Get::{Bool, Float, Int, Text, Unsigned};
use crate::column::{Column, Get, Table};
use forebay_sim::observe::{FlowRow, PortRow, QueryRow, QueueRow, ShimRow, TcpRow, TimeoutRow};
use forebay_sim::shim::proboscis::Verdict;

/// Picoseconds to whole nanoseconds, rounded down; null for "never".
///
/// The engine counts picoseconds. Points in time and durations are each rounded down from their own exact value, so a duration such
/// as `fct_ns` can exceed the difference of the two rounded points by one; the duration is the one that is exact to the nanosecond.
pub fn ns(ps: u64) -> Option<i64> {
    (ps != u64::MAX).then_some((ps / 1_000) as i64)
}

/// Exact duration in picoseconds; `None` when it never ended.
pub fn duration_ps(start_ps: u64, end_ps: u64) -> Option<u64> {
    (end_ps != u64::MAX).then(|| end_ps.saturating_sub(start_ps))
}

/// Completion time over the ideal one; `None` when unfinished or when there is no ideal.
pub fn slowdown(f: &FlowRow) -> Option<f64> {
    let fct = duration_ps(f.start_ps, f.end_ps)?;
    (f.ideal_ps > 0 && f.ideal_ps != u64::MAX).then(|| fct as f64 / f.ideal_ps as f64)
}

/// Time from the start of a message to its deadline, ns.
fn deadline(f: &FlowRow) -> Option<i64> {
    duration_ps(f.start_ps, f.deadline_ps).and_then(ns)
}

/// Whether a message arrived by its deadline, in a run that ended at `end_ps`; `None` when it has no deadline, and when neither the
/// deadline nor the message had come by then.
pub fn deadline_met(f: &FlowRow, end_ps: u64) -> Option<bool> {
    let known = f.end_ps != u64::MAX || f.deadline_ps < end_ps;
    (f.deadline_ps != u64::MAX && known).then_some(f.end_ps <= f.deadline_ps)
}

/// A count; the engine's counters stay far below 2^63, a larger value could only be "none".
fn count(n: u64) -> Option<i64> {
    i64::try_from(n).ok()
}

/// What a shim did, of the row that it made a handshake for.
fn handshake(f: &FlowRow) -> Option<&ShimRow> {
    f.shim.as_deref().filter(|s| s.probes > 0 || s.verdict != Verdict::None)
}

const fn col<R>(name: &'static str, unit: &'static str, get: Get<R>, doc: &'static str) -> Column<R> {
    Column { name, unit, doc, get }
}

const VARIANT: &str = "variant of the scenario the row belongs to, such as its transport";
const RUN: &str = "repetition within the variant, from 0";
const SEED: &str = "seed of the repetition";

/// One row per message.
pub const FLOWS: Table<FlowRow> = Table {
    name: "flows",
    version: 2,
    doc: "One row per message: a whole connection for one-shot flows; one train, block, request or response on a persistent connection.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col(
            "flow_id",
            "1",
            Int(|r, _| count(r.flow_id)),
            "number of the message in order of its start, unique within variant and run",
        ),
        col("conn_id", "1", Int(|r, _| count(r.conn_id)), "number of the connection it used, in order of creation"),
        col("class", "", Text(|r, i| i.class(r.workload)), "name of the workload"),
        col("transport", "", Text(|r, i| i.group(r.group)), "name of the transport group"),
        col("src", "", Text(|r, i| i.node(r.src)), "sending host"),
        col("dst", "", Text(|r, i| i.node(r.dst)), "receiving host"),
        col(
            "size_bytes",
            "B",
            Int(|r, _| (r.size_bytes > 0).then_some(r.size_bytes).and_then(count)),
            "payload; null for an endless flow",
        ),
        col(
            "start_ns",
            "ns",
            Int(|r, _| ns(r.start_ps)),
            "when the application handed over the first byte (one-shot flows: before the handshake)",
        ),
        col("end_ns", "ns", Int(|r, _| ns(r.end_ps)), "when the receiver had the last byte in order; null if it never had"),
        col("acked_ns", "ns", Int(|r, _| ns(r.acked_ps)), "when the sender had the last byte acknowledged; null if never"),
        col(
            "fct_ns",
            "ns",
            Int(|r, _| duration_ps(r.start_ps, r.end_ps).and_then(ns)),
            "flow completion time, end minus start, exact to the nanosecond; null if unfinished",
        ),
        col(
            "ideal_fct_ns",
            "ns",
            Int(|r, _| (r.size_bytes > 0).then_some(r.ideal_ps).and_then(ns)),
            "the same bytes as back-to-back segments over the empty path, without handshake or window limits; null for an endless flow",
        ),
        col("slowdown", "1", Float(|r, _| slowdown(r)), "completion time over the ideal, from picoseconds; null if unfinished"),
        col(
            "bytes_acked",
            "B",
            Int(|r, _| count(r.bytes_acked)),
            "payload cumulatively acknowledged, of an unfinished message so far",
        ),
        col(
            "bytes_measured",
            "B",
            Int(|r, _| count(r.bytes_measured)),
            "payload that reached the receiver after the warm-up, in order or not (`bytes_acked`, when the run ends before it)",
        ),
        col("segs_sent", "segments", Int(|r, _| count(r.segs_sent)), "data segments sent, retransmissions included"),
        col("segs_retx", "segments", Int(|r, _| count(r.segs_retx)), "retransmitted segments"),
        col(
            "rtos",
            "1",
            Int(|r, _| Some(r.rtos.into())),
            "retransmission timeouts with data outstanding, back-offs counted again; those of SYNs are in `syn_rtos`",
        ),
        col(
            "rtos_head",
            "1",
            Int(|r, _| Some(r.rtos_head.into())),
            "of those, before the first window of the message was acknowledged",
        ),
        col(
            "rtos_tail",
            "1",
            Int(|r, _| Some(r.rtos_tail.into())),
            "of those, with at most the last three segments of the message outstanding",
        ),
        col("tlps", "1", Int(|r, _| Some(r.tlps.into())), "tail loss probes (RFC 8985 section 7); not among `rtos`"),
        col("syn_rtos", "1", Int(|r, _| Some(r.syn_rtos.into())), "timeouts of the SYN, in the connection's first message"),
        col("fast_retx", "1", Int(|r, _| Some(r.fast_retx.into())), "entries into fast recovery"),
        col("ecn_cuts", "1", Int(|r, _| Some(r.ecn_cuts.into())), "window reductions on ECN echo"),
        col(
            "loss_cuts",
            "1",
            Int(|r, _| Some(r.loss_cuts.into())),
            "window reductions on losses: recoveries, tail loss probes and first timeouts of a series that set a new threshold",
        ),
        col(
            "cut_alpha",
            "1",
            Float(|r, _| r.cut_alpha),
            "mean of the law's alpha over `ecn_cuts`; null without one and for laws without alpha",
        ),
        col("ce_acked_bytes", "B", Int(|r, _| count(r.ce_acked_bytes)), "bytes acknowledged by ACKs that carried ECN echo"),
        col("cwnd_max", "segments", Float(|r, _| Some(r.cwnd_max)), "largest congestion window"),
        col("rtt_min_ns", "ns", Int(|r, _| ns(r.rtt_min_ps)), "smallest RTT sample; null without a sample"),
        col("rtt_mean_ns", "ns", Int(|r, _| ns(r.rtt_mean_ps)), "mean RTT sample; null without a sample"),
        col("deadline_ns", "ns", Int(|r, _| deadline(r)), "deadline, counted from the start; null: the message has none"),
        col(
            "deadline_met",
            "",
            Bool(|r, i| deadline_met(r, i.end_ps)),
            "whether it completed within the deadline; null: the message has none, or the run ended before both",
        ),
        col("completed", "", Bool(|r, _| Some(r.end_ps != u64::MAX)), "whether the receiver had every byte before the run ended"),
        col("query_id", "1", Int(|r, _| r.query_id.map(|q| q.get() as i64)), "row of `queries` it belongs to; null if none"),
        col(
            "probes",
            "1",
            Int(|r, _| handshake(r).map(|s| s.probes.into())),
            "probes that a ProBoSCIS shim sent for the handshake; null without shim and for later messages of a connection",
        ),
        col(
            "syn_ack_verdict",
            "",
            Text(|r, _| handshake(r).map_or("", |s| s.verdict.name())),
            "what the shim made of the probes at the first SYN-ACK: proportional, severe, insufficient, unprobed; empty as `probes` is null",
        ),
        col(
            "syn_ack_window_bytes",
            "B",
            Int(|r, _| handshake(r)?.window.and_then(count)),
            "window in the first SYN-ACK that left the shim; null as `probes` is, and if none left",
        ),
        col(
            "syn_ack_held_ns",
            "ns",
            Int(|r, _| ns(handshake(r)?.held_ps)),
            "how long the shim held that SYN-ACK; null as `probes` is",
        ),
        col(
            "acks_throttled",
            "1",
            Int(|r, _| count(r.shim.as_ref().map_or(0, |s| s.throttled))),
            "ACKs whose window a shim lowered",
        ),
    ],
};

/// One row per egress port.
pub const PORTS: Table<PortRow> = Table {
    name: "ports",
    version: 1,
    doc: "One row per egress port (one direction of a link): totals of the run after its warm-up.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("port_id", "1", Int(|r, _| Some(r.port.into())), "number of the port"),
        col("port", "", Text(|r, i| i.port(r.port)), "short name such as `bottleneck`, else `from->to`"),
        col("from", "", Text(|r, i| i.port_config(r.port).map_or("?", |p| i.node(p.from))), "node that transmits"),
        col("to", "", Text(|r, i| i.port_config(r.port).map_or("?", |p| i.node(p.to))), "node that receives"),
        col("from_switch", "", Bool(|r, i| i.port_config(r.port).map(|p| i.switch(p.from))), "whether that node is a switch"),
        col(
            "to_switch",
            "",
            Bool(|r, i| i.port_config(r.port).map(|p| i.switch(p.to))),
            "whether the receiving node is a switch",
        ),
        col("rate_bps", "bit/s", Int(|r, i| i.port_config(r.port).and_then(|p| count(p.rate.0))), "rate of the link"),
        col("arrived_pkts", "packets", Int(|r, _| count(r.arrived_pkts)), "packets that asked to be queued"),
        col("arrived_bytes", "B", Int(|r, _| count(r.arrived_bytes)), "wire bytes of those"),
        col(
            "sent_pkts",
            "packets",
            Int(|r, _| count(r.sent_pkts)),
            "packets queued, and transmitted up to what still waits at the end",
        ),
        col("sent_bytes", "B", Int(|r, _| count(r.sent_bytes)), "wire bytes of those"),
        col("dropped_overflow", "packets", Int(|r, _| count(r.dropped_overflow)), "dropped because the port's buffer was full"),
        col(
            "dropped_shared",
            "packets",
            Int(|r, _| count(r.dropped_shared)),
            "dropped because the switch's shared memory refused",
        ),
        col("dropped_early", "packets", Int(|r, _| count(r.dropped_early)), "dropped by the discipline as a congestion signal"),
        col("marked", "packets", Int(|r, _| count(r.marked)), "congestion marks (CE) set here"),
        col(
            "queue_mean_pkts",
            "packets",
            Float(|r, _| Some(r.queue_mean_pkts)),
            "time average of the queue, waiting and in service",
        ),
        col(
            "queue_p50_pkts",
            "packets",
            Int(|r, _| percentile(r, 0)),
            "time-weighted median of the queue; null where occupancy was not observed",
        ),
        col("queue_p95_pkts", "packets", Int(|r, _| percentile(r, 1)), "time-weighted 95th percentile; null where not observed"),
        col("queue_p99_pkts", "packets", Int(|r, _| percentile(r, 2)), "time-weighted 99th percentile; null where not observed"),
        col(
            "queue_max_pkts",
            "packets",
            Int(|r, _| Some(r.queue_max_pkts.into())),
            "largest queue, an accepted arrival included",
        ),
        col("busy", "1", Float(|r, _| Some(r.busy)), "fraction of the measured time in which the transmitter was busy"),
    ],
};

fn percentile(r: &PortRow, index: usize) -> Option<i64> {
    r.queue_percentiles.map(|p| p[index].into())
}

/// Queue samples.
pub const QUEUE: Table<QueueRow> = Table {
    name: "queue",
    version: 1,
    doc: "Time series of the ports named in `[observe] queue`.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("time_ns", "ns", Int(|r, _| ns(r.time_ps)), "sample time"),
        col("port", "", Text(|r, i| i.port(r.port)), "short name such as `bottleneck`, else `from->to`"),
        col("pkts", "packets", Int(|r, _| Some(r.pkts.into())), "packets waiting and in service"),
        col("bytes", "B", Int(|r, _| count(r.bytes)), "their wire bytes"),
        col("drops", "packets", Int(|r, _| count(r.drops)), "drops at this port so far"),
        col("marks", "packets", Int(|r, _| count(r.marks)), "congestion marks set at this port so far"),
    ],
};

/// Sender samples.
pub const TCP: Table<TcpRow> = Table {
    name: "tcp",
    version: 1,
    doc: "Time series of the senders named in `[observe] tcp`; columns are called as `ss -ti` calls them where it has them.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("time_ns", "ns", Int(|r, _| ns(r.time_ps)), "sample time"),
        col("conn_id", "1", Int(|r, _| count(r.conn_id)), "number of the connection, in order of creation"),
        col("cwnd", "segments", Float(|r, _| Some(r.cwnd)), "congestion window"),
        col(
            "ssthresh",
            "segments",
            Float(|r, _| r.ssthresh.is_finite().then_some(r.ssthresh)),
            "slow start threshold; null before the first reduction",
        ),
        col("unacked_bytes", "B", Int(|r, _| count(r.unacked_bytes)), "sent and not yet cumulatively acknowledged"),
        col(
            "srtt_ns",
            "ns",
            Int(|r, _| (r.srtt_ps > 0).then_some(r.srtt_ps).and_then(ns)),
            "smoothed RTT; null before the first sample",
        ),
        col("rto_ns", "ns", Int(|r, _| ns(r.rto_ps)), "retransmission timeout in force"),
        col(
            "alpha",
            "1",
            Float(|r, _| (!r.alpha.is_nan()).then_some(r.alpha)),
            "the law's estimate of the marked fraction; null for laws without one",
        ),
        col("bytes_acked", "B", Int(|r, _| count(r.bytes_acked)), "payload cumulatively acknowledged so far"),
        col("retrans", "segments", Int(|r, _| count(r.retrans)), "retransmitted segments so far"),
        col(
            "ca_state",
            "1",
            Int(|r, _| Some(r.ca_state.into())),
            "recovery state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss (Linux numbering)",
        ),
    ],
};

/// Barrier rounds and requests.
pub const QUERIES: Table<QueryRow> = Table {
    name: "queries",
    version: 1,
    doc: "One row per barrier round of an incast and per exchange of request and response.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("query_id", "1", Int(|r, _| Some(r.query_id.get() as i64)), "number of the query, unique within variant and run"),
        col("class", "", Text(|r, i| i.class(r.workload)), "name of the workload"),
        col("start_ns", "ns", Int(|r, _| ns(r.start_ps)), "when the request was sent"),
        col("end_ns", "ns", Int(|r, _| ns(r.end_ps)), "when the last byte of the last response was there; null if unfinished"),
        col(
            "qct_ns",
            "ns",
            Int(|r, _| duration_ps(r.start_ps, r.end_ps).and_then(ns)),
            "query completion time, end minus start, exact to the nanosecond; null if unfinished",
        ),
        col("fan_in", "1", Int(|r, _| Some(r.fan_in.into())), "number of responses"),
        col("bytes", "B", Int(|r, _| count(r.bytes)), "payload of all responses"),
        col(
            "rtos",
            "1",
            Int(|r, _| Some(r.rtos.into())),
            "retransmission timeouts of all senders during the query, those of SYNs not counted",
        ),
        col("senders_with_rto", "1", Int(|r, _| Some(r.senders_with_rto.into())), "senders that had at least one"),
        col("rtos_max", "1", Int(|r, _| Some(r.rtos_max.into())), "most timeouts of one sender"),
        col("syn_rtos", "1", Int(|r, _| Some(r.syn_rtos.into())), "timeouts of SYNs during the query"),
        col("completed", "", Bool(|r, _| Some(r.end_ps != u64::MAX)), "whether every response was complete before the run ended"),
    ],
};

/// Retransmission timeouts.
pub const TIMEOUTS: Table<TimeoutRow> = Table {
    name: "timeouts",
    version: 2,
    doc: "One row per retransmission timeout, in order of time; none with `timeouts = false` in `[observe]`.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("time_ns", "ns", Int(|r, _| ns(r.time_ps)), "when the timer ran out"),
        col("conn_id", "1", Int(|r, _| count(r.conn_id)), "number of the connection, in order of creation"),
        col(
            "flow_id",
            "1",
            Int(|r, _| count(r.flow_id)),
            "row of `flows` that counts it; null if the connection never had a message",
        ),
        col("class", "", Text(|r, i| i.class(r.workload)), "name of the workload"),
        col("transport", "", Text(|r, i| i.group(r.group)), "name of the transport group"),
        col("src", "", Text(|r, i| i.node(r.src)), "sending host"),
        col("dst", "", Text(|r, i| i.node(r.dst)), "receiving host"),
        col(
            "kind",
            "",
            Text(|r, _| r.kind.name()),
            "`syn`: no answer to the SYN; `head`, `tail`: as `rtos_head` and `rtos_tail` of `flows`; `other`: in between; \
             `probe`: a tail loss probe, in place of a timeout",
        ),
        col("rto_ns", "ns", Int(|r, _| ns(r.rto_ps)), "the timeout that had been in force, back-off included"),
        col("backoff", "1", Int(|r, _| Some(r.backoff.into())), "timeouts in a row before this one"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_once() {
        // 1.9 ns to 4.1 ns: the points round to 1 and 4, the duration of 2.2 ns to 2.
        let row = FlowRow { start_ps: 1_900, end_ps: 4_100, ideal_ps: 1_100, ..FlowRow::default() };
        assert_eq!((ns(row.start_ps), ns(row.end_ps)), (Some(1), Some(4)));
        assert_eq!(duration_ps(row.start_ps, row.end_ps).and_then(ns), Some(2));
        assert_eq!(slowdown(&row), Some(2.0));
        assert_eq!(ns(u64::MAX), None);
        assert_eq!(slowdown(&FlowRow { end_ps: u64::MAX, ..row }), None);
    }

    #[test]
    fn deadlines() {
        let row = |end_ps, deadline_ps| FlowRow { start_ps: 1_000_500, end_ps, deadline_ps, ..FlowRow::default() };
        let met = |end_ps, deadline_ps| deadline_met(&row(end_ps, deadline_ps), 9_000_000);
        assert_eq!(deadline(&row(2_000_000, 3_001_000)), Some(2_000));
        assert_eq!(deadline(&row(2_000_000, u64::MAX)), None);
        assert_eq!((met(3_000_000, 3_000_000), met(3_000_001, 3_000_000)), (Some(true), Some(false)));
        assert_eq!((met(u64::MAX, u64::MAX), met(3_000_000, u64::MAX)), (None, None));
        // Unfinished at the end: missed if the deadline had passed, else nobody knows.
        assert_eq!((met(u64::MAX, 8_999_999), met(u64::MAX, 9_000_000)), (Some(false), None));
    }
}
