//! Link layers. The IP packet in a frame is found here; etherparse reads Ethernet with its tags, and IP with its extension headers.

use super::{LinkType, NoSegment};
use etherparse::{EtherType, LaxSlicedPacket};

pub(super) const ETHERNET: LinkType = LinkType(1);
/// A word with the address family in the byte order of the capturing machine: loopback of BSD.
const NULL: LinkType = LinkType(0);
/// The same in network byte order.
const LOOP: LinkType = LinkType(108);
/// IP without a link layer; 12 and 14 are the numbers of some BSDs.
const RAW: [LinkType; 3] = [LinkType(101), LinkType(12), LinkType(14)];
const IPV4: LinkType = LinkType(228);
const IPV6: LinkType = LinkType(229);
/// Cooked captures of Linux, such as those of the device `any`.
const SLL: LinkType = LinkType(113);
const SLL2: LinkType = LinkType(276);

/// Bytes of the headers of cooked captures.
const SLL_HEADER: usize = 16;
const SLL2_HEADER: usize = 20;

/// Splits the frame into its headers.
pub(super) fn split(link: LinkType, data: &[u8]) -> Result<LaxSlicedPacket<'_>, NoSegment> {
    match link {
        ETHERNET => ethernet(data),
        SLL => cooked(data, SLL_HEADER, 14),
        SLL2 => cooked(data, SLL2_HEADER, 0),
        NULL | LOOP => ip(data.get(4..).ok_or(NoSegment::Cut)?),
        IPV4 | IPV6 => ip(data),
        raw if RAW.contains(&raw) => ip(data),
        other => Err(NoSegment::Link(other)),
    }
}

pub(super) fn ethernet(data: &[u8]) -> Result<LaxSlicedPacket<'_>, NoSegment> {
    LaxSlicedPacket::from_ethernet(data).map_err(|_| NoSegment::Cut)
}

pub(super) fn ip(data: &[u8]) -> Result<LaxSlicedPacket<'_>, NoSegment> {
    LaxSlicedPacket::from_ip(data).map_err(|_| NoSegment::Malformed)
}

pub(super) fn ether_type(kind: u16, data: &[u8]) -> LaxSlicedPacket<'_> {
    LaxSlicedPacket::from_ether_type(EtherType(kind), data)
}

/// A cooked capture: the EtherType is at `at` of a header of `len` bytes.
fn cooked(data: &[u8], len: usize, at: usize) -> Result<LaxSlicedPacket<'_>, NoSegment> {
    let (header, rest) = data.split_at_checked(len).ok_or(NoSegment::Cut)?;
    Ok(ether_type(u16::from_be_bytes([header[at], header[at + 1]]), rest))
}
