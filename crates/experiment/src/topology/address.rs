//! Destination host and ECMP hash of packets, in 32 bits together.
//!
//! If all hosts have numbers below 2^16, half of the bits are the host number and half the hash. In larger networks, called *wide*, the upper four
//! bits of the hash hold the upper bits of the host number. Packets have the same size in both cases, and small networks have no overhead. A wide
//! network has 12 bits of hash per connection: 4 096 paths, of which a switch has at most 255.

use crate::network::Network;
use crate::streams::RngStream;
use forebay_types::{NodeId, Rng};

/// Bits of the host number in every packet.
const LOWER: u32 = 16;
/// Bits of the hash that hold upper bits of the host number in a wide network.
const UPPER: u32 = 4;
/// Bits of the hash that distinguish connections in a wide network.
const OWN: u32 = 16 - UPPER;

/// Maximum number of hosts and switches. Hosts come first, so that all their numbers are below.
pub const MAX_NODES: usize = 1 << (LOWER + UPPER);

/// Returns true if the network is wide: host numbers need more than [`LOWER`] bits.
pub(super) fn is_wide(network: &Network) -> bool {
    network.nodes.enumerate().any(|(id, node)| node.host && id.get() >> LOWER != 0)
}

/// Hash in packets to host `to`; `drawn` distinguishes connections.
pub(super) fn carried(wide: bool, drawn: u16, to: NodeId) -> u16 {
    if wide { drawn & ((1 << OWN) - 1) | ((to.get() >> LOWER) << OWN) as u16 } else { drawn }
}

/// Hash `before` with `drawn` in place of the bits that distinguish connections.
pub(super) fn redrawn(wide: bool, drawn: u16, before: u16) -> u16 {
    let own = (1 << OWN) - 1;
    if wide { drawn & own | before & !own } else { drawn }
}

/// Random hash of the packets from `from` to `to` on a connection, numbered by order of creation. It stands for the hash of a five-tuple whose port
/// number differs between connections and between runs.
pub(super) fn drawn(seed: u64, connection: u64, from: NodeId, to: NodeId) -> u16 {
    stream(seed, connection, from, to).next_u64() as u16
}

/// Stream of the hashes that [`drawn`] and [`PathHashes`](super::PathHashes) draw.
pub(super) fn stream(seed: u64, connection: u64, from: NodeId, to: NodeId) -> Rng {
    let ends = u64::from(from.get()) << 32 | u64::from(to.get());
    RngStream::FlowHash.stream(seed, &[connection, ends])
}

/// Lower bits of the number of host `to`, for its packets.
#[inline(always)]
pub const fn lower(to: NodeId) -> u16 {
    to.get() as u16
}

/// Destination host of a packet with these lower bits and this hash.
#[inline(always)]
pub const fn destination<const WIDE: bool>(lower: u16, hash: u16) -> NodeId {
    let upper = if WIDE { (hash as u32 >> OWN) << LOWER } else { 0 };
    NodeId::new(upper | lower as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Node;
    use forebay_types::IndexVec;

    #[test]
    fn address_roundtrip_for_any_hash() {
        for drawn in [0, 1, 0x0FFF, 0x1000, 0xABCD, u16::MAX] {
            for host in [0, 1, 65_535, 65_536, 65_537, 131_071, 131_072, MAX_NODES as u32 - 1].map(NodeId::new) {
                assert_eq!(destination::<true>(lower(host), carried(true, drawn, host)), host);
                assert_eq!(carried(true, drawn, host) & 0x0FFF, drawn & 0x0FFF);
                assert_eq!(redrawn(true, drawn, carried(true, 0x5A5A, host)), carried(true, drawn, host));
            }
            let host = NodeId::new(65_535);
            assert_eq!((destination::<false>(lower(host), drawn), carried(false, drawn, host)), (host, drawn));
        }
    }

    #[test]
    fn only_hosts_make_networks_wide() {
        let node = |host| Node { name: String::new(), host, shared_buffer: None };
        let mut network = Network { nodes: IndexVec::repeat(node(true), 1 << 16), ..Network::default() };
        network.nodes.push(node(false));
        assert!(!is_wide(&network));
        network.nodes.push(node(true));
        assert!(is_wide(&network));
    }
}
