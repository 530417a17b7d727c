//! The table `timeouts`.

use super::common::{RUN, SEED, VARIANT, WORLD, col, count, ns};
use crate::column::Get::{Int, Text, Unsigned};
use crate::column::TableSchema;
use forebay_experiment::rows::TimeoutRow;

/// Retransmission timeouts.
pub const TIMEOUTS: TableSchema<TimeoutRow> = TableSchema {
    name: "timeouts",
    version: 2,
    doc: "One row per expired timer of a sender, in order of time; none with `timeouts = false` in `[observe]`.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("world", "", Text(|_, i| &i.world), WORLD),
        col("time_ns", "ns", Int(|r, _| Some(ns(r.time_ps))), "time of the expiry"),
        col("conn_id", "1", Int(|r, _| count(r.conn_id)), "number of the connection, in order of creation"),
        col(
            "flow_id",
            "1",
            Int(|r, _| r.flow_id.and_then(count)),
            "row of `flows` that the timer delayed; null if the connection never had a message",
        ),
        col("class", "", Text(|r, i| i.class(r.workload)), "name of the workload"),
        col("transport", "", Text(|r, i| i.group(r.group)), "name of the transport group"),
        col("src", "", Text(|r, i| i.node(r.src)), "sending host"),
        col("dst", "", Text(|r, i| i.node(r.dst)), "receiving host"),
        col(
            "kind",
            "",
            Text(|r, _| r.kind.name()),
            "`syn`: of the SYN; `head`, `tail`: as `rtos_head` and `rtos_tail` of `flows`; `other`: in between. Not timeouts: \
             `probe`: a tail loss probe; `reordering`: RACK's reordering timer",
        ),
        col("rto_ns", "ns", Int(|r, _| Some(ns(r.rto_ps))), "timer value, back-off included"),
        col("backoff", "1", Int(|r, _| Some(r.backoff.into())), "consecutive timeouts before this one"),
    ],
};
