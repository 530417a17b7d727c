//! The advertised receive window, and how much of the stream the last ACK covered (`rcv_wup`, `rcv_wnd`).

/// State of the last ACK.
#[derive(Debug, Clone, Copy)]
pub(super) struct AdvertisedWindow {
    /// Stream offset that the last ACK acknowledged (`rcv_wup`).
    rcv_wup: u64,
    /// Window that it advertised, bytes (`rcv_wnd`).
    rcv_wnd: u32,
    /// Segments received since.
    unacked_segments: u16,
    /// Window-scale shift (RFC 7323 section 2).
    wscale: u8,
}

impl AdvertisedWindow {
    pub(super) fn new(rcv_wnd: u32, wscale: u8) -> AdvertisedWindow {
        AdvertisedWindow { rcv_wup: 0, rcv_wnd, unacked_segments: 0, wscale }
    }

    /// Stream offset that the last ACK acknowledged.
    #[inline(always)]
    pub(super) fn rcv_wup(&self) -> u64 {
        self.rcv_wup
    }

    /// The advertised window, bytes.
    #[inline(always)]
    pub(super) fn rcv_wnd(&self) -> u32 {
        self.rcv_wnd
    }

    /// Window-scale shift.
    #[inline(always)]
    pub(super) fn wscale(&self) -> u8 {
        self.wscale
    }

    /// Segments received since the last ACK.
    #[inline(always)]
    pub(super) fn unacked_segments(&self) -> u16 {
        self.unacked_segments
    }

    /// Bytes received in order since the last ACK.
    #[inline(always)]
    pub(super) fn unacked_bytes(&self, rcv_nxt: u64) -> u64 {
        rcv_nxt - self.rcv_wup
    }

    /// Bytes of the advertised window that are left at `rcv_nxt` (tcp_receive_window).
    #[inline(always)]
    pub(super) fn remaining(&self, rcv_nxt: u64) -> u32 {
        (self.rcv_wup + u64::from(self.rcv_wnd)).saturating_sub(rcv_nxt) as u32
    }

    /// The window field of a header.
    #[inline(always)]
    pub(super) fn field(&self) -> u16 {
        (self.rcv_wnd >> self.wscale).min(65_535) as u16
    }

    /// Advertises another window from the next ACK on.
    #[inline(always)]
    pub(super) fn set_rcv_wnd(&mut self, rcv_wnd: u32) {
        self.rcv_wnd = rcv_wnd;
    }

    /// Counts segments that no ACK covers yet.
    #[inline(always)]
    pub(super) fn count_segments(&mut self, segments: u16) {
        self.unacked_segments = self.unacked_segments.saturating_add(segments);
    }

    /// Notes that an ACK of everything up to `rcv_nxt` leaves. Returns true if it repeats the acknowledgment number of the last one.
    #[inline(always)]
    pub(super) fn on_ack_sent(&mut self, rcv_nxt: u64) -> bool {
        let duplicate = self.rcv_wup == rcv_nxt;
        (self.rcv_wup, self.unacked_segments) = (rcv_nxt, 0);
        duplicate
    }
}
