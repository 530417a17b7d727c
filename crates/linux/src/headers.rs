//! Headers of packets that a backend has as bytes.

use etherparse::{IpNumber, Ipv4HeaderSlice, TcpHeaderSlice, TcpOptionElement};
use forebay_experiment::accecn;
use forebay_experiment::capture::{SACK_BLOCKS, SynOptions, TcpHeader, tcp_flag};

/// Fields of the headers of an IPv4 packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Headers {
    /// Identification of the IP packet.
    pub(crate) ip_id: u16,
    /// ECN field.
    pub(crate) ecn: u8,
    /// Class of service: the upper three bits of the DSCP.
    pub(crate) class: u8,
    /// Payload bytes, by the length in the IP header.
    pub(crate) payload: u16,
    /// TCP header; `None` for a datagram.
    pub(crate) tcp: Option<TcpHeader>,
}

impl Headers {
    /// Decodes the bytes of a packet from its IPv4 header to the end of its TCP header at least. A protocol other than UDP is taken for TCP: the probes of
    /// shims have a TCP header under a number of their own.
    ///
    /// `None` if the bytes are not an IPv4 packet, or end within its headers.
    pub(crate) fn decode(packet: &[u8]) -> Option<Headers> {
        let ip = Ipv4HeaderSlice::from_slice(packet).ok()?;
        let rest = packet.get(ip.slice().len()..)?;
        let after_ip = ip.total_len().saturating_sub(ip.slice().len() as u16);
        let (header, tcp) = if ip.protocol() == IpNumber::UDP {
            (etherparse::UdpHeader::LEN, None)
        } else {
            let tcp = TcpHeaderSlice::from_slice(rest).ok()?;
            (tcp.slice().len(), Some(tcp_header(&tcp)))
        };
        Some(Headers {
            ip_id: ip.identification(),
            ecn: ip.ecn().value(),
            class: ip.dcp().value() >> 3,
            payload: after_ip.saturating_sub(header as u16),
            tcp,
        })
    }
}

fn tcp_header(t: &TcpHeaderSlice<'_>) -> TcpHeader {
    let set = [
        (t.fin(), tcp_flag::FIN),
        (t.syn(), tcp_flag::SYN),
        (t.rst(), tcp_flag::RST),
        (t.psh(), tcp_flag::PSH),
        (t.ack(), tcp_flag::ACK),
        (t.ns(), tcp_flag::AE),
        (t.ece(), tcp_flag::ECE),
        (t.cwr(), tcp_flag::CWR),
    ];
    let mut header = TcpHeader {
        seq: t.sequence_number(),
        ack: t.acknowledgment_number(),
        flags: set.iter().filter(|(on, _)| *on).fold(0, |flags, (_, flag)| flags | flag),
        window: t.window_size(),
        ..TcpHeader::default()
    };
    let mut syn = SynOptions::default();
    for option in t.options_iterator().map_while(Result::ok) {
        match option {
            TcpOptionElement::MaximumSegmentSize(mss) => syn.mss = mss,
            TcpOptionElement::WindowScale(shift) => syn.window_scale = Some(shift),
            TcpOptionElement::SelectiveAcknowledgementPermitted => syn.sack_permitted = true,
            TcpOptionElement::Timestamp(value, echo) => header.timestamps = Some((value, echo)),
            TcpOptionElement::SelectiveAcknowledgement(first, others) => {
                let blocks = [Some(first)].into_iter().chain(others).flatten();
                header.sack.iter_mut().zip(blocks.take(SACK_BLOCKS)).for_each(|(place, block)| *place = block);
            }
            TcpOptionElement::Noop => {}
        }
    }
    header.syn = syn;
    header.accecn = accecn::decode(t.options());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_experiment::capture::{AccEcnFields, CapturedPacket, IpVersion, PacketEvent};
    use forebay_store::capture::Frame;
    use forebay_types::NodeId;

    fn packet(payload: u16, tcp: Option<TcpHeader>) -> CapturedPacket {
        CapturedPacket {
            time_ps: 1,
            interface: 0,
            inbound: false,
            event: PacketEvent::Passed,
            conn_id: 3,
            back: false,
            src: NodeId::new(0),
            dst: NodeId::new(1),
            payload,
            ip_id: 77,
            ecn: 2,
            class: 5,
            tcp,
        }
    }

    /// The IP packet of a frame.
    fn bytes(p: &CapturedPacket) -> Vec<u8> {
        let mut frame = Frame::default();
        frame.encode(p, (IpVersion::V4, 96)).expect("a packet that fits");
        frame.bytes()[14..].to_vec()
    }

    fn segment() -> TcpHeader {
        TcpHeader {
            seq: 5,
            ack: 6,
            flags: tcp_flag::ACK | tcp_flag::PSH | tcp_flag::ECE,
            window: 7,
            timestamps: Some((8, 9)),
            sack: [(10, 11), (12, 13), (0, 0), (0, 0)],
            ..TcpHeader::default()
        }
    }

    #[test]
    fn headers_roundtrip() {
        let options = SynOptions { mss: 1460, window_scale: Some(7), sack_permitted: true };
        let syn = TcpHeader { flags: tcp_flag::SYN, syn: options, sack: Default::default(), ..segment() };
        let fields = AccEcnFields { e0b: 1, ceb: 70_000, e1b: 0xff_ffff };
        let accurate = TcpHeader { accecn: Some(fields), sack: Default::default(), ..segment() };
        for (payload, tcp) in [(1_448, Some(segment())), (0, Some(syn)), (0, Some(accurate)), (100, None)] {
            let decoded = Headers::decode(&bytes(&packet(payload, tcp)));
            assert_eq!(decoded, Some(Headers { ip_id: 77, ecn: 2, class: 5, payload, tcp }));
        }
    }

    #[test]
    fn damaged_bytes_have_no_panic() {
        let good = bytes(&packet(1_448, Some(segment())));
        for len in 0..good.len() {
            let _ = Headers::decode(&good[..len]);
        }
        assert_eq!(Headers::decode(&good[..30]), None);
        for at in 0..good.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                let _ = Headers::decode(&bad);
            }
        }
    }
}
