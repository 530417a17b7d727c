//! The simulated packet: 32 bytes, plus a second 32-byte slot behind it when it carries SACK blocks.

/// Flag bits of [`Packet::flags`].
pub mod flag {
    /// Opens a connection.
    pub const SYN: u8 = 1;
    /// Last byte of the stream.
    pub const FIN: u8 = 2;
    /// Travels from the receiver to the sender; `seq` is an acknowledgement number.
    pub const ACK: u8 = 4;
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 8;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 16;
    /// A [`SackBlocks`](super::SackBlocks) slot follows.
    pub const EXT: u8 = 32;
    /// A retransmission. Statistics only: no endpoint looks at it.
    pub const RETX: u8 = 64;
}

/// ECN field of the IP header, the two low bits of [`Packet::meta`].
pub mod ecn {
    /// Not ECN-capable.
    pub const NOT_ECT: u8 = 0;
    /// ECN-capable transport.
    pub const ECT: u8 = 2;
    /// Congestion experienced.
    pub const CE: u8 = 3;
    /// Mask of the field.
    pub const MASK: u8 = 3;
}

/// One packet on the wire. Data flows one way on a connection, so sequence and acknowledgement numbers share a field, and so do
/// timestamp and timestamp echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C, align(32))]
pub struct Packet {
    /// When its last bit reaches the end of the current link, ps. Written by the port.
    pub arrival: u64,
    /// Connection slot, the same at both ends.
    pub conn: u32,
    /// Sequence number of the first byte, or the acknowledgement number.
    pub seq: u32,
    /// Low 32 bits of the send time in ns, or their echo (RFC 7323 with a nanosecond clock).
    pub ts: u32,
    /// Destination host.
    pub dst: u16,
    /// Hash of the five-tuple, for ECMP.
    pub hash: u16,
    /// Bytes on the wire.
    pub wire: u16,
    /// Payload bytes. On SYN and SYN-ACK: the window-scale shift offered.
    pub len: u16,
    /// Receive window in units of the scale (ACKs).
    pub win: u16,
    /// See [`flag`].
    pub flags: u8,
    /// ECN field (2 bits) and generation of the connection slot (6 bits), which tells stale packets of a closed connection.
    pub meta: u8,
}

impl Packet {
    /// Whether all bits of `mask` are set.
    #[inline]
    pub fn has(&self, mask: u8) -> bool {
        self.flags & mask == mask
    }
    /// The ECN field.
    #[inline]
    pub fn ecn(&self) -> u8 {
        self.meta & ecn::MASK
    }
    /// The slot generation.
    #[inline]
    pub fn generation(&self) -> u8 {
        self.meta >> 2
    }
}

/// Up to three SACK blocks as [start, end) sequence numbers (RFC 2018), the first possibly a D-SACK (RFC 2883).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C, align(32))]
pub struct SackBlocks {
    /// The blocks in order of freshness.
    pub blocks: [(u32, u32); 3],
    /// How many are valid.
    pub count: u32,
    pad: u32,
}

impl SackBlocks {
    /// The valid blocks.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.blocks.iter().take(self.count as usize).copied()
    }

    /// Appends a block if there is room.
    pub fn push(&mut self, block: (u32, u32)) {
        if let Some(slot) = self.blocks.get_mut(self.count as usize) {
            *slot = block;
            self.count += 1;
        }
    }
}

/// Where a TCP endpoint hands its packets over.
pub trait Wire {
    /// Transmits `packet` at the endpoint's current time, with SACK blocks if it has any.
    fn emit(&mut self, packet: Packet, sack: Option<&SackBlocks>);

    /// As `emit`, for the two kinds of packet that most traffic consists of: a copy of `template` in which `fill` writes what differs
    /// from packet to packet: sequence number, timestamp and flags.
    #[inline(always)]
    fn emit_from(&mut self, template: &Packet, fill: impl FnOnce(&mut Packet)) {
        let mut packet = *template;
        fill(&mut packet);
        self.emit(packet, None);
    }
}

const _: () = assert!(size_of::<Packet>() == 32 && size_of::<SackBlocks>() == 32);
