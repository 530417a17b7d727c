//! Captures of packets: the places where a backend records them, and the packets that it has recorded.

use crate::network::Network;
use crate::series::SeriesRow;
use forebay_types::{NodeId, PortId};

/// Interface of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturePoint {
    /// Name of the interface.
    pub name: String,
    /// Place in the network.
    pub at: CapturePlace,
}

/// Place in the network where packets are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapturePlace {
    /// The packets that a port sends or drops.
    Port(PortId),
    /// The packets that a host sends, drops, or receives.
    Host(NodeId),
}

/// Packets that are captured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capture {
    /// Interfaces; without any, no packet is captured.
    pub points: Vec<CapturePoint>,
    /// Captures only the packets of these connections; `None`: of all.
    pub connections: Option<Vec<u64>>,
    /// Captures only packets with these fates; `None`: all.
    pub fates: Option<Vec<Fate>>,
    /// Bytes of a frame that are kept in a file; `None`: the headers.
    pub frame_bytes: Option<u32>,
    /// Version of IP in a file.
    pub ip: IpVersion,
    /// Form of the file.
    pub format: CaptureFormat,
}

/// Form of a file with captured packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CaptureFormat {
    /// Frames, for packet analyzers.
    #[default]
    Pcapng,
    /// A table with a row for each packet.
    Csv,
}

impl CaptureFormat {
    /// Both, with their names in scenarios, which are the extensions of the files.
    pub const NAMED: [(&'static str, CaptureFormat); 2] = [("pcapng", CaptureFormat::Pcapng), ("csv", CaptureFormat::Csv)];

    /// Extension of the file.
    pub fn extension(self) -> &'static str {
        match self {
            CaptureFormat::Pcapng => "pcapng",
            CaptureFormat::Csv => "csv",
        }
    }
}

/// Version of IP of the frames in a file. The headers in the simulation do not depend on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

impl IpVersion {
    /// Both, with their names in scenarios.
    pub const NAMED: [(&'static str, IpVersion); 2] = [("ipv4", IpVersion::V4), ("ipv6", IpVersion::V6)];

    /// Bytes of a frame up to the end of the longest TCP header, and padding: the default of [`Capture::frame_bytes`].
    pub fn header_bytes(self) -> u32 {
        match self {
            IpVersion::V4 => 96,
            IpVersion::V6 => 116,
        }
    }
}

/// Interfaces at which the packets of a port are recorded, by their place in [`Capture::points`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PortInterfaces {
    /// Interfaces of the port, which record packets when their last bit leaves.
    pub outgoing: Vec<u32>,
    /// Interfaces of the host of the port, which record packets when the host hands them over.
    pub sending: Vec<u32>,
    /// Interfaces of the host at the far end.
    pub incoming: Vec<u32>,
}

impl Capture {
    /// Returns true if no packet is captured.
    pub fn is_off(&self) -> bool {
        self.points.is_empty()
    }

    /// Returns true if the packets of connection `number` are captured.
    pub fn includes(&self, number: u64) -> bool {
        self.connections.as_ref().is_none_or(|list| list.contains(&number))
    }

    /// Returns true if packets with this event are captured.
    pub fn has(&self, event: PacketEvent) -> bool {
        self.fates.as_ref().is_none_or(|list| list.contains(&event.fate()))
    }

    /// Bytes of a frame that are kept in a file.
    pub fn kept_bytes(&self) -> u32 {
        self.frame_bytes.unwrap_or_else(|| self.ip.header_bytes())
    }

    /// The captured ports of `network` with their interfaces, in order of their numbers.
    pub fn ports(&self, network: &Network) -> Vec<(PortId, PortInterfaces)> {
        let interfaces = |id: PortId| {
            let (from, to) = (network.ports[id].from, network.ports[id].to);
            let of = |place: CapturePlace| {
                let numbered = self.points.iter().zip(0..);
                numbered.filter(move |(p, _)| p.at == place).map(|(_, number)| number).collect::<Vec<u32>>()
            };
            PortInterfaces {
                outgoing: of(CapturePlace::Port(id)),
                sending: of(CapturePlace::Host(from)),
                incoming: of(CapturePlace::Host(to)),
            }
        };
        let all = network.ports.ids().map(|id| (id, interfaces(id)));
        all.filter(|(_, at)| !(at.outgoing.is_empty() && at.sending.is_empty() && at.incoming.is_empty())).collect()
    }
}

/// Fate of a packet at an interface, without the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It passed without a mark.
    Passed,
    /// It passed, and was marked there.
    Marked,
    /// It was dropped.
    Dropped,
    /// It passed, and was lost on the link.
    Lost,
}

impl Fate {
    /// All of them, with their names in scenarios.
    pub const NAMED: [(&'static str, Fate); 4] =
        [("passed", Fate::Passed), ("marked", Fate::Marked), ("dropped", Fate::Dropped), ("lost", Fate::Lost)];
}

/// Event of a captured packet at its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketEvent {
    /// It passed the interface.
    Passed,
    /// It passed, and the queue of the port has marked it (CE).
    Marked,
    /// It was dropped because the buffer was full.
    DroppedFull,
    /// It was dropped because the shared buffer of the switch was full.
    DroppedShared,
    /// The queue discipline has dropped it early.
    DroppedEarly,
    /// It was dropped because the link was down.
    DroppedDown,
    /// It passed the interface, and the link has damaged or lost it.
    LostOnLink,
}

impl PacketEvent {
    /// All of them, in their order.
    const ALL: [PacketEvent; 7] = [
        PacketEvent::Passed,
        PacketEvent::Marked,
        PacketEvent::DroppedFull,
        PacketEvent::DroppedShared,
        PacketEvent::DroppedEarly,
        PacketEvent::DroppedDown,
        PacketEvent::LostOnLink,
    ];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            PacketEvent::Passed => "passed",
            PacketEvent::Marked => "marked",
            PacketEvent::DroppedFull => "dropped-full",
            PacketEvent::DroppedShared => "dropped-shared",
            PacketEvent::DroppedEarly => "dropped-early",
            PacketEvent::DroppedDown => "dropped-down",
            PacketEvent::LostOnLink => "lost",
        }
    }

    /// Comment on the packet in a capture file; `None` for a packet that only passed.
    pub fn comment(self) -> Option<&'static str> {
        match self {
            PacketEvent::Passed => None,
            PacketEvent::Marked => Some("marked here"),
            PacketEvent::DroppedFull => Some("dropped: buffer full"),
            PacketEvent::DroppedShared => Some("dropped: shared buffer full"),
            PacketEvent::DroppedEarly => Some("dropped: early, by the queue discipline"),
            PacketEvent::DroppedDown => Some("dropped: link down"),
            PacketEvent::LostOnLink => Some("lost or damaged on the link"),
        }
    }

    /// Fate of the packet.
    pub fn fate(self) -> Fate {
        match self {
            PacketEvent::Passed => Fate::Passed,
            PacketEvent::Marked => Fate::Marked,
            PacketEvent::LostOnLink => Fate::Lost,
            PacketEvent::DroppedFull | PacketEvent::DroppedShared | PacketEvent::DroppedEarly | PacketEvent::DroppedDown => {
                Fate::Dropped
            }
        }
    }

    /// Returns true if the packet did not leave the interface.
    pub fn is_drop(self) -> bool {
        self.fate() == Fate::Dropped
    }
}

/// Flags of the TCP header, as in its 14th byte, but for URG, which no packet has.
pub mod tcp_flag {
    /// No more data from the sender.
    pub const FIN: u8 = 1;
    /// Synchronizes sequence numbers.
    pub const SYN: u8 = 2;
    /// Resets the connection.
    pub const RST: u8 = 4;
    /// Push.
    pub const PSH: u8 = 8;
    /// The acknowledgment number is valid.
    pub const ACK: u8 = 16;
    /// Accurate ECN (RFC 9768), the last bit of the 13th byte.
    pub const AE: u8 = 32;
    /// ECN echo.
    pub const ECE: u8 = 64;
    /// Congestion window reduced.
    pub const CWR: u8 = 128;
}

/// Maximum number of SACK blocks of a packet.
pub const SACK_BLOCKS: usize = 4;

/// Options of a SYN.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size, bytes.
    pub mss: u16,
    /// Window scale, if it is offered.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
}

/// Fields of an AccECN option (RFC 9768 section 3.2.3), 24 bits each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccEcnFields {
    /// EE0B: bytes with ECT(0), plus 1.
    pub e0b: u32,
    /// ECEB: bytes with CE.
    pub ceb: u32,
    /// EE1B: bytes with ECT(1), plus 1.
    pub e1b: u32,
}

/// TCP header of a captured packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// See [`tcp_flag`].
    pub flags: u8,
    /// Window field, not scaled.
    pub window: u16,
    /// Timestamps: TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// Options of a SYN.
    pub syn: SynOptions,
    /// SACK blocks as start and end; unused ones are (0, 0) and come last.
    pub sack: [(u32, u32); SACK_BLOCKS],
    /// AccECN option with all three fields.
    pub accecn: Option<AccEcnFields>,
}

impl TcpHeader {
    /// Returns true if all bits of `mask` are set in the flags.
    pub fn has(&self, mask: u8) -> bool {
        self.flags & mask == mask
    }

    /// The SACK blocks.
    pub fn sack_blocks(&self) -> impl Iterator<Item = (u32, u32)> {
        self.sack.into_iter().take_while(|(start, end)| start != end)
    }
}

/// A captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedPacket {
    /// Time, ps: at a port, when its last bit passed; at a host, when the host handed it over or had received it; of a drop, when it was dropped.
    pub time_ps: u64,
    /// Place of the interface in [`Capture::points`].
    pub interface: u32,
    /// True if it came in to a host.
    pub inbound: bool,
    /// Its fate at the interface.
    pub event: PacketEvent,
    /// Number of the connection; of two connections that are one in both directions, the one of the host that opens.
    pub conn_id: u64,
    /// True if it travels to the host that has opened the connection.
    pub back: bool,
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Payload bytes.
    pub payload: u16,
    /// Identification of the IP packet: the same wherever it passes, and another one for a retransmission.
    pub ip_id: u16,
    /// ECN field of the IP header.
    pub ecn: u8,
    /// Class of service, 0 to 7.
    pub class: u8,
    /// TCP header; `None` for a datagram.
    pub tcp: Option<TcpHeader>,
}

impl SeriesRow for CapturedPacket {
    const WORDS: usize = 13;

    /// Orders packets of the same instant by interface; at one interface they keep their order.
    fn key(&self) -> (u64, u64) {
        (self.time_ps, u64::from(self.interface))
    }

    fn store(&self, words: &mut [u64]) {
        let two = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let t = self.tcp.unwrap_or_default();
        let (tsval, tsecr) = t.timestamps.unwrap_or_default();
        let bits = [self.inbound, self.back, self.tcp.is_some(), t.timestamps.is_some(), t.syn.sack_permitted];
        let bits = bits.iter().fold(0, |all, bit| all << 1 | u32::from(*bit));
        let scale = t.syn.window_scale.map_or(0, |s| s + 1);
        let accecn = t.accecn.unwrap_or_default();
        words[..8].copy_from_slice(&[
            self.time_ps,
            self.conn_id,
            two(self.src.get(), self.dst.get()),
            two(self.interface, bits << 24 | u32::from(self.event as u8) << 16 | u32::from(self.payload)),
            two(
                u32::from(self.ip_id) << 16 | u32::from(self.ecn) << 8 | u32::from(self.class),
                u32::from(t.flags) << 16 | u32::from(t.window),
            ),
            two(t.seq, t.ack),
            two(tsval, tsecr),
            two(accecn.e1b << 8 | u32::from(scale), u32::from(t.syn.mss)),
        ]);
        words[12] = two(accecn.e0b, accecn.ceb << 8 | u32::from(t.accecn.is_some()));
        for (word, (start, end)) in words[8..12].iter_mut().zip(t.sack) {
            *word = two(start, end);
        }
    }

    fn load(words: &[u64]) -> CapturedPacket {
        let (high, low) = (|place: usize| (words[place] >> 32) as u32, |place: usize| words[place] as u32);
        let bit = |place: u32| low(3) >> (24 + place) & 1 == 1;
        let mut sack = [(0, 0); SACK_BLOCKS];
        for (block, word) in sack.iter_mut().zip(&words[8..12]) {
            *block = ((word >> 32) as u32, *word as u32);
        }
        let header = TcpHeader {
            seq: high(5),
            ack: low(5),
            flags: (low(4) >> 16) as u8,
            window: low(4) as u16,
            timestamps: bit(1).then(|| (high(6), low(6))),
            syn: SynOptions { mss: low(7) as u16, window_scale: (high(7) as u8).checked_sub(1), sack_permitted: bit(0) },
            sack,
            accecn: (low(12) & 1 == 1).then(|| AccEcnFields { e0b: high(12), ceb: low(12) >> 8, e1b: high(7) >> 8 }),
        };
        CapturedPacket {
            time_ps: words[0],
            conn_id: words[1],
            src: NodeId::new(high(2)),
            dst: NodeId::new(low(2)),
            interface: high(3),
            inbound: bit(4),
            back: bit(3),
            event: PacketEvent::ALL[usize::from((low(3) >> 16) as u8)],
            payload: low(3) as u16,
            ip_id: (high(4) >> 16) as u16,
            ecn: (high(4) >> 8) as u8,
            class: high(4) as u8,
            tcp: bit(2).then_some(header),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roundtrip(p: CapturedPacket) {
        let mut words = [0; CapturedPacket::WORDS];
        p.store(&mut words);
        assert_eq!(CapturedPacket::load(&words), p);
    }

    #[test]
    fn store_roundtrip() {
        let header = TcpHeader {
            seq: 1,
            ack: u32::MAX,
            flags: tcp_flag::CWR | tcp_flag::SYN,
            window: 65_535,
            timestamps: Some((7, 8)),
            syn: SynOptions { mss: 1460, window_scale: Some(0), sack_permitted: true },
            sack: [(9, 10), (11, 12), (0, 0), (0, 0)],
            accecn: Some(AccEcnFields { e0b: 0xff_fffe, ceb: 0xff_ffff, e1b: 0xff_fffd }),
        };
        let segment = CapturedPacket {
            time_ps: 5,
            interface: 3,
            inbound: true,
            event: PacketEvent::Marked,
            conn_id: 1 << 40,
            back: false,
            src: NodeId::new(70_000),
            dst: NodeId::new(2),
            payload: 9_000,
            ip_id: 0xfedc,
            ecn: 3,
            class: 7,
            tcp: Some(header),
        };
        roundtrip(segment);
        roundtrip(CapturedPacket { tcp: None, inbound: false, back: true, event: PacketEvent::LostOnLink, ..segment });
        roundtrip(CapturedPacket { tcp: Some(TcpHeader { timestamps: None, ..header }), ..segment });
        assert_eq!(header.sack_blocks().collect::<Vec<_>>(), [(9, 10), (11, 12)]);
    }
}
