//! When Linux acknowledges (__tcp_ack_snd_check, tcp_cleanup_rbuf, tcp_event_data_recv, tcp_send_delayed_ack): by bytes, at once at the
//! end of a write and in quick mode, which comes back after a pause; otherwise by a timer. Streams here go one way, so that no
//! connection is ever interactive ("pingpong"), and applications read at once.

use super::{Echo, Receiver};
use crate::net::packet::{Packet, Wire};
use crate::tcp::config::TcpConfig;
use forebay_units::Time;

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
