//! The table `tcp`.

use super::common::{RUN, SEED, VARIANT, WORLD, col, count, ns};
use crate::column::Get::{Float, Int, Text, Unsigned};
use crate::column::{Column, Get, TableSchema};
use forebay_experiment::cc_state;
use forebay_experiment::rows::TcpRow;
use std::sync::LazyLock;

/// Sender samples: columns of every sender, followed by the state of its congestion control.
pub static TCP: LazyLock<TableSchema<TcpRow>> = LazyLock::new(|| TableSchema {
    name: "tcp",
    version: 1,
    doc: "Time series of the senders named in `[observe] tcp`. Columns that `ss -ti` also prints have its names.",
    columns: Vec::leak(own().into_iter().chain(of_congestion_controls()).collect()),
});

fn of_congestion_controls() -> impl Iterator<Item = Column<TcpRow>> {
    cc_state::COLUMNS.iter().map(|c| col(c.name, c.unit, Get::Cc(|r: &TcpRow| &r.cc, c.value), c.doc))
}

fn own() -> Vec<Column<TcpRow>> {
    vec![
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("world", "", Text(|_, i| &i.world), WORLD),
        col("time_ns", "ns", Int(|r, _| Some(ns(r.time_ps))), "sample time"),
        col("conn_id", "1", Int(|r, _| count(r.conn_id)), "number of the connection, in order of creation"),
        col("cwnd", "segments", Float(|r, _| Some(r.cwnd)), "congestion window"),
        col("ssthresh", "segments", Float(|r, _| r.ssthresh), "slow start threshold; null before the first reduction"),
        col("unacked_bytes", "B", Int(|r, _| count(r.unacked_bytes)), "sent and not yet cumulatively acknowledged"),
        col("srtt_ns", "ns", Int(|r, _| r.srtt_ps.map(ns)), "smoothed RTT; null before the first sample"),
        col("rto_ns", "ns", Int(|r, _| Some(ns(r.rto_ps))), "retransmission timeout in force"),
        col("alpha", "1", Float(|r, _| r.alpha), "estimate of the marked fraction; null for congestion controls without one"),
        col("bytes_acked", "B", Int(|r, _| count(r.bytes_acked)), "payload cumulatively acknowledged so far"),
        col("retrans", "segments", Int(|r, _| count(r.retrans)), "retransmitted segments so far"),
        col(
            "ca_state",
            "1",
            Int(|r, _| Some(r.ca_state.into())),
            "recovery state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss (Linux numbering)",
        ),
    ]
}
