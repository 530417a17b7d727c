//! The table `flows`.

use super::shared::{RUN, SEED, VARIANT, WORLD, col, count, deadline_met, duration_ps, ns, slowdown};
use crate::column::Get::{Bool, Float, Int, Name, Text, Unsigned};
use crate::column::{Column, Get, TableSchema};
use forebay_experiment::rows::FlowRow;
use forebay_experiment::shim_row;
use std::sync::LazyLock;

/// One row per message: columns of its own, and behind them those that shims add.
pub static FLOWS: LazyLock<TableSchema<FlowRow>> = LazyLock::new(|| TableSchema {
    name: "flows",
    version: 2,
    doc: "One row per message: a whole connection for one-shot flows; one train, block, request or response on a persistent connection.",
    columns: Vec::leak(own().into_iter().chain(of_shims()).collect()),
});

fn of_shims() -> impl Iterator<Item = Column<FlowRow>> {
    shim_row::COLUMNS.iter().map(|c| col(c.name, c.unit, Get::Shim(|r: &FlowRow| r.shim.as_deref(), c.otherwise), c.doc))
}

fn own() -> Vec<Column<FlowRow>> {
    vec![
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("world", "", Text(|_, i| &i.world), WORLD),
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
            Int(|r, _| Some(ns(r.start.0))),
            "when the application handed over the first byte (one-shot flows: before the handshake)",
        ),
        col("end_ns", "ns", Int(|r, _| r.end.ps().map(ns)), "when the receiver had the last byte in order; null if it never had"),
        col("acked_ns", "ns", Int(|r, _| r.acked.ps().map(ns)), "when the sender had the last byte acknowledged; null if never"),
        col(
            "fct_ns",
            "ns",
            Int(|r, _| duration_ps(r.start.0, r.end.ps()).map(ns)),
            "flow completion time, end minus start, exact to the nanosecond; null if unfinished",
        ),
        col(
            "ideal_fct_ns",
            "ns",
            Int(|r, _| (r.size_bytes > 0).then_some(r.ideal.0).map(ns)),
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
        col("ecn_reductions", "1", Int(|r, _| Some(r.ecn_reductions.into())), "window reductions on ECN echo"),
        col(
            "loss_reductions",
            "1",
            Int(|r, _| Some(r.loss_reductions.into())),
            "window reductions on losses: recoveries, tail loss probes and first timeouts of a series that set a new threshold",
        ),
        col(
            "reduction_alpha",
            "1",
            Float(|r, _| r.reduction_alpha),
            "mean of the congestion control's alpha over `ecn_reductions`; null without one and for congestion controls without alpha",
        ),
        col("ce_acked_bytes", "B", Int(|r, _| count(r.ce_acked_bytes)), "bytes acknowledged by ACKs that carried ECN echo"),
        col("cwnd_max", "segments", Float(|r, _| Some(r.cwnd_max)), "largest congestion window"),
        col("rtt_min_ns", "ns", Int(|r, _| r.rtt_min.ps().map(ns)), "smallest RTT sample; null without a sample"),
        col("rtt_mean_ns", "ns", Int(|r, _| r.rtt_mean.ps().map(ns)), "mean RTT sample; null without a sample"),
        col("deadline_ns", "ns", Int(|r, _| deadline(r)), "deadline, counted from the start; null: the message has none"),
        col(
            "deadline_met",
            "",
            Bool(|r, i| deadline_met(r, i.end_ps)),
            "whether it completed within the deadline; null: the message has none, or the run ended before both",
        ),
        col("completed", "", Bool(|r, _| Some(!r.end.is_never())), "whether the receiver had every byte before the run ended"),
        col(
            "delay_cause",
            "",
            Name(|r, _| r.waited.map(|w| w.cause.name())),
            "what most of its time went to beyond the ideal: `rto`, `tlp`, `syn` (timers of the sender), `delayed-ack`, `host-queue` (its own interface), `switch-queue`, `share` (of the link), `window` (or pacing rate), `behind` (earlier messages of its connection); null if it lost none, and for an endless flow",
        ),
        col("delay_ns", "ns", Int(|r, _| r.waited.map(|w| ns(w.time_ps))), "how long it waited for that"),
        col(
            "delay_port",
            "",
            Name(|r, i| r.waited.and_then(|w| w.port()).map(|p| i.port(p))),
            "for queues and shares the port: the one on its way in which packets were longest, on average after the warm-up; else null",
        ),
        col("query_id", "1", Int(|r, _| r.query_id.map(|q| q.get() as i64)), "row of `queries` it belongs to; null if none"),
    ]
}

/// Time from the start of a message to its deadline, ns.
fn deadline(f: &FlowRow) -> Option<i64> {
    duration_ps(f.start.0, f.deadline.ps()).map(ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Time;

    #[test]
    fn deadlines() {
        let time = |ps: Option<u64>| ps.map(Time).into();
        let row =
            |end, deadline| FlowRow { start: Time(1_000_500), end: time(end), deadline: time(deadline), ..FlowRow::default() };
        let met = |end_ps, deadline_ps| deadline_met(&row(end_ps, deadline_ps), Some(9_000_000));
        assert_eq!(deadline(&row(Some(2_000_000), Some(3_001_000))), Some(2_000));
        assert_eq!(deadline(&row(Some(2_000_000), None)), None);
        assert_eq!((met(Some(3_000_000), Some(3_000_000)), met(Some(3_000_001), Some(3_000_000))), (Some(true), Some(false)));
        assert_eq!((met(None, None), met(Some(3_000_000), None)), (None, None));
        // Unfinished at the end: missed if the deadline had passed, else nobody knows.
        assert_eq!((met(None, Some(8_999_999)), met(None, Some(9_000_000))), (Some(false), None));
        assert_eq!(deadline_met(&row(None, Some(9_000_000)), None), Some(false), "a run until all work is done has no later");
    }
}
