//! Frames of any kind: IP packets are unpacked from VXLAN, GRE and IP-in-IP until TCP is found.

use super::{Ip, LinkType, NoSegment, Segment, link, tcp};
use etherparse::{LaxNetSlice, LaxSlicedPacket};

/// Most packets in each other; deeper ones are not TCP of an application.
const MAX_DEPTH: usize = 4;

/// UDP ports of VXLAN: that of RFC 7348, and the older default of Linux.
const VXLAN: [u16; 2] = [4789, 8472];
const UDP_HEADER: usize = 8;
const VXLAN_HEADER: usize = 8;

/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;
const GRE: u8 = 47;
const IP_IN_IP: [u8; 2] = [4, 41];
/// EtherType of an Ethernet frame in GRE.
const TRANSPARENT_ETHERNET: u16 = 0x6558;

/// Decodes a frame of any kind.
pub(super) fn decode(link: LinkType, data: &[u8], wire_len: u32) -> Result<Segment, NoSegment> {
    let mut packet = link::split(link, data)?;
    for _ in 0..MAX_DEPTH {
        let (ip, protocol, payload, payload_len) = network(&packet, data, wire_len)?;
        packet = match protocol {
            TCP => {
                let ports = payload.first_chunk::<4>().ok_or(NoSegment::Cut)?;
                let ports = (u16::from_be_bytes([ports[0], ports[1]]), u16::from_be_bytes([ports[2], ports[3]]));
                return tcp::parse(payload, payload_len, ip.ends(ports), ip.id, ip.ce);
            }
            UDP => {
                let port = payload.get(2..4).ok_or(NoSegment::Cut)?;
                if !VXLAN.contains(&u16::from_be_bytes([port[0], port[1]])) {
                    return Err(NoSegment::NotTcp);
                }
                link::ethernet(payload.get(UDP_HEADER + VXLAN_HEADER..).ok_or(NoSegment::Cut)?)?
            }
            GRE => gre(payload)?,
            other if IP_IN_IP.contains(&other) => link::ip(payload)?,
            _ => return Err(NoSegment::NotTcp),
        };
    }
    Err(NoSegment::NotTcp)
}

/// The packet in a GRE packet (RFC 2784, RFC 2890).
fn gre(data: &[u8]) -> Result<LaxSlicedPacket<'_>, NoSegment> {
    let h = data.first_chunk::<4>().ok_or(NoSegment::Cut)?;
    if h[1] & 7 != 0 {
        return Err(NoSegment::NotTcp);
    }
    // Checksum, key and sequence number take 4 bytes each.
    let options = [0x80, 0x20, 0x10].iter().filter(|flag| h[0] & **flag != 0).count();
    let rest = data.get(4 + 4 * options..).ok_or(NoSegment::Cut)?;
    match u16::from_be_bytes([h[2], h[3]]) {
        TRANSPARENT_ETHERNET => link::ethernet(rest),
        kind => Ok(link::ether_type(kind, rest)),
    }
}

/// The IP packet: its addresses, the protocol of its payload, the captured payload, and the payload's length on the wire.
fn network<'a>(packet: &LaxSlicedPacket<'a>, frame: &[u8], wire_len: u32) -> Result<(Ip, u8, &'a [u8], u32), NoSegment> {
    let mut ip = Ip { src: [0; 16], dst: [0; 16], v6: false, id: 0, ce: false };
    let (payload, start, stated, v6_header) = match &packet.net {
        Some(LaxNetSlice::Ipv4(v4)) => {
            let header = v4.header();
            ip.src[..4].copy_from_slice(&header.source());
            ip.dst[..4].copy_from_slice(&header.destination());
            (ip.id, ip.ce) = (header.identification(), header.ecn().value() == 3);
            if header.fragments_offset().value() != 0 {
                return Err(NoSegment::Fragment);
            }
            (v4.payload(), header.slice().as_ptr(), u32::from(header.total_len()), 0)
        }
        Some(LaxNetSlice::Ipv6(v6)) => {
            let header = v6.header();
            (ip.src, ip.dst, ip.v6) = (header.source(), header.destination(), true);
            ip.ce = header.traffic_class() & 3 == 3;
            if is_later_fragment(header.next_header().0, v6.extensions().slice()) {
                return Err(NoSegment::Fragment);
            }
            (v6.payload(), header.slice().as_ptr(), u32::from(header.payload_length()), 40)
        }
        Some(LaxNetSlice::Arp(_)) => return Err(NoSegment::NotTcp),
        None => return Err(if packet.stop_err.is_some() { NoSegment::Cut } else { NoSegment::NotTcp }),
    };
    // Frames of more than 64 KiB, as the network card gets them, have no length.
    let total = match stated {
        0 => wire_len.saturating_sub((start as usize).saturating_sub(frame.as_ptr() as usize) as u32),
        stated => stated + v6_header,
    };
    let headers = (payload.payload.as_ptr() as usize).saturating_sub(start as usize) as u32;
    let payload_len = total.checked_sub(headers).ok_or(NoSegment::Malformed)?;
    Ok((ip, payload.ip_number.0, payload.payload, payload_len))
}

/// True if a fragment header (RFC 8200, section 4.5) among the extension headers has an offset. The library's iterator panics on headers that are cut.
fn is_later_fragment(first: u8, mut headers: &[u8]) -> bool {
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    let mut kind = first;
    while let [next, len, high, low, ..] = *headers {
        let len = match kind {
            FRAGMENT => return u16::from_be_bytes([high, low]) >> 3 != 0,
            AUTHENTICATION => (usize::from(len) + 2) * 4,
            _ => (usize::from(len) + 1) * 8,
        };
        let Some(rest) = headers.get(len..) else { return false };
        (kind, headers) = (next, rest);
    }
    false
}
