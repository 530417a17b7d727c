//! Workload `poisson`: open loop, flows with random sizes arrive at random times, at a given load.

use super::deadline::{DEADLINE, DEADLINE_MAX_SIZE, deadline};
use super::load::{MAX_FLOWS_PER_SEC, flows_per_sec};
use super::pairs::{FROM, TO, hosts_or_group, name};
use super::{BuildError, Context, WorkloadEntry, must_end, rack_matrix, times};
use crate::topology::racks;
use crate::traffic::WorkloadKind;
use forebay_types::param::{Entry, Kind, Values, optional, required};
use forebay_types::{NodeId, Time};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const ENTRY: WorkloadEntry = WorkloadEntry {
    entry: Entry {
        name: "poisson",
        summary: "flows arrive as a Poisson process, or with log-normal gaps, at a given load or rate, with sizes from a table or distribution, between random hosts",
        params: &[
            FROM,
            TO,
            required("sizes", Kind::SizeDist, "payload bytes of a flow"),
            optional(
                "load",
                Kind::Float(0.0001, 2.0),
                "",
                "mean offered traffic as a fraction of the reference rate that `load-at` names: flows per second = load * reference / \
                 (8 * mean bytes of a flow). Above 1 is overload; either this or `rate`",
            ),
            optional(
                "rate",
                Kind::Float(1e-6, MAX_FLOWS_PER_SEC),
                "",
                "flows per second of the whole workload; either this or `load`",
            ),
            optional(
                "load-of",
                Kind::Choice(&["payload", "wire"]),
                "payload",
                "bytes of a flow that count: its payload, or the size of its data segments on the wire (payload + header for each \
                 started segment of mss bytes; no ACKs, SYNs or retransmissions)",
            ),
            optional(
                "load-at",
                Kind::Choice(&["hosts", "bottleneck", "uplinks", "tightest"]),
                "hosts",
                "reference rate. `hosts`: the sum of the interface rates of the `from` hosts, so that each sends at `load` of its rate. \
                 `bottleneck`: the rate of the topology's port `bottleneck`, if every flow crosses it. `uplinks`: the sum of the \
                 rates that lead from the switches of the `from` hosts to other switches, divided by the share of flows that leave their \
                 switch. `tightest`: the smaller of `hosts` and `uplinks`",
            ),
            optional(
                "racks",
                Kind::Choice(&["any", "other"]),
                "any",
                "other: the destination is attached to another switch than the source",
            ),
            optional(
                "sigma",
                Kind::Float(0.01, 5.0),
                "",
                "times between flows are log-normal with this standard deviation of their logarithm, and the same mean: 1 to 2 are the bursty \
                 arrivals of Parsimon (NSDI 2023). Default: exponential",
            ),
            optional(
                "matrix",
                Kind::Path,
                "",
                "text or CSV file with the weights of flows between racks: a row for each source rack, a column for each destination rack, in the \
                 order of the switches. Within racks hosts are drawn uniformly. Default: uniform over all pairs of hosts",
            ),
            optional("start", Kind::Time, "0s", "arrivals begin here"),
            optional("stop", Kind::Time, "", "no arrivals from here on. Default: the end of simulated time"),
            optional("flows", Kind::Int(1, 1_000_000_000), "", "at most this many flows. Default: no limit"),
            optional(
                "flows-per-source",
                Kind::Int(1, 1_000_000_000),
                "",
                "each of the `from` hosts starts at most this many flows; until then all keep their rate. Default: no limit",
            ),
            optional(
                "persistent",
                Kind::Bool,
                "false",
                "flows between the same two hosts share persistent connections. A flow takes a free connection, on which everything is acknowledged, \
                 or opens one if none is free. False: each flow has a connection of its own",
            ),
            DEADLINE,
            DEADLINE_MAX_SIZE,
        ],
    },
    transport: true,
    build,
};

fn build(values: &Values, context: &Context<'_>) -> Result<WorkloadKind, BuildError> {
    let from = distinct(hosts_or_group(values, "from", context, &["senders", "left"])?, "from", context)?;
    let to = distinct(hosts_or_group(values, "to", context, &["receiver", "right"])?, "to", context)?;
    if let [only] = to[..]
        && from.contains(&only)
    {
        return Err(BuildError::new(
            "to",
            format!("host `{}` is among the sources and would have no destination", name(context, only)),
        ));
    }
    let other = values.text("racks") == "other";
    let pairs = Pairs::count(context, &from, &to);
    if pairs.crossing == 0.0 && other {
        return Err(BuildError::new("racks", "no source has a destination at another switch than its own"));
    }
    let sizes = values.size_dist("sizes");
    let (start, stop) = (values.time("start"), values.opt_time("stop"));
    if let Some(stop) = stop
        && stop <= start
    {
        return Err(BuildError::new("stop", format!("must be later than `start` ({start})")));
    }
    times::fits("start", start, Time::ZERO, 0, Time::ZERO)?;
    let flows = values.opt_int("flows").map(|n| n as u64);
    let per_source = values.opt_int("flows-per-source").map(|n| n as u64);
    must_end(context, stop.is_some() || flows.is_some() || per_source.is_some(), "stop")?;
    let matrix = values.opt_path("matrix").map(|path| rack_matrix::read(&path, context, &from, &to)).transpose()?;
    if matrix.is_some() && (other || per_source.is_some()) {
        let (key, reason) = match other {
            true => {
                ("racks", "the weights of `matrix` say which racks exchange flows; leave `racks` out and set the diagonal to 0")
            }
            false => ("flows-per-source", "sources of `matrix` have different numbers of flows; use `flows`"),
        };
        return Err(BuildError::new(key, reason));
    }
    let crossing = matrix.as_ref().map_or(if other { 1.0 } else { pairs.crossing }, |m| m.crossing());
    let flows_per_sec = flows_per_sec(values, context, &from, crossing, &sizes)?;
    let racks = other.then(|| racks(context.network));
    let deadline = deadline(values)?;
    let persistent = values.bool("persistent");
    let sigma = values.opt_float("sigma");
    Ok(WorkloadKind::Poisson {
        from,
        to,
        sizes,
        flows_per_sec,
        start,
        stop,
        flows,
        per_source,
        racks,
        sigma,
        matrix,
        persistent,
        deadline,
        warm: None,
    })
}

/// Pairs of different hosts.
struct Pairs {
    /// Share of pairs that are attached to different switches.
    crossing: f64,
}

impl Pairs {
    /// Counts by switches, because there can be 10^9 pairs.
    fn count(context: &Context<'_>, from: &[NodeId], to: &[NodeId]) -> Pairs {
        let rack = racks(context.network);
        let mut members: BTreeMap<NodeId, u64> = BTreeMap::new();
        to.iter().for_each(|t| *members.entry(rack[*t]).or_default() += 1);
        let sinks: BTreeSet<NodeId> = to.iter().copied().collect();
        let near: u64 = from.iter().map(|f| members.get(&rack[*f]).copied().unwrap_or(0)).sum();
        let to_itself = from.iter().filter(|f| sinks.contains(f)).count() as u64;
        let all = from.len() as u64 * to.len() as u64;
        Pairs { crossing: (all - near) as f64 / ((all - to_itself) as f64).max(1.0) }
    }
}

/// Refuses hosts that are listed twice: they would be drawn twice as often and counted twice in the load.
fn distinct(hosts: Vec<NodeId>, key: &'static str, context: &Context<'_>) -> Result<Vec<NodeId>, BuildError> {
    let mut sorted = hosts.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|w| w[0] == w[1]) {
        Some(w) => Err(BuildError::new(key, format!("host `{}` is listed more than once", name(context, w[0])))),
        None => Ok(hosts),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;
    use forebay_types::SizeDist;
    use forebay_types::param::Value;

    fn given(load: f64, extra: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
        let mut all = vec![("sizes", Value::SizeDist(SizeDist::Const(14_600))), ("load", Value::Float(load))];
        all.extend_from_slice(extra);
        all
    }

    fn rate(world: &World, load: f64, extra: &[(&'static str, Value)]) -> f64 {
        match world.build("poisson", &given(load, extra)).unwrap() {
            WorkloadKind::Poisson { flows_per_sec, .. } => flows_per_sec,
            other => panic!("{other:?}"),
        }
    }

    fn word(key: &'static str, w: &str) -> (&'static str, Value) {
        (key, Value::Text(w.into()))
    }

    #[test]
    fn load_against_the_closed_form() {
        let racks = World::racks();
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
        // 12 hosts at 1 Gbps.
        close(rate(&racks, 0.6, &[]), 0.6 * 12e9 / (8.0 * 14_600.0));
        close(rate(&racks, 0.6, &[word("load-of", "wire")]), 0.6 * 12e9 / (8.0 * 15_000.0));
        close(rate(&racks, 0.6, &[("from", Value::Hosts(vec![NodeId::new(0), NodeId::new(1)]))]), 0.6 * 2e9 / (8.0 * 14_600.0));
        let one = World::many_to_one(5);
        close(rate(&one, 0.5, &[word("load-at", "bottleneck")]), 0.5 * 1e9 / (8.0 * 14_600.0));
        close(rate(&one, 0.5, &[]), 0.5 * 5e9 / (8.0 * 14_600.0));
    }

    /// The arrival rates per unit load of the ProBoSCIS specification, 7: 9 leaves of 16 hosts at 10 Gbps, 4 spines.
    #[test]
    fn load_of_the_bottleneck_layer() {
        let table = |text: &str| SizeDist::Table(std::sync::Arc::new(forebay_types::SizeTable::parse(text, "t").unwrap()));
        let (web, mining) = (
            table(include_str!("../../../../data/cdf/websearch.cdf")),
            table(include_str!("../../../../data/cdf/datamining.cdf")),
        );
        let published = [(1.0, 102_381.0, 13_841.0), (5.0, 22_876.0, 3_093.0), (20.0, 5_719.0, 773.0)];
        for (oversubscription, of_web, of_mining) in published {
            let world = World::fabric(9, 16, 4, "10Gbps", oversubscription);
            for (sizes, expected) in [(&web, of_web), (&mining, of_mining)] {
                let at = |layer: &str| {
                    let sizes = ("sizes", Value::SizeDist(sizes.clone()));
                    let given = [sizes, ("load", Value::Float(1.0)), word("load-of", "wire"), word("load-at", layer)];
                    match world.build("poisson", &given).unwrap() {
                        WorkloadKind::Poisson { flows_per_sec, .. } => flows_per_sec,
                        other => panic!("{other:?}"),
                    }
                };
                // Published to a whole flow, with 1500/1460 for the headers; the last segment of a flow is not full.
                assert!((at("tightest") / expected - 1.0).abs() < 7e-4, "{oversubscription}: {} {expected}", at("tightest"));
                let layer = if oversubscription == 1.0 { "hosts" } else { "uplinks" };
                assert_eq!(at("tightest"), at(layer));
            }
        }
    }

    /// One rack to the others: all flows cross its uplinks, 4 Gbps in a non-blocking rack of four.
    #[test]
    fn one_to_all() {
        let racks = World::racks();
        let client = ("from", Value::Hosts(vec![NodeId::new(4), NodeId::new(5), NodeId::new(6), NodeId::new(7)]));
        let given =
            given(0.7, &[client, word("racks", "other"), word("load-at", "uplinks"), ("flows-per-source", Value::Int(1000))]);
        match racks.build("poisson", &given).unwrap() {
            WorkloadKind::Poisson { flows_per_sec, per_source, racks: Some(rack), .. } => {
                assert!((flows_per_sec / (0.7 * 4e9 / (8.0 * 14_600.0)) - 1.0).abs() < 1e-9);
                assert_eq!(
                    (per_source, rack[NodeId::new(4)], rack[NodeId::new(8)]),
                    (Some(1000), NodeId::new(13), NodeId::new(14))
                );
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let mut w = World::racks();
        assert_eq!(w.refused("poisson", &given(0.5, &[word("load-at", "bottleneck")])), "load-at");
        assert_eq!(w.refused("poisson", &given(0.5, &[("to", Value::Hosts(vec![NodeId::new(3)]))])), "to");
        assert_eq!(
            w.refused("poisson", &given(0.5, &[("from", Value::Hosts(vec![NodeId::new(3), NodeId::new(1), NodeId::new(3)]))])),
            "from"
        );
        let (start, stop) = (("start", Value::Time(Time::from_us(5))), ("stop", Value::Time(Time::from_us(5))));
        assert_eq!(w.refused("poisson", &given(0.5, &[start, stop])), "stop");
        assert_eq!(w.refused("poisson", &given(0.5, &[("rate", Value::Float(9.0))])), "rate");
        assert_eq!(w.refused("poisson", &given(0.5, &[])[..1]), "load");
        let near = [
            ("from", Value::Hosts(vec![NodeId::new(0), NodeId::new(1)])),
            ("to", Value::Hosts(vec![NodeId::new(2), NodeId::new(3)])),
        ];
        let other = word("racks", "other");
        assert_eq!(w.refused("poisson", &given(0.5, &[&near[..], std::slice::from_ref(&other)].concat())), "racks");
        assert_eq!(w.refused("poisson", &given(0.5, &[&near[..], &[word("load-at", "uplinks")]].concat())), "load-at");
        assert_eq!(World::many_to_one(3).refused("poisson", &given(0.5, &[word("load-at", "uplinks")])), "load-at");
        assert_eq!(w.refused("poisson", &given(0.5, &[("deadline", Value::Time(Time::ZERO))])), "deadline");
        w.duration = None;
        assert_eq!(w.refused("poisson", &given(0.5, &[])), "stop");
        assert!(w.build("poisson", &given(0.5, &[("flows", Value::Int(10))])).is_ok());
        assert!(w.build("poisson", &given(0.5, &[("flows-per-source", Value::Int(10))])).is_ok());
    }
}
