//! Some nodes of one tier at a time, in networks that do not fit into the caches (`engine/tiers.rs`).

use super::{Apps, SimState};
use crate::engine::node_set::NodeSet;
use crate::engine::tiers::{Tier, tiers};
use crate::net::packet::flag;
use crate::net::prefetch;
use forebay_units::{IndexVec, NodeId};

/// More lines than anything has that belongs to a host or a connection.
const WHOLE: usize = 16;

impl SimState {
    /// The tiers of the network's nodes, if groups pay.
    pub(in crate::engine) fn tiers(&self) -> Option<IndexVec<NodeId, Tier>> {
        tiers(&self.network, |node| self.fabric.is_special(node))
    }

    /// Works off what each of some nodes of one tier has in the current window.
    #[inline(never)]
    pub(in crate::engine) fn run_group(&mut self, apps: &Apps, group: NodeSet, tier: Tier) {
        match tier {
            Tier::HOSTS => {
                self.prefetch_hosts(group);
                self.run_hosts(apps, group);
            }
            _ if self.fabric.fib().is_wide() => self.forward_in::<true>(group, tier),
            _ => self.forward_in::<false>(group, tier),
        }
    }

    fn forward_in<const WIDE: bool>(&mut self, group: NodeSet, tier: Tier) {
        match tier {
            Tier::ALONE => self.fabric.forward::<WIDE>(&mut self.partition, group),
            _ => self.fabric.forward_group::<WIDE>(&mut self.partition, group),
        }
    }

    /// Asks for what hosts are about to touch: themselves, their ports, and the half of the connection that the next packet is for.
    fn prefetch_hosts(&self, group: NodeSet) {
        let ports = &self.fabric.ports;
        group.for_each(|node| prefetch::prefetch_lines(self.hosts.peek(node), WHOLE));
        for node in group {
            let host = self.hosts.peek(node);
            prefetch::prefetch(&ports[host.input]);
            prefetch::prefetch_lines(&ports[host.nic], 2);
        }
        for node in group {
            let host = self.hosts.peek(node);
            let (taken, filled) = (&ports[host.input].ring, &ports[host.nic].ring);
            prefetch::line(taken.place(taken.head()).cast());
            prefetch::line(filled.place(filled.tail()).cast());
        }
        for node in group {
            let ring = &ports[self.hosts.peek(node).input].ring;
            if !ring.is_empty() {
                let p = ring.packet(ring.head());
                if p.has(flag::ACK) {
                    prefetch::prefetch_lines(self.senders.peek(p.conn), WHOLE);
                } else {
                    prefetch::prefetch_lines(self.receivers.peek(p.conn), WHOLE);
                }
            }
        }
    }
}
