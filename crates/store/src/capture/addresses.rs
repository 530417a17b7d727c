//! Addresses of hosts and ports of connections in captures.

use forebay_experiment::capture::IpVersion;
use forebay_types::NodeId;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First port and number of ports of the host that opens a connection: the dynamic range, which no protocol of a packet analyzer claims.
const OPENER_PORTS: (u16, u64) = (49_152, 16_384);
/// First port and number of ports of the other host. Together with the ports of the first host, 65 million connections have distinct ones.
const PEER_PORTS: (u16, u64) = (40_000, 4_000);

/// Prefix of IPv6 addresses: that of documentation (RFC 3849).
const PREFIX: u128 = 0x2001_0db8 << 96;

/// Addresses of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// Hardware address: 02:00, a locally administered one, followed by the four bytes of the IP address.
    pub mac: [u8; 6],
    /// 10.0.0.1 for host 0, 10.0.0.2 for host 1, and so on.
    pub v4: Ipv4Addr,
    /// 2001:db8::1 for host 0, 2001:db8::2 for host 1, and so on.
    pub v6: Ipv6Addr,
}

impl Address {
    /// Address of this version of IP.
    pub fn ip(&self, version: IpVersion) -> IpAddr {
        match version {
            IpVersion::V4 => self.v4.into(),
            IpVersion::V6 => self.v6.into(),
        }
    }
}

/// Addresses of host number `node`.
pub fn host(node: NodeId) -> Address {
    let number = node.get() + 1;
    let [_, b, c, d] = number.to_be_bytes();
    let v6 = Ipv6Addr::from_bits(PREFIX | u128::from(number));
    Address { mac: [2, 0, 10, b, c, d], v4: Ipv4Addr::new(10, b, c, d), v6 }
}

/// Port numbers of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoints {
    /// Port of the host that opens it.
    pub opener: u16,
    /// Port of the other host.
    pub peer: u16,
}

impl Endpoints {
    /// Port numbers of connection `number`.
    pub fn of(number: u64) -> Endpoints {
        let (opener, peer) = (number % OPENER_PORTS.1, number / OPENER_PORTS.1 % PEER_PORTS.1);
        Endpoints { opener: OPENER_PORTS.0 + opener as u16, peer: PEER_PORTS.0 + peer as u16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_host_number() {
        assert_eq!(host(NodeId::new(0)).v4.to_string(), "10.0.0.1");
        assert_eq!(host(NodeId::new(255)).v4.to_string(), "10.0.1.0");
        assert_eq!(host(NodeId::new(255)).ip(IpVersion::V6).to_string(), "2001:db8::100");
        assert_eq!(host(NodeId::new((1 << 20) - 1)).mac, [2, 0, 10, 16, 0, 0]);
    }

    #[test]
    fn connections_have_distinct_ports() {
        let all = [0, 1, 16_383, 16_384, 65_535_999].map(Endpoints::of);
        assert!((0..all.len()).all(|i| (0..i).all(|j| all[i] != all[j])), "{all:?}");
        assert_eq!(all[0], Endpoints { opener: 49_152, peer: 40_000 });
        assert_eq!(all[4], Endpoints { opener: 65_535, peer: 43_999 });
    }
}
