//! Ethernet frames of captured packets.

use crate::capture::addresses::{Address, Endpoints, host};
use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6Header, TcpHeader as Tcp, TcpOptionElement, UdpHeader,
};
use forebay_experiment::accecn;
use forebay_experiment::capture::{CapturedPacket, IpVersion, TcpHeader, tcp_flag};
use std::io;

/// Payload of all packets: the simulator has no data.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// Initial time to live, as Linux.
const TTL: u8 = 64;
/// Maximum number of bytes of TCP options.
const OPTIONS: usize = 40;

/// A frame without its check sequence, as packet analyzers expect it.
#[derive(Debug, Default)]
pub struct Frame {
    bytes: Vec<u8>,
    length: u32,
}

/// Reports a header that has no encoding.
fn invalid(e: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, e.to_string())
}

impl Frame {
    /// Encodes a packet with this version of IP, of which at most `snap` bytes are kept. Checksums are those of the complete packet; its payload is zero.
    /// The memory of the frame before is reused.
    ///
    /// # Errors
    /// A packet that is too long for IP.
    pub fn encode(&mut self, p: &CapturedPacket, (version, snap): (IpVersion, u32)) -> io::Result<()> {
        self.bytes.clear();
        let (src, dst, payload) = (host(p.src), host(p.dst), &ZEROS[..usize::from(p.payload)]);
        let ports = Endpoints::of(p.conn_id);
        let ports = if p.back { (ports.peer, ports.opener) } else { (ports.opener, ports.peer) };
        let out = &mut self.bytes;
        let tcp = p.tcp.as_ref().map(|t| segment(t, ports.0, ports.1)).transpose()?;
        let (transport, protocol) = match &tcp {
            Some(tcp) => (tcp.header_len_u16(), IpNumber::TCP),
            None => (UdpHeader::LEN as u16, IpNumber::UDP),
        };
        let length = transport.checked_add(p.payload).ok_or_else(|| invalid("the packet is longer than IP allows"))?;
        let ether_type = match version {
            IpVersion::V4 => EtherType::IPV4,
            IpVersion::V6 => EtherType::IPV6,
        };
        Ethernet2Header { source: src.mac, destination: dst.mac, ether_type }.write(out)?;
        let ip = ip_header(p, (&src, &dst), version, (length, protocol))?;
        match &ip {
            Ip::V4(ip) => ip.write(out).map_err(invalid)?,
            Ip::V6(ip) => ip.write(out)?,
        }
        match tcp {
            Some(mut tcp) => {
                tcp.checksum = match &ip {
                    Ip::V4(ip) => tcp.calc_checksum_ipv4(ip, payload),
                    Ip::V6(ip) => tcp.calc_checksum_ipv6(ip, payload),
                }
                .map_err(invalid)?;
                tcp.write(out)?;
            }
            None => match &ip {
                Ip::V4(ip) => UdpHeader::with_ipv4_checksum(ports.0, ports.1, ip, payload),
                Ip::V6(ip) => UdpHeader::with_ipv6_checksum(ports.0, ports.1, ip, payload),
            }
            .map_err(invalid)?
            .write(out)?,
        }
        self.length = (out.len() + payload.len()) as u32;
        let kept = (snap as usize).min(out.len() + payload.len());
        out.resize(kept, 0);
        Ok(())
    }

    /// The kept bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Length of the complete frame.
    pub fn length(&self) -> u32 {
        self.length
    }
}

/// IP header of a frame.
enum Ip {
    V4(Ipv4Header),
    V6(Ipv6Header),
}

/// IP header of a packet with `length` bytes of `protocol`.
fn ip_header(
    p: &CapturedPacket,
    (src, dst): (&Address, &Address),
    version: IpVersion,
    (length, protocol): (u16, IpNumber),
) -> io::Result<Ip> {
    // The class selectors of the classes of service.
    let (dscp, ecn) = (IpDscp::try_new(p.class << 3).map_err(invalid)?, IpEcn::try_new(p.ecn).map_err(invalid)?);
    Ok(match version {
        IpVersion::V4 => {
            let ip = Ipv4Header::new(length, TTL, protocol, src.v4.octets(), dst.v4.octets()).map_err(invalid)?;
            Ip::V4(Ipv4Header { dscp, ecn, identification: p.ip_id, dont_fragment: true, ..ip })
        }
        IpVersion::V6 => {
            let (source, destination) = (src.v6.octets(), dst.v6.octets());
            let addresses = Ipv6Header { source, destination, hop_limit: TTL, ..Ipv6Header::default() };
            let mut ip = Ipv6Header { payload_length: length, next_header: protocol, ..addresses };
            ip.set_dscp(dscp);
            ip.set_ecn(ecn);
            Ip::V6(ip)
        }
    })
}

/// TCP header, without its checksum.
fn segment(t: &TcpHeader, sport: u16, dport: u16) -> io::Result<Tcp> {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp, WindowScale,
    };
    let mut tcp = Tcp::new(sport, dport, t.seq, t.window);
    tcp.acknowledgment_number = t.ack;
    (tcp.syn, tcp.fin, tcp.rst) = (t.has(tcp_flag::SYN), t.has(tcp_flag::FIN), t.has(tcp_flag::RST));
    (tcp.ack, tcp.psh) = (t.has(tcp_flag::ACK), t.has(tcp_flag::PSH));
    // The flag AE of RFC 9768 was NS before.
    (tcp.ece, tcp.cwr, tcp.ns) = (t.has(tcp_flag::ECE), t.has(tcp_flag::CWR), t.has(tcp_flag::AE));
    // In the order of Linux (tcp_options_write).
    let mut options = Vec::with_capacity(8);
    let syn = t.has(tcp_flag::SYN);
    if syn {
        options.push(MaximumSegmentSize(t.syn.mss));
        if t.syn.sack_permitted {
            options.extend((t.timestamps.is_none()).then_some([Noop, Noop]).into_iter().flatten());
            options.push(SelectiveAcknowledgementPermitted);
        }
    }
    if let Some((value, echo)) = t.timestamps {
        if !(syn && t.syn.sack_permitted) {
            options.extend([Noop, Noop]);
        }
        options.push(Timestamp(value, echo));
    }
    if let Some(shift) = t.syn.window_scale.filter(|_| syn) {
        options.extend([Noop, WindowScale(shift)]);
    }
    let mut blocks = t.sack_blocks();
    if let Some(first) = blocks.next() {
        let others = [blocks.next(), blocks.next(), blocks.next()];
        // Beside timestamps there is space for three blocks.
        let others = if t.timestamps.is_some() { [others[0], others[1], None] } else { others };
        options.extend([Noop, Noop, SelectiveAcknowledgement(first, others)]);
    }
    tcp.set_options(&options).map_err(|e| invalid(format!("{e:?}")))?;
    if let Some(fields) = t.accecn {
        let others = tcp.options.as_slice();
        let option = accecn::encode(&fields);
        // As in Linux, the option is omitted where other options leave no space (RFC 9768 section 3.2.3.3).
        if others.len() + option.len() <= OPTIONS {
            let all = [others, &option].concat();
            tcp.set_options_raw(&all).map_err(|e| invalid(format!("{e:?}")))?;
        }
    }
    Ok(tcp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};
    use forebay_experiment::capture::{PacketEvent, SynOptions};
    use forebay_types::NodeId;

    fn packet(tcp: Option<TcpHeader>, payload: u16) -> CapturedPacket {
        CapturedPacket {
            time_ps: 0,
            interface: 0,
            inbound: false,
            event: PacketEvent::Passed,
            conn_id: 3,
            back: false,
            src: NodeId::new(4),
            dst: NodeId::new(5),
            payload,
            ip_id: 7,
            ecn: 3,
            class: 2,
            tcp,
        }
    }

    fn encoded(p: &CapturedPacket, snap: u32) -> Frame {
        let mut frame = Frame::default();
        frame.encode(p, (IpVersion::V4, snap)).expect("a frame");
        frame
    }

    #[test]
    fn syn_has_options_of_linux() {
        let syn = SynOptions { mss: 1460, window_scale: Some(7), sack_permitted: true };
        let t = TcpHeader {
            seq: 9,
            flags: tcp_flag::SYN | tcp_flag::ECE | tcp_flag::CWR,
            timestamps: Some((1, 0)),
            syn,
            ..TcpHeader::default()
        };
        let frame = encoded(&packet(Some(t), 0), u32::MAX);
        assert_eq!(frame.length(), 14 + 20 + 40);
        let sliced = SlicedPacket::from_ethernet(frame.bytes()).expect("headers");
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP") };
        // MSS, SACK permitted, timestamps, no operation, window scale.
        assert_eq!(tcp.options(), [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7]);
        assert!(tcp.ece() && tcp.cwr() && !tcp.ack());
    }

    #[test]
    fn sums_and_fields_are_valid() {
        let t = TcpHeader {
            seq: 100,
            ack: 7,
            flags: tcp_flag::ACK,
            window: 500,
            timestamps: Some((5, 6)),
            sack: [(1, 2), (3, 4), (5, 6), (7, 8)],
            ..TcpHeader::default()
        };
        let frame = encoded(&packet(Some(t), 1_000), u32::MAX);
        let sliced = SlicedPacket::from_ethernet(frame.bytes()).expect("headers");
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (sliced.net, sliced.transport) else { panic!("no TCP") };
        assert_eq!((ip.header().ecn().value(), ip.header().dcp().value()), (3, 16));
        assert_eq!(ip.header().source_addr().to_string(), "10.0.0.5");
        assert_eq!(ip.header().to_header().calc_header_checksum(), ip.header().header_checksum());
        let header = tcp.to_header();
        assert_eq!(header.calc_checksum_ipv4(&ip.header().to_header(), tcp.payload()).expect("short"), header.checksum);
        assert_eq!((tcp.payload().len(), header.options.len()), (1_000, 12 + 2 + 26));
    }

    #[test]
    fn version_6_has_valid_sums() {
        let segment = TcpHeader { seq: 1, flags: tcp_flag::ACK, timestamps: Some((5, 6)), ..TcpHeader::default() };
        for tcp in [Some(segment), None] {
            let mut frame = Frame::default();
            frame.encode(&packet(tcp, 1_000), (IpVersion::V6, u32::MAX)).expect("a frame");
            let sliced = SlicedPacket::from_ethernet(frame.bytes()).expect("headers");
            let Some(NetSlice::Ipv6(ip)) = sliced.net else { panic!("no IPv6") };
            let ip = ip.header().to_header();
            assert_eq!((ip.ecn().value(), ip.dscp().value(), usize::from(ip.payload_length)), (3, 16, frame.bytes().len() - 54));
            assert_eq!(ip.source_addr().to_string(), "2001:db8::5");
            match sliced.transport {
                Some(TransportSlice::Tcp(tcp)) => {
                    assert_eq!(tcp.to_header().calc_checksum_ipv6(&ip, tcp.payload()).expect("short"), tcp.checksum());
                }
                Some(TransportSlice::Udp(udp)) => {
                    assert_eq!(udp.to_header().calc_checksum_ipv6(&ip, udp.payload()).expect("short"), udp.checksum());
                }
                _ => panic!("no transport"),
            }
        }
    }

    #[test]
    fn snap_length_cuts_bytes_only() {
        let frame = encoded(&packet(None, 1_000), 60);
        assert_eq!((frame.bytes().len(), frame.length()), (60, 14 + 20 + 8 + 1_000));
        let whole = encoded(&packet(None, 1_000), u32::MAX);
        assert_eq!(frame.bytes(), &whole.bytes()[..60]);
        assert!(Frame::default().encode(&packet(None, u16::MAX), (IpVersion::V4, 60)).is_err());
    }
}
