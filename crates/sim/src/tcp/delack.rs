//! When Linux acknowledges (__tcp_ack_snd_check, tcp_cleanup_rbuf, tcp_event_data_recv, tcp_send_delayed_ack): by bytes, at once at the
//! end of a write and in quick mode, which comes back after a pause; otherwise by a timer. Streams here go one way, so that no
//! connection is ever interactive ("pingpong"), and applications read at once.

use super::autotune::{Autotune, ns};
use super::receiver::{Echo, Receiver};
use super::rtt::Rtt;
use crate::net::packet::{Packet, Wire};
use crate::tcp::config::TcpConfig;
use forebay_units::Time;
use std::num::NonZeroU32;

/// TCP_DELACK_MAX.
const LONGEST: Time = Time::from_ms(200);

/// State of one receiver; every connection has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Adaptive {
    /// When the last segment came; before the first, when the SYN-ACK left.
    last: Time,
    /// Interval of arrivals as the timer sees it (`icsk_ack.ato`), from the first segment on.
    ato: Option<Time>,
    /// The receiver's own RTT and RTO, from the handshake, ns; 0 without one.
    srtt: u32,
    rto: u32,
    /// Size of segments as far as seen (`rcv_mss`), and the size of the last shorter one.
    rcv_mss: u16,
    last_short: u16,
    /// How long the SYN took to arrive, ns, until the ACK of the handshake comes.
    syn: Option<NonZeroU32>,
    /// A classic echo is latched.
    latched: bool,
    tune: Option<Autotune>,
}

impl Adaptive {
    /// For stacks that acknowledge so; `tuned`: the receive window is the connection's own.
    pub(super) fn of(c: &TcpConfig, tuned: bool) -> Option<Box<Adaptive>> {
        (c.adaptive_acks || tuned).then(|| {
            Box::new(Adaptive {
                last: Time::ZERO,
                ato: None,
                srtt: 0,
                rto: ns(Rtt::new(c).base_rto),
                // tcp_initialize_rcv_mss.
                rcv_mss: c.mss.min(536) as u16,
                last_short: 0,
                syn: None,
                latched: false,
                tune: tuned.then(|| Autotune::new(c)),
            })
        })
    }

    /// A SYN arrived and is answered.
    pub(super) fn on_syn(&mut self, now: Time, p: &Packet) {
        self.last = now;
        self.syn = NonZeroU32::new(ns(now.since(p.ts)).max(1));
    }

    /// The first packet after the handshake.
    pub(super) fn on_established(&mut self, c: &TcpConfig, now: Time) {
        let Some(way) = self.syn.take() else { return };
        let took = now - self.last;
        let mut rtt = Rtt::new(c);
        rtt.sample(c, took);
        (self.srtt, self.rto) = (rtt.smoothed().get().map_or(0, ns), ns(rtt.base_rto));
        if let Some(tune) = &mut self.tune {
            tune.handshake(now, took, Time::from_ns(way.get().into()));
        }
    }

    /// tcp_measure_rcv_mss. True for a segment that looks like the end of a write.
    fn measure(&mut self, mss: u32, len: u16, end_of_write: bool) -> bool {
        let last = std::mem::take(&mut self.last_short);
        if len >= self.rcv_mss {
            self.rcv_mss = u32::from(len).min(mss) as u16;
            return end_of_write;
        }
        // Shorter ones of the same size, one after the other, are full ones of a sender with a smaller segment size.
        if len >= 556 - 32 {
            self.last_short = len;
            if len == last {
                self.rcv_mss = len;
                return false;
            }
        }
        true
    }

    /// The timer's interval and quick mode after a segment in order (tcp_event_data_recv). True when quick mode is (re)entered.
    fn note_arrival(&mut self, c: &TcpConfig, now: Time) -> bool {
        let pause = now - self.last;
        self.last = now;
        let floor = c.ack_delay;
        let Some(ato) = self.ato else {
            self.ato = Some(floor);
            return true;
        };
        let rto = self.rto();
        if pause <= floor / 2 {
            self.ato = Some(ato / 2 + floor / 2);
        } else if pause < ato {
            self.ato = Some((ato / 2 + pause).min(rto));
        } else {
            // Longer than a retransmission timeout: the sender may have started over with a small window.
            return pause > rto;
        }
        false
    }

    /// Delay of the timer (tcp_send_delayed_ack). At data-centre RTTs it is the 40 ms of TCP_ATO_MIN, as the interval never falls below it
    /// and is cut to max(SRTT, TCP_DELACK_MIN); only a minimum RTO below 41 ms makes it shorter (tcp_delack_max).
    fn delay(&self, c: &TcpConfig) -> Time {
        let floor = c.ack_delay;
        let mut ato = self.ato.map_or(floor, |ato| ato.max(floor));
        if ato > floor {
            // HZ / 2.
            let most = Time::from_ms(500);
            ato = ato.min(if self.srtt > 0 { Time::from_ns(self.srtt.into()).max(floor).min(most) } else { most });
        }
        let tick = c.rto_granularity;
        ato.min(LONGEST).min(c.rto_min.max(tick * 2) - tick)
    }

    fn rto(&self) -> Time {
        Time::from_ns(self.rto.into())
    }
}

/// What became of a data segment.
pub(super) struct Taken {
    /// Its stream offset.
    pub offset: i64,
    /// It extended the stream.
    pub in_order: bool,
    /// It asks for an ACK at once by the rules that hold for all stacks.
    pub forced: bool,
}

impl Receiver {
    /// After data segment `p` was taken in.
    #[inline(never)]
    pub(super) fn settle_adaptive(&mut self, c: &TcpConfig, now: Time, p: &Packet, taken: Taken, out: &mut impl Wire) {
        let Taken { offset, in_order, forced } = taken;
        let Some(a) = &mut self.adaptive else { return };
        let len = u64::from(p.len);
        a.on_established(c, now);
        let mut at_once = forced;
        let cap = |window: u64, mss: u16| ((window / (2 * u64::from(mss.max(1)))) as u32).max(2);
        if in_order {
            let pushed = a.measure(c.mss, p.len, self.rcv_nxt >= self.deliver_at) && len > 0;
            if c.adaptive_acks {
                if a.note_arrival(c, now) && c.quick_acks > 0 {
                    self.quick = self.quick.max(c.quick_acks.min(cap(self.window, a.rcv_mss)));
                }
                at_once |= pushed;
            }
            if let Some(tune) = &mut a.tune {
                let way = c.timestamps.then(|| now.since(p.ts));
                let window = tune.on_data(c, now, self.rcv_nxt, len, way, self.window);
                if window != self.window {
                    self.window = window;
                    self.template.win = (window >> self.shift).min(65_535) as u16;
                    if c.adaptive_acks && c.quick_acks > 0 {
                        self.quick |= 1;
                    }
                }
            }
        } else if c.adaptive_acks && offset + len as i64 <= self.rcv_nxt as i64 && c.quick_acks > 0 {
            // tcp_data_queue: a retransmission of what is there (tcp_enter_quickack_mode).
            self.quick = self.quick.max(c.quick_acks.min(cap(self.window, a.rcv_mss)));
            a.ato = Some(c.ack_delay);
        }
        if !c.adaptive_acks {
            at_once |= self.pending >= c.ack_every || self.take_quick();
            return if at_once {
                self.acknowledge(out);
            } else if self.timer_due.is_never() {
                self.timer_due = (now + c.ack_delay).into();
            };
        }
        if let Echo::Classic { latched } = self.echo {
            if latched && !a.latched && c.quick_acks > 0 {
                // __tcp_ecn_check_ce: the sender may have a very small window.
                self.quick = self.quick.max(2);
                a.ato = Some(c.ack_delay);
            }
            a.latched = latched;
        }
        at_once |= self.rcv_nxt - self.last_ack > u64::from(c.ack_every - 1) * u64::from(a.rcv_mss) || self.quick > 0;
        let delay = a.delay(c);
        // A timer that is about to expire is not worth waiting for.
        if at_once || self.timer_due.has_come(now + delay / 4) {
            self.leave_quick_mode(c);
            self.acknowledge(out);
        } else {
            self.timer_due = self.timer_due.min((now + delay).into());
        }
    }

    /// How long the ACK whose timer expires now has been held back; `None` when no timer of an ACK expires. Statistics only.
    pub fn held_back(&self, c: &TcpConfig, now: Time) -> Option<Time> {
        let waits = self.timer_due.has_come(now) && self.pending > 0;
        // Others start the timer with the delay that they have.
        let since = self.adaptive.as_ref().filter(|_| c.adaptive_acks).map(|a| a.last);
        waits.then(|| since.map_or(c.ack_delay, |last| now - last))
    }

    /// An ACK leaves: one less in quick mode (tcp_dec_quickack_mode).
    fn leave_quick_mode(&mut self, c: &TcpConfig) {
        if self.take_quick()
            && self.quick == 0
            && let Some(a) = &mut self.adaptive
        {
            a.ato = Some(c.ack_delay);
        }
    }

    /// The delayed-ACK timer of such a receiver expired: it waited in vain, so the next waits longer (tcp_delack_timer_handler).
    pub(super) fn inflate_ato(&mut self, c: &TcpConfig) {
        let Some(a) = &mut self.adaptive else { return };
        if let Some(ato) = a.ato {
            a.ato = Some((ato * 2).min(a.rto()));
            self.leave_quick_mode(c);
        }
    }
}
