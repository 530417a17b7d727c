//! Header fields that the switch reads, and the ECN field, which it also writes. A frame is Ethernet with IPv4 (RFC 791), which carries TCP (RFC
//! 9293), UDP (RFC 768) or a probe of a shim.

use forebay_queues::Codepoint;
use std::net::Ipv4Addr;

/// Number of TCP in an IP header.
const TCP: u8 = 6;
/// Number of UDP.
const UDP: u8 = 17;
/// Number of probes (`PROBE` of `crates/kernel/bpf/proboscis/proboscis.bpf.c`): for experimentation (RFC 3692). The rest of one is its SYN.
const PROBE: u8 = 253;
/// Bytes of the header of a frame, and the type that stands at its end, of IPv4.
pub(crate) const ETHERNET: usize = 14;
const TYPE: u16 = 0x0800;

/// Control bits of a TCP header.
pub mod flag {
    /// No more data.
    pub const FIN: u8 = 1;
    /// Opens a connection.
    pub const SYN: u8 = 2;
    /// The receiver should hand data to its application.
    pub const PSH: u8 = 8;
    /// The sender has reduced its window (RFC 3168).
    pub const CWR: u8 = 128;
    /// The acknowledgment number is valid.
    pub const ACK: u8 = 16;
}

/// One end of a flow.
pub type End = (Ipv4Addr, u16);

/// The headers of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    /// Sending end.
    pub from: End,
    /// Receiving end.
    pub to: End,
    /// Congestion field.
    pub ecn: Codepoint,
    /// Bytes behind the headers.
    pub payload: u32,
    /// The header of TCP, for TCP; of a probe the number of its SYN.
    pub tcp: Option<Tcp>,
    /// It is a probe.
    pub probe: bool,
}

/// The header of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// The eight low control bits: CWR, ECE, URG, ACK, PSH, RST, SYN, FIN.
    pub flags: u8,
    /// Window field, not scaled.
    pub window: u16,
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The headers of a frame; `None` for anything but whole TCP, UDP and probes over IPv4.
pub fn headers(frame: &[u8]) -> Option<Headers> {
    if word(frame, ETHERNET - 2)? != TYPE {
        return None;
    }
    let packet = frame.get(ETHERNET..)?;
    let first = *packet.first()?;
    let ip = usize::from(first & 0xF) * 4;
    let total = usize::from(word(packet, 2)?);
    // More fragments, or not the first one.
    let fragment = word(packet, 6)? & 0x3FFF != 0;
    if first >> 4 != 4 || ip < 20 || total > packet.len() || fragment {
        return None;
    }
    let ecn = Codepoint::from_bits(*packet.get(1)?);
    let (from, to) = (Ipv4Addr::from(long(packet, 12)?), Ipv4Addr::from(long(packet, 16)?));
    let inner = packet.get(ip..total)?;
    let (from, to) = ((from, word(inner, 0)?), (to, word(inner, 2)?));
    let (header, tcp) = match packet[9] {
        TCP => {
            let offset = usize::from(*inner.get(12)? >> 4) * 4;
            let tcp = Tcp { seq: long(inner, 4)?, ack: long(inner, 8)?, flags: *inner.get(13)?, window: word(inner, 14)? };
            (offset, Some(tcp))
        }
        UDP => (8, None),
        PROBE => (inner.len(), Some(Tcp { seq: long(inner, 4)?, ack: 0, flags: 0, window: 0 })),
        _ => return None,
    };
    let payload = inner.len().checked_sub(header)? as u32;
    Some(Headers { from, to, ecn, payload, tcp, probe: packet[9] == PROBE })
}

/// Place of the transport header in a frame, and in that header of its checksum, where it has one.
pub(crate) fn transport_checksum(frame: &[u8]) -> Option<(u16, u16)> {
    let packet = frame.get(ETHERNET..)?;
    let ip = ETHERNET as u16 + u16::from(packet.first()? & 0xF) * 4;
    match *packet.get(9)? {
        TCP => Some((ip, 16)),
        UDP => Some((ip, 6)),
        _ => None,
    }
}

/// Sets CE in a frame and updates the checksum of its IPv4 header (RFC 1624 equation 3).
///
/// # Panics
/// Panics if the frame is shorter than its headers.
pub fn set_ce(frame: &mut [u8]) {
    let packet = &mut frame[ETHERNET..];
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] |= Codepoint::Ce as u8;
    let after = u16::from_be_bytes([packet[0], packet[1]]);
    let sum = u16::from_be_bytes([packet[10], packet[11]]);
    let mut folded = u32::from(!sum) + u32::from(!before) + u32::from(after);
    while folded > 0xFFFF {
        folded = (folded & 0xFFFF) + (folded >> 16);
    }
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SYN of ten options' bytes, ECT(0), from 10.0.0.1:10000 to 10.0.0.2:5000, with a right checksum.
    fn syn() -> Vec<u8> {
        [vec![2; 12], vec![0x08, 0], packet()].concat()
    }

    fn packet() -> Vec<u8> {
        let mut p = vec![0x45, 0x02, 0, 60, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let sum = !checksum(&p);
        p[10..12].copy_from_slice(&sum.to_be_bytes());
        p.extend([0x27, 0x10, 0x13, 0x88, 0, 0, 0, 9, 0, 0, 0, 0, 0xA0, 0x02, 0xFF, 0xFF, 0, 0, 0, 0]);
        p.extend([0; 20]);
        p
    }

    /// RFC 1071: the one's complement sum.
    fn checksum(bytes: &[u8]) -> u16 {
        let mut sum: u32 = bytes.chunks(2).map(|c| u32::from(u16::from_be_bytes([c[0], c[1]]))).sum();
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn headers_are_read() {
        let h = headers(&syn()).expect("a whole packet");
        assert_eq!((h.from, h.to), ((Ipv4Addr::new(10, 0, 0, 1), 10_000), (Ipv4Addr::new(10, 0, 0, 2), 5_000)));
        assert_eq!((h.payload, h.ecn), (0, Codepoint::Ect0));
        assert_eq!(h.tcp, Some(Tcp { seq: 9, ack: 0, flags: 2, window: 0xFFFF }));
        assert!(!h.probe);
    }

    /// A probe has its SYN's number, and neither flags nor window.
    #[test]
    fn probe_is_identified_by_protocol_number() {
        let mut p = syn();
        p[ETHERNET + 9] = PROBE;
        let h = headers(&p).expect("a whole packet");
        assert_eq!((h.probe, h.payload, h.tcp), (true, 0, Some(Tcp { seq: 9, ack: 0, flags: 0, window: 0 })));
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        let mut p = syn();
        assert_eq!(checksum(&p[ETHERNET..][..20]), 0xFFFF);
        set_ce(&mut p);
        assert_eq!(checksum(&p[ETHERNET..][..20]), 0xFFFF);
        assert_eq!(headers(&p).expect("still whole").ecn, Codepoint::Ce);
    }

    /// Whatever is cut off or scrambled: no panic, and nothing is read beyond the end.
    #[test]
    fn invalid_frames_are_ignored() {
        let whole = syn();
        for n in 0..whole.len() {
            assert_eq!(headers(&whole[..n]), None, "{n} bytes");
        }
        for i in 0..whole.len() {
            for byte in [0, 0x0F, 0xF0, 0xFF] {
                let mut p = whole.clone();
                p[i] = byte;
                let _ = headers(&p);
            }
        }
    }
}
