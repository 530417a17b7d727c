//! The table `queries`.

use super::common::{RUN, SEED, VARIANT, WORLD, col, count, duration_ps, ns};
use crate::column::Get::{Bool, Int, Name, Text, Unsigned};
use crate::column::TableSchema;
use forebay_experiment::rows::QueryRow;

/// Barrier rounds and requests.
pub const QUERIES: TableSchema<QueryRow> = TableSchema {
    name: "queries",
    version: 2,
    doc: "One row per barrier round of an incast and per exchange of request and response.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("world", "", Text(|_, i| &i.world), WORLD),
        col("query_id", "1", Int(|r, _| Some(r.query_id.get() as i64)), "number of the query, unique within variant and run"),
        col("class", "", Text(|r, i| i.class(r.workload)), "name of the workload"),
        col("start_ns", "ns", Int(|r, _| Some(ns(r.start.0))), "time at which the client wrote the request, or the requests"),
        col(
            "end_ns",
            "ns",
            Int(|r, _| r.end.ps().map(ns)),
            "time at which the last byte of the last response arrived; null if unfinished",
        ),
        col(
            "qct_ns",
            "ns",
            Int(|r, _| duration_ps(r.start.0, r.end.ps()).map(ns)),
            "query completion time, end minus start, exact to the nanosecond; null if unfinished",
        ),
        col("fan_in", "1", Int(|r, _| Some(r.fan_in.into())), "number of responses; requests are not counted"),
        col("bytes", "B", Int(|r, _| count(r.bytes)), "payload of all responses, without requests"),
        col(
            "rtos",
            "1",
            Int(|r, _| Some(r.rtos.into())),
            "retransmission timeouts of all its messages, requests included, without those of SYNs",
        ),
        col("senders_with_rto", "1", Int(|r, _| Some(r.senders_with_rto.into())), "messages with at least one timeout"),
        col("rtos_max", "1", Int(|r, _| Some(r.rtos_max.into())), "largest number of timeouts of one message"),
        col("syn_rtos", "1", Int(|r, _| Some(r.syn_rtos.into())), "timeouts of SYNs during the query"),
        col(
            "slowest_flow_id",
            "1",
            Int(|r, _| r.slowest.and_then(count)),
            "row of `flows` that ended last, or the first unfinished one; that of its request if this was delayed longer; null without messages",
        ),
        col("delay_cause", "", Name(|r, _| r.waited.map(|w| w.cause.name())), "`delay_cause` of that row"),
        col("delay_ns", "ns", Int(|r, _| r.waited.map(|w| ns(w.time_ps))), "`delay_ns` of that row"),
        col("delay_port", "", Name(|r, i| r.waited.and_then(|w| w.port()).map(|p| i.port(p))), "`delay_port` of that row"),
        col("completed", "", Bool(|r, _| Some(!r.end.is_never())), "true if every response was complete before the run ended"),
    ],
};
