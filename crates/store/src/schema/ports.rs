//! The table `ports`.

use super::shared::{RUN, SEED, VARIANT, WORLD, col, count};
use crate::column::Get::{Bool, Float, Int, Name, Text, Unsigned};
use crate::column::TableSchema;
use crate::run_info::RunInfo;
use forebay_experiment::rows::PortRow;
use forebay_units::QueueLen;

/// One row per egress port.
pub const PORTS: TableSchema<PortRow> = TableSchema {
    name: "ports",
    version: 2,
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
        col("from_switch", "", Bool(|r, i| i.port_config(r.port).map(|p| i.switch(p.from))), "whether that node is a switch"),
        col(
            "to_switch",
            "",
            Bool(|r, i| i.port_config(r.port).map(|p| i.switch(p.to))),
            "whether the receiving node is a switch",
        ),
        col("rate_bps", "bit/s", Int(|r, i| i.port_config(r.port).and_then(|p| count(p.rate.0))), "rate of the link"),
        col(
            "buffer_pkts",
            "packets",
            Int(|r, i| buffer(r, i).filter(|b| matches!(b, QueueLen::Packets(_))).and_then(|b| count(b.amount()))),
            "buffer of the queue, where it is given in packets",
        ),
        col(
            "buffer_bytes",
            "B",
            Int(|r, i| buffer(r, i).filter(|b| matches!(b, QueueLen::Bytes(_))).and_then(|b| count(b.amount()))),
            "buffer of the queue, where it is given in bytes; null for both: unlimited",
        ),
        col(
            "shared_bytes",
            "B",
            Int(|r, i| i.shared(r.port).and_then(count)),
            "what the port can hold of its switch's shared buffer while all others are empty; null without one",
        ),
        col(
            "mark_pkts",
            "packets",
            Int(|r, i| {
                i.port_config(r.port)?.queue.marking_threshold().filter(|k| k.packets < u32::MAX).map(|k| k.packets.into())
            }),
            "threshold K of a queue that marks by a step, where it is given in packets",
        ),
        col(
            "mark_bytes",
            "B",
            Int(|r, i| {
                i.port_config(r.port)?.queue.marking_threshold().filter(|k| k.bytes < u64::MAX).and_then(|k| count(k.bytes))
            }),
            "threshold K, where it is given in bytes; null for both: no such step",
        ),
        col(
            "levels",
            "",
            Name(|r, i| i.levels(r.port)),
            "other lengths from which on the queue may mark or drop early, such as `min of the average 30pkt, max of the average 90pkt` of RED, \
             `K of queue 0 65pkt` of queues by class; null without",
        ),
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
        col(
            "lost_down",
            "packets",
            Int(|r, _| count(r.cut_waiting + r.cut_flying)),
            "lost because the link was down: on the wire when it went down, waiting then, or sent into it later; those on the wire are among \
             `sent_pkts`, the others are not",
        ),
        col(
            "corrupted",
            "packets",
            Int(|r, _| count(r.corrupted)),
            "sent, damaged on the link, and dropped by the checksum at its other end",
        ),
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

fn buffer(r: &PortRow, info: &RunInfo) -> Option<QueueLen> {
    info.port_config(r.port)?.buffer
}
