//! Workload `requests`: closed loop of requests and responses, both over the network.

use super::deadline::{DEADLINE_MAX_SIZE, QUERY_DEADLINE, deadline};
use super::pairs::{PATTERN, PATTERN_SEED, PER_PAIR, pairs};
use super::request::TWO_WAY;
use super::times::repeats_fit;
use super::{BuildError, Context, WorkloadEntry, must_end};
use crate::traffic::WorkloadKind;
use forebay_types::param::{Entry, Kind, Values, optional, required};

pub(crate) const ENTRY: WorkloadEntry = WorkloadEntry {
    entry: Entry {
        name: "requests",
        summary: "clients send requests over the network, servers answer, and clients repeat after a think time",
        params: &[
            optional(
                "clients",
                Kind::Hosts,
                "",
                "requesting hosts; also `from`. Default: the topology's group `senders`, else `left`, else all hosts",
            ),
            optional(
                "servers",
                Kind::Hosts,
                "",
                "hosts that answer; also `to`. Default: the topology's group `receiver`, else `right`, else all hosts",
            ),
            PATTERN,
            PATTERN_SEED,
            PER_PAIR,
            optional("request", Kind::SizeDist, "100B", "payload bytes of a request"),
            required("response", Kind::SizeDist, "payload bytes of a response"),
            optional("think", Kind::TimeDist, "0s", "think time of a client between the end of a response and its next request"),
            optional("count", Kind::Int(1, 4_294_967_295), "", "requests of each pair. Default: until the end of simulated time"),
            optional("start", Kind::Time, "0s", "time of the first request"),
            TWO_WAY,
            QUERY_DEADLINE,
            DEADLINE_MAX_SIZE,
        ],
    },
    transport: true,
    build,
};

fn build(values: &Values, context: &Context<'_>) -> Result<WorkloadKind, BuildError> {
    let pairs = pairs(values, context, "clients", "servers")?;
    let count = values.opt_int("count").map(|n| n as u32);
    must_end(context, count.is_some(), "count")?;
    let start = values.time("start");
    let think = values.time_dist("think");
    repeats_fit("think", context, start, think.longest(), count)?;
    Ok(WorkloadKind::Requests {
        pairs,
        request: values.size_dist("request"),
        response: values.size_dist("response"),
        think,
        count,
        start,
        deadline: deadline(values)?,
        two_way: values.bool(TWO_WAY.key),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;
    use forebay_types::Time;
    use forebay_types::param::Value;
    use forebay_types::{SizeDist, TimeDist};

    #[test]
    fn builds() {
        let mut w = World::many_to_one(3);
        let response = ("response", Value::SizeDist(SizeDist::Const(64_000)));
        let many = [response.clone(), ("per-pair", Value::Int(25)), ("count", Value::Int(64))];
        match w.build("requests", &many).unwrap() {
            WorkloadKind::Requests { pairs, request, think, count, .. } => {
                assert_eq!((pairs.len(), count), (75, Some(64)));
                assert_eq!((request, think), (SizeDist::Const(100), TimeDist::Const(Time::ZERO)));
            }
            other => panic!("{other:?}"),
        }
        let long = ("think", Value::TimeDist(TimeDist::Exponential(Time::NEVER)));
        assert_eq!(w.refused("requests", &[response.clone(), long]), "think");
        w.duration = None;
        assert_eq!(w.refused("requests", &[response]), "count");
    }
}
