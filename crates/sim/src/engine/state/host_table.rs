//! All hosts by node number, and their timers.

use crate::engine::host::{Host, TimerKind, TimerOrder};
use crate::engine::partition_state::{DeferredEffect, PartitionState};
use crate::net::arena::{Arena, Sharing};
use crate::net::per_host::PerHost;
use forebay_experiment::network::Network;
use forebay_types::{NodeId, Time};
use std::ops::{Index, IndexMut};

/// The hosts of a run. Switches have an unused entry.
pub(super) struct HostTable {
    hosts: PerHost<NodeId, Host>,
    /// Bitmap of the nodes that are hosts.
    bits: Arena<u32, u64>,
}

impl HostTable {
    /// Creates idle hosts for the nodes of a network, for a run with this seed.
    pub(super) fn new(network: &Network, seed: u64) -> HostTable {
        let mut hosts = PerHost::new();
        hosts.reserve_exact(network.nodes.len());
        for n in network.nodes.ids() {
            hosts.put(n, n, Host::new(n, seed));
        }
        let mut bits = vec![0; network.nodes.len().div_ceil(64).max(1)];
        for (id, _) in network.nodes.enumerate().filter(|(_, n)| n.host) {
            bits[id.index() / 64] |= 1 << (id.index() % 64);
        }
        HostTable { hosts, bits: Arena::new(bits) }
    }

    /// Shares the hosts with one partition of a run.
    pub(super) fn share(&mut self, sharing: &Sharing) -> HostTable {
        HostTable { hosts: self.hosts.share(sharing), bits: self.bits.share(sharing) }
    }

    /// Sets the host that runs; `None` at the end of the window.
    #[cfg(debug_assertions)]
    pub(super) fn set_running(&mut self, node: Option<NodeId>) {
        self.hosts.set_running(node);
    }

    /// Returns true if `node` is a host.
    #[inline]
    pub(super) fn is_host(&self, node: NodeId) -> bool {
        self.bits[node.get() >> 6] >> (node.get() & 63) & 1 == 1
    }

    /// The hosts among the 64 nodes of word `word` of a bitmap of nodes.
    #[inline(always)]
    pub(super) fn in_word(&self, word: usize) -> u64 {
        self.bits[word as u32]
    }

    /// All hosts, between windows.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter()
    }

    /// Reads a host for prefetching only.
    #[inline(always)]
    pub(super) fn peek(&self, node: NodeId) -> &Host {
        self.hosts.peek(node)
    }

    /// Sets a timer at `host` for `time`, on behalf of `origin`, where the cause lies. A timer at another host is set at the end of the window.
    pub(super) fn set_timer(
        &mut self,
        partition: &mut PartitionState,
        (origin, host): (NodeId, NodeId),
        time: Time,
        wake: TimerKind,
    ) {
        let order = self.hosts[origin].next_order(time);
        if origin != host {
            return partition.defer(origin, DeferredEffect::Timer { host, time, order, wake });
        }
        self.hosts[host].add(time, order, wake);
        partition.calendar.mark(host, time);
    }

    /// Sets a timer of `host` for itself.
    pub(super) fn set_own_timer(
        &mut self,
        partition: &mut PartitionState,
        host: NodeId,
        time: Time,
        wake: TimerKind,
        order: TimerOrder,
    ) {
        let h = &mut self.hosts[host];
        let order = h.order_of(time, order);
        h.add(time, order, wake);
        partition.calendar.mark(host, time);
    }
}

impl Index<NodeId> for HostTable {
    type Output = Host;
    #[inline(always)]
    fn index(&self, node: NodeId) -> &Host {
        &self.hosts[node]
    }
}

impl IndexMut<NodeId> for HostTable {
    #[inline(always)]
    fn index_mut(&mut self, node: NodeId) -> &mut Host {
        &mut self.hosts[node]
    }
}
