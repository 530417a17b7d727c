//! Connection state and send sequence space (RFC 9293 section 3.3.1), in stream offsets.

use crate::tcp::common::state::FastPath;
use crate::tcp::common::state::Phase;
use crate::tcp::config::TcpConfig;
use crate::tcp::options::offered_shift;
use forebay_types::GroupId;

/// Send side of a connection. Offsets count from 0, the first byte of data.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct SendStream {
    /// Oldest unacknowledged offset (SND.UNA).
    snd_una: u64,
    /// Next offset to send (SND.NXT).
    snd_nxt: u64,
    /// Highest offset sent so far.
    snd_max: u64,
    /// Bytes the application has written.
    written: u64,
    /// Right edge of the receive window (SND.UNA + SND.WND).
    snd_wnd_edge: u64,
    /// Number of the transport, in 16 bits because every connection has it.
    group: u16,
    /// State of the connection.
    phase: Phase,
    /// A FIN follows the last byte.
    fin: bool,
    /// The application has closed, but the FIN waits until the send buffer has taken all data.
    closing: bool,
    /// Window scale of the receiver.
    snd_wscale: WindowScale,
    /// Full new segments are copies of the template: there is no scoreboard, and ECN is as configured.
    plain: bool,
    /// Fast path of this endpoint.
    fast_path: FastPath,
}

/// Window scale of the receiver (Snd.Wind.Shift, RFC 7323 section 2.2), at most 14, and a flag: so senders stay within six cache lines.
#[derive(Debug, Clone, Copy)]
struct WindowScale(u8);

impl WindowScale {
    /// The window is that of the SYN-ACK: the next segment of the peer has another sequence number than the window (`snd_wl1`).
    const SYN_ACK: u8 = 0x80;

    /// Bytes of a window in the header field `window`. The shift ignores the flag, because it takes the lowest six bits.
    #[inline(always)]
    fn apply(self, window: u16) -> u64 {
        u64::from(window).wrapping_shl(self.0.into())
    }
}

impl SendStream {
    /// A closed connection whose peer has a receive window up to `wnd_edge`.
    pub(in crate::tcp) fn new(c: &TcpConfig, wnd_edge: u64, plain: bool, fast_path: FastPath) -> SendStream {
        SendStream {
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            written: 0,
            snd_wnd_edge: wnd_edge,
            group: 0,
            phase: Phase::Closed,
            fin: false,
            closing: false,
            snd_wscale: WindowScale(offered_shift(c)),
            plain,
            fast_path,
        }
    }

    /// Oldest unacknowledged offset.
    #[inline(always)]
    pub(in crate::tcp) fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// Next offset to send.
    #[inline(always)]
    pub(in crate::tcp) fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// Highest offset sent so far.
    #[inline(always)]
    pub(in crate::tcp) fn snd_max(&self) -> u64 {
        self.snd_max
    }

    /// Bytes the application has written.
    #[inline(always)]
    pub(in crate::tcp) fn written(&self) -> u64 {
        self.written
    }

    /// Right edge of the receive window.
    #[inline(always)]
    pub(in crate::tcp) fn snd_wnd_edge(&self) -> u64 {
        self.snd_wnd_edge
    }

    /// State of the connection.
    #[inline(always)]
    pub(in crate::tcp) fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns true if a FIN follows the last byte.
    #[inline(always)]
    pub(in crate::tcp) fn fin(&self) -> bool {
        self.fin
    }

    /// Returns true if the data from `start` on is the last segment, with the FIN, and may exceed the congestion window (tcp_cwnd_test up to 6.1).
    #[cold]
    pub(in crate::tcp) fn is_final_fin(&self, c: &TcpConfig, start: u64) -> bool {
        !c.kernel.tests_cwnd_of_fin() && c.is_linux() && self.fin && self.written().saturating_sub(start) <= c.mss.into()
    }

    /// Returns true if a FIN waits for the send buffer.
    #[inline(always)]
    pub(in crate::tcp) fn closing(&self) -> bool {
        self.closing
    }

    /// Returns true if full new segments are copies of the template.
    #[inline(always)]
    pub(in crate::tcp) fn plain(&self) -> bool {
        self.plain
    }

    /// Fast path of this endpoint.
    #[inline(always)]
    pub(in crate::tcp) fn fast_path(&self) -> FastPath {
        self.fast_path
    }

    /// Transport of the connection.
    #[inline(always)]
    pub(in crate::tcp) fn group(&self) -> GroupId {
        GroupId::new(u32::from(self.group))
    }

    /// Sets the transport. Panics beyond the 65536th.
    pub(in crate::tcp) fn set_group(&mut self, group: GroupId) {
        self.group = u16::try_from(group.get()).expect("at most 65536 transports");
    }

    /// End of the sequence space: written bytes and the FIN.
    #[inline(always)]
    pub(in crate::tcp) fn end(&self) -> u64 {
        self.written + u64::from(self.fin)
    }

    /// Returns true if everything up to the end is acknowledged.
    #[inline]
    pub(in crate::tcp) fn all_acked(&self) -> bool {
        self.snd_una >= self.end()
    }

    /// Bytes sent and not cumulatively acknowledged.
    #[inline(always)]
    pub(in crate::tcp) fn flight(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    /// Right edge of a receive window that `ack` offers with field `window`.
    #[inline(always)]
    pub(in crate::tcp) fn window_edge(&self, ack: u64, window: u16) -> u64 {
        ack + self.snd_wscale.apply(window)
    }

    /// Takes an ACK of a part of the flight, with field `window`.
    #[inline(always)]
    pub(in crate::tcp) fn acknowledge(&mut self, ack: u64, window: u16) {
        self.snd_una = ack;
        self.snd_wnd_edge = self.window_edge(ack, window);
    }

    /// Takes an ACK, also of data that is to be sent again.
    #[inline(always)]
    pub(in crate::tcp) fn advance_una(&mut self, ack: u64) {
        self.snd_una = ack;
        self.snd_nxt = self.snd_nxt.max(ack);
    }

    /// Sets the right edge of the receive window.
    #[inline(always)]
    pub(in crate::tcp) fn set_wnd_edge(&mut self, edge: u64) {
        self.snd_wnd_edge = edge;
    }

    /// Takes the window of a SYN-ACK, which is not scaled (RFC 7323 section 2.2).
    pub(in crate::tcp) fn take_syn_ack_window(&mut self, window: u16) {
        self.snd_wnd_edge = window.into();
        self.snd_wscale.0 |= WindowScale::SYN_ACK;
    }

    /// Returns true for the first segment after a SYN-ACK, whose window is new because of its sequence number (tcp_may_update_window).
    #[inline(always)]
    pub(in crate::tcp) fn leaves_syn_ack_window(&mut self) -> bool {
        let first = self.snd_wscale.0 & WindowScale::SYN_ACK != 0;
        self.snd_wscale.0 &= !WindowScale::SYN_ACK;
        first
    }

    /// Returns true if the receiver scales its window.
    #[inline(always)]
    pub(in crate::tcp) fn scales_window(&self) -> bool {
        self.snd_wscale.0 & !WindowScale::SYN_ACK > 0
    }

    /// Sets the window scale of the receiver.
    pub(in crate::tcp) fn set_wscale(&mut self, shift: u8) {
        self.snd_wscale = WindowScale(shift);
    }

    /// Notes that the next `len` of sequence space are sent.
    #[inline(always)]
    pub(in crate::tcp) fn advance_nxt(&mut self, len: u64) {
        self.snd_nxt += len;
    }

    /// Sets the next offset to send.
    #[inline(always)]
    pub(in crate::tcp) fn set_nxt(&mut self, next: u64) {
        self.snd_nxt = next;
    }

    /// Goes back to `snd_una`: all outstanding data is sent again (go-back-N).
    pub(in crate::tcp) fn go_back(&mut self) {
        self.snd_nxt = self.snd_una;
    }

    /// Notes that a segment that ends at `end` was sent.
    #[inline(always)]
    pub(in crate::tcp) fn sent_up_to(&mut self, end: u64) {
        self.snd_max = self.snd_max.max(end);
    }

    /// Notes that everything up to the next offset was sent for the first time.
    #[inline(always)]
    pub(in crate::tcp) fn sent_new(&mut self) {
        self.snd_max = self.snd_nxt;
    }

    /// Notes that a datagram with `bytes` of payload was sent.
    #[inline(always)]
    pub(in crate::tcp) fn sent_datagram(&mut self, bytes: u64) {
        self.snd_max += bytes;
    }

    /// Changes the state of the connection.
    pub(in crate::tcp) fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
    }

    /// Full new segments are no copies of the template any more unless `as_configured`.
    pub(in crate::tcp) fn keep_plain_if(&mut self, as_configured: bool) {
        self.plain &= as_configured;
    }

    /// Notes that the application writes `bytes`.
    pub(in crate::tcp) fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// Sets the number of bytes written.
    pub(in crate::tcp) fn set_written(&mut self, bytes: u64) {
        self.written = bytes;
    }

    /// Sets the state of the application: it has closed if `closing`; the FIN waits until the send buffer has taken all data.
    pub(in crate::tcp) fn set_closing(&mut self, closing: bool) {
        self.closing = closing;
    }

    /// Sets the end of the stream: a FIN follows the last byte if `fin`.
    pub(in crate::tcp) fn close_if(&mut self, fin: bool) {
        self.fin |= fin;
    }

    /// Notes that the send buffer has taken all data: the FIN follows if the application has closed.
    pub(in crate::tcp) fn close(&mut self) {
        self.fin |= std::mem::take(&mut self.closing);
    }
}
