//! Pairs of sending and receiving hosts: hosts of the scenario, or default groups of the topology, combined by a pattern.

use super::{BuildError, Context};
use crate::pattern::{Pairs, Pattern, PatternKind};
use crate::topology::{self};
use forebay_types::NodeId;
use forebay_types::param::{Kind, Param, Values, optional};

/// Maximum number of pairs of a workload; each is a connection with its own state.
const MAX_PAIRS: u64 = 10_000_000;

/// Sending hosts.
pub(super) const FROM: Param =
    optional("from", Kind::Hosts, "", "sending hosts. Default: the topology's group `senders`, else `left`, else all hosts");
/// Receiving hosts.
pub(super) const TO: Param =
    optional("to", Kind::Hosts, "", "receiving hosts. Default: the topology's group `receiver`, else `right`, else all hosts");

/// Pattern that combines sources and destinations.
pub(super) const PATTERN: Param = optional(
    "pattern",
    Kind::Choice(&["pairwise", "permutation", "all-to-one", "all-pairs", "other-rack", "each-other-rack"]),
    "pairwise",
    "`pairwise`: the i-th source to the i-th destination (one of the lists may be a single host). `permutation`: a random one-to-one \
     assignment in which no host sends to itself. `all-to-one`: every source to the only destination. `all-pairs`: every source to every \
     other destination. `other-rack`: every source to a random destination at another switch. `each-other-rack`: every source to one random \
     destination at each other switch",
);
/// Seed of random patterns, for repeated runs with equal pairs.
pub(super) const PATTERN_SEED: Param = optional(
    "pattern-seed",
    Kind::Int(0, i64::MAX),
    "",
    "seed of the random patterns, for the same pairs in every run. Default: the seed of the run",
);
/// Parallel connections.
pub(super) const PER_PAIR: Param = optional("per-pair", Kind::Int(1, 100_000), "1", "parallel connections of each pair");

/// Hosts of parameter `key`, or else of the first group in `groups` that the topology has, or else all hosts.
pub(super) fn hosts_or_group(
    values: &Values,
    key: &'static str,
    context: &Context<'_>,
    groups: &[&str],
) -> Result<Vec<NodeId>, BuildError> {
    let hosts = match values.opt_hosts(key) {
        Some(hosts) => hosts,
        None => group(context, groups).unwrap_or_else(|| topology::hosts(context.network)),
    };
    if hosts.is_empty() {
        return Err(BuildError::new(key, "no hosts; at least one is needed"));
    }
    Ok(hosts)
}

/// First of `names` that is a group of the topology.
pub(super) fn group(context: &Context<'_>, names: &[&str]) -> Option<Vec<NodeId>> {
    names.iter().find_map(|name| context.network.host_groups.iter().find(|(n, _)| n == name)).map(|(_, hosts)| hosts.clone())
}

/// Name of a node for messages.
pub(super) fn name<'a>(context: &Context<'a>, node: NodeId) -> &'a str {
    context.network.nodes.get(node).map_or("?", |n| &n.name)
}

/// Pairs of the hosts `from_key` and `to_key` by `pattern`, each `per-pair` times in a row.
pub(super) fn pairs(
    values: &Values,
    context: &Context<'_>,
    from_key: &'static str,
    to_key: &'static str,
) -> Result<Pairs, BuildError> {
    let from = hosts_or_group(values, from_key, context, &["senders", "left"])?;
    let to = hosts_or_group(values, to_key, context, &["receiver", "right"])?;
    let pattern = values.text(PATTERN.key);
    let repeat = values.int(PER_PAIR.key) as u64;
    let random = match pattern.as_str() {
        "permutation" => Some(PatternKind::Permutation),
        "other-rack" => Some(PatternKind::OtherRack),
        "each-other-rack" => Some(PatternKind::EachOtherRack),
        _ => None,
    };
    let random = random.map(|kind| Pattern {
        kind,
        from: from.clone(),
        to: to.clone(),
        racks: topology::racks(context.network),
        per_pair: repeat as usize,
    });
    let count = match (&random, pattern.as_str()) {
        (Some(random), "each-other-rack") => from.len() * random.racks_of_destinations(),
        (_, "all-pairs") => from.len() * to.len(),
        _ => from.len().max(to.len()),
    } as u64
        * repeat;
    if count > MAX_PAIRS {
        return Err(BuildError::new(PATTERN.key, format!("makes {count} connections; at most {MAX_PAIRS} are supported")));
    }
    let pairs = match random {
        Some(random) => drawn(values, context, random, to_key)?,
        None => {
            let base = listed(&pattern, (&from, &to), to_key)?;
            base.into_iter().flat_map(|pair| std::iter::repeat_n(pair, repeat as usize)).collect::<Vec<_>>().into()
        }
    };
    if let Some((host, _)) = pairs.iter().find(|(f, t)| f == t) {
        return Err(BuildError::new(
            to_key,
            format!("host `{}` would send to itself; use other hosts or another `{}`", name(context, *host), PATTERN.key),
        ));
    }
    if pairs.is_empty() {
        return Err(BuildError::new(to_key, "no pair of different hosts is left"));
    }
    Ok(pairs)
}

/// Pairs of a pattern without random numbers.
fn listed(pattern: &str, (from, to): (&[NodeId], &[NodeId]), to_key: &'static str) -> Result<Vec<(NodeId, NodeId)>, BuildError> {
    match (pattern, from, to) {
        ("all-to-one", _, [one]) => Ok(from.iter().map(|&f| (f, *one)).collect()),
        ("all-to-one", ..) => {
            Err(BuildError::new(to_key, format!("`all-to-one` needs exactly one destination, not {}", to.len())))
        }
        ("all-pairs", ..) => Ok(from.iter().flat_map(|&f| to.iter().map(move |&t| (f, t))).filter(|(f, t)| f != t).collect()),
        (_, _, [one]) => Ok(from.iter().map(|&f| (f, *one)).collect()),
        (_, [one], _) => Ok(to.iter().map(|&t| (*one, t)).collect()),
        _ if from.len() == to.len() => Ok(from.iter().copied().zip(to.iter().copied()).collect()),
        _ => Err(BuildError::new(
            to_key,
            format!(
                "`pairwise` needs equal numbers of hosts, or a single one on a side, not {} and {}; `all-pairs` connects each of the \
                 first with each of the second",
                from.len(),
                to.len()
            ),
        )),
    }
}

/// Pairs of a random pattern: fixed by `pattern-seed`, otherwise drawn for each run.
fn drawn(values: &Values, context: &Context<'_>, pattern: Pattern, to_key: &'static str) -> Result<Pairs, BuildError> {
    let (from, to) = (pattern.from.len(), pattern.to.len());
    match pattern.kind {
        PatternKind::Permutation if from != to => {
            let reason = format!("`permutation` needs as many destinations as sources, not {to} for {from}");
            return Err(BuildError::new(to_key, reason));
        }
        PatternKind::OtherRack => {
            if let Some(host) = pattern.isolated() {
                let reason = format!("host `{}` has no destination at another switch", name(context, host));
                return Err(BuildError::new(to_key, reason));
            }
        }
        PatternKind::Permutation | PatternKind::EachOtherRack => {}
    }
    let given = values.opt_int(PATTERN_SEED.key).map(i64::cast_unsigned);
    let pairs = Pairs::drawn(pattern, given.unwrap_or(context.seed)).ok_or_else(|| {
        let reason = "found no permutation in which no host sends to itself; at least two different hosts are needed";
        BuildError::new(to_key, reason)
    })?;
    Ok(if given.is_some() { pairs.fixed() } else { pairs })
}

#[cfg(test)]
mod tests {
    use super::super::{find, testing};
    use super::*;
    use forebay_types::param::Value;
    use std::collections::BTreeSet;

    fn try_pairs(given: &[(&'static str, Value)]) -> Result<Vec<(NodeId, NodeId)>, BuildError> {
        let world = testing::World::racks();
        let values = topology::testing::values(find("long").unwrap().entry, given);
        pairs(&values, &world.context(), "from", "to").map(|pairs| pairs.to_vec())
    }

    fn hosts(h: &[NodeId]) -> Value {
        Value::Hosts(h.to_vec())
    }

    fn pattern(p: &str) -> (&'static str, Value) {
        ("pattern", Value::Text(p.into()))
    }

    #[test]
    fn patterns() {
        let (a, b) = (("from", hosts(&[NodeId::new(0), NodeId::new(1)])), ("to", hosts(&[NodeId::new(2), NodeId::new(3)])));
        assert_eq!(
            try_pairs(&[a.clone(), b.clone()]).unwrap(),
            [(NodeId::new(0), NodeId::new(2)), (NodeId::new(1), NodeId::new(3))]
        );
        assert_eq!(
            try_pairs(&[a.clone(), ("to", hosts(&[NodeId::new(2)]))]).unwrap(),
            [(NodeId::new(0), NodeId::new(2)), (NodeId::new(1), NodeId::new(2))]
        );
        assert_eq!(
            try_pairs(&[("from", hosts(&[NodeId::new(0)])), b.clone()]).unwrap(),
            [(NodeId::new(0), NodeId::new(2)), (NodeId::new(0), NodeId::new(3))]
        );
        assert_eq!(
            try_pairs(&[a.clone(), ("to", hosts(&[NodeId::new(2)])), pattern("all-to-one")]).unwrap(),
            [(NodeId::new(0), NodeId::new(2)), (NodeId::new(1), NodeId::new(2))]
        );
        let all = try_pairs(&[a.clone(), ("to", hosts(&[NodeId::new(1), NodeId::new(2)])), pattern("all-pairs")]).unwrap();
        assert_eq!(all, [(NodeId::new(0), NodeId::new(1)), (NodeId::new(0), NodeId::new(2)), (NodeId::new(1), NodeId::new(2))]);
        let twice = try_pairs(&[a, b, ("per-pair", Value::Int(2))]).unwrap();
        assert_eq!(
            twice,
            [
                (NodeId::new(0), NodeId::new(2)),
                (NodeId::new(0), NodeId::new(2)),
                (NodeId::new(1), NodeId::new(3)),
                (NodeId::new(1), NodeId::new(3))
            ]
        );
    }

    #[test]
    fn permutation_is_seeded() {
        let draw = |seed| try_pairs(&[pattern("permutation"), ("pattern-seed", Value::Int(seed))]).unwrap();
        let p = draw(1);
        assert_eq!(p.len(), 12);
        assert!(p.iter().all(|(f, t)| f != t));
        let mut to: Vec<_> = p.iter().map(|x| x.1).collect();
        to.sort_unstable();
        assert_eq!(to, (0..12).map(NodeId::new).collect::<Vec<_>>());
        assert_eq!(p, draw(1));
        assert_ne!(p, draw(2));
    }

    #[test]
    fn pattern_follows_the_run_unless_fixed() {
        let world = testing::World::racks();
        let drawn = |given: &[(&'static str, Value)], run: u64| {
            let values = topology::testing::values(find("long").unwrap().entry, given);
            let mut pairs = pairs(&values, &Context { seed: 1, ..world.context() }, "from", "to").unwrap();
            pairs.draw(run);
            pairs.to_vec()
        };
        let (free, fixed) = ([pattern("permutation")], [pattern("permutation"), ("pattern-seed", Value::Int(1))]);
        assert_eq!(drawn(&free, 1), drawn(&fixed, 1));
        assert_ne!(drawn(&free, 1), drawn(&free, 2));
        assert_eq!(drawn(&fixed, 1), drawn(&fixed, 2));
    }

    /// Three racks of four.
    #[test]
    fn partners_in_other_racks() {
        let seeded = |p, seed| try_pairs(&[pattern(p), ("pattern-seed", Value::Int(seed))]).unwrap();
        let one = seeded("other-rack", 1);
        assert_eq!(one.iter().map(|p| p.0).collect::<Vec<_>>(), (0..12).map(NodeId::new).collect::<Vec<_>>());
        assert!(one.iter().all(|(f, t)| f.get() / 4 != t.get() / 4));
        assert_ne!(one, seeded("other-rack", 2));
        // All eight hosts of the other racks are reached.
        let reached: BTreeSet<_> = (0..100).map(|seed| seeded("other-rack", seed)[0].1).collect();
        assert_eq!(reached, (4..12).map(NodeId::new).collect());
        let each = seeded("each-other-rack", 1);
        assert_eq!(each.len(), 24);
        for f in 0..12 {
            let racks: Vec<_> = each.iter().filter(|p| p.0 == NodeId::new(f)).map(|p| p.1.get() / 4).collect();
            assert_eq!(racks, (0..3).filter(|r| *r != f / 4).collect::<Vec<_>>());
        }
        let own = [
            ("from", hosts(&[NodeId::new(0), NodeId::new(1)])),
            ("to", hosts(&[NodeId::new(2), NodeId::new(3)])),
            pattern("other-rack"),
        ];
        assert_eq!(try_pairs(&own).unwrap_err().key, "to");
        let own = [
            ("from", hosts(&[NodeId::new(0), NodeId::new(1)])),
            ("to", hosts(&[NodeId::new(2), NodeId::new(3)])),
            pattern("each-other-rack"),
        ];
        assert_eq!(try_pairs(&own).unwrap_err().key, "to");
    }

    #[test]
    fn impossible_pairs_are_refused() {
        let (one, two, three) = (
            hosts(&[NodeId::new(0)]),
            hosts(&[NodeId::new(1), NodeId::new(2)]),
            hosts(&[NodeId::new(3), NodeId::new(4), NodeId::new(5)]),
        );
        let bad: [&[(&'static str, Value)]; 7] = [
            &[("from", two.clone()), ("to", three.clone())],
            &[("from", two.clone()), ("to", three.clone()), pattern("permutation")],
            &[("from", one.clone()), ("to", two.clone()), pattern("all-to-one")],
            &[("from", one.clone()), ("to", one.clone())],
            &[("from", one.clone()), ("to", one.clone()), pattern("permutation")],
            &[("from", hosts(&[])), ("to", one.clone())],
            &[("from", one.clone()), ("to", one), pattern("all-pairs")],
        ];
        for given in bad {
            assert!(try_pairs(given).is_err(), "{given:?}");
        }
        let many = [("from", two), ("to", three), pattern("all-pairs"), ("per-pair", Value::Int(100_000))];
        assert!(try_pairs(&many).is_ok());
        let e = try_pairs(&[pattern("all-pairs"), ("per-pair", Value::Int(100_000))]).unwrap_err();
        assert_eq!(e.key, "pattern");
    }
}
