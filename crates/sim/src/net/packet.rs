//! The simulated packet: 32 bytes, and a second slot of 32 bytes behind it for SACK blocks ([`Extra`]).

use super::accecn_option::AccEcnOption;
use super::generation::Generation;
use super::tick::Tick;
pub use forebay_queues::Codepoint;
use forebay_types::{ConnSlot, Time};
use std::num::NonZeroU32;

/// Flag bits of [`Packet::flags`].
pub mod flag {
    /// Opens a connection.
    pub const SYN: u8 = 1;
    /// Last byte of the stream.
    pub const FIN: u8 = 2;
    /// Travels from the receiver to the sender; `seq` is an acknowledgment number.
    pub const ACK: u8 = 4;
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 8;
    /// In the data direction, except on SYNs: the sender had no more to send (RFC 9293 section 3.9.1.2).
    pub const PUSH: u8 = 8;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 16;
    /// In the ACK direction: a segment with data carried the ACK. Never on the wire.
    pub const CARRIED: u8 = 16;
    /// A slot with an [`Extra`](super::Extra) follows.
    pub const EXT: u8 = 32;
    /// A retransmission; with segmentation offload, data that does not follow that of the packet that the connection sent before. For statistics, and
    /// for receive offload, which compares identifications of IP packets. No endpoint reads it.
    pub const RETX: u8 = 64;
    /// In the data direction: a header-only probe, of a shim or of a sender that probes a silent peer.
    pub const PROBE: u8 = 128;
    /// In the ACK direction: sent with the highest class of service (class 7); other ACKs have class 0.
    pub const URGENT: u8 = 128;
    /// A datagram of an unresponsive source: no TCP segment has both flags.
    pub const DATAGRAM: u8 = SYN | FIN;
    /// On a datagram: its source ends, and a run without duration waits until it has arrived or is lost.
    pub const AWAITED: u8 = DATAGRAM | PUSH;
}

/// ECN field of the IP header and number of the connection's generation, which identifies late packets of closed connections, in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Meta(u8);

impl Meta {
    /// The byte of a packet of `generation` with this ECN field.
    #[inline]
    pub fn new(generation: Generation, ecn: Codepoint) -> Meta {
        Meta(generation.number() << 2 | ecn as u8)
    }

    /// Returns the encoding.
    #[inline]
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// Decodes the output of [`Meta::bits`].
    #[inline]
    pub(crate) fn from_bits(bits: u8) -> Meta {
        Meta(bits)
    }

    /// The ECN field.
    #[inline]
    pub fn ecn(self) -> Codepoint {
        Codepoint::from_bits(self.0)
    }

    /// The same byte with another ECN field.
    #[inline]
    pub fn with_ecn(self, ecn: Codepoint) -> Meta {
        Meta(self.0 & !Codepoint::MASK | ecn as u8)
    }

    /// Replaces the ECN field.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Codepoint) {
        *self = self.with_ecn(ecn);
    }

    /// Sets the bits of `ecn`: [`Codepoint::Ce`] marks the packet, [`Codepoint::NotEct`] changes nothing. Without a branch.
    #[inline(always)]
    pub(super) fn add_ecn(&mut self, ecn: Codepoint) {
        self.0 |= ecn as u8;
    }

    /// The number of the generation.
    #[inline]
    pub fn generation(self) -> u8 {
        self.0 >> 2
    }
}

/// Value of [`Packet::arrival`] of a segment on its way to the interface of its host that belongs to the same burst of segmentation offload as the
/// segment before.
pub const CONTINUES: Time = Time(1);

/// Value of [`Packet::arrival`] of the first segment of a burst that its sender has held until its departure time.
pub const RELEASED: Time = Time(2);

/// One packet on the wire. Data flows in one direction of a connection, so that both directions share fields. Fields of ACKs and SYN-ACKs are read
/// through [`Packet::ack_number`], [`Packet::echo`], [`Packet::window`], [`Packet::window_shift`] and [`Packet::tsval`], the field `win` of data packets
/// through [`Packet::class`], [`Packet::rank`] and [`Packet::tsecr`]. Debug builds check that the packet is of the right kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C, align(32))]
pub struct Packet {
    /// Arrival of the last bit at the end of the current link. Written by the port; before that, [`CONTINUES`], [`RELEASED`] or zero.
    pub arrival: Time,
    /// Connection slot, the same at both ends.
    pub conn: ConnSlot,
    /// Sequence number of the first byte; on ACKs the acknowledgment number.
    pub seq: u32,
    /// Low 32 bits of the send time in ns; on ACKs its echo (RFC 7323 with a nanosecond clock).
    pub ts: u32,
    /// Destination host, the lower bits of its number.
    pub dst: u16,
    /// Hash of the five-tuple, for ECMP; in wide networks with the upper bits of the destination (`experiment/src/topology/address.rs`).
    pub hash: u16,
    /// Bytes on the wire.
    pub wire: u16,
    /// Payload bytes. On SYN and SYN-ACK: the offered window scale. On other ACKs: see [`Packet::tsval`]. Above both: see [`Packet::ace`].
    pub len: u16,
    /// Receive window in units of the scale (ACKs); class of service and rank or TSecr (data, see [`Packet::class`]).
    pub win: u16,
    /// See [`flag`].
    pub flags: u8,
    /// ECN field and generation.
    pub meta: Meta,
}

impl Packet {
    /// Returns true if all bits of `mask` are set.
    #[inline]
    pub fn has(&self, mask: u8) -> bool {
        self.flags & mask == mask
    }
    /// The ECN field.
    #[inline]
    pub fn ecn(&self) -> Codepoint {
        self.meta.ecn()
    }
    /// Class of service, 0 (ordinary) to 7 (most urgent), as the three bits of an 802.1p priority or a DSCP class selector.
    #[inline]
    pub fn class(&self) -> u8 {
        // On ACKs, the bit of `PROBE` is that of `URGENT`.
        if self.has(flag::ACK) { 7 * u8::from(self.has(flag::URGENT)) } else { (self.win >> CLASS_SHIFT) as u8 }
    }
    /// Rank inside its class as encoded by [`rank_of`]: smaller is more urgent; 0 for ACKs, probes, and segments with a TSecr.
    #[inline]
    pub fn rank(&self) -> u16 {
        let has_rank = self.flags & (flag::ACK | flag::PROBE) == 0 && !self.tsecr().is_some();
        if has_rank { self.win & ((1 << RANK_BITS) - 1) } else { 0 }
    }
    /// Timestamp of the receiver that a packet of the data direction echoes (TSecr). None before the first ACK, and beside a rank.
    #[inline(always)]
    pub fn tsecr(&self) -> Tick {
        Tick::from_field(self.win)
    }
    /// Timestamp of the receiver in an ACK that is no SYN-ACK (TSval), for stacks that measure their RTT by it.
    #[inline(always)]
    pub fn tsval(&self) -> Tick {
        debug_assert!(self.has(flag::ACK) && !self.has(flag::SYN));
        Tick::from_field(self.len)
    }
    /// Acknowledgment number of an ACK.
    #[inline]
    pub fn ack_number(&self) -> u32 {
        debug_assert!(self.has(flag::ACK));
        self.seq
    }
    /// Low 32 bits of the time in ns at which the packet that an ACK answers was sent.
    #[inline]
    pub fn echo(&self) -> u32 {
        debug_assert!(self.has(flag::ACK));
        self.ts
    }
    /// Receive window of an ACK, in units of the scale unless it is a SYN-ACK.
    #[inline]
    pub fn window(&self) -> u16 {
        debug_assert!(self.has(flag::ACK));
        self.win
    }
    /// Window scale offered by a SYN or a SYN-ACK.
    #[inline]
    pub fn window_shift(&self) -> u8 {
        debug_assert!(self.has(flag::SYN));
        self.len as u8
    }
    /// The slot generation.
    #[inline]
    pub fn generation(&self) -> u8 {
        self.meta.generation()
    }
    /// ACE field of an ACK: the lowest three bits of the counter of marked packets (RFC 9768 section 3.2.2). On a SYN and a SYN-ACK the flags AE, CWR
    /// and ECE, if Accurate ECN is requested or agreed to. Otherwise 0.
    #[inline]
    pub fn ace(&self) -> u8 {
        (self.len >> ACE_SHIFT) as u8
    }
    /// Sets the ACE field.
    #[inline]
    pub fn set_ace(&mut self, ace: u8) {
        self.len = self.len & ((1 << ACE_SHIFT) - 1) | u16::from(ace) << ACE_SHIFT;
    }
}

/// Bits of `win` that hold the rank, or those of a [`Tick`].
const RANK_BITS: u32 = Tick::BITS;
/// Bits of `win` below the class: the flag of a [`Tick`] is above the rank.
const CLASS_SHIFT: u32 = RANK_BITS + 1;
/// Bits of `len` of ACKs below the ACE field: those of a [`Tick`] and its flag.
const ACE_SHIFT: u32 = Tick::BITS + 1;

/// The `win` field of a data packet with a class of service and a rank.
#[inline]
pub fn service(class: u8, rank: u16) -> u16 {
    debug_assert!(class < 8 && rank < 1 << RANK_BITS);
    u16::from(class) << CLASS_SHIFT | rank
}

/// Encodes a quantity, such as the remaining segments of a flow, in 12 bits so that order is kept: exact up to 511, then within 0.4 %, up to
/// 8.4 million. Larger ones are equal.
#[inline]
pub fn rank_of(quantity: u64) -> u16 {
    // Eight bits of fraction behind the leading one, four of exponent.
    let exponent = (64 - (quantity >> 8).leading_zeros()).saturating_sub(1);
    let code = (u64::from(exponent) << 8) + (quantity >> exponent);
    code.min((1 << RANK_BITS) - 1) as u16
}

/// Content of the slot behind a packet ([`flag::EXT`]). Another variant, of up to 28 bytes, needs no more space: the length of the first SACK block,
/// which is never 0, distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// SACK blocks of an ACK.
    Sack(SackBlocks),
    /// ACK that a data segment carries.
    Carried(CarriedAck),
}

/// ACK of the other direction in a segment of a connection with data in both directions (RFC 9293 section 3.8.6.3: an ACK may wait for data). On an
/// ACK by itself, only the AccECN option of that ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CarriedAck {
    /// Acknowledgment number.
    pub number: u32,
    /// Timestamp that is echoed; the one of the segment itself stands in [`Packet::ts`].
    pub echo: u32,
    /// Receive window in units of the scale.
    pub window: u16,
    /// Tick of the timestamp clock ([`Packet::tsval`]).
    pub tsval: u16,
    /// ECN echo.
    pub ece: bool,
    /// AccECN option, with Accurate ECN.
    pub accecn: Option<AccEcnOption>,
}

impl CarriedAck {
    /// An ACK by itself with this option.
    pub fn option(accecn: AccEcnOption) -> CarriedAck {
        CarriedAck { accecn: Some(accecn), ..CarriedAck::default() }
    }

    /// The one in the slot behind a packet, if there is one.
    pub fn of(extra: Option<&Extra>) -> Option<CarriedAck> {
        match extra {
            Some(Extra::Carried(ack)) => Some(*ack),
            _ => None,
        }
    }

    /// This ACK with the window and the echo of `p`, a packet made of it.
    pub fn with_fields_of(self, p: &Packet) -> CarriedAck {
        CarriedAck { window: p.window(), ece: p.has(flag::ECE), ..self }
    }

    /// As an ACK by itself, for the sender of connection `conn`.
    pub fn as_packet(&self, conn: ConnSlot, arrival: Time) -> Packet {
        let ece = if self.ece { flag::ECE } else { 0 };
        Packet {
            arrival,
            conn,
            seq: self.number,
            ts: self.echo,
            win: self.window,
            len: self.tsval,
            flags: flag::ACK | flag::CARRIED | ece,
            ..Packet::default()
        }
    }
}

/// SACK blocks as [start, end) sequence numbers (RFC 2018), the first possibly a D-SACK (RFC 2883), and at least one. A block is a start and a
/// length; an absent block has the length 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct SackBlocks {
    /// Length of the first block. At the edge of the slot, so that the rest of it is free for another variant.
    length: NonZeroU32,
    /// Start of that block.
    start: u32,
    /// The other blocks, most recent first.
    others: [(u32, u32); SackBlocks::MOST - 1],
}

impl SackBlocks {
    /// Blocks that fit into the 40 bytes of TCP options.
    pub const MOST: usize = 4;
    /// Blocks that fit beside timestamps.
    pub const BESIDE_TIMESTAMPS: usize = 3;

    /// The first non-empty blocks in their order, as many as fit. `None`: there is none.
    pub fn of(blocks: impl IntoIterator<Item = (u32, u32)>) -> Option<SackBlocks> {
        let lengths = blocks.into_iter().map(|(start, end)| (start, end.wrapping_sub(start)));
        let mut blocks = lengths.filter_map(|(start, length)| Some((start, NonZeroU32::new(length)?)));
        let (start, length) = blocks.next()?;
        let mut all = SackBlocks { length, start, others: [(0, 0); SackBlocks::MOST - 1] };
        for (place, (start, length)) in all.others.iter_mut().zip(blocks) {
            *place = (start, length.get());
        }
        Some(all)
    }

    /// The blocks.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let [a, b, c] = self.others;
        let all = [(self.start, self.length.get()), a, b, c];
        all.into_iter().take_while(|b| b.1 != 0).map(|(start, length)| (start, start.wrapping_add(length)))
    }

    /// Number of blocks.
    pub fn count(&self) -> usize {
        self.iter().count()
    }
}

/// Data that an application has not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread {
    /// Stream offset behind the first buffer.
    pub first: u64,
    /// Segments in the last buffer, which may be the first.
    pub segments: u32,
    /// Stream offset behind the last segment that ends a write; 0: none does.
    pub pushed: u64,
    /// True if the first buffer is the last one.
    pub is_one: bool,
    /// Memory of the data.
    pub memory: u32,
    /// Bytes behind the data of the last buffer, which a short segment may fill (`skb_tailroom`); 0 if that buffer has several segments.
    pub room: u16,
}

/// Segments in one buffer of received data: the first, and those in its fragments (MAX_SKB_FRAGS).
pub const MAX_SEGMENTS: u32 = 18;
/// Memory that is saved for a buffer that is coalesced with another (skb_try_coalesce): its `struct sk_buff`, where the driver builds that around the
/// packet (build_skb).
pub const SAVED: u32 = 256;

impl Unread {
    /// Adds data that follows. Its buffer is coalesced with the last one if both fit into one (tcp_queue_rcv). Data without a segment of its own has been
    /// copied into the last buffer.
    pub fn add(&mut self, more: &Unread) {
        self.pushed = self.pushed.max(more.pushed);
        let (joins, copied) = (self.segments + more.segments <= MAX_SEGMENTS, more.segments == 0);
        // A fixed window has no memory.
        self.memory = self.memory.saturating_add(more.memory).saturating_sub(if joins && !copied { SAVED } else { 0 });
        self.room = if joins && !copied { 0 } else { more.room };
        if joins && self.is_one {
            self.first = more.first;
        }
        self.is_one &= joins;
        self.segments = if joins { self.segments + more.segments } else { more.segments };
    }
}

/// Sink of a TCP endpoint's packets, and the host that the endpoint runs on.
pub trait Wire {
    /// Transmits `packet` at the endpoint's current time, with its SACK blocks, if it has any.
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>);

    /// Requests a call of `Sender::on_alarm` at `time` for slot `conn`, if it still has `generation`.
    fn alarm(&mut self, _conn: ConnSlot, _generation: Generation, _time: Time) {}

    /// Time at which the last packet will have left the host's interface, for stacks that limit the packets waiting there. It is in the past
    /// where there is no interface, and 2^64 - 1 in a queue whose order is not known yet (`Sender::on_departure`).
    fn departure(&self) -> Time {
        Time::ZERO
    }

    /// Defers a write of the application of slot `conn` until the host has processed all packets of its interrupt. False: it writes at once.
    #[inline(always)]
    fn defer_write(&mut self, _conn: ConnSlot) -> bool {
        false
    }

    /// Time at which the host handles an event of its interface at `time`.
    fn event_time(&self, time: Time) -> Time {
        time
    }

    /// Memory of data that the application of slot `conn` reads when the host has processed all packets of its interrupt. `None`: it reads at once.
    #[inline(always)]
    fn unread(&self, _conn: ConnSlot) -> Option<u32> {
        None
    }

    /// Segments in the last buffer of the data that is [`Wire::unread`]; 0 without data.
    fn unread_segments(&self, _conn: ConnSlot) -> u32 {
        0
    }

    /// Bytes behind the data of that buffer, if it has one segment.
    fn unread_room(&self, _conn: ConnSlot) -> u16 {
        0
    }

    /// Adds to the data that is [`Wire::unread`].
    fn defer_read(&mut self, _conn: ConnSlot, _more: Unread) {}

    /// Returns true if the queue of the host holds packets until their departure times.
    fn holds_departures(&self) -> bool {
        false
    }

    /// Notes that the sender holds a burst, which begins with `packet`, until its departure time.
    fn hold(&mut self, _packet: &Packet) {}

    /// As `emit`, for the two kinds of packet that make up most traffic: a copy of `template` in which `fill` writes the sequence number, timestamp
    /// and flags.
    #[inline(always)]
    fn emit_from(&mut self, template: &Packet, fill: impl Fn(&mut Packet)) {
        let mut packet = *template;
        fill(&mut packet);
        self.emit(packet, None);
    }

    /// Transmits a burst of segmentation offload: `count` copies of `template`. `fill` is called once for each, in order, with its number in the burst,
    /// and marks all but the first with [`CONTINUES`].
    #[inline(always)]
    fn emit_burst(&mut self, template: &Packet, count: u64, mut fill: impl FnMut(u64, &mut Packet)) {
        for i in 0..count {
            let mut packet = *template;
            fill(i, &mut packet);
            self.emit(packet, None);
        }
    }
}

const _: () = assert!(size_of::<Packet>() == 32 && size_of::<Extra>() == 32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_keep_order() {
        for q in 0..512 {
            assert_eq!(u64::from(rank_of(q)), q);
        }
        let mut last = 0;
        for q in (500..2_000_000_000_u64).step_by(3_333) {
            assert!(rank_of(q) >= last);
            last = rank_of(q);
        }
        assert!(rank_of(100_000) < rank_of(100_600));
        assert_eq!(rank_of(u64::MAX), (1 << RANK_BITS) - 1);
    }

    /// skb_try_coalesce: a short segment is copied behind a single one and adds no memory, any other is a fragment of the same buffer, behind which
    /// nothing is copied.
    #[test]
    fn unread_segments_share_buffers() {
        let full = Unread { first: 1_448, segments: 1, pushed: 0, is_one: true, memory: 2_304, room: 164 };
        let mut unread = full;
        unread.add(&Unread { first: 1_548, segments: 0, pushed: 1_548, is_one: true, memory: 0, room: 64 });
        assert_eq!(unread, Unread { first: 1_548, pushed: 1_548, room: 64, ..full });
        unread.add(&Unread { first: 2_996, ..full });
        assert_eq!(unread, Unread { first: 2_996, pushed: 1_548, segments: 2, memory: 2 * 2_304 - SAVED, room: 0, ..full });
        unread.segments = MAX_SEGMENTS;
        unread.add(&Unread { first: 4_444, ..full });
        assert_eq!((unread.first, unread.segments, unread.is_one, unread.room), (2_996, 1, false, 164));
    }

    #[test]
    fn extra_fits_its_slot() {
        enum Two {
            _Sack(SackBlocks),
            _Other([u32; 7]),
        }
        assert_eq!(size_of::<Two>(), size_of::<Extra>());
    }

    #[test]
    fn sack_blocks_hold_at_most_four() {
        let kept = |blocks: &[(u32, u32)]| SackBlocks::of(blocks.iter().copied()).map(|b| b.iter().collect::<Vec<_>>());
        assert_eq!((kept(&[]), kept(&[(7, 7)])), (None, None));
        assert_eq!(kept(&[(7, 7), (5, 6), (u32::MAX, 3)]), Some(vec![(5, 6), (u32::MAX, 3)]));
        let five = [(1, 2), (3, 4), (5, 6), (7, 8), (9, 10)];
        assert_eq!(kept(&five), Some(five[..4].to_vec()));
    }

    #[test]
    fn classes_of_data_and_acks() {
        let data = Packet { win: service(5, 1000), ..Packet::default() };
        assert_eq!((data.class(), data.rank()), (5, 1000));
        let ack = Packet { flags: flag::ACK, win: u16::MAX, ..Packet::default() };
        assert_eq!((ack.class(), ack.rank()), (0, 0));
        assert_eq!(Packet { flags: flag::ACK | flag::URGENT, ..ack }.class(), 7);
        assert_eq!(Packet { flags: flag::PROBE, ..data }.class(), 5);
        let echo = Packet { win: service(5, 0) | Tick::new(9).bits(), ..data };
        assert_eq!((echo.class(), echo.rank(), echo.tsecr()), (5, 0, Tick::new(9)));
        assert_eq!((data.tsecr(), Packet { len: Tick::new(9).bits(), ..ack }.tsval()), (Tick::NONE, Tick::new(9)));
    }
}
