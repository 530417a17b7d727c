//! One outstanding segment.

use forebay_types::Time;

/// SACKed.
pub(in crate::tcp) const SACKED: u8 = 1;
/// Deemed lost.
pub(in crate::tcp) const LOST: u8 = 2;
/// Retransmitted since it was last deemed lost; the retransmission is outstanding.
pub(in crate::tcp) const RETX: u8 = 4;
/// Retransmitted at least once: gives no RTT sample and no evidence of reordering.
pub(in crate::tcp) const EVER_RETX: u8 = 8;
/// Deemed lost by its age, and not sent again since. Its age does not count again, even if the loss is undone (tcp_rack_detect_loss removes it from
/// `tsorted_sent_queue`).
pub(in crate::tcp) const GIVEN_UP: u8 = 16;
/// SACKed, and merged with the segment before it, whose buffer it shares (tcp_shift_skb_data).
pub(in crate::tcp) const MERGED: u8 = 32;

/// One outstanding segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seg {
    /// Stream offset of its first byte.
    pub(crate) start: u64,
    /// Send time, or number of a segment; read through [`Seg::sent`] and `Seg::sacked_up_to`.
    pub(super) sent_or_number: u64,
    /// Sequence space it takes (FIN counts one).
    pub(crate) len: u32,
    /// [`SACKED`], [`LOST`], [`RETX`], [`EVER_RETX`], [`GIVEN_UP`], [`MERGED`].
    pub(crate) flags: u8,
}

impl Seg {
    /// Sent for the first time.
    pub(super) fn new(start: u64, len: u32, now: Time) -> Seg {
        Seg { start, sent_or_number: now.0, len, flags: 0 }
    }
    /// Time of its last transmission. It is lost when the segment is SACKed, because nothing needs it then.
    #[inline]
    pub fn sent(&self) -> Time {
        debug_assert!(!self.is(SACKED));
        Time(self.sent_or_number)
    }
    pub(super) fn send_again(&mut self, now: Time) {
        self.sent_or_number = now.0;
    }
    /// Of a SACKed segment: the absolute number of a later one, up to which all are SACKed.
    pub(super) fn sacked_up_to(&self) -> u64 {
        debug_assert!(self.is(SACKED));
        self.sent_or_number
    }
    pub(super) fn set_sacked_up_to(&mut self, number: u64) {
        debug_assert!(self.is(SACKED));
        self.sent_or_number = number;
    }
    /// Offset behind its last byte.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
    /// Returns true if any flag of `mask` is set.
    pub fn is(&self, mask: u8) -> bool {
        self.flags & mask != 0
    }
    /// Lost, and not sent again yet.
    pub(super) fn waits(&self) -> bool {
        self.flags & (LOST | RETX) == LOST
    }
}
