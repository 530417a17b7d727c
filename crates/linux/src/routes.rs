//! Route of a connection through the network: the ports that its packets pass, by the simulator's routes and the simulator's hash, so that flows
//! share links as they do there.

use crate::protocol::{HOPS, Open, PATHS};
use forebay_experiment::ideal_time::IdealTime;
use forebay_experiment::network::Network;
use forebay_experiment::topology::{Fib, PathHashes};
use forebay_types::{NodeId, PortId, Time};

/// Routes of both directions of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Routes {
    /// ECMP hash of its data.
    pub hash: u16,
    /// Hash of its ACKs.
    pub hash_back: u16,
    /// Ports of its data, the sending host's first.
    pub forth: Vec<PortId>,
    /// Ports of its ACKs.
    pub back: Vec<PortId>,
}

impl Routes {
    /// Routes of connection `number` from host `src` to host `dst`.
    pub(crate) fn new(network: &Network, fib: &Fib, number: u64, src: NodeId, dst: NodeId) -> Routes {
        let (hash, hash_back) = (fib.flow_hash(number, src, dst), fib.flow_hash(number, dst, src));
        let back = fib.path(network, dst, src, hash_back.into());
        Routes { hash, hash_back, forth: fib.path(network, src, dst, hash.into()), back }
    }

    /// Writes them into the guest's record, with the name of the connection in draws ([`Names`](crate::names::Names)).
    pub(crate) fn fill(&self, open: &mut Open, name: u64) {
        for (list, length, ports) in
            [(&mut open.forth, &mut open.forth_len, &self.forth), (&mut open.back, &mut open.back_len, &self.back)]
        {
            *length = ports.len() as u32;
            list.iter_mut().zip(ports).for_each(|(slot, port)| *slot = port.get());
        }
        (open.rss_forth, open.rss_back) = (self.hash.into(), self.hash_back.into());
        (open.ties_forth, open.ties_back) = (name, name | 1);
    }

    /// Transfer time of `size` bytes in an empty network.
    pub(crate) fn ideal(&self, network: &Network, size: u64, mss: u32, header: u32) -> Time {
        let mut ideal = IdealTime::new(size, mss, header);
        self.forth.iter().for_each(|&port| ideal.pass(&network.ports[port]));
        ideal.time()
    }
}

/// Passes the paths that the data of a connection from the first host to the second takes after changes of its hash, in turn, to `pass`: number of ports,
/// and the ports. `hashes` are those after the first one.
pub(crate) fn others(
    network: &Network,
    fib: &Fib,
    (mut hashes, first): (PathHashes, u16),
    (src, dst): (NodeId, NodeId),
    mut pass: impl FnMut(u32, [u32; HOPS]),
) {
    let mut hash = first;
    for _ in 1..PathHashes::COUNT {
        hash = hashes.after(hash);
        let (path, mut ports) = (fib.path(network, src, dst, hash.into()), [0; HOPS]);
        ports.iter_mut().zip(&path).for_each(|(slot, port)| *slot = port.get());
        pass(path.len() as u32, ports);
    }
}

/// All shortest paths from the first host to the second, at most one more than the guest can have.
pub(crate) fn shortest_paths(network: &Network, fib: &Fib, (src, dst): (NodeId, NodeId)) -> Vec<Vec<PortId>> {
    let mut found = Vec::new();
    let mut open = vec![Vec::from_iter(fib.host_port(src))];
    while let Some(path) = open.pop() {
        let Some(&last) = path.last() else { return found };
        let node = network.ports[last].to;
        if node == dst {
            found.push(path);
            if found.len() > PATHS {
                return found;
            }
            continue;
        }
        let mut ports = fib.ports_towards(node, dst).to_vec();
        ports.sort_unstable();
        ports.dedup();
        open.extend(ports.into_iter().map(|port| [path.as_slice(), &[port]].concat()));
    }
    found
}

/// Names of two hosts that have more shortest paths than a connection of the guest, if there are such.
pub(crate) fn too_many(network: &Network, fib: &Fib) -> Option<(String, String)> {
    find_pair(network, |a, b| a != b && shortest_paths(network, fib, (a, b)).len() > PATHS)
}

/// One host of each rack: hosts of a rack are equally far from all others.
fn first_of_racks(network: &Network) -> Vec<NodeId> {
    let racks = forebay_experiment::topology::racks(network);
    let mut seen = std::collections::BTreeSet::new();
    forebay_experiment::topology::hosts(network).into_iter().filter(|&h| seen.insert(racks[h])).collect()
}

/// Names of two hosts whose way is longer than the guest can carry, if there are such.
pub(crate) fn too_long(network: &Network, fib: &Fib) -> Option<(String, String)> {
    find_pair(network, |a, b| fib.path(network, a, b, 0).len() > HOPS)
}

/// Names of the first two hosts, one of each rack, of which `is` is true.
fn find_pair(network: &Network, is: impl Fn(NodeId, NodeId) -> bool) -> Option<(String, String)> {
    let first = first_of_racks(network);
    let name = |n: NodeId| network.nodes[n].name.clone();
    let mut pairs = first.iter().flat_map(|&a| first.iter().map(move |&b| (a, b)));
    pairs.find(|&(a, b)| is(a, b)).map(|(a, b)| (name(a), name(b)))
}
