//! The table `goodput`.

use super::common::{RUN, SEED, VARIANT, WORLD, col, count, ns};
use crate::column::Get::{Float, Int, Name, Text, Unsigned};
use crate::column::TableSchema;
use forebay_experiment::rows::DeliveryRow;

/// Payload delivered over time.
pub const GOODPUT: TableSchema<DeliveryRow> = TableSchema {
    name: "goodput",
    version: 2,
    doc: "Goodput over time: one row for each workload, transport, port and interval of the run, warm-up included. The run is divided into at \
          most 256 contiguous intervals. All bytes of a row crossed its port, so that no row exceeds the rate of a link.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("world", "", Text(|_, i| &i.world), WORLD),
        col("start_ns", "ns", Int(|r, _| Some(ns(r.from.0))), "start of the interval"),
        col("end_ns", "ns", Int(|r, _| Some(ns(r.to.0))), "end of the interval"),
        col("class", "", Text(|r, i| i.class(r.workload)), "name of the workload"),
        col("transport", "", Text(|r, i| i.group(r.group)), "name of the transport group"),
        col(
            "port",
            "",
            Name(|r, i| r.port.map(|p| i.port(p))),
            "bottleneck port: of the ports on every path to the receiver, except the sender's interface, the one with the highest \
             utilization by all traffic. Null where a workload has more than 16 such ports, which share one row, and where it sent nothing",
        ),
        col(
            "bytes",
            "B",
            Int(|r, _| count(r.bytes)),
            "payload that reached receivers for the first time in the interval, in order or not",
        ),
        col("goodput_bps", "bit/s", Float(|r, _| bps(r)), "those bytes over the length of the interval"),
    ],
};

/// Goodput of a row, bit/s.
fn bps(r: &DeliveryRow) -> Option<f64> {
    let time = r.to.saturating_sub(r.from).as_secs_f64();
    (time > 0.0).then(|| r.bytes as f64 * 8.0 / time)
}
