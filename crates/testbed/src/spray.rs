//! Per-packet load balancing (`balance = "packet"`): each packet takes a random shortest path. Its host draws a hash, and every switch selects the
//! next port by it, as in the simulator (`engine/nic.rs`). Links that are known to be down are avoided.

use forebay_experiment::network::Network;
use forebay_experiment::streams::RngStream;
use forebay_experiment::topology::{Fib, reverse};
use forebay_types::{IndexVec, NodeId, PortId, Rng, Time};

/// The tables, and what draws.
#[derive(Debug)]
pub struct Spray {
    network: Network,
    intact: Fib,
    fib: Fib,
    /// Random stream of each host.
    hosts: IndexVec<NodeId, Rng>,
    /// Number of failures for which the tables avoid a port.
    avoided: IndexVec<PortId, u32>,
}

impl Spray {
    /// Tables of a network with routes; `None` if it has none.
    pub fn new(network: &Network, seed: u64) -> Option<Spray> {
        let intact = Fib::with_seed(network, seed).ok()?;
        let draws = |(id, _): (NodeId, &_)| RngStream::Spraying.stream(seed, &[u64::from(id.get())]);
        Some(Spray {
            network: network.clone(),
            fib: intact.clone(),
            intact,
            hosts: network.nodes.enumerate().map(draws).collect(),
            avoided: IndexVec::repeat(0, network.ports.len()),
        })
    }

    /// The hash of a packet that leaves `host`.
    pub fn draw(&mut self, host: NodeId) -> u16 {
        self.fib.redrawn(self.hosts[host].next_u64() as u16, 0)
    }

    /// The port by which a packet with `hash` leaves the switch `node` for the host `end`.
    pub fn next(&self, node: NodeId, end: NodeId, hash: u16) -> PortId {
        self.fib.next_port(node, end, hash.into())
    }

    /// The switches know that the link of `port` is down, or that it is up again.
    pub fn learn(&mut self, port: PortId, up: bool) {
        for port in std::iter::once(port).chain(reverse(&self.network, port)) {
            let by = &mut self.avoided[port];
            *by = if up { *by - 1 } else { *by + 1 };
        }
        // Where no more sets of ports fit into the tables, packets go on going into the dead link.
        if let Ok((fib, _)) = self.intact.avoiding(&self.network, &|port| self.avoided[port] == 0) {
            self.fib = fib;
        }
    }

    /// Times at which the switches detect failures and recoveries, in the order of the failures.
    pub fn updates(network: &Network) -> impl Iterator<Item = (Time, PortId, bool)> {
        let ends = |f: &forebay_experiment::faults::Failure| {
            let up = f.up.get().map(|up| (up + f.reroute, f.port, true));
            std::iter::once((f.down + f.reroute, f.port, false)).chain(up)
        };
        network.faults.failures.iter().flat_map(ends)
    }
}
