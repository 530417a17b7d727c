//! Writes TCP packets in all encapsulations, and capture files in all formats.

use forebay_formats::trains::capture::Capture;
use forebay_formats::trains::{Analysis, Flow, Options, Sink, Summary, flows};
use std::io::Cursor;
use std::net::IpAddr;
use std::ops::ControlFlow;

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const ACK: u8 = 0x10;

pub(crate) const ETHERNET: u16 = 1;

/// A TCP segment. Its payload is zeros.
#[derive(Debug, Clone)]
pub(crate) struct Tcp {
    pub(crate) src: (IpAddr, u16),
    pub(crate) dst: (IpAddr, u16),
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u8,
    pub(crate) payload: u32,
    pub(crate) ip_id: u16,
    pub(crate) ecn: u8,
    pub(crate) mss: Option<u16>,
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) sack: Vec<(u32, u32)>,
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

impl Tcp {
    pub(crate) fn new(src: (&str, u16), dst: (&str, u16)) -> Tcp {
        let end = |(address, port): (&str, u16)| (ip(address), port);
        Tcp {
            src: end(src),
            dst: end(dst),
            seq: 0,
            ack: 0,
            flags: ACK,
            payload: 0,
            ip_id: 0,
            ecn: 0,
            mss: None,
            timestamps: None,
            sack: Vec::new(),
        }
    }

    fn options(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(mss) = self.mss {
            out.extend([2, 4]);
            out.extend(mss.to_be_bytes());
        }
        if let Some((value, echo)) = self.timestamps {
            out.extend([1, 1, 8, 10]);
            out.extend(value.to_be_bytes());
            out.extend(echo.to_be_bytes());
        }
        if !self.sack.is_empty() {
            out.extend([1, 1, 5, 2 + 8 * self.sack.len() as u8]);
            for (start, end) in &self.sack {
                out.extend(start.to_be_bytes());
                out.extend(end.to_be_bytes());
            }
        }
        out
    }

    /// Header and payload; the checksum is not needed.
    fn segment(&self) -> Vec<u8> {
        let options = self.options();
        let mut out = Vec::new();
        out.extend(self.src.1.to_be_bytes());
        out.extend(self.dst.1.to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        out.extend(self.ack.to_be_bytes());
        out.extend([(((20 + options.len()) / 4) << 4) as u8, self.flags]);
        out.extend(1000_u16.to_be_bytes());
        out.extend([0; 4]);
        out.extend(options);
        out.resize(out.len() + self.payload as usize, 0);
        out
    }

    /// The IP packet. Packets above 64 KiB have length 0, as the kernel hands them to the capture.
    pub(crate) fn packet(&self) -> Vec<u8> {
        let segment = self.segment();
        match (self.src.0, self.dst.0) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => ipv4(6, (src.octets(), dst.octets()), (self.ip_id, self.ecn), &segment),
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                // Hop-by-hop options and a fragment header with the whole packet.
                let mut body = vec![44, 0, 1, 4, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 9];
                body.extend(&segment);
                let len = u16::try_from(body.len()).unwrap_or(0);
                let mut out = vec![0x60, self.ecn << 4, 0, 0];
                out.extend(len.to_be_bytes());
                out.extend([0, 64]);
                out.extend(src.octets());
                out.extend(dst.octets());
                out.extend(body);
                out
            }
            _ => panic!("one family"),
        }
    }

    fn ether_type(&self) -> u16 {
        if self.src.0.is_ipv4() { 0x0800 } else { 0x86dd }
    }

    /// An Ethernet frame, with these VLAN tags.
    pub(crate) fn frame(&self, tags: &[u16]) -> Vec<u8> {
        let mut out = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        for tag in tags {
            out.extend(tag.to_be_bytes());
            out.extend([0, 7]);
        }
        out.extend(self.ether_type().to_be_bytes());
        out.extend(self.packet());
        out
    }

    /// A cooked capture (SLL).
    pub(crate) fn cooked(&self) -> Vec<u8> {
        let mut out = vec![0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        out.extend(self.ether_type().to_be_bytes());
        out.extend(self.packet());
        out
    }

    /// A cooked capture, version 2.
    pub(crate) fn cooked2(&self) -> Vec<u8> {
        let mut out = self.ether_type().to_be_bytes().to_vec();
        out.extend([0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0]);
        out.extend(self.packet());
        out
    }

    /// In VXLAN, GRE (Ethernet with a key, or IP), or IP-in-IP.
    pub(crate) fn tunnel(&self, kind: Tunnel) -> Vec<u8> {
        let outer = ([192, 168, 0, 1], [192, 168, 0, 2]);
        let packet = match kind {
            Tunnel::Vxlan => {
                let inner = self.frame(&[]);
                let mut udp = vec![0xc0, 0, 0x12, 0xb5];
                udp.extend((16 + inner.len() as u16).to_be_bytes());
                udp.extend([0, 0, 8, 0, 0, 0, 0, 0, 42, 0]);
                udp.extend(inner);
                ipv4(17, outer, (5, 0), &udp)
            }
            Tunnel::GreEthernet => {
                let mut gre = vec![0x20, 0, 0x65, 0x58, 0, 0, 0, 9];
                gre.extend(self.frame(&[]));
                ipv4(47, outer, (5, 0), &gre)
            }
            Tunnel::GreIp => {
                let mut gre = vec![0, 0];
                gre.extend(self.ether_type().to_be_bytes());
                gre.extend(self.packet());
                ipv4(47, outer, (5, 0), &gre)
            }
            Tunnel::IpInIp => ipv4(if self.src.0.is_ipv4() { 4 } else { 41 }, outer, (5, 0), &self.packet()),
        };
        let mut out = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        out.extend(packet);
        out
    }
}

/// Encapsulations.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tunnel {
    Vxlan,
    GreEthernet,
    GreIp,
    IpInIp,
}

pub(crate) fn ipv4(protocol: u8, (src, dst): ([u8; 4], [u8; 4]), (id, ecn): (u16, u8), body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(20 + body.len()).unwrap_or(0);
    let mut out = vec![0x45, ecn];
    out.extend(len.to_be_bytes());
    out.extend(id.to_be_bytes());
    out.extend([0x40, 0, 64, protocol, 0, 0]);
    out.extend(src);
    out.extend(dst);
    out.extend(body);
    out
}

/// A frame for a file: time in ns, bytes, and bytes on the wire.
pub(crate) type Captured = (u64, Vec<u8>, u32);

/// Frames cut to `snap` bytes.
pub(crate) fn cut(packets: &[(u64, Tcp)], snap: usize, frame: impl Fn(&Tcp) -> Vec<u8>) -> Vec<Captured> {
    let one = |(time, tcp): &(u64, Tcp)| {
        let mut bytes = frame(tcp);
        let wire = bytes.len() as u32;
        bytes.truncate(snap);
        (*time, bytes, wire)
    };
    packets.iter().map(one).collect()
}

/// Formats of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub(crate) big: bool,
    pub(crate) nanoseconds: bool,
    pub(crate) link: u16,
}

pub(crate) const FORM: Form = Form { big: false, nanoseconds: true, link: ETHERNET };

impl Form {
    pub(crate) fn u16(self, v: u16) -> [u8; 2] {
        if self.big { v.to_be_bytes() } else { v.to_le_bytes() }
    }

    pub(crate) fn u32(self, v: u32) -> [u8; 4] {
        if self.big { v.to_be_bytes() } else { v.to_le_bytes() }
    }

    /// A pcap file.
    pub(crate) fn pcap(self, frames: &[Captured]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(self.u32(if self.nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }));
        out.extend(self.u16(2));
        out.extend(self.u16(4));
        [0, 0, 262_144, u32::from(self.link)].iter().for_each(|v| out.extend(self.u32(*v)));
        for (time, bytes, wire) in frames {
            let fraction = (time % 1_000_000_000) as u32;
            out.extend(self.u32((time / 1_000_000_000) as u32));
            out.extend(self.u32(if self.nanoseconds { fraction } else { fraction / 1_000 }));
            out.extend(self.u32(bytes.len() as u32));
            out.extend(self.u32(*wire));
            out.extend(bytes);
        }
        out
    }

    /// A pcapng block.
    pub(crate) fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padded = body.len().next_multiple_of(4);
        let len = self.u32(12 + padded as u32);
        let mut out = self.u32(kind).to_vec();
        out.extend(len);
        out.extend(body);
        out.resize(8 + padded, 0);
        out.extend(len);
        out
    }

    /// A section header and the description of one interface, with these options.
    pub(crate) fn section(self, snap: u32, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut body = self.u32(0x1a2b_3c4d).to_vec();
        body.extend(self.u16(1));
        body.extend(self.u16(0));
        body.extend([0xff; 8]);
        let mut out = self.block(0x0a0d_0d0a, &body);
        let mut body = self.u16(self.link).to_vec();
        body.extend([0, 0]);
        body.extend(self.u32(snap));
        for (code, value) in options {
            body.extend(self.u16(*code));
            body.extend(self.u16(value.len() as u16));
            body.extend(value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        if !options.is_empty() {
            body.extend([0; 4]);
        }
        out.extend(self.block(1, &body));
        out
    }

    /// An enhanced packet block; `stamp` in the resolution of the interface.
    pub(crate) fn packet(self, stamp: u64, (_, bytes, wire): &Captured) -> Vec<u8> {
        let mut body = self.u32(0).to_vec();
        [(stamp >> 32) as u32, stamp as u32, bytes.len() as u32, *wire].iter().for_each(|v| body.extend(self.u32(*v)));
        body.extend(bytes);
        self.block(6, &body)
    }

    /// A pcapng file in ns, or in µs without the option that says so.
    pub(crate) fn pcapng(self, frames: &[Captured]) -> Vec<u8> {
        let options = if self.nanoseconds { vec![(9, vec![9])] } else { Vec::new() };
        let mut out = self.section(262_144, &options);
        let unit = if self.nanoseconds { 1 } else { 1_000 };
        frames.iter().for_each(|f| out.extend(self.packet(f.0 / unit, f)));
        out
    }
}

/// Opens bytes as a capture.
pub(crate) fn open(bytes: &[u8]) -> Result<Capture, forebay_formats::trains::Error> {
    Capture::new("test.pcap", Box::new(Cursor::new(bytes.to_vec())), Some(bytes.len() as u64))
}

/// The flows of a capture.
pub(crate) fn flows_in(bytes: &[u8]) -> Vec<Flow> {
    flows(&mut open(bytes).unwrap(), &Options::default()).unwrap()
}

/// The summary of a capture, and a sink.
pub(crate) fn analyze<S: Sink>(bytes: &[u8], options: Options, sink: S) -> (Summary, S) {
    let mut analysis = Analysis::new(options, sink);
    let flow = analysis.read(&mut open(bytes).unwrap(), |_| ControlFlow::Continue(())).unwrap();
    assert!(flow.is_continue());
    analysis.finish()
}

/// Start of conversations: 2026-11-28, so that 32-bit seconds matter.
pub(crate) const EPOCH: u64 = 1_795_824_000_000_000_000;

/// A connection: handshake with an RTT of 100 µs, 10 000 B from client to server in one frame of TSO and one of the rest, an answer of 500 B, and
/// the end. The capture is beside the client.
pub(crate) fn conversation(client: (&str, u16), server: (&str, u16)) -> Vec<(u64, Tcp)> {
    let (up, down) = (Tcp::new(client, server), Tcp::new(server, client));
    let at = |us: u64| EPOCH + 1_000 * us;
    let id = |tcp: Tcp, ip_id: u16| Tcp { ip_id, ..tcp };
    vec![
        (at(0), Tcp { seq: 1_000, flags: SYN, mss: Some(1460), ..id(up.clone(), 1) }),
        (at(100), Tcp { seq: 9_000, ack: 1_001, flags: SYN | ACK, mss: Some(1460), ..id(down.clone(), 1) }),
        (at(100), Tcp { seq: 1_001, ack: 9_001, ..id(up.clone(), 2) }),
        (at(110), Tcp { seq: 1_001, ack: 9_001, payload: 8_760, ..id(up.clone(), 3) }),
        (at(120), Tcp { seq: 9_761, ack: 9_001, payload: 1_240, ..id(up.clone(), 9) }),
        (at(220), Tcp { seq: 9_001, ack: 11_001, ..id(down.clone(), 2) }),
        (at(300), Tcp { seq: 9_001, ack: 11_001, payload: 500, ..id(down.clone(), 3) }),
        (at(301), Tcp { seq: 11_001, ack: 9_501, flags: ACK | FIN, ..id(up.clone(), 10) }),
        (at(401), Tcp { seq: 9_501, ack: 11_002, flags: ACK | FIN, ..id(down, 4) }),
        (at(402), Tcp { seq: 11_002, ack: 9_502, ..id(up, 11) }),
    ]
}

/// Sizes and starts of the flows, relative to [`EPOCH`].
pub(crate) fn sizes(flows: &[Flow]) -> Vec<(u64, u64)> {
    flows.iter().map(|f| (f.message.bytes, f.start_ns - EPOCH)).collect()
}

/// Sizes and starts of the flows of [`conversation`].
pub(crate) const SIZES: [(u64, u64); 2] = [(10_000, 0), (500, 300_000)];

pub(crate) const CLIENT: (&str, u16) = ("10.0.0.1", 40_000);
pub(crate) const SERVER: (&str, u16) = ("10.0.0.2", 80);
pub(crate) const CLIENT6: (&str, u16) = ("2001:db8::1", 40_000);
pub(crate) const SERVER6: (&str, u16) = ("2001:db8::2", 80);
