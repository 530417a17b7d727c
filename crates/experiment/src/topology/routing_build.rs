//! Inputs of forwarding tables: the neighbors of switches, and sets of equal-cost ports. Equal sets are stored once.

use super::route_error::{MAX_CHOICES, RouteError};
use crate::network::Network;
use forebay_types::{NodeId, PortId};
use std::collections::HashMap;

/// Replacement of the ports `before` by the remaining ports `left`, a subset of them (resilient hashing, as in switches). Each port has an equal
/// share of the hash values. Only the shares of missing ports are divided among the remaining ones, so that no other flow moves. `None` if nothing is
/// to be kept.
///
/// Our choice: a share is cut into as many pieces as there are ports left, or fewer if an entry has no room.
pub(super) fn spread(before: &[PortId], left: &[PortId]) -> Option<Vec<PortId>> {
    if left.len() >= before.len() || !left.iter().all(|port| before.contains(port)) {
        return None;
    }
    let pieces = left.len().min(MAX_CHOICES / before.len());
    let mut others = left.iter().cycle();
    let mut slots = Vec::with_capacity(pieces * before.len());
    for port in before {
        match left.contains(port) {
            true => slots.extend(std::iter::repeat_n(port, pieces)),
            false => slots.extend(others.by_ref().take(pieces)),
        }
    }
    Some(slots)
}

/// Neighbors of each switch among the switches, with the ports between them, in order of port numbers.
pub(super) struct Adjacency {
    start: Vec<u32>,
    links: Vec<(NodeId, PortId)>,
}

impl Adjacency {
    /// Index by sender (`outgoing`) or by receiver. Links with hosts are left out, because hosts do not forward.
    pub(super) fn new(network: &Network, outgoing: bool, usable: &dyn Fn(PortId) -> bool) -> Adjacency {
        let is_host = |n: NodeId| network.nodes[n].host;
        let inner = || {
            let ports = network.ports.enumerate().filter(|&(id, p)| !is_host(p.from) && !is_host(p.to) && usable(id));
            ports.map(|(id, p)| if outgoing { (p.from, p.to, id) } else { (p.to, p.from, id) })
        };
        let mut start = vec![0u32; network.nodes.len() + 1];
        for (node, _, _) in inner() {
            start[node.index() + 1] += 1;
        }
        for i in 1..start.len() {
            start[i] += start[i - 1];
        }
        let mut next = start.clone();
        let mut links = vec![(NodeId::default(), PortId::default()); start[network.nodes.len()] as usize];
        for (node, neighbour, port) in inner() {
            links[next[node.index()] as usize] = (neighbour, port);
            next[node.index()] += 1;
        }
        Adjacency { start, links }
    }

    pub(super) fn of(&self, node: NodeId) -> &[(NodeId, PortId)] {
        &self.links[self.start[node.index()] as usize..self.start[node.index() + 1] as usize]
    }
}

/// Index of the stored sets of ports.
#[derive(Default)]
pub(super) struct PortSets {
    several: HashMap<Box<[PortId]>, u32>,
}

impl PortSets {
    /// Entry of a set, which is stored if it is new. In `choices` each single port is at the place of its own number.
    pub(super) fn entry(&mut self, choices: &mut Vec<PortId>, set: &[PortId]) -> Result<u32, RouteError> {
        let known = match set {
            [port] => Some(port.get()),
            _ => self.several.get(set).copied(),
        };
        let first = known.unwrap_or(choices.len() as u32);
        if first as usize + set.len() >= 1 << 24 {
            return Err(RouteError::TooManySets);
        }
        if known.is_none() {
            choices.extend(set);
            self.several.insert(set.into(), first);
        }
        Ok(first << 8 | set.len() as u32)
    }
}
