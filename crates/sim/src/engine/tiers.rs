//! Groups of nodes that run side by side within a window, in networks that exceed the caches.
//!
//! Nodes of one tier are run some at a time, step by step: the memory for a step is prefetched in the step before. Two nodes of a group must not be
//! neighbors, because packets are taken from rings at one switch before another has added to its own. Switches at the same distance from hosts are
//! usually not neighbors.

use super::node_set::NodeSet;
use forebay_experiment::network::Network;
#[cfg(doc)]
use forebay_experiment::topology::Fib;
use forebay_types::{IndexVec, NodeId};

/// Nodes in a group.
pub(super) const GROUP: usize = 8;

/// Minimum number of ports: k = 8 (768 ports) is no faster in groups, k = 16 (6 144) is.
const MANY_PORTS: usize = 2_048;
/// Every wide network runs in groups, so that the code for single nodes need not handle wide ones ([`Fib::is_wide`]).
const _: () = assert!(MANY_PORTS < 1 << 16);

/// Distance from hosts of nodes that may run in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tier(u8);

impl Tier {
    /// Tier of hosts.
    pub(super) const HOSTS: Tier = Tier(0);
    /// Tier of switches that run alone: special ones, and those with a neighbor at the same distance.
    pub(super) const ALONE: Tier = Tier(u8::MAX);
}

/// The tier of each node; `None` where groups are not faster.
pub(super) fn tiers(network: &Network, special: impl Fn(NodeId) -> bool) -> Option<IndexVec<NodeId, Tier>> {
    (network.ports.len() >= MANY_PORTS).then(|| distances(network, special))
}

fn distances(network: &Network, special: impl Fn(NodeId) -> bool) -> IndexVec<NodeId, Tier> {
    let of = |host| if host { Tier::HOSTS } else { Tier::ALONE };
    let mut tiers: IndexVec<NodeId, Tier> = network.nodes.iter().map(|n| of(n.host)).collect();
    for distance in 1..Tier::ALONE.0 {
        let mut farther = false;
        for p in &network.ports {
            if tiers[p.from] == Tier(distance - 1) && tiers[p.to].0 > distance {
                tiers[p.to] = Tier(distance);
                farther = true;
            }
        }
        if !farther {
            break;
        }
    }
    let level: Vec<Tier> = network.ports.iter().filter(|p| tiers[p.from] == tiers[p.to]).map(|p| tiers[p.from]).collect();
    for node in network.nodes.ids() {
        if tiers[node] != Tier::HOSTS && (special(node) || level.contains(&tiers[node])) {
            tiers[node] = Tier::ALONE;
        }
    }
    tiers
}

/// Removes the next nodes of one tier from `bits`, the nodes of word `word` of a bitmap: at least one.
#[inline]
pub(super) fn take_group(tiers: &IndexVec<NodeId, Tier>, word: usize, bits: &mut u64) -> (NodeSet, Tier) {
    let (all, mut count, mut tier) = (*bits, 0, Tier::ALONE);
    while *bits != 0 && count < GROUP {
        let node = NodeId::new((word as u32) << 6 | bits.trailing_zeros());
        if count == 0 {
            tier = tiers[node];
        } else if tiers[node] != tier {
            break;
        }
        *bits &= *bits - 1;
        count += 1;
    }
    (NodeSet::new(word, all & !*bits), tier)
}
