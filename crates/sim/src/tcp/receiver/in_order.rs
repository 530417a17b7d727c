//! The usual segment at a receiver that acknowledges as Linux does: the next full one, of which nothing is missing or unusual. What happens then is what
//! `take` and `settle_adaptive` do with every segment, without the questions whose answers are known (ARCHITECTURE.md says what that is worth).

use super::{Echo, Receiver};
use crate::net::packet::{Codepoint, Packet, Wire};
use crate::tcp::config::TcpConfig;
use crate::tcp::fast_path::FastPath;
use forebay_units::Time;

impl Receiver {
    /// Whether a receiver of this stack is such a one.
    pub(super) fn is_of_linux(c: &TcpConfig) -> bool {
        // tcp_event_data_recv looks at the window when segments of this size come.
        let opens = c.mss >= 128;
        opens && c.adaptive_acks && c.ack_every > 1 && c.quick_acks > 0 && c.timestamps && c.gro.is_none()
    }

    /// Whether `p` is what such a receiver usually gets.
    #[inline(always)]
    pub(super) fn is_next_in_order(&self, c: &TcpConfig, now: Time, p: &Packet) -> bool {
        let Some(a) = self.adaptive.as_ref().filter(|_| self.fast_path == FastPath::Linux) else { return false };
        let marked = p.ecn() == Codepoint::Ce;
        let expected = match self.echo {
            Echo::Off => true,
            Echo::Classic { latched } => !latched && !marked && a.expects(p.ecn()),
            Echo::Exact { ce } => ce == marked && a.expects(p.ecn()),
        };
        expected
            && p.flags == 0
            && p.seq == self.numbers.wire(self.rcv_nxt)
            && u32::from(p.len) == c.mss
            && a.is_usual(p.len)
            && self.ooo.is_settled()
            && u64::from(p.len) <= self.window
            && self.rcv_nxt + u64::from(p.len) < self.deliver_at.min(self.fin)
            && !self.looks_older(now, p)
    }

    /// As `take`, of such a packet.
    #[inline(never)]
    pub(super) fn take_in_order(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        if self.rcv_nxt <= self.last_ack {
            self.note_stamp(now, p.ts);
        }
        let rcv_nxt = self.rcv_nxt + u64::from(p.len);
        (self.rcv_nxt, self.pending) = (rcv_nxt, self.pending.saturating_add(1));
        let Some(a) = &mut self.adaptive else { return };
        a.note_full(p.ecn());
        let again = a.note_arrival(c, now);
        let (mut held, mut grows) = (0, false);
        if let Some(tune) = &mut a.tune {
            tune.measure_rtt_by_echo(c, now, now.since(p.ts), &mut a.acked, true);
            tune.measure_rtt_by_window(now, rcv_nxt, self.window);
            held = tune.memory_of(c, p.len.into(), a.rcv_mss.into());
            grows = tune.grow(c, p.len.into(), a.rcv_mss.into(), held, true);
        }
        if again {
            self.enter_quick_acks(c);
        }
        if grows {
            self.quick |= 1;
        }
        if self.has_enough(c, held) || self.quick > 0 {
            self.send_ack(c, now, held, out);
        } else {
            self.delay_ack(c, now, held, out);
        }
        self.read(c, now, rcv_nxt, false, 0, out);
    }
}
