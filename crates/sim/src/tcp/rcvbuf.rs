//! The receive buffer of Linux and the window that follows from it (tcp_rcv_space_adjust, tcp_grow_window, tcp_rcv_rtt_measure,
//! __tcp_select_window): the buffer starts at 128 KB and follows twice of what the application read in an RTT, at once when the sender still
//! speeds up; the window opens from 64 KB towards the share of the buffer that the payload of packets has.

use crate::tcp::config::TcpConfig;
use forebay_units::Time;

/// `tcp_rmem[1]`.
const FIRST_BUFFER: u32 = 131_072;
/// What an `skb` and its shared info occupy, aligned, and the space before the packet (NET_SKB_PAD).
const SKB: u32 = 256;
const SHARED_INFO: u32 = 320;
const PAD: u32 = 64;
/// Of that, what is not counted where packets may be joined (truesize_adjust): the head that the sender's stack allots for headers, as
/// drivers that split packets do.
const HEAD: u32 = 832;
/// MAX_SKB_FRAGS.
const FRAGMENTS: u32 = 17;
/// Headers of a segment without timestamps, with the alignment of the option.
const HEADERS: u32 = 40;
const TIMESTAMPS: u32 = 12;

/// The largest buffer, `tcp_rmem[2]`: `rcv-wnd` is half of it, as much as a connection reckons with at first. Our choice: the window stays below that
/// also where payload turns out to have more of the buffer.
fn largest(c: &TcpConfig) -> u32 {
    (2 * c.rcv_wnd).clamp(u64::from(FIRST_BUFFER), u64::from(u32::MAX / 2)) as u32
}

/// The window of a connection that is tuned before anything has arrived: half of the first buffer, and what fits into 16 bits, in full
/// segments (tcp_select_initial_window).
pub(super) fn first_window(c: &TcpConfig) -> u64 {
    let mss = u64::from(c.mss);
    if c.rcv_autotune { c.rcv_wnd.min((65_535 / mss * mss).max(mss)) } else { c.rcv_wnd }
}

/// The shift of a connection that is tuned: that of the largest buffer (tcp_select_initial_window).
pub(super) fn autotuned_shift(c: &TcpConfig) -> u8 {
    (largest(c).ilog2() as u8).saturating_sub(15).min(14)
}

/// Memory of a segment with `len` bytes of payload: a buffer of a power of two a packet, as drivers have them.
fn truesize(c: &TcpConfig, len: u32) -> u32 {
    let packet = len + HEADERS + if c.timestamps { TIMESTAMPS } else { 0 };
    ((PAD + packet).next_multiple_of(64) + SHARED_INFO).next_power_of_two().max(2_048) + SKB
}

/// State of one receiver. Stream offsets are their low 32 bits, and clocks the low 32 bits of microseconds: every connection has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct RcvBuf {
    /// When the count of bytes read began, and a window of data.
    since_us: u32,
    window_began_us: u32,
    /// The buffer (`sk_rcvbuf`), of which the window has `ratio` in 256.
    buffer: u32,
    ratio: u16,
    /// The window may grow up to here (`window_clamp`), and has grown up to there (`rcv_ssthresh`).
    clamp: u32,
    open: u32,
    /// Bytes read in the last RTT (`rcvq_space.space`), and where the count began.
    space: u32,
    from: u32,
    /// Estimate of the RTT, eighths of a microsecond; 0 before the first sample.
    pub(super) rtt: u32,
    /// A window of data ends here.
    window_end: u32,
    /// Way of an ACK to the sender, ns; `u32::MAX` before it is known.
    back: u32,
    /// There is a window of data to measure.
    has_window: bool,
    /// Memory of a full segment.
    full_truesize: u32,
}

/// When ACKs left, us, the low 32 bits: the last one, the first one in the same tick of the timestamp clock, the last one before that tick, and the
/// first one behind the tick of the echo that was looked at last, if there is one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AckTimes {
    last: u32,
    first: u32,
    before: u32,
    /// [`NONE`]: there is none. At the start, when no echo was looked at, any ACK is.
    next: u32,
}

/// No time.
const NONE: u32 = u32::MAX;

impl AckTimes {
    /// An ACK leaves.
    pub(super) fn note(&mut self, c: &TcpConfig, now: Time) {
        let now_us = now.as_us();
        let into_tick = now_us % clock(c);
        if u64::from(us(now).wrapping_sub(self.last)) > into_tick {
            (self.before, self.first) = (self.last, us(now));
            if self.next == NONE {
                self.next = us(now);
            }
        }
        self.last = us(now);
    }

    /// The tick in the timestamp of the last ACK that left at `heard` or before, if that is another than when it was asked last.
    fn tick(&mut self, c: &TcpConfig, now: Time, heard: u64) -> Option<u64> {
        let when = |time: u32| now.as_us().saturating_sub(us(now).wrapping_sub(time).into());
        if self.next == NONE || heard < when(self.next) {
            return None;
        }
        let (first, before) = (when(self.first), when(self.before));
        if heard >= first {
            self.next = NONE;
            return Some(first / clock(c));
        }
        if heard >= before {
            self.next = self.first;
            return Some(before / clock(c));
        }
        // In a tick before that, there was an ACK in every tick, as far as is known.
        let tick = heard / clock(c);
        self.next = ((tick + 1) * clock(c)) as u32;
        Some(tick)
    }
}

/// Microseconds in a tick of the timestamp clock.
fn clock(c: &TcpConfig) -> u64 {
    c.timestamp_clock.as_us().max(1)
}

impl RcvBuf {
    pub(super) fn new(c: &TcpConfig) -> RcvBuf {
        let first = first_window(c) as u32;
        // tcp_init_buffer_space: half of the buffer is window, of which a segment is kept back.
        let half = FIRST_BUFFER / 2;
        let clamp = half.saturating_sub(c.mss).max(2 * c.mss);
        let open = first.min(clamp);
        RcvBuf {
            since_us: 0,
            window_began_us: 0,
            buffer: FIRST_BUFFER,
            ratio: 128,
            clamp,
            open,
            // Ten segments at most (TCP_INIT_CWND).
            space: open.min(first).min(10 * c.mss),
            from: 0,
            rtt: 0,
            window_end: 0,
            back: u32::MAX,
            has_window: false,
            full_truesize: truesize(c, c.mss),
        }
    }

    /// On the empty path an ACK takes so long.
    pub(super) fn set_ack_latency(&mut self, back: Time) {
        self.back = ns(back);
    }

    /// The handshake took `rtt` from SYN-ACK to ACK, of which the way of the latter is `way`. `pure`: that was no data. Where the ACK was lost, what
    /// came instead may have left later than when the SYN-ACK was there, and tells nothing.
    pub(super) fn handshake(&mut self, now: Time, rtt: Time, way: Time, pure: bool) {
        if pure || self.back == u32::MAX {
            self.back = ns(rtt.saturating_sub(way));
        }
        self.since_us = us(now);
    }

    /// The size of full segments is known, or another (tcp_measure_rcv_mss): so is how much of the buffer payload has.
    pub(super) fn on_new_rcv_mss(&mut self, c: &TcpConfig, len: u32) {
        let ratio = (len * 256 / truesize(c, len)).max(1) as u16;
        if ratio != self.ratio {
            self.ratio = ratio;
            self.clamp = self.window(self.buffer);
            self.space = self.space.min(self.clamp);
        }
    }

    /// tcp_win_from_space.
    fn window(&self, space: u32) -> u32 {
        ((u64::from(space) * u64::from(self.ratio)) >> 8) as u32
    }

    /// A segment has come that was on its `way` for so long (tcp_rcv_rtt_measure_ts). `full_truesize`: it has at least the size that segments are taken
    /// to have.
    pub(super) fn measure_rtt_by_echo(
        &mut self,
        c: &TcpConfig,
        now: Time,
        way: Time,
        ack_times: &mut AckTimes,
        full_truesize: bool,
    ) {
        // An echo a tick of the timestamp clock, where that has gone on since, smoothed by 1/8. Our choice: simulated packets have room for an
        // echo in one direction only; as all clocks agree, it is known when the segment was sent, and the way of ACKs is taken to be that of the
        // handshake: so it is known which ACK had reached the sender then.
        if self.back == u32::MAX {
            self.back = ns(way);
        }
        let heard = now.saturating_sub(way + Time::from_ns(self.back.into())).as_us();
        let Some(echo) = ack_times.tick(c, now, heard) else { return };
        let ticks = ((now.as_us() / clock(c)).wrapping_sub(echo)) as u32;
        // tcp_rtt_tsopt_us: what is longer than 2^31 us is none.
        let sample = u64::from(ticks) * clock(c);
        if full_truesize && ticks > 0 && sample < 1 << 31 {
            self.update_rtt(sample as u32, false);
        }
    }

    /// The stream has grown to `rcv_nxt`, which is not read yet, nor joined to what waited for it (tcp_rcv_rtt_measure): a window of data takes at
    /// least an RTT, so the smallest such time counts.
    pub(super) fn measure_rtt_by_window(&mut self, now: Time, rcv_nxt: u64, advertised: u64) {
        if self.has_window && (rcv_nxt as u32).wrapping_sub(self.window_end) >= 1 << 31 {
            return;
        }
        if self.has_window {
            self.update_rtt(us(now).wrapping_sub(self.window_began_us).max(1), true);
        }
        (self.has_window, self.window_end, self.window_began_us) =
            (true, (rcv_nxt as u32).wrapping_add(advertised as u32), us(now));
    }

    /// tcp_rcv_rtt_update, in whose 32 bits eighths of more than nine minutes have no place.
    fn update_rtt(&mut self, sample: u32, has_window: bool) {
        let eighths = u64::from(sample) * 8;
        if self.rtt == 0 || eighths < u64::from(self.rtt) {
            self.rtt = eighths as u32;
        } else if !has_window {
            self.rtt = (self.rtt - self.rtt / 8).wrapping_add(sample);
        }
    }

    /// tcp_grow_window for a segment of `len` bytes, when `held` bytes of the buffer are occupied, its own among them; `joins`: it continues
    /// the stream. True if the window opens.
    pub(super) fn grow(&mut self, c: &TcpConfig, len: u32, rcv_mss: u32, held: u32, joins: bool) -> bool {
        if self.open >= self.clamp {
            return false;
        }
        let free = self.window(self.buffer.saturating_sub(held));
        let room = self.clamp.min(free).saturating_sub(self.open);
        if room == 0 {
            return false;
        }
        let whole = if len == c.mss { self.full_truesize } else { truesize(c, len) };
        let size = if joins && whole - HEAD >= len { whole - HEAD } else { whole };
        let by = if self.window(size) <= len {
            2 * c.mss
        } else {
            // __tcp_grow_window: short segments waste buffer, which is no harm as long as the window is small.
            let (mut size, mut window) = (self.window(size) / 2, self.window(largest(c)) / 2);
            loop {
                if self.open > window {
                    return false;
                }
                if size <= len {
                    break 2 * rcv_mss;
                }
                size /= 2;
                window /= 2;
            }
        };
        self.open += room.min(by.max(2 * len));
        true
    }

    /// The application has read a packet, up to `read`, and there are others up to `rcv_nxt` (tcp_rcv_space_adjust): once an RTT the buffer follows
    /// what it read in that time.
    pub(super) fn adjust(&mut self, c: &TcpConfig, now: Time, read: u64, rcv_nxt: u64) {
        if self.rtt == 0 || us(now).wrapping_sub(self.since_us) < self.rtt / 8 {
            return;
        }
        // Windows stay below 2^30, so that no more than that is read in an RTT. What is there and not read yet does not count, and counts
        // against what is.
        let copied = (read as u32).wrapping_sub(self.from).cast_signed().saturating_sub((rcv_nxt - read) as i32);
        let copied = copied.max(0).cast_unsigned();
        if copied > self.space {
            // Twice the bytes of an RTT for losses, and as much more as the sender speeds up.
            let steady = 2 * u64::from(copied) + 16 * u64::from(c.mss);
            let growth = steady * u64::from(copied - self.space) / u64::from(self.space.max(1));
            let window = steady + 2 * growth;
            let buffer = (window * 256 / u64::from(self.ratio)).min(u64::from(largest(c))) as u32;
            if buffer > self.buffer {
                self.buffer = buffer;
                self.clamp = self.window(buffer);
            }
            self.space = copied;
        }
        (self.from, self.since_us) = (read as u32, us(now));
    }

    /// The window that an ACK could advertise, when `held` bytes of the buffer are occupied (__tcp_select_window), and whether so little is
    /// free that it ends quick mode.
    pub(super) fn select_window(&self, c: &TcpConfig, shift: u8, rcv_mss: u32, held: u32) -> (u32, bool) {
        let unit = 1 << shift;
        let mut free = self.window(self.buffer.saturating_sub(held));
        let all = self.window(self.buffer);
        let scarce = free < self.clamp.min(all) / 2;
        if scarce {
            free = free / unit * unit;
            if free < all / 16 || free < rcv_mss {
                return (0, true);
            }
        }
        (free.min(self.open).min(c.rcv_wnd as u32).next_multiple_of(unit), scarce)
    }

    /// What is left at `rcv_nxt` of the window that an ACK up to `ack_times` advertised (tcp_receive_window).
    pub(super) fn left(advertised: u64, ack_times: u64, rcv_nxt: u64) -> u32 {
        (ack_times + advertised).saturating_sub(rcv_nxt) as u32
    }

    /// The window of an ACK for everything up to `rcv_nxt` of whose window so much is `left` (tcp_select_window): an offered window does not shrink.
    pub(super) fn advertise(&self, c: &TcpConfig, shift: u8, rcv_mss: u32, held: u32, left: u32) -> (u32, bool) {
        let (window, scarce) = self.select_window(c, shift, rcv_mss, held);
        let advertised = if window < left { left.next_multiple_of(1 << shift) } else { window }.min(65_535 << shift);
        (advertised, scarce)
    }

    /// Whether an application that has read everything should look whether the window could be twice of what is `left` (tcp_cleanup_rbuf).
    pub(super) fn allows_window_update(&self, left: u32) -> bool {
        2 * left <= self.clamp
    }

    /// Memory of `bytes` in segments of `rcv_mss`.
    #[inline]
    pub(super) fn truesize_of(&self, c: &TcpConfig, bytes: u64, rcv_mss: u32) -> u32 {
        if bytes == u64::from(c.mss) { self.full_truesize } else { RcvBuf::truesize_of_many(c, bytes, rcv_mss) }
    }

    /// How long an ACK takes to the sender, ns; `u32::MAX` before it is known.
    pub(super) fn back(&self) -> u32 {
        self.back
    }

    /// Memory that `heads` segments spare which have become one with others.
    pub(super) fn saved_headers(heads: u32) -> u32 {
        HEAD * heads
    }

    /// Memory of a segment of `len` bytes that has filled a hole, and of the `coalescing` bytes that had waited for it: they are joined to each other,
    /// up to 17 (MAX_SKB_FRAGS), as their sender, which knows that they have come, has let go of them (tcp_ofo_queue, skb_try_coalesce,
    /// tcp_shift_skb_data).
    pub(super) fn truesize_of_run(&self, c: &TcpConfig, len: u64, coalescing: u64, rcv_mss: u32) -> u32 {
        let segments = coalescing.div_ceil(u64::from(rcv_mss.max(1))) as u32;
        let saved_headers = HEAD * segments.saturating_sub(segments.div_ceil(FRAGMENTS));
        self.truesize_of(c, len, rcv_mss) + self.truesize_of(c, coalescing, rcv_mss).saturating_sub(saved_headers)
    }

    #[cold]
    fn truesize_of_many(c: &TcpConfig, bytes: u64, rcv_mss: u32) -> u32 {
        (bytes.div_ceil(u64::from(rcv_mss.max(1))) * u64::from(truesize(c, rcv_mss))).min(u64::from(u32::MAX / 2)) as u32
    }
}

/// A time in us, the low 32 bits.
pub(super) fn us(time: Time) -> u32 {
    time.as_us() as u32
}

/// A time in ns, as far as 32 bits go.
pub(super) fn ns(time: Time) -> u32 {
    time.as_ns().min(u64::from(u32::MAX)) as u32
}
