//! From a captured frame to the TCP segment in it: link layers, VLAN tags, tunnels, IP and its extension headers.

mod link;
mod tcp;
mod tunnel;

use std::net::{IpAddr, Ipv6Addr};
pub use tcp::{Sack, Timestamps};

/// A number of the registry of link types, <https://www.tcpdump.org/linktypes.html>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkType(pub u16);

/// An IP address and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Upper and lower half of the address; IPv4 addresses as IPv6-mapped ones.
    address: [u64; 2],
    /// The port.
    port: u16,
}

impl Endpoint {
    fn v4(address: [u8; 4], port: u16) -> Endpoint {
        Endpoint { address: [0, 0xffff_0000_0000 | u64::from(u32::from_be_bytes(address))], port }
    }

    fn v6(address: [u8; 16], port: u16) -> Endpoint {
        let address = u128::from_be_bytes(address);
        Endpoint { address: [(address >> 64) as u64, address as u64], port }
    }

    /// The address.
    pub fn ip(self) -> IpAddr {
        let [upper, lower] = self.address.map(u128::from);
        Ipv6Addr::from_bits(upper << 64 | lower).to_canonical()
    }

    /// The port.
    pub fn port(self) -> u16 {
        self.port
    }

    /// True if the address is one of IPv6.
    pub(crate) fn is_v6(self) -> bool {
        self.address[0] != 0 || self.address[1] >> 32 != 0xffff
    }
}

impl From<(IpAddr, u16)> for Endpoint {
    fn from((ip, port): (IpAddr, u16)) -> Endpoint {
        match ip {
            IpAddr::V4(v4) => Endpoint::v4(v4.octets(), port),
            IpAddr::V6(v6) => Endpoint::v6(v6.octets(), port),
        }
    }
}

/// A TCP segment, as its headers describe it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Source.
    pub src: Endpoint,
    /// Destination.
    pub dst: Endpoint,
    /// Sequence number of the first payload byte, or of SYN.
    pub seq: u32,
    /// Acknowledgment number; meaningless without the flag ACK.
    pub ack: u32,
    /// Flags.
    pub flags: Flags,
    /// Payload bytes on the wire, from the length in the IP header.
    pub payload: u32,
    /// Identification of the IPv4 packet; 0 for IPv6.
    pub ip_id: u16,
    /// The packet is marked: congestion experienced (RFC 3168).
    pub ce: bool,
    /// Maximum segment size, of a SYN.
    pub mss: Option<u16>,
    /// Option of RFC 7323.
    pub timestamps: Option<Timestamps>,
    /// Option of RFC 2018.
    pub sack: Sack,
}

/// Flags of the TCP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub fn fin(self) -> bool {
        self.0 & 0x01 != 0
    }

    /// Synchronizes sequence numbers.
    pub fn syn(self) -> bool {
        self.0 & 0x02 != 0
    }

    /// Resets the connection.
    pub fn rst(self) -> bool {
        self.0 & 0x04 != 0
    }

    /// Push: usually the last segment of a write of the application.
    pub fn psh(self) -> bool {
        self.0 & 0x08 != 0
    }

    /// The acknowledgment number is valid.
    pub fn ack(self) -> bool {
        self.0 & 0x10 != 0
    }

    /// Congestion echo (RFC 3168).
    pub fn ece(self) -> bool {
        self.0 & 0x40 != 0
    }
}

/// Reasons for which a frame has no segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSegment {
    /// Another protocol.
    NotTcp,
    /// The link type is not supported.
    Link(LinkType),
    /// The capture does not reach the TCP header.
    Cut,
    /// A later fragment of an IP packet.
    Fragment,
    /// Lengths or versions in the headers contradict each other.
    Malformed,
}

/// Addresses and properties of an IP packet.
#[derive(Debug, Clone, Copy)]
struct Ip {
    src: [u8; 16],
    dst: [u8; 16],
    v6: bool,
    id: u16,
    ce: bool,
}

impl Ip {
    fn ends(&self, ports: (u16, u16)) -> (Endpoint, Endpoint) {
        let end = |address: &[u8; 16], port| match self.v6 {
            true => Endpoint::v6(*address, port),
            false => Endpoint::v4([address[0], address[1], address[2], address[3]], port),
        };
        (end(&self.src, ports.0), end(&self.dst, ports.1))
    }
}

/// Bytes of Ethernet, IPv4 and TCP without options: the frames that [`plain`] decodes.
const PLAIN: usize = 14 + 20 + 20;

/// Decodes the TCP segment of a frame. `wire_len` is the length of the frame on the wire.
///
/// # Errors
/// The frame has no TCP header, or not enough of it.
#[inline]
pub fn decode(link: LinkType, data: &[u8], wire_len: u32) -> Result<Segment, NoSegment> {
    if link == link::ETHERNET
        && let Some(frame) = data.first_chunk::<PLAIN>()
        && is_plain(frame)
    {
        return plain(frame, data, wire_len);
    }
    tunnel::decode(link, data, wire_len)
}

/// True for an Ethernet frame with an unfragmented IPv4 packet of TCP without IP options.
fn is_plain(f: &[u8; PLAIN]) -> bool {
    [f[12], f[13], f[14]] == [0x08, 0x00, 0x45] && f[23] == 6 && [f[20] & 0x3f, f[21]] == [0, 0]
}

/// The most common frames, without the generality of the other path.
#[inline]
fn plain(f: &[u8; PLAIN], data: &[u8], wire_len: u32) -> Result<Segment, NoSegment> {
    let total = match u16::from_be_bytes([f[16], f[17]]) {
        // Frames of more than 64 KiB, as the network card gets them, have no length.
        0 => wire_len.saturating_sub(14),
        total => u32::from(total),
    };
    let tcp_len = total.checked_sub(20).ok_or(NoSegment::Malformed)?;
    let ends = (
        Endpoint::v4([f[26], f[27], f[28], f[29]], u16::from_be_bytes([f[34], f[35]])),
        Endpoint::v4([f[30], f[31], f[32], f[33]], u16::from_be_bytes([f[36], f[37]])),
    );
    tcp::parse(&data[34..], tcp_len, ends, u16::from_be_bytes([f[18], f[19]]), f[15] & 3 == 3)
}
