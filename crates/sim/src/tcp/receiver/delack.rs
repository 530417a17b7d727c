//! Delayed ACKs of Linux (`icsk_ack`): the estimate of the segment size (tcp_measure_rcv_mss), the interval of arrivals (tcp_event_data_recv), and
//! the timer (tcp_send_delayed_ack).

use super::truesize::ns;
use crate::tcp::config::TcpConfig;
use crate::tcp::rtt::{Rtt, Sent};
use crate::tcp::timer_wheel;
use forebay_types::{Time, TimeOrNever};

/// TCP_DELACK_MAX.
const DELACK_MAX: Time = Time::from_ms(200);

/// The timer is in a slot of the timer wheel.
const IN_SLOT: u8 = 1;
/// The engine has an entry for that slot.
const HAS_ENTRY: u8 = 2;
/// Data of the other direction leaves soon after data arrives, and carries the ACK (`icsk_ack.pingpong` has reached `tcp_pingpong_thresh`, 1).
const PINGPONG: u8 = 4;
/// In that mode: the end of a write has arrived and no ACK has left since (ICSK_ACK_PUSHED).
const PUSHED: u8 = 8;

/// Decision about the ACK of a segment that need not be acknowledged immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delay {
    /// The timer is about to expire: the ACK leaves immediately.
    None,
    /// The timer that is running will send the ACK.
    Running,
    /// The timer is set to this time.
    Until(Time),
}

/// State of one receiver.
#[derive(Debug, Clone, Copy)]
pub(super) struct DelayedAck {
    /// Arrival time of the last segment (`lrcvtime`); before the first, the end of the handshake, and before that, when the SYN-ACK left.
    last_arrival: Time,
    /// Interval of arrivals as the timer uses it (`icsk_ack.ato`); never before the first segment.
    ato: TimeOrNever,
    /// RTT and RTO, ns: of the receiver's own handshake, or of the host's sender if it has one on this connection; before, 0 and the initial RTO.
    srtt: u32,
    rto: u32,
    /// Estimate of the segment size (`rcv_mss`), and the size of the last shorter segment (`last_seg_size`).
    rcv_mss: u16,
    last_seg_size: u16,
    /// Tick at which the delayed ACK is due, the low 16 bits (`icsk_ack.timeout`); the timer wheel may be late for it.
    timeout: u16,
    /// Tick of the timer wheel's slot that holds the timer, the low 8 bits ([`DELACK_MAX`] is less). It stays there after the ACK has left: the
    /// kernel does not remove the timer, and one that is set again for the same slot keeps its place (__mod_timer).
    slot: u8,
    /// [`IN_SLOT`], [`HAS_ENTRY`], [`PINGPONG`], [`PUSHED`].
    slot_state: u8,
}

impl DelayedAck {
    pub(super) fn new(c: &TcpConfig) -> DelayedAck {
        DelayedAck {
            last_arrival: Time::ZERO,
            ato: TimeOrNever::NEVER,
            srtt: 0,
            rto: ns(Rtt::new(c).base_rto),
            // tcp_initialize_rcv_mss.
            rcv_mss: c.mss.min(536) as u16,
            last_seg_size: 0,
            timeout: 0,
            slot: 0,
            slot_state: 0,
        }
    }

    /// Estimate of the segment size, bytes.
    #[inline(always)]
    pub(super) fn rcv_mss(&self) -> u16 {
        self.rcv_mss
    }

    /// RTT of the handshake or of the host's own sender, ns; 0 without one.
    #[inline(always)]
    pub(super) fn srtt(&self) -> u32 {
        self.srtt
    }

    /// Takes over RTT and RTO of the host's own sender on this connection (`srtt_us`, `icsk_rto`).
    pub(super) fn set_rtt(&mut self, srtt: Time, rto: Time) {
        (self.srtt, self.rto) = (ns(srtt), ns(rto));
    }

    /// Arrival time of the last segment.
    pub(super) fn last_arrival(&self) -> Time {
        self.last_arrival
    }

    /// Retransmission timeout of the receiver's own FIN.
    pub(super) fn rto(&self) -> Time {
        Time::from_ns(self.rto.into())
    }

    /// Returns true if data of the other direction is expected to carry ACKs (inet_csk_in_pingpong_mode).
    #[inline(always)]
    pub(super) fn is_interactive(&self) -> bool {
        self.slot_state & PINGPONG != 0
    }

    /// ACKs leave by themselves again (inet_csk_exit_pingpong_mode).
    #[inline(always)]
    pub(super) fn exit_interactive(&mut self) {
        self.slot_state &= !PINGPONG;
    }

    /// Notes that data of the other direction leaves (tcp_event_data_sent).
    pub(super) fn on_data_sent(&mut self, c: &TcpConfig, now: Time) {
        let ticks = |time: Time| time - time % c.rto_granularity;
        if self.ato.get().is_some_and(|ato| ticks(now) - ticks(self.last_arrival) < ato) {
            self.slot_state |= PINGPONG;
        }
    }

    /// Notes that an ACK leaves, by itself or with data.
    #[inline(always)]
    pub(super) fn on_ack_sent(&mut self) {
        self.slot_state &= !PUSHED;
    }

    /// Returns true if the end of a write makes the application's reading send an ACK (tcp_cleanup_rbuf); `short`: the segment is not a full one. In
    /// an interactive connection the second one does (ICSK_ACK_PUSHED2).
    #[inline(always)]
    pub(super) fn acks_end_of_write(&mut self, short: bool) -> bool {
        if !self.is_interactive() {
            return true;
        }
        let second = short && self.slot_state & PUSHED != 0;
        self.slot_state |= PUSHED;
        second
    }

    /// Handles the handshake at the host that opened the connection: the SYN left at `sent`, and the SYN-ACK arrives now (tcp_finish_connect).
    pub(super) fn on_connected(&mut self, c: &TcpConfig, sent: Time, now: Time) {
        self.last_arrival = sent;
        self.on_established(c, now, Ok(()));
    }

    /// Notes that a SYN-ACK leaves.
    pub(super) fn on_syn(&mut self, now: Time) {
        self.last_arrival = now;
    }

    //= https://www.rfc-editor.org/rfc/rfc6298#section-3
    //# TCP MUST use Karn's algorithm [KP87] for taking RTT samples.
    /// Takes the RTT sample of the first packet after the SYN-ACK (tcp_synack_rtt_meas). A SYN-ACK that was sent twice gives none, `Err`, but the echo
    /// of its timestamp may. The interval of arrivals begins now (tcp_create_openreq_child, tcp_finish_connect).
    pub(super) fn on_established(&mut self, c: &TcpConfig, now: Time, once: Result<(), Option<Time>>) {
        let syn_ack = std::mem::replace(&mut self.last_arrival, now);
        let sample = match once {
            Ok(()) => Time::from_us(now.as_us() - syn_ack.as_us()),
            Err(Some(echo)) => echo,
            Err(None) => return,
        };
        let mut rtt = Rtt::new(c);
        rtt.sample(c, sample, Sent::default());
        (self.srtt, self.rto) = (rtt.smoothed().get().map_or(0, ns), ns(rtt.base_rto));
    }

    /// Returns true if `bytes` exceed the limit for a delayed ACK (__tcp_ack_snd_check, tcp_cleanup_rbuf).
    #[inline(always)]
    pub(super) fn exceeds_limit(&self, c: &TcpConfig, bytes: u64) -> bool {
        bytes > u64::from(c.ack_every - 1) * u64::from(self.rcv_mss)
    }

    /// Segments that quick-ACK mode covers (tcp_incr_quickack), with an advertised window of `rcv_wnd`.
    pub(super) fn quickacks(&self, c: &TcpConfig, rcv_wnd: u32) -> u32 {
        c.quickack_count.min((rcv_wnd / (2 * u32::from(self.rcv_mss.max(1)))).max(2))
    }

    /// Sets the interval to its minimum, as entering and leaving quick-ACK mode do (tcp_enter_quickack_mode, tcp_dec_quickack_mode).
    pub(super) fn reset_ato(&mut self, c: &TcpConfig) {
        self.ato = c.ack_delay.into();
    }

    /// Enters quick-ACK mode (tcp_enter_quickack_mode).
    pub(super) fn enter_quickack(&mut self, c: &TcpConfig) {
        self.exit_interactive();
        self.reset_ato(c);
    }

    /// Notes that the timer expired without another segment: the next delay is longer, or no data is expected to carry ACKs any more
    /// (tcp_delack_timer_handler).
    pub(super) fn inflate_ato(&mut self, c: &TcpConfig) {
        if self.is_interactive() {
            self.exit_interactive();
            return self.reset_ato(c);
        }
        if let Some(ato) = self.ato.get() {
            self.ato = (ato * 2).min(self.rto()).min(longest_interval(c)).into();
        }
    }

    /// Notes that a segment of the estimated size has arrived.
    #[inline(always)]
    pub(super) fn on_full_segment(&mut self) {
        self.last_seg_size = 0;
    }

    /// Updates the estimate of the segment size (tcp_measure_rcv_mss). Returns true for a segment that seems to be the end of a write.
    pub(super) fn measure_rcv_mss(&mut self, mss: u32, len: u16, end_of_write: bool) -> bool {
        let last = std::mem::take(&mut self.last_seg_size);
        if len >= self.rcv_mss {
            self.rcv_mss = u32::from(len).min(mss) as u16;
            return end_of_write;
        }
        // Two consecutive shorter segments of equal size: full ones of a sender with a smaller segment size.
        if len >= 556 - 32 {
            self.last_seg_size = len;
            if len == last {
                self.rcv_mss = len;
                return false;
            }
        }
        true
    }

    /// Updates the interval of arrivals for a segment in order (tcp_event_data_recv). True when quick-ACK mode is entered.
    pub(super) fn on_in_order_segment(&mut self, c: &TcpConfig, now: Time) -> bool {
        let (floor, tick, last) = (c.ack_delay, c.rto_granularity, self.last_arrival);
        self.last_arrival = now;
        // In whole ticks where that decides: it is less than a tick more than the time that has passed.
        let ticks = |time: Time| time - time % tick;
        let pause = if now - last + tick <= floor / 2 { Time::ZERO } else { ticks(now) - ticks(last) };
        let Some(ato) = self.ato.get() else {
            self.ato = floor.into();
            return true;
        };
        let rto = self.rto();
        if pause <= floor / 2 {
            self.ato = (ato / 2 + floor / 2).into();
        } else if pause < ato {
            self.ato = (ato / 2 + pause).min(rto).min(longest_interval(c)).into();
        } else {
            // After more than an RTO the sender may have restarted with a small window.
            return pause > rto;
        }
        false
    }

    /// Delay of the timer (tcp_send_delayed_ack). At data-center RTTs it is the 40 ms of TCP_ATO_MIN, because the interval never falls below that and
    /// is cut to max(SRTT, TCP_DELACK_MIN). Only a minimum RTO below 41 ms makes it shorter (tcp_delack_max).
    fn delay(&self, c: &TcpConfig) -> Time {
        let floor = c.ack_delay;
        let mut ato = self.ato.get().map_or(floor, |ato| ato.max(floor));
        if ato > floor {
            // HZ / 2.
            let max = Time::from_ms(500);
            ato = ato.min(if self.srtt > 0 { Time::from_ns(self.srtt.into()).max(floor).min(max) } else { max });
        }
        let tick = c.rto_granularity;
        let ato = ato.min(DELACK_MAX);
        if c.kernel.delays_acks_below_min_rto() { ato.min(c.rto_min.max(tick * 2) - tick) } else { ato }
    }

    /// Delays an ACK (tcp_send_delayed_ack); `running`: the timer is set.
    #[inline]
    pub(super) fn schedule(&mut self, c: &TcpConfig, now: Time, running: bool) -> Delay {
        let delay = self.delay(c);
        let tick = c.rto_granularity;
        let ticks = |time: Time| (time / tick) as u16;
        let timeout = ticks(now).wrapping_add(ticks(delay));
        let earlier = |a: u16, b: u16| (a.wrapping_sub(b) as i16) < 0;
        if running && !earlier(ticks(now).wrapping_add(ticks(delay / 4)), self.timeout) {
            return Delay::None;
        }
        if running && !earlier(timeout, self.timeout) {
            return Delay::Running;
        }
        self.timeout = timeout;
        let expires = timer_wheel::expiry(now, delay, tick);
        if timer_wheel::has_slots(tick) {
            self.enter_slot(c, expires);
        }
        Delay::Until(expires)
    }

    /// Puts the timer into the slot of the wheel that expires at `time`.
    fn enter_slot(&mut self, c: &TcpConfig, time: Time) {
        let slot = (time / c.rto_granularity) as u8;
        if slot != self.slot {
            self.slot_state &= !HAS_ENTRY;
        }
        self.slot = slot;
        self.slot_state |= IN_SLOT;
    }

    /// Returns true if the engine has no entry for the slot of the timer.
    pub(super) fn has_unregistered_slot(&self) -> bool {
        self.slot_state & (IN_SLOT | HAS_ENTRY) == IN_SLOT
    }

    /// Notes that the engine is about to make an entry at `entry`. Returns true if that is the timer's slot and has an entry already, which keeps its
    /// place.
    pub(super) fn keeps_wheel_slot(&mut self, c: &TcpConfig, entry: TimeOrNever) -> bool {
        let tick = c.rto_granularity;
        let slot = entry.get().is_some_and(|at| at % tick == Time::ZERO && (at / tick) as u8 == self.slot);
        let had_entry = self.slot_state & HAS_ENTRY != 0;
        if slot && self.slot_state & IN_SLOT != 0 {
            self.slot_state |= HAS_ENTRY;
        }
        slot && had_entry
    }

    /// Expiry time of the slot, `now` or later.
    pub(super) fn slot_expiry(&self, c: &TcpConfig, now: Time) -> TimeOrNever {
        if self.slot_state & IN_SLOT == 0 {
            return TimeOrNever::NEVER;
        }
        let tick = now.round_up(c.rto_granularity) / c.rto_granularity;
        (c.rto_granularity * (tick + u64::from(self.slot.wrapping_sub(tick as u8)))).into()
    }

    /// Empties the slot if it expires now. Returns true if it does.
    pub(super) fn leave_slot(&mut self, c: &TcpConfig, now: Time) -> bool {
        let expires = self.slot_expiry(c, now) == now.into();
        if expires {
            self.slot_state &= !(IN_SLOT | HAS_ENTRY);
        }
        expires
    }
}

/// Largest interval of delayed ACKs beside the RTO.
fn longest_interval(c: &TcpConfig) -> Time {
    if c.kernel.limits_ack_interval() { DELACK_MAX } else { Time(u64::MAX) }
}
