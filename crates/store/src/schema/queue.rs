//! The table `queue`.

use super::common::{RUN, SEED, VARIANT, WORLD, col, count, ns};
use crate::column::Get::{Int, Text, Unsigned};
use crate::column::TableSchema;
use forebay_experiment::rows::QueueRow;

/// Queue samples.
pub const QUEUE: TableSchema<QueueRow> = TableSchema {
    name: "queue",
    version: 1,
    doc: "Time series of the ports named in `[observe] queue`.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("world", "", Text(|_, i| &i.world), WORLD),
        col("time_ns", "ns", Int(|r, _| Some(ns(r.time_ps))), "sample time"),
        col("port", "", Text(|r, i| i.port(r.port)), "short name such as `bottleneck`, else `from->to`"),
        col("pkts", "packets", Int(|r, _| Some(r.pkts.into())), "packets waiting and in service"),
        col("bytes", "B", Int(|r, _| count(r.bytes)), "their wire bytes"),
        col("drops", "packets", Int(|r, _| count(r.drops)), "drops at this port so far"),
        col("marks", "packets", Int(|r, _| count(r.marks)), "congestion marks set at this port so far"),
    ],
};
