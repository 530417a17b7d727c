//! The table `ports`.

use super::common::{RUN, SEED, VARIANT, WORLD, col, count};
use crate::column::Get::{Bool, Float, Int, Name, Text, Unsigned};
use crate::column::TableSchema;
use crate::run_info::RunInfo;
use forebay_experiment::rows::PortRow;
use forebay_types::QueueLen;

/// One row per egress port.
pub const PORTS: TableSchema<PortRow> = TableSchema {
    name: "ports",
    version: 3,
    doc: "One row per egress port (one direction of a link): totals of the run after its warm-up.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("world", "", Text(|_, i| &i.world), WORLD),
        col("port_id", "1", Int(|r, _| Some(r.port.get().into())), "number of the port"),
        col("port", "", Text(|r, i| i.port(r.port)), "short name such as `bottleneck`, else `from->to`"),
        col("from", "", Text(|r, i| i.port_config(r.port).map_or("?", |p| i.node(p.from))), "node that transmits"),
        col("to", "", Text(|r, i| i.port_config(r.port).map_or("?", |p| i.node(p.to))), "node that receives"),
        col(
            "from_switch",
            "",
            Bool(|r, i| i.port_config(r.port).map(|p| i.switch(p.from))),
            "true if the transmitting node is a switch",
        ),
        col(
            "to_switch",
            "",
            Bool(|r, i| i.port_config(r.port).map(|p| i.switch(p.to))),
            "true if the receiving node is a switch",
        ),
        col(
            "rate_bps",
            "bit/s",
            Int(|r, i| i.port_config(r.port).and_then(|p| count(p.rate.0))),
            "rate of the link, at the start of the run if it changes",
        ),
        col(
            "policed_bps",
            "bit/s",
            Int(|r, i| i.port_config(r.port)?.queue.policing_rate().and_then(|rate| count(rate.0))),
            "rate above which the policer of the port drops packets; null without a policer",
        ),
        col(
            "buffer_pkts",
            "packets",
            Int(|r, i| buffer(r, i).filter(|b| matches!(b, QueueLen::Packets(_))).and_then(|b| count(b.amount()))),
            "buffer of the queue, if given in packets",
        ),
        col(
            "buffer_bytes",
            "B",
            Int(|r, i| buffer(r, i).filter(|b| matches!(b, QueueLen::Bytes(_))).and_then(|b| count(b.amount()))),
            "buffer of the queue, if given in bytes; both null: unlimited",
        ),
        col(
            "shared_bytes",
            "B",
            Int(|r, i| i.shared(r.port).and_then(count)),
            "bytes that the port can use of its switch's shared buffer while all other ports are empty; null without a shared buffer",
        ),
        col(
            "mark_pkts",
            "packets",
            Int(|r, i| {
                i.port_config(r.port)?.queue.marking_threshold().filter(|k| k.packets < u32::MAX).map(|k| k.packets.into())
            }),
            "threshold K of a queue with step marking, if given in packets",
        ),
        col(
            "mark_bytes",
            "B",
            Int(|r, i| {
                i.port_config(r.port)?.queue.marking_threshold().filter(|k| k.bytes < u64::MAX).and_then(|k| count(k.bytes))
            }),
            "threshold K, if given in bytes; both null: no step marking",
        ),
        col(
            "thresholds",
            "",
            Name(|r, i| i.thresholds(r.port)),
            "other queue lengths from which on packets may be marked or dropped early, such as `min of the average 30pkt, max of the average 90pkt` \
             of RED, `K of queue 0 65pkt` of per-class queues; null if there are none",
        ),
        col(
            "arrived_pkts",
            "packets",
            Int(|r, _| count(r.arrived_pkts)),
            "packets that arrived at the queue, dropped ones included",
        ),
        col("arrived_bytes", "B", Int(|r, _| count(r.arrived_bytes)), "wire bytes of `arrived_pkts`"),
        col(
            "sent_pkts",
            "packets",
            Int(|r, _| count(r.sent_pkts)),
            "packets accepted; all of them were transmitted except those queued at the end",
        ),
        col("sent_bytes", "B", Int(|r, _| count(r.sent_bytes)), "wire bytes of `sent_pkts`"),
        col("dropped_overflow", "packets", Int(|r, _| count(r.dropped_overflow)), "dropped because the port's buffer was full"),
        col(
            "dropped_shared",
            "packets",
            Int(|r, _| count(r.dropped_shared)),
            "dropped because the switch's shared buffer was full for this port",
        ),
        col("dropped_early", "packets", Int(|r, _| count(r.dropped_early)), "dropped by the discipline as a congestion signal"),
        col(
            "lost_down",
            "packets",
            Int(|r, _| count(r.cut_waiting + r.cut_flying)),
            "lost because the link was down: on the wire or queued when it went down, or sent later. `sent_pkts` includes those on the wire, \
             not the others",
        ),
        col(
            "corrupted",
            "packets",
            Int(|r, _| count(r.corrupted)),
            "sent, and damaged on the link (dropped at the receiver because of the checksum) or lost there",
        ),
        col("marked", "packets", Int(|r, _| count(r.marked)), "CE marks set at this port"),
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
        col(
            "utilization",
            "1",
            Float(|r, _| Some(r.busy)),
            "fraction of the measured time in which the transmitter was busy; where the rate of the link changes, of its mean rate",
        ),
    ],
};

fn percentile(r: &PortRow, index: usize) -> Option<i64> {
    r.queue_percentiles.map(|p| p[index].into())
}

fn buffer(r: &PortRow, info: &RunInfo) -> Option<QueueLen> {
    info.port_config(r.port)?.buffer
}
