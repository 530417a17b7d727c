//! Division of the nodes among the partitions of a run.
//!
//! Hosts are in the partition of their switch, and neighboring racks are in one partition if the number of partitions allows. Every other switch joins
//! the partition to which most of its links lead; among nearly equal ones, the one with the least work. So whole pods of a fat tree stay together, and
//! only links between aggregation and core are cut. In a leaf-spine with nine racks, one of two partitions has five racks, and the other most spines.

use forebay_experiment::network::Network;
use forebay_types::{IndexVec, NodeId};
use std::collections::BTreeMap;

/// Links to another partition count as nearly equal from this percentage of the links to the best partition.
const NEARLY_EQUAL_PERCENT: usize = 50;

/// Assigns each node to one of `parts` partitions. The work of a node is the capacity of its links: a host takes about as long for a packet sent and
/// one received as a switch for one forwarded. (Measured: 0.95 times in a leaf-spine, 1.1 times in a fat tree with k = 16.)
pub(super) fn partition(network: &Network, parts: usize) -> IndexVec<NodeId, u16> {
    let mut part: IndexVec<NodeId, Option<u16>> = IndexVec::repeat(None, network.nodes.len());
    let mut load = vec![0; parts];
    let mut links: IndexVec<NodeId, Vec<NodeId>> = IndexVec::repeat(Vec::new(), network.nodes.len());
    let mut work: IndexVec<NodeId, u64> = IndexVec::repeat(0, network.nodes.len());
    for p in &network.ports {
        links[p.from].push(p.to);
        work[p.from] += p.rate.0;
    }
    // Racks in the order of their switches.
    let mut racks: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for host in network.nodes.ids().filter(|n| network.nodes[*n].host) {
        racks.entry(links[host].first().copied().unwrap_or(host)).or_default().push(host);
    }
    let whole_racks = racks.len() >= parts;
    let units: Vec<&[NodeId]> = racks.values().flat_map(|rack| rack.chunks(if whole_racks { rack.len() } else { 1 })).collect();
    let total: u64 = units.iter().map(|u| u.len() as u64).sum();
    let mut before = 0;
    for unit in units {
        let count = unit.len() as u64;
        let own = ((2 * before + count) * parts as u64 / (2 * total.max(1))).min(parts as u64 - 1);
        for &host in unit {
            part[host] = Some(own as u16);
            load[own as usize] += work[host];
        }
        before += count;
    }
    // Switches with neighbors in a partition come first.
    let mut rest: Vec<NodeId> = network.nodes.ids().filter(|n| part[*n].is_none()).collect();
    while !rest.is_empty() {
        let known = part.clone();
        let (near, far): (Vec<NodeId>, Vec<NodeId>) = rest.iter().partition(|n| links[**n].iter().any(|to| known[*to].is_some()));
        // Switches that no host can reach.
        let near = if near.is_empty() { rest.clone() } else { near };
        for &node in &near {
            let mut to = vec![0; parts];
            links[node].iter().filter_map(|n| known[*n]).for_each(|p| to[usize::from(p)] += 1);
            let most = to.iter().max().copied().unwrap_or_default();
            let own =
                (0..parts).filter(|&p| 100 * to[p] >= NEARLY_EQUAL_PERCENT * most).min_by_key(|&p| load[p]).unwrap_or_default();
            part[node] = Some(own as u16);
            load[own] += work[node];
        }
        rest = if near.len() == rest.len() { Vec::new() } else { far };
    }
    part.iter().map(|p| p.unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_experiment::network::{Network, Node, PortConfig};
    use forebay_queues::{FifoDiscipline, Queue};
    use forebay_types::{Rate, Time};

    /// A network of `hosts` hosts, then switches; links in both directions.
    fn network(hosts: usize, switches: usize, links: &[(u32, u32)]) -> Network {
        let mut network = Network::default();
        for i in 0..hosts + switches {
            network.nodes.push(Node { name: i.to_string(), host: i < hosts, shared_buffer: None });
        }
        for (a, b) in links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]) {
            network.ports.push(PortConfig {
                from: NodeId::new(a),
                to: NodeId::new(b),
                rate: Rate(1_000_000_000),
                delay: Time(1_000_000),
                buffer: None,
                queue: Queue::Fifo(FifoDiscipline::default()),
                queue_config: Default::default(),
            });
        }
        network
    }

    /// Four racks of three hosts (switches 12 to 15) and two spines.
    fn racks() -> Network {
        let hosts = (0..12).map(|h| (h, 12 + h / 3));
        let spines = (12..16).flat_map(|leaf| [(leaf, 16), (leaf, 17)]);
        network(12, 6, &hosts.chain(spines).collect::<Vec<_>>())
    }

    #[test]
    fn racks_stay_together_spines_split() {
        let parts: Vec<u16> = partition(&racks(), 2).iter().copied().collect();
        assert_eq!(parts, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1]);
    }

    /// Nine racks of four hosts and four spines: the partition with four racks has three of the spines.
    #[test]
    fn spines_balance_a_missing_rack() {
        let hosts = (0..36).map(|h| (h, 36 + h / 4));
        let spines = (36..45).flat_map(|leaf| (45..49).map(move |spine| (leaf, spine)));
        let parts = partition(&network(36, 13, &hosts.chain(spines).collect::<Vec<_>>()), 2);
        let of = |nodes: std::ops::Range<u32>| nodes.map(|n| usize::from(parts[NodeId::new(n)])).sum::<usize>();
        assert_eq!((of(36..45), of(45..49)), (5, 1));
    }

    #[test]
    fn more_partitions_than_nodes_are_legal() {
        for parts in [1, 3, 5, 12, 40] {
            let part = partition(&racks(), parts);
            assert!(part.iter().all(|p| usize::from(*p) < parts), "{part:?}");
            let used: std::collections::BTreeSet<u16> = part.iter().copied().collect();
            assert_eq!(used.len(), parts.min(12).max(if parts > 12 { 12 } else { 1 }), "{part:?}");
        }
        // A switch without incoming links.
        assert_eq!(partition(&network(2, 2, &[(0, 2), (1, 2)]), 2).iter().copied().collect::<Vec<_>>(), [0, 1, 0, 1]);
    }
}
