//! The table `events`.

use super::common::{RUN, SEED, VARIANT, WORLD, col, count, ns};
use crate::column::Get::{Int, Name, Text, Unsigned};
use crate::column::TableSchema;
use forebay_experiment::rows::EventRow;

/// Timeline of network events.
pub const EVENTS: TableSchema<EventRow> = TableSchema {
    name: "events",
    version: 2,
    doc: "Timeline of the network, in order of time: one row for each link failure, repair or change. From the start of the run, there are rows for \
          spraying, for links that lose or damage packets, and for full accept queues. Empty in a network without such events.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("world", "", Text(|_, i| &i.world), WORLD),
        col("time_ns", "ns", Int(|r, _| Some(ns(r.time_ps))), "time or start of the event"),
        col(
            "kind",
            "",
            Text(|r, _| r.kind.name()),
            "`link-down`, `link-up`; `link-change`: its rate, delay or loss changed; `corruption`: the link damages packets; `link-loss`: it loses packets (`loss`); `random-loss`: its queue loses them (`lossy`); `spraying`: each \
             packet is routed independently. `reordering`: the link delivers some packets late; `batching`: in batches. `listen-overflow`: a host drops packets of handshakes, because the accept queue of a listening socket is full",
        ),
        col(
            "link",
            "",
            Name(|r, i| r.port.map(|p| i.port(p))),
            "the link, named by one of its `ports`; a failure affects both directions; for `listen-overflow` the port of the host; null: the whole network",
        ),
        col(
            "end_ns",
            "ns",
            Int(|r, _| r.until_ps.map(ns)),
            "time at which the link came back; null if it stayed down, and for other events",
        ),
        col(
            "packets",
            "packets",
            Int(|r, _| r.packets.and_then(count)),
            "packets lost: on the wire, queued, or sent to a link that was down; damaged or lost by the link; or lost by the queue `lossy`, counted after the warm-up. \
             Null for events without loss",
        ),
        col(
            "flows",
            "1",
            Int(|r, _| r.flows.and_then(count)),
            "connections whose data or acknowledgments were rerouted, because the link went down or came back; null with \
             `balance = \"packet\"`, and before the switches reroute",
        ),
        col(
            "unreachable_pairs",
            "1",
            Int(|r, _| r.pairs.and_then(count)),
            "pairs of a sending and a receiving host without a route; null before the switches reroute, and for other events",
        ),
    ],
};
