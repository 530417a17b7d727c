//! What a receiver of a stack that acknowledges as Linux does knows of its arrivals (tcp_measure_rcv_mss, tcp_event_data_recv,
//! tcp_send_delayed_ack); `receiver/delack.rs` decides with it.

use super::rcvbuf::{AckTimes, RcvBuf, ns};
use super::rtt::{Rtt, Sent};
use crate::net::packet::{Codepoint, Packet};
use crate::tcp::config::TcpConfig;
use forebay_units::{Time, TimeOrNever};

/// TCP_DELACK_MAX.
pub(super) const LONGEST: Time = Time::from_ms(200);

/// A classic echo is latched.
pub(super) const LATCHED: u8 = 1;
/// An ECN-capable segment has come.
pub(super) const CAPABLE: u8 = 2;
/// The timer is in a slot,
const IN_SLOT: u8 = 4;
/// and the engine has an entry for that.
const IN_PLACE: u8 = 8;

/// State of one receiver; every connection has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinuxReceiver {
    /// When the last segment came; before the first, when the SYN-ACK left.
    pub(super) last: Time,
    /// Interval of arrivals as the timer sees it (`icsk_ack.ato`); never before the first segment.
    pub(super) ato: TimeOrNever,
    /// The receiver's own RTT and RTO, from the handshake, ns; 0 without one.
    pub(super) srtt: u32,
    rto: u32,
    /// Size of segments as far as seen (`rcv_mss`), and the size of the last shorter one.
    pub(super) rcv_mss: u16,
    last_short_len: u16,
    /// A SYN was answered, and nothing has come since.
    syn_answered: bool,
    /// When ACKs left.
    pub(super) ack_times: AckTimes,
    /// [`LATCHED`], [`CAPABLE`], [`IN_SLOT`], [`IN_PLACE`].
    pub(super) seen: u8,
    /// Tick at which the delayed ACK is due, the low 16 bits; the timer wheel may be late for it.
    pub(super) timeout: u16,
    /// Tick of the timer wheel's slot that its timer is in, the low 8 bits ([`LONGEST`] is less), also when the ACK has left since: a timer is not
    /// taken out, and one that is set again for the same slot keeps its place there (__mod_timer).
    slot: u8,
    /// ACKs of segments out of order that were sent since the stream stands at `ofo_rcv_nxt` (low 32 bits), and those held back.
    pub(super) dup_acks: u8,
    pub(super) compressed_acks: u8,
    pub(super) ofo_rcv_nxt: u32,
    /// Those held back left when the segment now being taken in came.
    pub(super) compressed_acks_flushed: bool,
    pub(super) rcvbuf: Option<RcvBuf>,
}

// With what the allocator adds, a multiple of 16 bytes.
const _: () = assert!(size_of::<LinuxReceiver>() <= 104);

impl LinuxReceiver {
    /// For stacks that acknowledge so; `tuned`: the receive window is the connection's own.
    pub(super) fn of(c: &TcpConfig, tuned: bool) -> Option<Box<LinuxReceiver>> {
        (c.adaptive_acks || tuned).then(|| {
            Box::new(LinuxReceiver {
                last: Time::ZERO,
                ato: TimeOrNever::NEVER,
                srtt: 0,
                rto: ns(Rtt::new(c).base_rto),
                // tcp_initialize_rcv_mss.
                rcv_mss: c.mss.min(536) as u16,
                last_short_len: 0,
                syn_answered: false,
                ack_times: AckTimes::default(),
                seen: 0,
                timeout: 0,
                slot: 0,
                dup_acks: 0,
                compressed_acks: 0,
                ofo_rcv_nxt: 0,
                compressed_acks_flushed: false,
                rcvbuf: tuned.then(|| RcvBuf::new(c)),
            })
        })
    }

    /// The timer is put into the slot of the wheel that expires at `time`.
    pub(super) fn enter_slot(&mut self, c: &TcpConfig, time: Time) {
        let slot = (time / c.rto_granularity) as u8;
        if slot != self.slot {
            self.seen &= !IN_PLACE;
        }
        self.slot = slot;
        self.seen |= IN_SLOT;
    }

    /// Whether the timer is in a slot that the engine has no entry for.
    pub(super) fn has_unregistered_slot(&self) -> bool {
        self.seen & (IN_SLOT | IN_PLACE) == IN_SLOT
    }

    /// The engine is about to make an `entry`: whether it has one that is the timer's slot.
    pub(super) fn keeps_wheel_slot(&mut self, c: &TcpConfig, entry: TimeOrNever) -> bool {
        let tick = c.rto_granularity;
        let slot = entry.get().is_some_and(|at| at % tick == Time::ZERO && (at / tick) as u8 == self.slot);
        let was = self.seen & IN_PLACE != 0;
        if slot && self.seen & IN_SLOT != 0 {
            self.seen |= IN_PLACE;
        }
        slot && was
    }

    /// When its slot expires, the next at `now` or later.
    pub(super) fn slot(&self, c: &TcpConfig, now: Time) -> TimeOrNever {
        if self.seen & IN_SLOT == 0 {
            return TimeOrNever::NEVER;
        }
        let tick = now.round_up(c.rto_granularity) / c.rto_granularity;
        (c.rto_granularity * (tick + u64::from(self.slot.wrapping_sub(tick as u8)))).into()
    }

    /// The slot is emptied if its time has come.
    pub(super) fn leave_slot(&mut self, c: &TcpConfig, now: Time) {
        if self.slot(c, now) == now.into() {
            self.seen &= !(IN_SLOT | IN_PLACE);
        }
    }

    /// A SYN arrived and is answered.
    pub(super) fn on_syn(&mut self, c: &TcpConfig, now: Time) {
        self.ack_times.note(c, now);
        (self.last, self.syn_answered) = (now, true);
    }

    /// The first packet after the handshake, which the peer sent when the answer to its SYN came.
    /// True if it is that.
    pub(super) fn on_established(&mut self, c: &TcpConfig, now: Time, p: &Packet) -> bool {
        if !std::mem::take(&mut self.syn_answered) {
            return false;
        }
        let took = Time::from_us(now.as_us() - self.last.as_us());
        let mut rtt = Rtt::new(c);
        rtt.sample(c, took, Sent::default());
        (self.srtt, self.rto) = (rtt.smoothed().get().map_or(0, ns), ns(rtt.base_rto));
        if let Some(rcvbuf) = &mut self.rcvbuf {
            rcvbuf.handshake(now, now - self.last, now.since(p.ts), p.len == 0);
        }
        true
    }

    /// Whether a segment of `len` bytes in order is nothing unusual, as far as is known here: it has the size of those before it, it is not the first,
    /// and no ACK is held back for one out of order.
    #[inline(always)]
    pub(super) fn is_usual(&self, len: u16) -> bool {
        len == self.rcv_mss && !self.syn_answered && self.compressed_acks == 0
    }

    /// Whether a segment with this ECN field is no repetition of a sender of classic ECN (__tcp_ecn_check_ce).
    #[inline(always)]
    pub(super) fn expects_ecn(&self, ecn: Codepoint) -> bool {
        ecn != Codepoint::NotEct || self.seen & CAPABLE == 0
    }

    /// Whether so many bytes are more than may wait for their ACK (__tcp_ack_snd_check, tcp_cleanup_rbuf).
    #[inline(always)]
    pub(super) fn exceeds_delayed_bytes(&self, c: &TcpConfig, bytes: u64) -> bool {
        bytes > u64::from(c.ack_every - 1) * u64::from(self.rcv_mss)
    }

    /// A segment of that size has come, without a mark that would be new.
    #[inline(always)]
    pub(super) fn on_full_segment(&mut self, ecn: Codepoint) {
        self.last_short_len = 0;
        self.seen = self.seen & !LATCHED | if ecn == Codepoint::NotEct { 0 } else { CAPABLE };
    }

    /// tcp_measure_rcv_mss. True for a segment that looks like the end of a write.
    pub(super) fn measure(&mut self, mss: u32, len: u16, end_of_write: bool) -> bool {
        let last = std::mem::take(&mut self.last_short_len);
        if len >= self.rcv_mss {
            self.rcv_mss = u32::from(len).min(mss) as u16;
            return end_of_write;
        }
        // Shorter ones of the same size, one after the other, are full ones of a sender with a smaller segment size.
        if len >= 556 - 32 {
            self.last_short_len = len;
            if len == last {
                self.rcv_mss = len;
                return false;
            }
        }
        true
    }

    /// The timer's interval and quick mode after a segment in order (tcp_event_data_recv). True when quick mode is (re)entered.
    pub(super) fn on_in_order_arrival(&mut self, c: &TcpConfig, now: Time) -> bool {
        let (floor, tick, last) = (c.ack_delay, c.rto_granularity, self.last);
        self.last = now;
        // In whole ticks, as far as that decides: it is less than a tick more than the time that has passed.
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
            self.ato = (ato / 2 + pause).min(rto).min(LONGEST).into();
        } else {
            // Longer than a retransmission timeout: the sender may have started over with a small window.
            return pause > rto;
        }
        false
    }

    /// Delay of the timer (tcp_send_delayed_ack). At data-centre RTTs it is the 40 ms of TCP_ATO_MIN, as the interval never falls below it
    /// and is cut to max(SRTT, TCP_DELACK_MIN); only a minimum RTO below 41 ms makes it shorter (tcp_delack_max).
    pub(super) fn delay(&self, c: &TcpConfig) -> Time {
        let floor = c.ack_delay;
        let mut ato = self.ato.get().map_or(floor, |ato| ato.max(floor));
        if ato > floor {
            // HZ / 2.
            let most = Time::from_ms(500);
            ato = ato.min(if self.srtt > 0 { Time::from_ns(self.srtt.into()).max(floor).min(most) } else { most });
        }
        let tick = c.rto_granularity;
        ato.min(LONGEST).min(c.rto_min.max(tick * 2) - tick)
    }

    pub(super) fn rto(&self) -> Time {
        Time::from_ns(self.rto.into())
    }
}
