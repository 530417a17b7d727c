//! The table `events`.

use super::shared::{RUN, SEED, VARIANT, WORLD, col, count, ns};
use crate::column::Get::{Int, Name, Text, Unsigned};
use crate::column::TableSchema;
use forebay_experiment::rows::EventRow;

/// What happened to the network.
pub const EVENTS: TableSchema<EventRow> = TableSchema {
    name: "events",
    version: 1,
    doc: "The timeline of the network: one row for each link that failed or came back, and for what is so from the start: spraying, links that \
          lose or damage packets; in order of time. Empty in a network where nothing of that happens.",
    columns: &[
        col("variant", "", Text(|_, i| &i.variant), VARIANT),
        col("run", "1", Int(|_, i| Some(i.run.into())), RUN),
        col("seed", "1", Unsigned(|_, i| i.seed), SEED),
        col("world", "", Text(|_, i| &i.world), WORLD),
        col("time_ns", "ns", Int(|r, _| Some(ns(r.time_ps))), "when it happened, or began"),
        col(
            "kind",
            "",
            Text(|r, _| r.kind.name()),
            "`link-down`, `link-up`; `corruption`: the link damages packets; `random-loss`: it loses packets (`lossy`); `spraying`: each \
             packet takes a way of its own",
        ),
        col(
            "link",
            "",
            Name(|r, i| r.port.map(|p| i.port(p))),
            "the link, by the port of `ports` that names it: a failure concerns both directions; null: the whole network",
        ),
        col(
            "end_ns",
            "ns",
            Int(|r, _| r.until_ps.map(ns)),
            "when the link came back; null if it did not within the run, and for other events",
        ),
        col(
            "packets",
            "packets",
            Int(|r, _| r.packets.and_then(count)),
            "packets that it cost: on the wire, waiting or sent into a link that was down; damaged; lost at random, these after the warm-up. \
             Null where there is nothing to lose",
        ),
        col(
            "flows",
            "1",
            Int(|r, _| r.flows.and_then(count)),
            "connections whose data or acknowledgements take another way since, because the link is out of use or in use again; null with \
             `balance = \"packet\"`, and before the switches know",
        ),
        col(
            "unreachable_pairs",
            "1",
            Int(|r, _| r.pairs.and_then(count)),
            "pairs of a sending and a receiving host that no way was left between; null before the switches know, and for other events",
        ),
    ],
};
