//! The table `flows`.

use super::common::{RUN, SEED, VARIANT, WORLD, col, count, deadline_met, duration_ps, ns, slowdown};
use crate::column::Get::{Bool, Float, Int, Name, Text, Unsigned};
use crate::column::{Column, Get, TableSchema};
use forebay_experiment::rows::FlowRow;
use forebay_experiment::shim_row;
use std::sync::LazyLock;

/// One row per message: its own columns, followed by the columns of shims.
pub static FLOWS: LazyLock<TableSchema<FlowRow>> = LazyLock::new(|| TableSchema {
    name: "flows",
    version: 3,
    doc: "One row per message: a whole connection for one-shot flows, or one train, block, request or response on a persistent connection.",
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
            "number of the message, in order of start; unique within variant and run",
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
            "time at which the application wrote the first byte (one-shot flows: before the handshake)",
        ),
        col(
            "end_ns",
            "ns",
            Int(|r, _| r.end.ps().map(ns)),
            "time at which the receiver had the last byte in order; null if never",
        ),
        col("acked_ns", "ns", Int(|r, _| r.acked.ps().map(ns)), "time at which the last byte was acknowledged; null if never"),
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
            "time of the same bytes as back-to-back segments over the unloaded path, without handshake or window limits; null for an endless flow",
        ),
        col("slowdown", "1", Float(|r, _| slowdown(r)), "completion time over the ideal, from picoseconds; null if unfinished"),
        col(
            "bytes_acked",
            "B",
            Int(|r, _| count(r.bytes_acked)),
            "payload cumulatively acknowledged (for an unfinished message so far)",
        ),
        col(
            "bytes_measured",
            "B",
            Int(|r, _| count(r.bytes_measured)),
            "payload that reached the receiver after the warm-up, in order or not (`bytes_acked` if the run ends before that)",
        ),
        col("segs_sent", "segments", Int(|r, _| count(r.segs_sent)), "data segments sent, retransmissions included"),
        col("segs_retx", "segments", Int(|r, _| count(r.segs_retx)), "retransmitted segments"),
        col(
            "rtos",
            "1",
            Int(|r, _| Some(r.rtos.into())),
            "retransmission timeouts with data outstanding, each back-off counted; those of SYNs are in `syn_rtos`",
        ),
        col(
            "rtos_head",
            "1",
            Int(|r, _| Some(r.rtos_head.into())),
            "timeouts in `rtos` before the first window of the message was acknowledged",
        ),
        col(
            "rtos_tail",
            "1",
            Int(|r, _| Some(r.rtos_tail.into())),
            "timeouts in `rtos` with at most the last three segments of the message outstanding",
        ),
        col("tlps", "1", Int(|r, _| Some(r.tlps.into())), "tail loss probes (RFC 8985 section 7), not included in `rtos`"),
        col("syn_rtos", "1", Int(|r, _| Some(r.syn_rtos.into())), "timeouts of the SYN, in the connection's first message"),
        col("fast_retx", "1", Int(|r, _| Some(r.fast_retx.into())), "entries into fast recovery"),
        col("ecn_reductions", "1", Int(|r, _| Some(r.ecn_reductions.into())), "window reductions on ECN echo"),
        col(
            "loss_reductions",
            "1",
            Int(|r, _| Some(r.loss_reductions.into())),
            "window reductions on loss: recoveries, tail loss probes, and the first timeouts of a series, which set a new ssthresh",
        ),
        col(
            "reduction_alpha",
            "1",
            Float(|r, _| r.reduction_alpha),
            "mean alpha of the congestion control over `ecn_reductions`; null without a reduction and for congestion controls without alpha",
        ),
        col("ce_acked_bytes", "B", Int(|r, _| count(r.ce_acked_bytes)), "bytes acknowledged by ACKs that carried ECN echo"),
        col("cwnd_max", "segments", Float(|r, _| Some(r.cwnd_max)), "largest congestion window"),
        col(
            "rwnd_limited_ns",
            "ns",
            Int(|r, _| r.rwnd_limited.ps().map(ns)),
            "time in which the receive window limited the sender, as `tcpi_rwnd_limited` of Linux; null where the backend does not count it",
        ),
        col(
            "sndbuf_limited_ns",
            "ns",
            Int(|r, _| r.sndbuf_limited.ps().map(ns)),
            "time in which the send buffer limited the sender, as `tcpi_sndbuf_limited` of Linux; null where the backend does not count it",
        ),
        col("rtt_min_ns", "ns", Int(|r, _| r.rtt_min.ps().map(ns)), "smallest RTT sample; null without a sample"),
        col("rtt_mean_ns", "ns", Int(|r, _| r.rtt_mean.ps().map(ns)), "mean RTT sample; null without a sample"),
        col("deadline_ns", "ns", Int(|r, _| deadline(r)), "deadline, relative to the start; null without a deadline"),
        col(
            "deadline_met",
            "",
            Bool(|r, i| deadline_met(r, i.end_ps)),
            "true if it completed within the deadline; null without a deadline, or if the run ended before both",
        ),
        col("completed", "", Bool(|r, _| Some(!r.end.is_never())), "true if the receiver had every byte before the run ended"),
        col(
            "delay_cause",
            "",
            Name(|r, _| r.waited.map(|w| w.cause.name())),
            "main cause of delay beyond the ideal time. Timers of the sender: `rto`, `tlp`, `syn`. Queues: `host-queue` (interface of the sending host), `switch-queue`. Others: `delayed-ack`, `recovery` (retransmissions without a timer, and the smaller window after losses), `share` (bandwidth share of a link), `window` (or pacing rate), `head-of-line` (earlier messages of the connection). At the receiving hosts: `interrupts` (interrupt moderation, `gro`). Null without delay, and for an endless flow",
        ),
        col("delay_ns", "ns", Int(|r, _| r.waited.map(|w| ns(w.time_ps))), "delay by that cause"),
        col(
            "delay_port",
            "",
            Name(|r, i| r.waited.and_then(|w| w.port()).map(|p| i.port(p))),
            "port of a `host-queue`, `switch-queue` or `share`: the one on its path with the longest mean delay after the warm-up; else null",
        ),
        col("query_id", "1", Int(|r, _| r.query_id.map(|q| q.get() as i64)), "its row in `queries`; null if none"),
        col(
            "request",
            "",
            Bool(|r, _| r.query_id.map(|_| r.request)),
            "true for a request, false for a response; null outside queries",
        ),
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
        // Unfinished at the end: missed if the deadline had passed, else unknown.
        assert_eq!((met(None, Some(8_999_999)), met(None, Some(9_000_000))), (Some(false), None));
        assert_eq!(deadline_met(&row(None, Some(9_000_000)), None), Some(false), "a run until all work is done has no later");
    }
}
