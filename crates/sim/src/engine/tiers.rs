//! Which nodes may be worked off side by side within a window, and whether that pays.
//!
//! A large network does not fit into the caches, and a node that waits for its memory cannot go on with something else. So nodes of one tier
//! are taken some at a time, and each step of all of them comes before the next: the memory that a step needs has been asked for in the step
//! before. It must not matter that packets are taken out of rings at one switch before another has added to its own, so no two of them are
//! neighbours: switches at the same distance from hosts mostly are not.

use super::node_set::NodeSet;
use forebay_experiment::network::Network;
#[cfg(doc)]
use forebay_experiment::topology::Fib;
use forebay_units::{IndexVec, NodeId};

/// Nodes that are taken at a time.
pub(super) const GROUP: usize = 8;

/// Networks with fewer ports are left alone: k = 8 (768 ports) is no faster in groups, k = 16 (6 144) is.
const MANY_PORTS: usize = 2_048;
/// So that every wide network is run in groups: what runs nodes one by one need not know of those ([`Fib::is_wide`]).
const _: () = assert!(MANY_PORTS < 1 << 16);

/// The distance from hosts, if nodes at it may be taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tier(u8);

impl Tier {
    /// That of hosts.
    pub(super) const HOSTS: Tier = Tier(0);
    /// That of switches which are taken one by one: they are special, or have a neighbour at the same distance.
    pub(super) const ALONE: Tier = Tier(u8::MAX);
}

/// The tier of each node; `None` where groups do not pay.
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

/// Takes the next nodes of one tier out of `bits`, those of word `word` of a bitmap of nodes: at least one.
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
