//! Quick-ACK mode: the number of segments still to be acknowledged immediately (`icsk_ack.quick`).

use crate::tcp::config::TcpConfig;

/// Segments still to be acknowledged immediately.
#[derive(Debug, Clone, Copy)]
pub(super) struct QuickAcks(u16);

impl QuickAcks {
    /// Stacks without the rules of Linux acknowledge the first segments of a connection immediately.
    pub(super) fn new(c: &TcpConfig) -> QuickAcks {
        QuickAcks(if c.quickack { 0 } else { c.quickack_count.min(u32::from(u16::MAX)) as u16 })
    }

    /// Returns true if the mode is on.
    #[inline(always)]
    pub(super) fn is_on(self) -> bool {
        self.0 > 0
    }

    /// Counts one segment as acknowledged. True if the mode was on.
    #[inline(always)]
    pub(super) fn consume(&mut self) -> bool {
        let on = self.is_on();
        self.0 -= u16::from(on);
        on
    }

    /// Enters the mode for at least `segments`.
    #[inline(always)]
    pub(super) fn raise(&mut self, segments: u32) {
        self.0 = self.0.max(segments.min(u32::from(u16::MAX)) as u16);
    }

    /// Sets the lowest bit, as the kernel does when the window grows (`icsk_ack.quick |= 1` in tcp_grow_window).
    #[inline(always)]
    pub(super) fn set_lowest_bit(&mut self) {
        self.0 |= 1;
    }

    /// Leaves the mode.
    #[inline(always)]
    pub(super) fn leave(&mut self) {
        self.0 = 0;
    }
}
