//! RTT estimate of a receiver (`rcv_rtt_est`): from echoed timestamps (tcp_rcv_rtt_measure_ts) and from the time in which a window of data arrives
//! (tcp_rcv_rtt_measure).

use super::truesize::{ns, us};
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
    /// Latency of an ACK to the sender, ns; `u32::MAX` before it is known.
    ack_latency: u32,
    ack_times: AckTimes,
}

impl RcvRtt {
    pub(super) fn new() -> RcvRtt {
        RcvRtt { rtt_us8: 0, window_end: 0, window_began: 0, ack_latency: u32::MAX, ack_times: AckTimes::default() }
    }

    /// The estimate, eighths of a microsecond; 0 before the first sample.
    #[inline(always)]
    pub(super) fn rtt_us8(&self) -> u32 {
        self.rtt_us8
    }

    /// Latency of an ACK to the sender, ns; `u32::MAX` before it is known.
    pub(super) fn ack_latency(&self) -> u32 {
        self.ack_latency
    }

    /// Sets the latency of an ACK on the path without queueing.
    pub(super) fn set_ack_latency(&mut self, latency: Time) {
        self.ack_latency = ns(latency);
    }

    /// Notes that an ACK leaves.
    #[inline(always)]
    pub(super) fn on_ack_sent(&mut self, c: &TcpConfig, now: Time) {
        self.ack_times.on_ack_sent(c, now);
    }

    /// Notes that the handshake took `rtt` from SYN-ACK to ACK, of which the ACK's latency is `forward`. `pure`: the packet had no data. Data that
    /// arrives because the ACK was lost may have left later than the arrival of the SYN-ACK, and gives no sample.
    pub(super) fn on_established(&mut self, rtt: Time, forward: Time, pure: bool) {
        if pure || self.ack_latency == u32::MAX {
            self.ack_latency = ns(rtt.saturating_sub(forward));
        }
    }

    /// Takes a sample from a segment with the latency `forward` (tcp_rcv_rtt_measure_ts). `full`: it has at least the estimated segment size.
    pub(super) fn measure_by_echo(&mut self, c: &TcpConfig, now: Time, forward: Time, full: bool) {
        // One sample for each tick of the timestamp clock in which an echo advances, smoothed by 1/8. Our choice: simulated packets carry an echo
        // in one direction only. All clocks agree, so the send time of the segment is known; with the latency of ACKs, taken from the handshake, so
        // is the last ACK that had reached the sender by then.
        if self.ack_latency == u32::MAX {
            self.ack_latency = ns(forward);
        }
        let latest = now.saturating_sub(forward + Time::from_ns(self.ack_latency.into())).as_us();
        let Some(echo) = self.ack_times.take_echo(c, now, latest) else { return };
        let ticks = ((now.as_us() / clock_us(c)).wrapping_sub(echo)) as u32;
        // tcp_rtt_tsopt_us: samples above 2^31 us are invalid.
        let sample = u64::from(ticks) * clock_us(c);
        if full && ticks > 0 && sample < 1 << 31 {
            self.update(sample as u32, false);
        }
    }

    /// Notes that the stream has grown to `rcv_nxt`, before the application reads and before out-of-order data joins it (tcp_rcv_rtt_measure). A
    /// window of data takes at least an RTT, so the smallest such time counts. `first`: this is the first data of the stream.
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

/// Send times of ACKs, us, the low 32 bits.
#[derive(Debug, Clone, Copy, Default)]
struct AckTimes {
    /// The last ACK.
    last: u32,
    /// The first ACK in the same tick of the timestamp clock.
    first: u32,
    /// The last ACK before that tick.
    before: u32,
    /// The first ACK behind the tick of the last echo; [`NONE`] without one. Before the first echo, any ACK.
    next: u32,
}

/// No time.
const NONE: u32 = u32::MAX;

impl AckTimes {
    fn on_ack_sent(&mut self, c: &TcpConfig, now: Time) {
        let into_tick = now.as_us() % clock_us(c);
        if u64::from(us(now).wrapping_sub(self.last)) > into_tick {
            (self.before, self.first) = (self.last, us(now));
            if self.next == NONE {
                self.next = us(now);
            }
        }
        self.last = us(now);
    }

    /// Tick in the timestamp of the last ACK that left at `latest` or before. None if the last call returned the same tick.
    fn take_echo(&mut self, c: &TcpConfig, now: Time, latest: u64) -> Option<u64> {
        let when = |time: u32| now.as_us().saturating_sub(us(now).wrapping_sub(time).into());
        if self.next == NONE || latest < when(self.next) {
            return None;
        }
        let (first, before) = (when(self.first), when(self.before));
        if latest >= first {
            self.next = NONE;
            return Some(first / clock_us(c));
        }
        if latest >= before {
            self.next = self.first;
            return Some(before / clock_us(c));
        }
        // Earlier ACKs are not stored: every earlier tick is assumed to have had one.
        let tick = latest / clock_us(c);
        self.next = ((tick + 1) * clock_us(c)) as u32;
        Some(tick)
    }
}

/// Microseconds in a tick of the timestamp clock.
fn clock_us(c: &TcpConfig) -> u64 {
    c.timestamp_clock.as_us().max(1)
}
