//! Switches that choose the port of a packet by their own state: flowlet switching and CONGA. They handle packets in order of time.

use super::Fabric;
use super::conga::{Leaf, Spine, Tag};
use super::flowlets::{Flowlet, FlowletTable};
use crate::engine::arrival_order::{GatheredPacket, PORT_BITS};
use crate::net::arena::{Arena, Sharing};
use crate::net::packet::{Packet, flag};
use forebay_experiment::balance::Balance;
use forebay_experiment::network::Network;
use forebay_experiment::streams::RngStream;
use forebay_experiment::topology::address::destination;
use forebay_experiment::topology::{Fib, TwoTier};
use forebay_types::{ConnSlot, IndexVec, NodeId, PortId, Rate, Rng, Time};
use std::sync::Arc;

/// State of one switch.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "each switch has it in a box, and all switches of a tier have the same kind")]
pub(super) enum Balancer {
    /// Each flowlet takes a random port.
    Flowlets(FlowletTable, Rng),
    /// Leaf of a network with CONGA.
    Leaf(Leaf),
    /// Spine of a network with CONGA.
    Spine(Spine),
}

impl Balancer {
    /// Ports among which each switch chooses; `None` if packets take the ports of their hash.
    pub(super) fn choices(network: &Network) -> Option<IndexVec<NodeId, Vec<PortId>>> {
        match network.faults.balance {
            Balance::Flowlet { .. } | Balance::Conga { .. } => Some(TwoTier::fabric_ports(network)),
            Balance::Flow | Balance::Packet => None,
        }
    }

    /// The state of switch `node`, which chooses among `ports`; `None` if its packets take the ports of their hash.
    pub(super) fn of(
        network: &Network,
        tiers: Option<&TwoTier>,
        (node, ports): (NodeId, &[PortId]),
        seed: u64,
    ) -> Option<Box<Balancer>> {
        if network.nodes[node].host {
            return None;
        }
        let rng = RngStream::Flowlets.stream(seed, &[node.get().into()]);
        let mut links = ports.iter().map(|&port| (port, network.ports[port].rate)).peekable();
        let balancer = match (network.faults.balance, tiers) {
            (Balance::Flowlet { gap }, _) => {
                links.peek()?;
                Balancer::Flowlets(FlowletTable::new(gap), rng)
            }
            (Balance::Conga { gap }, Some(tiers)) => match tiers.leaf(node) {
                Some(_) => Balancer::Leaf(Leaf::new(gap, tiers.leaves(), links, rng)),
                None => Balancer::Spine(Spine::new(links)),
            },
            (Balance::Conga { .. }, None) | (Balance::Flow | Balance::Packet, _) => return None,
        };
        Some(Box::new(balancer))
    }

    /// The link of a port has another rate.
    pub(super) fn set_rate(&mut self, port: PortId, rate: Rate) {
        match self {
            Balancer::Flowlets(..) => {}
            Balancer::Leaf(leaf) => leaf.set_rate(port, rate),
            Balancer::Spine(spine) => spine.set_rate(port, rate),
        }
    }
}

/// Leaves of a connection's data: where it comes from, and where it goes to.
#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    leaves: (u16, u16),
    generation: u8,
}

/// Leaves of the hosts of all connections, for CONGA; empty without it. In a network the encapsulation of a packet has them (section 3.1, VXLAN).
#[derive(Debug)]
pub(super) struct Leaves {
    tiers: Option<Arc<TwoTier>>,
    ends: Arena<ConnSlot, Ends>,
}

impl Leaves {
    /// No connections yet. The experiment was checked: with CONGA the network has two tiers.
    pub(super) fn of(network: &Network) -> Leaves {
        let is_conga = matches!(network.faults.balance, Balance::Conga { .. });
        let tiers = is_conga.then(|| TwoTier::of(network).ok()).flatten();
        Leaves { tiers: tiers.map(Arc::new), ends: Arena::new(Vec::new()) }
    }

    /// The tiers of a network with CONGA.
    pub(super) fn tiers(&self) -> Option<&TwoTier> {
        self.tiers.as_deref()
    }

    /// A connection opens, in this slot, from host `src` to host `dst`. Between windows only.
    pub(super) fn open(&mut self, (slot, generation): (ConnSlot, u8), (src, dst): (NodeId, NodeId)) {
        let Some(tiers) = &self.tiers else { return };
        while self.ends.next_id() <= slot {
            self.ends.push(Ends::default());
        }
        let leaves = (tiers.leaf(src).unwrap_or_default(), tiers.leaf(dst).unwrap_or_default());
        self.ends[slot] = Ends { leaves, generation };
    }

    /// Shares them with one partition of a run.
    pub(super) fn share(&mut self, sharing: &Sharing) -> Leaves {
        Leaves { tiers: self.tiers.clone(), ends: self.ends.share(sharing) }
    }

    /// The leaves that a packet comes from and goes to; `None` for a late packet of a closed connection.
    fn of_packet(&self, p: &Packet) -> Option<(u16, u16)> {
        let ends = self.ends[p.conn];
        let (src, dst) = ends.leaves;
        (ends.generation == p.generation()).then_some(if p.has(flag::ACK) { (dst, src) } else { (src, dst) })
    }
}

impl Fabric {
    /// Chooses the port of a gathered packet at switch `node`, which it reaches at `now`.
    pub(super) fn balance(&mut self, node: NodeId, m: &mut GatheredPacket, now: Time) {
        let Fabric { nodes, fib, leaves, .. } = self;
        let Some(balancer) = nodes[node].balancer.as_deref_mut() else { return };
        let p = m.packet();
        let port = match balancer {
            Balancer::Flowlets(table, rng) => {
                let legal = choices(fib, node, p);
                if legal.len() < 2 {
                    return;
                }
                let entry = FlowletTable::entry(p);
                match table.packet(entry, now) {
                    Flowlet::Current(port) if legal.contains(&port) => port,
                    Flowlet::Current(_) | Flowlet::New(_) => {
                        let port = legal[rng.below(legal.len() as u64) as usize];
                        table.assign(entry, port);
                        port
                    }
                }
            }
            Balancer::Leaf(leaf) => {
                let Some((from, to)) = leaves.of_packet(p).filter(|(from, to)| from != to) else { return };
                let own = leaves.tiers().and_then(|tiers| tiers.leaf(node));
                if own == Some(to) {
                    return leaf.receive(from, Tag::from_bits(p.hash), now);
                }
                if own != Some(from) {
                    // A leaf in between, on a way around a failed link.
                    return;
                }
                let (port, tag) = leaf.send(FlowletTable::entry(p), to, choices(fib, node, p), now, p.wire);
                set_tag(m, tag);
                port
            }
            Balancer::Spine(spine) => {
                if leaves.of_packet(p).is_some() {
                    let tag = spine.forward(m.to(), Tag::from_bits(p.hash), now, p.wire);
                    set_tag(m, tag);
                }
                return;
            }
        };
        m.key = m.key >> PORT_BITS << PORT_BITS | u64::from(port.get());
    }
}

/// Writes the fields of CONGA into a gathered packet. They replace its hash, which no switch behind the first leaf reads: a spine has one link to each
/// leaf.
fn set_tag(m: &GatheredPacket, tag: Tag) {
    // SAFETY: as in `GatheredPacket::packet`; the pointer comes from the ring's own pointer to its slots, and only the thread of this switch has it.
    unsafe { (*m.slot.cast_mut()).hash = tag.bits() };
}

/// Equal-cost ports of a packet at a switch.
fn choices<'a>(fib: &'a Fib, node: NodeId, p: &Packet) -> &'a [PortId] {
    let to = if fib.is_wide() { destination::<true>(p.dst, p.hash) } else { destination::<false>(p.dst, p.hash) };
    fib.ports_towards(node, to)
}
