//! Shortest-path forwarding with equal-cost multipath (ECMP), precomputed into small tables.
//!
//! All hosts behind one switch are reached by the same ports from everywhere else. The table has one column per such switch, not per host: 164 KB
//! instead of 1.3 MB for 1024 hosts in a 16-ary fat tree. Smaller tables matter because the packet path is bound by cache misses.
//!
//! `address.rs` defines the destination and hash bits in packets.

use super::address;
use super::path_hashes::PathHashes;
use super::route_error::{MAX_CHOICES, RouteError};
use super::routing_build::{Adjacency, PortSets, spread};
use crate::network::{HashFunction, Network};
use forebay_types::{IndexVec, NodeId, PortId};

const NONE: u32 = u32::MAX;
/// Last hop to a node that is no host.
const NO_NODE: NodeId = NodeId::new(NONE);
/// Item of a table on the packet path, with bounds checks in debug builds only. Checks would take 3.1, 6.0, 3.9, 6.5 and 3.9 more instructions per
/// transmission in the benchmark's cases s1, s2, s3, ft16 and lossy.
///
/// # Safety
/// `index` is below the length of `table`.
#[inline(always)]
unsafe fn item<T>(table: &[T], index: u32) -> &T {
    debug_assert!((index as usize) < table.len());
    // SAFETY: what the caller promises.
    unsafe { table.get_unchecked(index as usize) }
}

/// Forwarding tables of all switches.
#[derive(Debug, Clone)]
pub struct Fib {
    /// Row of each switch, `NONE` for hosts.
    row: Vec<u32>,
    /// Port of each host.
    host_port: IndexVec<NodeId, Option<PortId>>,
    /// Last hop to each host.
    target: Vec<Target>,
    columns: usize,
    /// Switches with hosts, by column.
    destinations: Vec<NodeId>,
    /// Entry at `row * columns + column`: start of the equal-cost ports in `choices` (upper 24 bits) and their number (lower 8).
    entries: Vec<u32>,
    /// Sets of ports, each in the order of port numbers; equal sets are stored once. Each single port is at the place of its own number.
    choices: Vec<PortId>,
    /// True for wide networks (`address.rs`).
    wide: bool,
    /// Seed of the hashes of connections.
    seed: u64,
    /// Bits of a switch's number that distinguish its hash function: all, or none ([`HashFunction`]).
    salt: u32,
}

/// Last hop to a host.
#[derive(Debug, Clone, Copy)]
struct Target {
    /// Node whose port leads to the host.
    last_hop: NodeId,
    /// Entry at that node.
    last_entry: u32,
    /// Column of that node in all other switches.
    column: u32,
}

/// Index, in `0..count`, of the equal-cost port that a flow with `hash` takes at the switch `salt`.
///
/// The salt is mixed in before the hash is scrambled. With the same function at every tier, all flows that arrive at a switch have made equal choices
/// before, and share one of its ports (hash polarization, [`HashFunction::SameEverywhere`]).
#[inline]
pub const fn ecmp_choice(hash: u32, salt: u32, count: u32) -> u32 {
    let x = (hash ^ salt.wrapping_mul(0x9E37_79B9)) as u64;
    let x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    // Multiply-shift avoids a division on the packet path.
    (((x >> 32) * count as u64) >> 32) as u32
}

/// Forwarding tables of one switch, for many packets in a row.
#[derive(Clone, Copy)]
pub struct SwitchView<'a> {
    fib: &'a Fib,
    switch: NodeId,
    first: u32,
    salt: u32,
}

impl SwitchView<'_> {
    fn entry(self, dst: NodeId) -> u32 {
        let t = &self.fib.target[dst.index()];
        if t.last_hop == self.switch { t.last_entry } else { self.fib.entries[self.first.wrapping_add(t.column) as usize] }
    }

    fn next_port(self, dst: NodeId, hash: u32) -> PortId {
        self.port(self.entry(dst), hash, |place| self.fib.choices[place as usize])
    }

    /// Port of `entry` for a flow with `hash`: `of` the set of ports by place, or the only one, which is at the place of its own number.
    #[inline(always)]
    fn port(self, entry: u32, hash: u32, of: impl Fn(u32) -> PortId) -> PortId {
        let (first, count) = (entry >> 8, entry & 0xFF);
        if count > 1 { of(first + ecmp_choice(hash, self.salt, count)) } else { PortId::new(first) }
    }

    /// Same as [`Fib::next_port`] without checks, for the packet path.
    ///
    /// # Safety
    /// The node is a switch, and `dst` a host of the network of these tables. [`Fib::new`] has found a path from each reachable switch to each host,
    /// so every number in the tables is the place of an item.
    #[inline(always)]
    pub unsafe fn next_port_unchecked(self, dst: NodeId, hash: u32) -> PortId {
        // SAFETY: what the caller promises.
        unsafe {
            let t = item(&self.fib.target, dst.get());
            let entry = if t.last_hop == self.switch { t.last_entry } else { *item(&self.fib.entries, self.first + t.column) };
            self.port(entry, hash, |place| *item(&self.fib.choices, place))
        }
    }
}

impl Fib {
    /// Tables for a run with this seed, on which the hashes of connections depend.
    ///
    /// # Errors
    /// As [`Fib::new`].
    pub fn with_seed(network: &Network, seed: u64) -> Result<Fib, RouteError> {
        Ok(Fib { seed: network.hashing.seed.unwrap_or(seed), ..Fib::new(network)? })
    }

    /// Shortest paths by number of hops between all hosts of `network`.
    pub fn new(network: &Network) -> Result<Fib, RouteError> {
        let nodes = network.nodes.len();
        let is_host = |n: NodeId| network.nodes[n].host;
        let mut fib = Fib {
            row: vec![NONE; nodes],
            host_port: super::attached_port(network),
            target: vec![Target { last_hop: NO_NODE, last_entry: 0, column: NONE }; nodes],
            columns: 0,
            destinations: Vec::new(),
            entries: Vec::new(),
            choices: network.ports.ids().collect(),
            wide: address::is_wide(network),
            seed: 0,
            salt: if network.hashing.function == HashFunction::PerSwitch { u32::MAX } else { 0 },
        };
        let mut switches = Vec::new();
        for n in network.nodes.ids().filter(|&n| !is_host(n)) {
            fib.row[n.index()] = switches.len() as u32;
            switches.push(n);
        }

        // Switches with hosts are the destinations.
        let mut sets = PortSets::default();
        let mut destinations = Vec::new();
        let mut column_of = vec![NONE; nodes];
        for (id, port) in network.ports.enumerate().filter(|(_, p)| is_host(p.to)) {
            if fib.target[port.to.index()].last_hop != NO_NODE {
                continue;
            }
            let column = &mut column_of[port.from.index()];
            if *column == NONE && !is_host(port.from) {
                *column = destinations.len() as u32;
                destinations.push(port.from);
            }
            let column = *column;
            let last_entry = sets.entry(&mut fib.choices, &[id])?;
            fib.target[port.to.index()] = Target { last_hop: port.from, last_entry, column };
        }
        fib.columns = destinations.len();
        let (rows, columns) = (switches.len(), destinations.len());
        let entries = rows.checked_mul(columns).filter(|&n| u32::try_from(n).is_ok());
        fib.entries = vec![0; entries.ok_or(RouteError::TooManySwitches(rows, columns))?];

        fib.fill(network, &destinations, &mut sets, &|_| true, &mut |_, _| {})?;
        fib.check_all_reachable(network)?;
        fib.destinations = destinations;
        Ok(fib)
    }

    /// Fills in the entries of all switches with a path over `usable` ports to the destinations, which are in the order of columns. Other entries are
    /// kept. `found` receives, for each column, the switches with a path.
    fn fill(
        &mut self,
        network: &Network,
        destinations: &[NodeId],
        sets: &mut PortSets,
        usable: &dyn Fn(PortId) -> bool,
        found: &mut dyn FnMut(usize, &[NodeId]),
    ) -> Result<(), RouteError> {
        let fib = self;
        let (outgoing, incoming) = (Adjacency::new(network, true, usable), Adjacency::new(network, false, usable));
        let nodes = network.nodes.len();
        let mut distance = vec![NONE; nodes];
        let (mut reached, mut set) = (Vec::new(), Vec::new());
        // A switch uses the same ports towards most destinations. Comparing with its last set avoids most hashing.
        let mut last_entry = vec![0; nodes];
        for (column, &destination) in destinations.iter().enumerate() {
            reached.iter().for_each(|&n: &NodeId| distance[n.index()] = NONE);
            reached.clear();
            reached.push(destination);
            distance[destination.index()] = 0;
            let mut next = 0;
            while let Some(&node) = reached.get(next) {
                next += 1;
                let d = distance[node.index()];
                for &(from, _) in incoming.of(node) {
                    if distance[from.index()] == NONE {
                        distance[from.index()] = d + 1;
                        reached.push(from);
                    }
                }
            }
            for &switch in &reached[1..] {
                let closer = distance[switch.index()] - 1;
                set.clear();
                set.extend(outgoing.of(switch).iter().filter(|(to, _)| distance[to.index()] == closer).map(|(_, port)| *port));
                if set.len() > MAX_CHOICES {
                    return Err(RouteError::TooManyChoices(network.nodes[switch].name.clone(), set.len()));
                }
                let place = fib.row[switch.index()] as usize * fib.columns + column;
                let stays = spread(fib.ports_of(fib.entries[place]), &set);
                let set = stays.as_deref().unwrap_or(&set);
                let entry = &mut last_entry[switch.index()];
                if fib.ports_of(*entry) != set {
                    *entry = sets.entry(&mut fib.choices, set)?;
                }
                fib.entries[place] = *entry;
            }
            found(column, &reached);
        }
        Ok(())
    }

    /// Returns these tables, those of the intact network, without the ports that are not `usable`: shortest paths over the remaining ports. A flow
    /// moves only if its path used such a port (`spread`). Without any path, packets go the previous way to the dead link. Also returns the number of
    /// pairs of sender and receiver without a path.
    ///
    /// # Errors
    /// More sets of ports than the tables can hold.
    pub fn avoiding(&self, network: &Network, usable: &dyn Fn(PortId) -> bool) -> Result<(Fib, u64), RouteError> {
        let mut fib = self.clone();
        let destinations = std::mem::take(&mut fib.destinations);
        // Numbers of hosts behind each node that can still send, and that can still receive.
        let (mut senders, mut receivers) = (vec![0u64; network.nodes.len()], vec![0u64; network.nodes.len()]);
        let (mut hosts, mut connected) = (0i64, 0i64);
        for host in super::hosts(network) {
            hosts += 1;
            let Some(out) = self.host_port[host] else { continue };
            let into = self.ports_of(self.target[host.index()].last_entry).first().copied();
            let (sends, receives) = (usable(out), into.is_some_and(usable));
            let near = network.ports[out].to;
            senders[near.index()] += u64::from(sends);
            receivers[self.target[host.index()].last_hop.index()] += u64::from(receives);
            // Two directly connected hosts; and the pair of a host with itself, which is counted below and must not be.
            connected += i64::from(network.nodes[near].host && sends && into.is_some());
            connected -= i64::from(!network.nodes[near].host && sends && receives && self.reaches(near, host));
        }
        let mut sets = PortSets::default();
        fib.fill(network, &destinations, &mut sets, usable, &mut |column, reached| {
            let sending: u64 = reached.iter().map(|n| senders[n.index()]).sum();
            connected += (sending * receivers[destinations[column].index()]) as i64;
        })?;
        fib.destinations = destinations;
        Ok((fib, (hosts * (hosts - 1) - connected).cast_unsigned()))
    }

    /// Equal-cost ports of `switch` towards the host `dst`: index of the first in [`Fib::choices`] << 8 | their number.
    #[inline]
    pub fn entry(&self, switch: NodeId, dst: NodeId) -> u32 {
        self.at(switch).entry(dst)
    }

    /// Equal-cost ports of `switch` towards the host `dst`.
    #[inline]
    pub fn ports_towards(&self, switch: NodeId, dst: NodeId) -> &[PortId] {
        self.ports_of(self.entry(switch, dst))
    }

    /// Sets of ports that entries point into.
    pub fn choices(&self) -> &[PortId] {
        &self.choices
    }

    fn ports_of(&self, entry: u32) -> &[PortId] {
        let (first, count) = ((entry >> 8) as usize, (entry & 0xFF) as usize);
        &self.choices[first..first + count]
    }

    /// Port on which `switch` forwards a packet of a flow with `hash` to the host `dst`.
    #[inline]
    pub fn next_port(&self, switch: NodeId, dst: NodeId, hash: u32) -> PortId {
        self.at(switch).next_port(dst, hash)
    }

    /// ECMP hash of the packets from `from` to `to` on a connection, numbered by order of creation.
    pub fn flow_hash(&self, connection: u64, from: NodeId, to: NodeId) -> u16 {
        address::carried(self.wide, address::drawn(self.seed, connection, from, to), to)
    }

    /// Hashes that those packets may have after the first one.
    pub fn path_hashes(&self, connection: u64, from: NodeId, to: NodeId) -> PathHashes {
        PathHashes::new(self.seed, self.wide, connection, from, to)
    }

    /// New hash for a packet with hash `before`; `drawn` chooses the path.
    pub fn redrawn(&self, drawn: u16, before: u16) -> u16 {
        address::redrawn(self.wide, drawn, before)
    }

    /// Returns true if the network is wide ([`destination`](address::destination)).
    pub fn is_wide(&self) -> bool {
        self.wide
    }

    /// Tables of `switch`.
    #[inline]
    pub fn at(&self, switch: NodeId) -> SwitchView<'_> {
        let first = self.row[switch.index()].wrapping_mul(self.columns as u32);
        SwitchView { fib: self, switch, first, salt: switch.get() & self.salt }
    }

    /// Port of the host `host`; `None` for switches.
    #[inline]
    pub fn host_port(&self, host: NodeId) -> Option<PortId> {
        self.host_port[host]
    }

    /// Time that a packet of `bytes` of a flow with `hash` takes from one host to another on the empty path, ps.
    pub fn path_time(&self, network: &Network, (src, dst): (NodeId, NodeId), hash: u32, bytes: u64) -> u64 {
        let ports = self.path(network, src, dst, hash).into_iter().map(|p| &network.ports[p]);
        ports.map(|p| p.delay.0 + p.rate.tx_time(bytes).0).sum()
    }

    /// Ports on the path of a packet from host `src` to host `dst` of a flow with `hash`; empty if `src` is `dst`.
    pub fn path(&self, network: &Network, src: NodeId, dst: NodeId, hash: u32) -> Vec<PortId> {
        let mut path = Vec::new();
        let mut node = src;
        while node != dst {
            let port = match self.host_port[node] {
                None => Some(self.next_port(node, dst, hash)),
                // Hosts do not forward.
                port => port.filter(|_| node == src),
            };
            let Some(port) = port else { break };
            path.push(port);
            node = network.ports[port].to;
        }
        path
    }

    /// Fills `ports` with the ports that all packets from host `src` to host `dst` pass, whatever their hash, in path order. The sender's own
    /// interface is included only if it is the only port. If links fail, paths change, and only the last port is common.
    pub fn common_ports(&self, network: &Network, (src, dst): (NodeId, NodeId), ports: &mut Vec<PortId>) {
        ports.clear();
        let Some(own) = self.host_port(src).filter(|_| src != dst) else { return };
        let mut node = network.ports[own].to;
        while node != dst && !network.nodes[node].host {
            // Paths that diverge meet again at the last port at the latest.
            let (next, last) = (self.ports_of(self.entry(node, dst)), self.ports_of(self.target[dst.index()].last_entry));
            let next = if network.faults.failures.is_empty() { next } else { last };
            let port = if let [port] = next { *port } else { last[0] };
            ports.push(port);
            node = network.ports[port].to;
        }
        if ports.is_empty() {
            ports.push(own);
        }
    }

    /// Checks that every host reaches every other. Of the hosts that send into the same switch, or receive from the same switch, two stand for all.
    /// Two are needed because the pair of a host with itself is left out.
    fn check_all_reachable(&self, network: &Network) -> Result<(), RouteError> {
        let hosts = super::hosts(network);
        let mut per_column = vec![0; self.columns];
        let destinations: Vec<NodeId> = hosts.iter().copied().filter(|&h| self.is_among_first_two(&mut per_column, h)).collect();
        let mut seen = vec![0; network.nodes.len()];
        for &src in &hosts {
            let next = self.host_port[src].map(|p| network.ports[p].to);
            if let Some(node) = next.filter(|&n| self.row[n.index()] != NONE) {
                seen[node.index()] += 1;
                if seen[node.index()] > 2 {
                    continue;
                }
            }
            if let Some(&dst) = destinations.iter().find(|&&dst| dst != src && !next.is_some_and(|node| self.reaches(node, dst)))
            {
                let name = |n: NodeId| network.nodes[n].name.clone();
                return Err(RouteError::NoPath(name(src), name(dst)));
            }
        }
        Ok(())
    }

    fn is_among_first_two(&self, per_column: &mut [u32], host: NodeId) -> bool {
        match per_column.get_mut(self.target[host.index()].column as usize) {
            Some(count) => {
                *count += 1;
                *count <= 2
            }
            // A host without a switch stands for itself.
            None => true,
        }
    }

    fn reaches(&self, node: NodeId, dst: NodeId) -> bool {
        let target = self.target[dst.index()];
        let forwards = self.row[node.index()] != NONE;
        node == dst || forwards && (target.last_hop == node || target.column != NONE && self.entry(node, dst) != 0)
    }
}

#[cfg(test)]
#[path = "routing_tests.rs"]
mod tests;
