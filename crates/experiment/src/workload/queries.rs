//! Workload `queries`: partition and aggregate; an aggregator queries several workers at once and waits for all answers.

use super::deadline::{DEADLINE_MAX_SIZE, QUERY_DEADLINE, deadline};
use super::pairs::{hosts_or_group, name};
use super::request::{REQUEST, REQUEST_LATENCY, TWO_WAY, request};
use super::{BuildError, Context, WorkloadEntry, must_end, times};
use crate::topology::MAX_NODES;
use crate::traffic::{Arrival, ResponseSize, WorkloadKind};
use forebay_types::param::{Entry, Kind, Values, optional};
use forebay_types::{NodeId, Time, TimeDist};
use std::collections::BTreeSet;

/// Maximum number of connections of a workload, one for each aggregator and worker.
const MAX_CONNECTIONS: u64 = 4_000_000;

pub(crate) const ENTRY: WorkloadEntry = WorkloadEntry {
    entry: Entry {
        name: "queries",
        summary: "aggregators query workers in parallel and wait for all answers (partition/aggregate), as a Poisson process or one query after the other",
        params: &[
            optional(
                "aggregators",
                Kind::Hosts,
                "",
                "hosts that send queries; also `to`, since data flow to them. Default: the topology's group `receiver`, else `right`, else all hosts, each of which then queries all others",
            ),
            optional(
                "workers",
                Kind::Hosts,
                "",
                "hosts that answer, a persistent connection from each to each aggregator but itself; also `from`. Default: the topology's group `senders`, \
                 else `left`, else all hosts",
            ),
            optional(
                "fan-out",
                Kind::Int(1, MAX_NODES as i64),
                "",
                "workers per query, drawn at random for each query. Default: all of them",
            ),
            optional("response", Kind::SizeDist, "", "payload bytes of each answer; either this or `total`"),
            optional(
                "total",
                Kind::Bytes,
                "",
                "payload bytes of all answers to a query, divided equally (rounded up to whole bytes each); either this or `response`",
            ),
            optional(
                "rate",
                Kind::Float(1e-6, 1e9),
                "",
                "queries per second of each aggregator, as a Poisson process: they may overlap. Default: closed loop, the next query when the \
                 one before is complete",
            ),
            optional("gap", Kind::TimeDist, "0s", "closed loop: pause between the completion of a query and the next one"),
            optional("count", Kind::Int(1, 4_294_967_294), "", "queries of each aggregator. Default: until `stop` or the end"),
            optional("start", Kind::Time, "0s", "closed loop: time of the first query; Poisson: queries begin from here on"),
            optional("stop", Kind::Time, "", "no query begins from here on. Default: the end of simulated time"),
            REQUEST,
            REQUEST_LATENCY,
            TWO_WAY,
            optional(
                "jitter",
                Kind::Time,
                "0s",
                "delay of each request before its worker answers, uniform between 0 and this, drawn per worker and query",
            ),
            QUERY_DEADLINE,
            DEADLINE_MAX_SIZE,
        ],
    },
    transport: true,
    build,
};

fn build(values: &Values, context: &Context<'_>) -> Result<WorkloadKind, BuildError> {
    let aggregators = hosts_or_group(values, "aggregators", context, &["receiver", "right"])?;
    let workers = hosts_or_group(values, "workers", context, &["senders", "left"])?;
    let asking: BTreeSet<NodeId> = distinct(&aggregators, "aggregators", context)?;
    let answering = distinct(&workers, "workers", context)?;
    let connections = aggregators.len() as u64 * workers.len() as u64;
    if connections > MAX_CONNECTIONS {
        return Err(BuildError::new(
            "workers",
            format!("makes {connections} connections; at most {MAX_CONNECTIONS} are supported"),
        ));
    }
    // An aggregator does not query itself.
    let most = workers.len() - usize::from(!asking.is_disjoint(&answering));
    if most == 0 {
        return Err(BuildError::new("workers", format!("aggregator `{}` has no worker but itself", name(context, workers[0]))));
    }
    let fan_out = match values.opt_int("fan-out") {
        Some(n) if n as usize > most => {
            return Err(BuildError::new("fan-out", format!("is {n}, but an aggregator has {most} workers beside itself")));
        }
        Some(n) => n as u32,
        None if asking.is_subset(&answering) || asking.is_disjoint(&answering) => most as u32,
        None => {
            let reason = "some aggregators are workers too, so that they have fewer workers than others; set `fan-out`";
            return Err(BuildError::new("fan-out", reason));
        }
    };
    let response = match (values.opt_size_dist("response"), values.opt_bytes("total").map(|b| b.0)) {
        (Some(sizes), None) => ResponseSize::Each(sizes),
        (None, Some(0)) => return Err(BuildError::new("total", "an answer has at least 1B")),
        (None, Some(total)) => ResponseSize::Shared(total),
        (None, None) => {
            return Err(BuildError::new("response", "set `response` (bytes per worker) or `total` (bytes per query)"));
        }
        (Some(_), Some(_)) => return Err(BuildError::new("total", "`response` and `total` exclude each other")),
    };
    let gap = values.time_dist("gap");
    let arrival = match values.opt_float("rate") {
        Some(_) if gap != TimeDist::Const(Time::ZERO) => {
            return Err(BuildError::new("gap", "is for closed loops; leave out either this or `rate`"));
        }
        Some(per_sec) => Arrival::Rate(per_sec),
        None => Arrival::Gap(gap.clone()),
    };
    let count = values.opt_int("count").map(|n| n as u32);
    let (start, stop, jitter) = (values.time("start"), values.opt_time("stop"), values.time("jitter"));
    times::stops_later(start, stop)?;
    must_end(context, count.is_some() || stop.is_some(), "count")?;
    let request = request(values)?;
    let latency = values.opt_time("request-latency").unwrap_or(Time::ZERO);
    let per_query = gap.longest().saturating_add(jitter).saturating_add(latency);
    times::repeats_fit("gap", context, start, per_query, count)?;
    let deadline = deadline(values)?;
    Ok(WorkloadKind::Queries { aggregators, workers, fan_out, response, arrival, count, start, stop, request, jitter, deadline })
}

fn distinct(hosts: &[NodeId], key: &'static str, context: &Context<'_>) -> Result<BTreeSet<NodeId>, BuildError> {
    let mut seen = BTreeSet::new();
    match hosts.iter().find(|h| !seen.insert(**h)) {
        Some(&h) => Err(BuildError::new(key, format!("host `{}` is listed more than once", name(context, h)))),
        None => Ok(seen),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;
    use forebay_types::Bytes;
    use forebay_types::SizeDist;
    use forebay_types::param::Value;

    fn response() -> (&'static str, Value) {
        ("response", Value::SizeDist(SizeDist::Const(2_000)))
    }

    #[test]
    fn all_hosts_query_all_others() {
        let fan_out = |w: &World, given: &[(&'static str, Value)]| match w.build("queries", given).unwrap() {
            WorkloadKind::Queries { aggregators, workers, fan_out, .. } => (aggregators.len(), workers.len(), fan_out),
            other => panic!("{other:?}"),
        };
        assert_eq!(fan_out(&World::racks(), &[response()]), (12, 12, 11));
        assert_eq!(fan_out(&World::many_to_one(40), &[("total", Value::Bytes(Bytes(1_000_000)))]), (1, 40, 40));
        assert_eq!(fan_out(&World::many_to_one(40), &[response(), ("fan-out", Value::Int(7))]), (1, 40, 7));
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let mut w = World::racks();
        let hosts = |key: &'static str, h: &[NodeId]| (key, Value::Hosts(h.to_vec()));
        let with = |more: &[(&'static str, Value)]| [&[response()], more].concat();
        assert_eq!(w.refused("queries", &[]), "response");
        assert_eq!(w.refused("queries", &with(&[("total", Value::Bytes(Bytes(9)))])), "total");
        assert_eq!(w.refused("queries", &[("total", Value::Bytes(Bytes(0)))]), "total");
        assert_eq!(w.refused("queries", &with(&[("fan-out", Value::Int(12))])), "fan-out");
        assert_eq!(
            w.refused("queries", &with(&[hosts("aggregators", &[NodeId::new(0)]), hosts("workers", &[NodeId::new(0)])])),
            "workers"
        );
        assert_eq!(w.refused("queries", &with(&[hosts("aggregators", &[NodeId::new(0), NodeId::new(0)])])), "aggregators");
        assert_eq!(
            w.refused("queries", &with(&[hosts("workers", &[NodeId::new(1), NodeId::new(2), NodeId::new(1)])])),
            "workers"
        );
        let partly = [
            hosts("aggregators", &[NodeId::new(0), NodeId::new(1)]),
            hosts("workers", &[NodeId::new(1), NodeId::new(2), NodeId::new(3)]),
        ];
        assert_eq!(w.refused("queries", &with(&partly)), "fan-out");
        assert!(w.build("queries", &with(&[&partly[..], &[("fan-out", Value::Int(2))]].concat())).is_ok());
        let ms = |key: &'static str, n| (key, Value::Time(Time::from_ms(n)));
        assert_eq!(w.refused("queries", &with(&[ms("start", 5), ms("stop", 5)])), "stop");
        let gap = ("gap", Value::TimeDist(TimeDist::Const(Time::from_ms(1))));
        assert_eq!(w.refused("queries", &with(&[gap, ("rate", Value::Float(50.0))])), "gap");
        w.duration = None;
        assert_eq!(w.refused("queries", &with(&[])), "count");
        assert!(w.build("queries", &with(&[ms("stop", 5)])).is_ok());
    }
}
