//! Workload `incast`: barrier-synchronized blocks, which one receiver requests from many senders at once.

use super::deadline::{QUERY_DEADLINE, deadline_of_all};
use super::pairs::{group, name};
use super::request::{REQUEST, REQUEST_LATENCY, TWO_WAY, request};
use super::{BuildError, Context, WorkloadEntry, must_end, times};
use crate::traffic::WorkloadKind;
use forebay_types::param::{Entry, Kind, Values, optional};
use forebay_types::{NodeId, Time};

pub(crate) const ENTRY: WorkloadEntry = WorkloadEntry {
    entry: Entry {
        name: "incast",
        summary: "a receiver requests a block from every sender and the next round when all blocks have arrived",
        params: &[
            optional(
                "senders",
                Kind::Hosts,
                "",
                "sending hosts, one persistent connection each; also `from`. Default: the topology's group `senders`",
            ),
            optional("receiver", Kind::Hosts, "", "the one receiving host; also `to`. Default: the topology's group `receiver`"),
            optional("block", Kind::Bytes, "", "payload bytes that each sender sends in a round; either this or `total`"),
            optional(
                "total",
                Kind::Bytes,
                "",
                "payload bytes of a round, divided equally over the senders (rounded up to whole bytes each); either this or `block`",
            ),
            optional("rounds", Kind::Int(1, 4_294_967_295), "", "number of rounds. Default: until the end of simulated time"),
            optional("start", Kind::Time, "0s", "time of the first request"),
            optional("gap", Kind::Time, "0s", "pause between the completion of a round and the next request"),
            REQUEST,
            REQUEST_LATENCY,
            TWO_WAY,
            optional(
                "jitter",
                Kind::Time,
                "0s",
                "processing time of a request at a sender, uniform between 0 and this, drawn per sender and round",
            ),
            QUERY_DEADLINE,
        ],
    },
    transport: true,
    build,
};

fn build(values: &Values, context: &Context<'_>) -> Result<WorkloadKind, BuildError> {
    let senders = hosts(values, context, "senders")?;
    let receiver = match hosts(values, context, "receiver")?[..] {
        [one] => one,
        ref several => return Err(BuildError::new("receiver", format!("names {} hosts; exactly one is needed", several.len()))),
    };
    if senders.contains(&receiver) {
        return Err(BuildError::new("receiver", format!("host `{}` is among the senders too", name(context, receiver))));
    }
    let bytes = |key| values.opt_bytes(key).map(|b| b.0);
    let (key, block) = match (bytes("block"), bytes("total")) {
        (Some(block), None) => ("block", block),
        (None, Some(total)) => ("total", total.div_ceil(senders.len() as u64)),
        (None, None) => return Err(BuildError::new("block", "set `block` (bytes per sender) or `total` (bytes per round)")),
        (Some(_), Some(_)) => return Err(BuildError::new("total", "`block` and `total` exclude each other")),
    };
    if block == 0 {
        return Err(BuildError::new(key, "a block has at least 1B"));
    }
    let rounds = values.opt_int("rounds").map(|n| n as u32);
    must_end(context, rounds.is_some(), "rounds")?;
    let [start, gap, jitter] = ["start", "gap", "jitter"].map(|k| values.time(k));
    let request = request(values)?;
    let per_round = gap.saturating_add(jitter).saturating_add(values.opt_time("request-latency").unwrap_or(Time::ZERO));
    times::repeats_fit("gap", context, start, per_round, rounds)?;
    let deadline = deadline_of_all(values)?;
    Ok(WorkloadKind::Incast { senders, receiver, block, rounds, start, gap, request, jitter, deadline })
}

fn hosts(values: &Values, context: &Context<'_>, key: &'static str) -> Result<Vec<NodeId>, BuildError> {
    match values.opt_hosts(key).or_else(|| group(context, &[key])) {
        Some(hosts) if !hosts.is_empty() => Ok(hosts),
        Some(_) => Err(BuildError::new(key, "no hosts; at least one is needed")),
        None => Err(BuildError::new(key, format!("this topology has no group `{key}`; name the hosts"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;
    use forebay_types::Bytes;
    use forebay_types::param::Value;

    fn bytes(n: u64) -> Value {
        Value::Bytes(Bytes(n))
    }

    #[test]
    fn block_or_total() {
        let w = World::many_to_one(40);
        let block = |given: &[(&'static str, Value)]| match w.build("incast", given).unwrap() {
            WorkloadKind::Incast { block, senders, receiver, .. } => (block, senders.len(), receiver),
            other => panic!("{other:?}"),
        };
        assert_eq!(block(&[("block", bytes(256_000))]), (256_000, 40, NodeId::new(40)));
        assert_eq!(block(&[("total", bytes(1_000_000))]), (25_000, 40, NodeId::new(40)));
        assert_eq!(block(&[("total", bytes(41))]), (2, 40, NodeId::new(40)));
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let mut w = World::many_to_one(4);
        let block = ("block", bytes(1));
        assert_eq!(w.refused("incast", &[]), "block");
        assert_eq!(w.refused("incast", &[block.clone(), ("total", bytes(1))]), "total");
        assert_eq!(w.refused("incast", &[("total", bytes(0))]), "total");
        assert_eq!(w.refused("incast", &[("block", bytes(0))]), "block");
        assert_eq!(w.refused("incast", &[block.clone(), ("receiver", Value::Hosts(vec![NodeId::new(1)]))]), "receiver");
        assert_eq!(
            w.refused("incast", &[block.clone(), ("receiver", Value::Hosts(vec![NodeId::new(0), NodeId::new(4)]))]),
            "receiver"
        );
        assert_eq!(w.refused("incast", &[block.clone(), ("senders", Value::Hosts(vec![]))]), "senders");
        assert_eq!(World::racks().refused("incast", std::slice::from_ref(&block)), "senders");
        w.duration = None;
        assert_eq!(w.refused("incast", std::slice::from_ref(&block)), "rounds");
        assert!(w.build("incast", &[block, ("rounds", Value::Int(5))]).is_ok());
    }
}
