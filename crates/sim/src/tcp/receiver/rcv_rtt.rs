//! RTT estimate of a receiver (`rcv_rtt_est`): from the timestamps that segments echo (tcp_rcv_rtt_measure_ts), and from the time in which a window of
//! data arrives (tcp_rcv_rtt_measure). It decides how long duplicate ACKs are withheld, and how often the receive buffer follows the sender.

use super::truesize::us;
use crate::net::tick::Tick;
use crate::tcp::config::TcpConfig;
use forebay_types::Time;

/// The estimate of one receiver. Stream offsets are their low 32 bits, and clocks the low 32 bits of microseconds, to keep connections small.
#[derive(Debug, Clone, Copy)]
pub(super) struct RcvRtt {
    /// Estimate, eighths of a microsecond; 0 before the first sample.
    rtt_us8: u32,
    /// The window of data that is being timed ends here.
    window_end: u32,
    /// When it began, us.
    window_began: u32,
    /// Timestamp of the SYN-ACK. Segments that left before the sender had another ACK echo it, but carry nothing.
    syn_ack: Tick,
    /// The last echo (`rcv_rtt_last_tsecr`).
    last_tsecr: Tick,
}

impl RcvRtt {
    pub(super) fn new() -> RcvRtt {
        RcvRtt { rtt_us8: 0, window_end: 0, window_began: 0, syn_ack: Tick::NONE, last_tsecr: Tick::NONE }
    }

    /// The estimate, eighths of a microsecond; 0 before the first sample.
    #[inline(always)]
    pub(super) fn rtt_us8(&self) -> u32 {
        self.rtt_us8
    }

    /// Notes that a SYN-ACK leaves. Of two that leave, the sender is assumed to get the second.
    pub(super) fn on_syn_ack(&mut self, now: Tick) {
        self.syn_ack = now;
    }

    /// Age of the last SYN-ACK by the timestamp clock, at least a tick (tcp_rtt_tsopt_us).
    pub(super) fn since_syn_ack(&self, c: &TcpConfig, now: Time) -> Time {
        tick_length(c) * u64::from(tick(c, now).since(self.syn_ack).max(1))
    }

    /// Takes a sample from a segment that echoes `tsecr` (tcp_rcv_rtt_measure_ts). `full`: it has at least the estimated segment size.
    #[inline(always)]
    pub(super) fn measure_by_echo(&mut self, c: &TcpConfig, now: Tick, tsecr: Tick, full: bool) {
        let tsecr = if tsecr.is_some() { tsecr } else { self.syn_ack };
        if tsecr != self.last_tsecr {
            self.measure_new_echo(c, now, tsecr, full);
        }
    }

    /// Notes an echo that gives no sample: tcp_rcv_established takes over that of an ACK without data (`rcv_rtt_last_tsecr`).
    pub(super) fn note_echo(&mut self, tsecr: Tick) {
        self.last_tsecr = tsecr;
    }

    #[inline(never)]
    fn measure_new_echo(&mut self, c: &TcpConfig, now: Tick, tsecr: Tick, full: bool) {
        self.last_tsecr = tsecr;
        // tcp_rtt_tsopt_us: samples above 2^31 us are invalid.
        let least = u32::from(!c.kernel.drops_rtts_below_tick());
        let sample = u64::from(u32::from(now.since(tsecr)).max(least)) * tick_length(c).as_us();
        if full && sample > 0 && sample < 1 << 31 {
            self.update(sample as u32, false);
        }
    }

    /// Notes that the stream has grown to `rcv_nxt`, before the application reads and before out-of-order data joins it (tcp_rcv_rtt_measure). A
    /// window of data takes at least an RTT, so the smallest such time counts. `first`: this is the first data of the stream.
    #[inline(always)]
    pub(super) fn measure_by_window(&mut self, now: Time, rcv_nxt: u64, rcv_wnd: u32, first: bool) {
        if !first && (rcv_nxt as u32).wrapping_sub(self.window_end) >= 1 << 31 {
            return;
        }
        if !first {
            self.update(us(now).wrapping_sub(self.window_began).max(1), true);
        }
        (self.window_end, self.window_began) = ((rcv_nxt as u32).wrapping_add(rcv_wnd), us(now));
    }

    /// tcp_rcv_rtt_update; its 32 bits cannot hold more than nine minutes in eighths of a microsecond.
    fn update(&mut self, sample: u32, by_window: bool) {
        let eighths = u64::from(sample) * 8;
        if self.rtt_us8 == 0 || eighths < u64::from(self.rtt_us8) {
            self.rtt_us8 = eighths as u32;
        } else if !by_window {
            self.rtt_us8 = (self.rtt_us8 - self.rtt_us8 / 8).wrapping_add(sample);
        }
    }
}

/// The tick of the timestamp clock at `now`.
#[inline(always)]
pub(super) fn tick(c: &TcpConfig, now: Time) -> Tick {
    Tick::new(now / tick_length(c))
}

/// Length of a tick. A clock that is finer than Linux's would wrap within a few milliseconds, so its timestamps are rounded.
#[inline(always)]
fn tick_length(c: &TcpConfig) -> Time {
    c.timestamp_clock.max(Time::from_ms(1))
}
