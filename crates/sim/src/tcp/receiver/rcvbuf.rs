//! Receive buffer of Linux and the window that follows from it (tcp_rcv_space_adjust, tcp_grow_window, __tcp_select_window).
//!
//! The buffer starts at 128 KB and is set to twice the data that the application read in an RTT, and more while the sender speeds up. The window
//! opens from 64 KB towards the fraction of the buffer that payload occupies.

use super::truesize::{Segments, truesize, us};
use super::window::AdvertisedWindow;
use crate::tcp::config::TcpConfig;
use crate::tcp::initial_window::{first_buffer, first_window, max_buffer};
use forebay_types::Time;
use std::num::NonZeroU16;

/// Memory that 6.1 assumes for a segment beside its payload: MAX_TCP_HEADER, `struct sk_buff` and `struct skb_shared_info` (SKB_TRUESIZE).
const SEGMENT_OVERHEAD: u64 = 192 + 256 + 320;

/// State of one receiver. Stream offsets are their low 32 bits, and clocks the low 32 bits of microseconds, to keep connections small.
#[derive(Debug, Clone, Copy)]
pub(super) struct RcvBuf {
    /// Size of the buffer (`sk_rcvbuf`).
    buffer: u32,
    /// Limit of the window (`window_clamp`).
    window_clamp: u32,
    /// Current largest window (`rcv_ssthresh`).
    rcv_ssthresh: u32,
    /// Bytes read in the last RTT (`rcvq_space.space`).
    space: u32,
    /// Stream offset and time at which the current count of bytes read began (`rcvq_space.seq`, `rcvq_space.time`).
    count_start: u32,
    count_began: u32,
    /// Memory of a full segment.
    full_truesize: u32,
    /// Payload in 256 bytes of the buffer (`scaling_ratio`).
    ratio: NonZeroU16,
}

impl RcvBuf {
    pub(super) fn new(c: &TcpConfig) -> RcvBuf {
        let first = first_window(c) as u32;
        // tcp_init_buffer_space: half of the buffer is window, less one segment.
        let buffer = first_buffer(c);
        let half = buffer / 2;
        let window_clamp = half.saturating_sub(c.mss).max(2 * c.mss);
        let rcv_ssthresh = first.min(window_clamp);
        RcvBuf {
            buffer,
            window_clamp,
            rcv_ssthresh,
            // Ten segments at most (TCP_INIT_CWND).
            space: rcv_ssthresh.min(first).min(10 * c.mss),
            count_start: 0,
            count_began: 0,
            full_truesize: truesize(c, c.mss),
            ratio: const { NonZeroU16::new(128).unwrap() },
        }
    }

    /// Handles the first packet after the SYN-ACK (tcp_init_buffer_space).
    pub(super) fn on_established(&mut self, now: Time) {
        self.count_began = us(now);
    }

    /// Notes that the estimated segment size has changed (tcp_measure_rcv_mss), and with it the ratio of payload to memory: that of `len` bytes in
    /// `truesize` bytes of buffers.
    pub(super) fn on_new_rcv_mss(&mut self, len: u32, truesize: u32) {
        let ratio = NonZeroU16::new((u64::from(len) * 256 / u64::from(truesize)) as u16).unwrap_or(NonZeroU16::MIN);
        if ratio != self.ratio {
            self.ratio = ratio;
            self.window_clamp = self.window_of(self.buffer);
            self.space = self.space.min(self.window_clamp);
        }
    }

    /// Window of `space` bytes of buffer (tcp_win_from_space).
    fn window_of(&self, space: u32) -> u32 {
        ((u64::from(space) * u64::from(self.ratio.get())) >> 8) as u32
    }

    /// Bytes of buffer for a `window` (tcp_space_from_win; in 6.1 the loop in tcp_rcv_space_adjust).
    fn buffer_of(&self, c: &TcpConfig, window: u64) -> u64 {
        if c.kernel.measures_window_scale() {
            return window * 256 / u64::from(self.ratio.get());
        }
        let mss = u64::from(c.mss);
        let mut segment = mss + SEGMENT_OVERHEAD;
        while segment.div_ceil(2) < mss {
            segment += 128;
        }
        // Half of an odd size is rounded up there, which is half of the next even one.
        (window / mss * segment).next_multiple_of(2)
    }

    /// Opens the window for a segment of `len` bytes while `used` bytes of the buffer are occupied, its own among them (tcp_grow_window). True if
    /// the window opens.
    pub(super) fn grow(&mut self, c: &TcpConfig, len: u32, rcv_mss: u16, used: u32) -> bool {
        if self.rcv_ssthresh >= self.window_clamp {
            return false;
        }
        let free = self.window_of(self.buffer.saturating_sub(used));
        let room = self.window_clamp.min(free).saturating_sub(self.rcv_ssthresh);
        if room == 0 {
            return false;
        }
        // The driver builds linear buffers, of which truesize_adjust subtracts nothing.
        let size = if len == c.mss { self.full_truesize } else { truesize(c, len) };
        self.open(c, (len, size), rcv_mss, room)
    }

    /// As [`RcvBuf::grow`], for a buffer of several segments with this `truesize`.
    #[inline(never)]
    pub(super) fn grow_merged(&mut self, c: &TcpConfig, len: u32, truesize: u32, rcv_mss: u16, used: u32) -> bool {
        let free = self.window_of(self.buffer.saturating_sub(used));
        let room = self.window_clamp.min(free).saturating_sub(self.rcv_ssthresh);
        room > 0 && self.open(c, (len, truesize), rcv_mss, room)
    }

    /// As [`RcvBuf::grow`], for a FIN without data that was coalesced: of its memory nothing is left (truesize_adjust), which its payload of no bytes
    /// exceeds.
    #[cold]
    pub(super) fn grow_for_fin(&mut self, c: &TcpConfig, used: u32) -> bool {
        let free = self.window_of(self.buffer.saturating_sub(used));
        let room = self.window_clamp.min(free).saturating_sub(self.rcv_ssthresh);
        self.rcv_ssthresh += room.min(2 * c.mss);
        room > 0
    }

    /// Opens the window by at most `room`, for a packet with `len` bytes in `size` bytes of buffers.
    #[inline(always)]
    fn open(&mut self, c: &TcpConfig, (len, size): (u32, u32), rcv_mss: u16, room: u32) -> bool {
        let by = if self.window_of(size) <= len {
            2 * c.mss
        } else {
            // __tcp_grow_window: short segments waste buffer, which is acceptable while the window is small.
            let (mut size, mut window) = (self.window_of(size) / 2, self.window_of(max_buffer(c)) / 2);
            loop {
                if self.rcv_ssthresh > window {
                    return false;
                }
                if size <= len {
                    break 2 * u32::from(rcv_mss);
                }
                size /= 2;
                window /= 2;
            }
        };
        self.rcv_ssthresh += room.min(by.max(2 * len));
        true
    }

    /// Notes that the application has read a packet, up to `read`, and more has arrived, up to `rcv_nxt`. Once an RTT the buffer follows the amount
    /// read in that time (tcp_rcv_space_adjust). `rtt_us8`: the RTT, eighths of a microsecond.
    pub(super) fn on_read(&mut self, c: &TcpConfig, now: Time, rtt_us8: u32, read: u64, rcv_nxt: u64) {
        if rtt_us8 == 0 || us(now).wrapping_sub(self.count_began) < rtt_us8 / 8 {
            return;
        }
        // Windows stay below 2^30, so no more than that is read in an RTT. Data that waits to be read does not count, and is subtracted.
        let unread = if c.kernel.subtracts_unread() { (rcv_nxt - read) as i32 } else { 0 };
        let copied = (read as u32).wrapping_sub(self.count_start).cast_signed().saturating_sub(unread);
        let copied = copied.max(0).cast_unsigned();
        if copied > self.space && !c.rcv_autotune {
            self.space = copied;
        } else if copied > self.space {
            // Twice the bytes of an RTT to tolerate losses, and more in proportion to the growth of the sender's rate.
            let steady = 2 * u64::from(copied) + 16 * u64::from(c.mss);
            let growth = steady * u64::from(copied - self.space) / u64::from(self.space.max(1));
            let window = steady + 2 * growth;
            let buffer = self.buffer_of(c, window).min(u64::from(max_buffer(c))) as u32;
            if buffer > self.buffer {
                self.buffer = buffer;
                self.window_clamp = self.window_of(buffer);
            }
            self.space = copied;
        }
        (self.count_start, self.count_began) = (read as u32, us(now));
    }

    /// Window that an ACK could advertise while `used` bytes of the buffer are occupied (__tcp_select_window), and true if memory is so scarce that
    /// quick-ACK mode ends.
    pub(super) fn select_window(&self, c: &TcpConfig, last: &AdvertisedWindow, rcv_mss: u16, used: u32) -> (u32, bool) {
        let unit = 1 << last.wscale();
        let mut free = self.window_of(self.buffer.saturating_sub(used));
        let all = self.window_of(self.buffer);
        let scarce = free < self.window_clamp.min(all) / 2;
        if scarce {
            free = free / unit * unit;
            if free < all / 16 || free < u32::from(rcv_mss) {
                return (0, true);
            }
        }
        let free = free.min(self.rcv_ssthresh).min(c.window_limit() as u32);
        if last.wscale() == 0 {
            return (RcvBuf::whole_segments(free, self.window_clamp.min(all), last.rcv_wnd(), rcv_mss.into()), scarce);
        }
        (free.next_multiple_of(unit), scarce)
    }

    /// Window without a scale (__tcp_select_window): whole segments of `free`, of which the buffer has at most `space`. The `last` window stays while it
    /// is less than a segment smaller.
    fn whole_segments(free: u32, space: u32, last: u32, rcv_mss: u32) -> u32 {
        let mss = rcv_mss.min(space).max(1);
        if last > free || last + mss <= free {
            free / mss * mss
        } else if mss == space && free > last + space / 2 {
            free
        } else {
            last
        }
    }

    /// Window of an ACK, of whose predecessor's window `remaining` bytes are left (tcp_select_window): an offered window does not shrink.
    pub(super) fn next_window(
        &self,
        c: &TcpConfig,
        last: &AdvertisedWindow,
        rcv_mss: u16,
        used: u32,
        remaining: u32,
    ) -> (u32, bool) {
        let wscale = last.wscale();
        let (window, scarce) = self.select_window(c, last, rcv_mss, used);
        let window = if window < remaining { remaining.next_multiple_of(1 << wscale) } else { window };
        (window.min(65_535 << wscale), scarce)
    }

    /// Returns true if a window of which `remaining` bytes are left could double once the application has read everything (tcp_cleanup_rbuf).
    pub(super) fn may_double(&self, remaining: u32) -> bool {
        2 * remaining <= self.window_clamp
    }

    /// Memory of a packet of `len` bytes (`skb->truesize`).
    #[inline]
    pub(super) fn truesize_of(&self, c: &TcpConfig, len: u32, segments: Segments) -> u32 {
        if len == c.mss && segments.count == 1 { self.full_truesize } else { segments.truesize(c, len) }
    }
}
