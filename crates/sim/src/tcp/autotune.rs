//! Receive-window autotuning as Linux does it (tcp_rcv_space_adjust, tcp_grow_window, tcp_rcv_rtt_measure): the window starts at 64 KB,
//! and follows twice of what the application read in an RTT, at once when the sender still speeds up.

use crate::tcp::config::TcpConfig;
use forebay_units::Time;

/// The window of a connection that is tuned before anything has arrived: what fits into 16 bits, in full segments
/// (tcp_select_initial_window with half of the 128 KB of `tcp_rmem[1]`).
pub(super) fn first_window(c: &TcpConfig) -> u64 {
    let mss = u64::from(c.mss);
    if c.rcv_autotune { c.rcv_wnd.min((65_535 / mss * mss).max(mss)) } else { c.rcv_wnd }
}

/// State of one receiver. Stream offsets are their low 32 bits and times of tens of milliseconds are in ns: every connection has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Autotune {
    /// When the count of bytes read began, and a window of data.
    since: Time,
    window_began: Time,
    /// The window may grow up to here by arriving segments (`window_clamp`).
    clamp: u32,
    /// Bytes read in the last RTT (`rcvq_space.space`), and where the count began.
    space: u32,
    from: u32,
    /// Estimate of the RTT, ns; 0 before the first sample.
    rtt: u32,
    /// Tick of the timestamp clock at the last sample.
    tick: u32,
    /// A window of data ends here.
    window_end: u32,
    /// Way of an ACK to the sender, ns; `u32::MAX` before it is known.
    back: u32,
    /// There is a window of data to measure.
    windowed: bool,
}

impl Autotune {
    pub(super) fn new(c: &TcpConfig) -> Autotune {
        let first = first_window(c);
        Autotune {
            since: Time::ZERO,
            window_began: Time::ZERO,
            clamp: first as u32,
            // tcp_init_buffer_space: ten segments at most.
            space: first.min(10 * u64::from(c.mss)) as u32,
            from: 0,
            rtt: 0,
            tick: u32::MAX,
            window_end: 0,
            back: u32::MAX,
            windowed: false,
        }
    }

    /// The handshake took `rtt` from SYN-ACK to ACK, of which the way of a packet to here is `way`.
    pub(super) fn handshake(&mut self, now: Time, rtt: Time, way: Time) {
        self.back = ns(rtt.saturating_sub(way));
        self.since = now;
    }

    /// A segment of `len` bytes has extended the stream to `rcv_nxt`, `way` after it was sent (`None` without timestamps), and the
    /// application has read it. Returns the window to advertise, now `window`.
    pub(super) fn on_data(&mut self, c: &TcpConfig, now: Time, rcv_nxt: u64, len: u64, way: Option<Time>, window: u64) -> u64 {
        self.measure_rtt(c, now, rcv_nxt, len, way, window);
        self.adjust(c, now, rcv_nxt);
        // tcp_grow_window: two segments for each that is not tiny.
        let clamp = u64::from(self.clamp);
        if len >= 128 && window < clamp { (window + (2 * u64::from(c.mss)).max(2 * len)).min(clamp) } else { window }
    }

    fn measure_rtt(&mut self, c: &TcpConfig, now: Time, rcv_nxt: u64, len: u64, way: Option<Time>, window: u64) {
        // tcp_rcv_rtt_measure: a window of data takes at least an RTT, so the smallest such time counts.
        if !self.windowed || rcv_nxt as u32 == self.window_end || (rcv_nxt as u32).wrapping_sub(self.window_end) < 1 << 31 {
            if self.windowed {
                let sample = ns(now - self.window_began).max(1);
                self.rtt = if self.rtt == 0 { sample } else { self.rtt.min(sample) };
            }
            (self.windowed, self.window_end, self.window_began) = (true, (rcv_nxt + window) as u32, now);
        }
        // tcp_rcv_rtt_measure_ts: an echo a tick of the timestamp clock, smoothed by 1/8, and never below a tick. Our choice: simulated
        // packets have room for an echo in one direction only; as all clocks agree, the way of the segment is known, and the way of ACKs is
        // taken to be that of the handshake.
        let clock = c.timestamp_clock.max(Time(1));
        let tick = (now / clock) as u32;
        let Some(way) = way.filter(|_| len >= u64::from(c.mss) && tick != self.tick) else { return };
        self.tick = tick;
        if self.back == u32::MAX {
            self.back = ns(way);
        }
        let sample = ns(way).saturating_add(self.back).max(ns(clock));
        self.rtt = if self.rtt == 0 { sample } else { self.rtt - self.rtt / 8 + sample / 8 };
    }

    /// tcp_rcv_space_adjust, once an RTT.
    fn adjust(&mut self, c: &TcpConfig, now: Time, rcv_nxt: u64) {
        if self.rtt == 0 || now - self.since < Time::from_ns(self.rtt.into()) {
            return;
        }
        // Windows stay below 2^30, so that no more than that is read in an RTT.
        let copied = (rcv_nxt as u32).wrapping_sub(self.from);
        if copied > self.space {
            // Twice the bytes of an RTT for losses, and as much more as the sender speeds up.
            let steady = 2 * u64::from(copied) + 16 * u64::from(c.mss);
            let growth = steady * u64::from(copied - self.space) / u64::from(self.space.max(1));
            self.clamp = self.clamp.max((steady + 2 * growth).min(c.rcv_wnd) as u32);
            self.space = copied;
        }
        (self.from, self.since) = (rcv_nxt as u32, now);
    }
}

/// A time in ns, as far as 32 bits go.
pub(super) fn ns(time: Time) -> u32 {
    time.as_ns().min(u64::from(u32::MAX)) as u32
}
