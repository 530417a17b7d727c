//! The way of a connection through the network: the ports that its packets pass, by the simulator's routes and the simulator's hash, so that flows
//! share links as they do there.

use crate::protocol::{HOPS, Open};
use forebay_experiment::ideal_time::IdealTime;
use forebay_experiment::network::Network;
use forebay_experiment::topology::{Fib, PathHashes};
use forebay_types::{NodeId, PortId, Time};

/// Both ways of a connection.
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

/// Names of two hosts whose way is longer than the guest can carry, if there are such.
pub(crate) fn too_long(network: &Network, fib: &Fib) -> Option<(String, String)> {
    let racks = forebay_experiment::topology::racks(network);
    let hosts = forebay_experiment::topology::hosts(network);
    // Hosts of a rack are equally far from all others.
    let mut seen = std::collections::BTreeSet::new();
    let first: Vec<NodeId> = hosts.into_iter().filter(|&h| seen.insert(racks[h])).collect();
    let long = |a: NodeId, b: NodeId| fib.path(network, a, b, 0).len() > HOPS;
    let name = |n: NodeId| network.nodes[n].name.clone();
    first.iter().flat_map(|&a| first.iter().map(move |&b| (a, b))).find(|&(a, b)| long(a, b)).map(|(a, b)| (name(a), name(b)))
}
