//! How packets carry the number of the host that they go to, and what switches hash of them: in 32 bits.
//!
//! Half of them are the number, and half the hash, in networks whose hosts all have numbers below 2^16. In larger ones, which are *wide*, the
//! upper four bits of the hash are the upper ones of the number. So a packet is no larger for them, and the packets of smaller networks
//! are read as if there were no larger ones. Of the hash 12 bits are left to a connection: 4 096 ways, of which a switch has 255 at most.

use crate::network::Network;
use crate::streams::RngStream;
use forebay_types::NodeId;

/// Bits that every packet has for the number of a host.
const LOWER: u32 = 16;
/// Bits of the hash that hold more of it in a wide network.
const UPPER: u32 = 4;
/// Those that stay the connection's.
const OWN: u32 = 16 - UPPER;

/// Most hosts and switches of a network. Hosts come first, so that all of them have numbers below.
pub const MAX_NODES: usize = 1 << (LOWER + UPPER);

/// Returns true if numbers of hosts need more bits than the numbers of packets have.
pub(super) fn is_wide(network: &Network) -> bool {
    network.nodes.enumerate().any(|(id, node)| node.host && id.get() >> LOWER != 0)
}

/// The hash that packets to host `to` carry, of which `drawn` is what tells connections apart.
pub(super) fn carried(wide: bool, drawn: u16, to: NodeId) -> u16 {
    if wide { drawn & ((1 << OWN) - 1) | ((to.get() >> LOWER) << OWN) as u16 } else { drawn }
}

/// The hash `before`, that packets carried, with `drawn` in place of what tells connections apart.
pub(super) fn redrawn(wide: bool, drawn: u16, before: u16) -> u16 {
    let own = (1 << OWN) - 1;
    if wide { drawn & own | before & !own } else { drawn }
}

/// What is drawn for the packets that host `from` sends to host `to` on the connection of this number, in order of creation: stands for
/// the five-tuple of hosts and a port number that differs from connection to connection.
pub(super) fn drawn(connection: u64, from: NodeId, to: NodeId) -> u16 {
    RngStream::FlowHash.stream(connection, &[u64::from(from.get()), u64::from(to.get())]).next_u64() as u16
}

/// The lower bits of the number of host `to`, for its packets.
#[inline(always)]
pub const fn lower(to: NodeId) -> u16 {
    to.get() as u16
}

/// The host that a packet goes to, of these lower bits and this hash.
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
    fn every_host_is_found_again_whatever_was_drawn() {
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
    fn hosts_make_a_network_wide_and_switches_do_not() {
        let node = |host| Node { name: String::new(), host, shared_buffer: None };
        let mut network = Network { nodes: IndexVec::repeat(node(true), 1 << 16), ..Network::default() };
        network.nodes.push(node(false));
        assert!(!is_wide(&network));
        network.nodes.push(node(true));
        assert!(is_wide(&network));
    }
}
