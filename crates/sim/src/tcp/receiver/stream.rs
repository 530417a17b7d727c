//! Sequence space of the data direction: the next byte expected, out-of-order data, the sender's FIN, and the report of duplicates (D-SACK, RFC
//! 2883).

use super::ofo_queue::OfoQueue;
use super::truesize::{Segments, Stored};
use crate::net::packet::{Packet, SackBlocks, flag};
use crate::tcp::config::TcpConfig;
use crate::tcp::seq::Numbers;
use forebay_experiment::transport::Recovery;

/// Progress of the three-way handshake (RFC 9293 section 3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handshake {
    /// No SYN has arrived.
    Listen,
    /// The SYN-ACK has been sent.
    SynReceived,
    /// A packet arrived after the SYN-ACK. Only stacks that measure the RTT of the handshake enter this state.
    Established,
}

/// The stream as it arrives.
#[derive(Debug, Clone)]
pub(super) struct ReceiveStream {
    /// Stream offset of the next byte expected in order; FIN counts one.
    rcv_nxt: u64,
    /// Offset of the FIN; `u64::MAX` before it arrives.
    fin: u64,
    /// The application is notified when the stream reaches this offset; `u64::MAX`: never.
    deliver_at: u64,
    ofo: OfoQueue,
    numbers: Numbers,
    /// SACK blocks that fit into an ACK (RFC 2018 section 3); 0 without SACK.
    max_sack_blocks: u8,
    handshake: Handshake,
}

impl ReceiveStream {
    pub(super) fn new(c: &TcpConfig, numbers: Numbers) -> ReceiveStream {
        let sack = matches!(c.recovery, Recovery::Sack | Recovery::Rack);
        let blocks = if c.timestamps { SackBlocks::BESIDE_TIMESTAMPS } else { SackBlocks::MOST };
        ReceiveStream {
            rcv_nxt: 0,
            fin: u64::MAX,
            deliver_at: u64::MAX,
            ofo: OfoQueue::default(),
            numbers,
            max_sack_blocks: if sack { blocks as u8 } else { 0 },
            handshake: Handshake::Listen,
        }
    }

    /// Stream offset of the next byte expected in order; FIN counts one.
    #[inline(always)]
    pub(super) fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Data bytes received in order, FIN not counted.
    #[inline(always)]
    pub(super) fn delivered(&self) -> u64 {
        self.rcv_nxt.min(self.fin)
    }

    /// Offset at which the application is notified; `u64::MAX`: never.
    #[inline(always)]
    pub(super) fn deliver_at(&self) -> u64 {
        self.deliver_at
    }

    /// The offset at which the application is notified, to be set.
    pub(super) fn deliver_at_mut(&mut self) -> &mut u64 {
        &mut self.deliver_at
    }

    /// Returns true if the stream has ended with a FIN.
    #[inline(always)]
    pub(super) fn finished(&self) -> bool {
        self.rcv_nxt > self.fin
    }

    /// Returns true if a FIN has arrived, in order or not.
    #[inline(always)]
    pub(super) fn has_fin(&self) -> bool {
        self.fin != u64::MAX
    }

    /// Returns true if `len` more bytes neither end the stream nor reach the offset at which the application is notified.
    #[inline(always)]
    pub(super) fn stays_below_events(&self, len: u16) -> bool {
        self.rcv_nxt + u64::from(len) < self.deliver_at.min(self.fin)
    }

    /// Acknowledgment number: the sequence number of the next byte expected.
    #[inline(always)]
    pub(super) fn ack_number(&self) -> u32 {
        self.numbers.wire(self.rcv_nxt)
    }

    /// Sequence numbers of the stream.
    pub(super) fn numbers(&self) -> Numbers {
        self.numbers
    }

    /// Returns true if `p` begins at the next byte expected.
    #[inline(always)]
    pub(super) fn is_next(&self, p: &Packet) -> bool {
        p.seq == self.ack_number()
    }

    /// Stream offset of the first byte of `p`.
    #[inline(always)]
    pub(super) fn offset(&self, p: &Packet) -> i64 {
        self.numbers.offset(p.seq, self.rcv_nxt)
    }

    /// Stream offset behind the payload of `p`.
    pub(super) fn end_of(&self, p: &Packet) -> u64 {
        (self.offset(p) + i64::from(p.len)).max(0) as u64
    }

    /// Returns true if `p` at `offset` has data or a FIN beyond the data in order.
    #[inline(always)]
    pub(super) fn is_new(&self, p: &Packet, offset: i64) -> bool {
        offset + i64::from(p.len) + i64::from(p.has(flag::FIN)) > self.rcv_nxt as i64
    }

    /// Returns true if ACKs carry SACK blocks.
    #[inline(always)]
    pub(super) fn has_sack(&self) -> bool {
        self.max_sack_blocks > 0
    }

    /// Out-of-order data.
    #[inline(always)]
    pub(super) fn ofo(&self) -> &OfoQueue {
        &self.ofo
    }

    /// Out-of-order data, to update coalescing and the D-SACK.
    #[inline(always)]
    pub(super) fn ofo_mut(&mut self) -> &mut OfoQueue {
        &mut self.ofo
    }

    /// Returns true if a SYN has been answered.
    pub(super) fn has_answered_syn(&self) -> bool {
        self.handshake != Handshake::Listen
    }

    /// Returns true if no packet has arrived since the SYN-ACK.
    #[inline(always)]
    pub(super) fn is_syn_received(&self) -> bool {
        self.handshake == Handshake::SynReceived
    }

    /// Notes that a SYN-ACK leaves.
    pub(super) fn answer_syn(&mut self) {
        self.handshake = Handshake::SynReceived;
    }

    /// Completes the handshake. True for the first packet after the SYN-ACK.
    pub(super) fn establish(&mut self) -> bool {
        let first = self.is_syn_received();
        if first {
            self.handshake = Handshake::Established;
        }
        first
    }

    /// Extends the stream by `len` bytes that arrived in order while the out-of-order queue was empty.
    #[inline(always)]
    pub(super) fn extend(&mut self, len: u16) {
        self.rcv_nxt += u64::from(len);
    }

    /// Takes in `len` bytes at `offset`, and a FIN behind them; `window` is the advertised one. True if they extend the data in order.
    /// `keeps_sack_list`: blocks are reported from the list that Linux keeps.
    #[inline]
    pub(super) fn accept(
        &mut self,
        c: &TcpConfig,
        (offset, len, fin): (i64, u64, bool),
        segments: Segments,
        window: u32,
        keeps_sack_list: bool,
    ) -> bool {
        if offset == self.rcv_nxt as i64 && !fin && self.ofo.is_empty() && len <= u64::from(window) {
            self.rcv_nxt += len;
            return true;
        }
        self.accept_slow(c, (offset, len, fin), segments, window, keeps_sack_list)
    }

    #[inline(never)]
    fn accept_slow(
        &mut self,
        c: &TcpConfig,
        (offset, len, fin): (i64, u64, bool),
        segments: Segments,
        window: u32,
        keeps_sack_list: bool,
    ) -> bool {
        let end = offset + len as i64 + i64::from(fin);
        if end <= self.rcv_nxt as i64 {
            if self.has_sack() {
                self.report_duplicate(offset.max(0) as u64, end.max(0) as u64);
            }
            return false;
        }
        let (offset, end) = (offset.max(0) as u64, end as u64);
        // Data beyond the advertised window is dropped; only a misbehaving peer sends it.
        if end > self.rcv_nxt.saturating_add(window.into()).saturating_add(1) {
            return false;
        }
        if fin {
            self.fin = end - 1;
        }
        let in_order = offset <= self.rcv_nxt;
        if self.has_sack() {
            // RFC 2883 section 4: the duplicate part is reported (tcp_ofo_queue, tcp_data_queue_ofo).
            let duplicate =
                if offset < self.rcv_nxt { Some((offset, self.rcv_nxt)) } else { self.ofo.find_duplicate(offset, end) };
            if let Some((start, end)) = duplicate {
                self.report_duplicate(start, end);
            }
        }
        if in_order {
            self.rcv_nxt = if self.ofo.is_empty() { end } else { self.ofo.advance(end) };
        } else {
            // Only Linux charges memory.
            let packet = if keeps_sack_list { Stored::of(c, segments, len as u32) } else { Stored::free(segments, len as u32) };
            self.ofo.insert(offset, end, packet, keeps_sack_list);
        }
        in_order
    }

    /// Reports the stream offsets [start, end) as a D-SACK in the next ACK.
    pub(super) fn report_duplicate(&mut self, start: u64, end: u64) {
        self.ofo.set_dsack((self.numbers.wire(start), self.numbers.wire(end)));
    }

    /// SACK blocks of an ACK; `sack_list`: from the list that Linux keeps.
    #[cold]
    pub(super) fn take_sack_blocks(&mut self, sack_list: bool) -> Option<SackBlocks> {
        //= https://www.rfc-editor.org/rfc/rfc2883#section-4
        //# A D-SACK block is only used to report a duplicate contiguous sequence of data received by the receiver in the
        //# most recent packet.
        // RFC 2883 section 4: a duplicate is reported first, once.
        let dsack = self.ofo.take_dsack();
        let (max, numbers) = (usize::from(self.max_sack_blocks), self.numbers);
        let wire = |(start, end): (u64, u64)| (numbers.wire(start), numbers.wire(end));
        if sack_list {
            SackBlocks::of(dsack.into_iter().chain(self.ofo.sack_list().map(wire)).take(max))
        } else {
            SackBlocks::of(dsack.into_iter().chain(self.ofo.intervals().map(wire)).take(max))
        }
    }
}
