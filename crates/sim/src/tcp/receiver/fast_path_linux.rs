//! The usual segment at a receiver that acknowledges as Linux does: the next full one, of which nothing is missing or unusual. What happens then is what
//! `take` and `schedule_linux_ack` do with every segment, without the questions whose answers are known (ARCHITECTURE.md says what that is worth).

use super::{Echo, Receiver};
use crate::net::packet::{Codepoint, Packet, Wire};
use crate::tcp::config::TcpConfig;
use crate::tcp::usual::Usual;
use forebay_units::Time;

impl Receiver {
    /// Whether a receiver of this stack is such a one.
    pub(super) fn has_linux_fast_path(c: &TcpConfig) -> bool {
        // tcp_event_data_recv looks at the window when segments of this size come.
        let opens = c.mss >= 128;
        opens && c.adaptive_acks && c.ack_every > 1 && c.quick_acks > 0 && c.timestamps && c.gro.is_none()
    }

    /// Whether `p` is what such a receiver usually gets.
    #[inline(always)]
    pub(super) fn takes_linux_fast_path(&self, c: &TcpConfig, now: Time, p: &Packet) -> bool {
        let Some(a) = self.linux.as_ref().filter(|_| self.usual == Usual::Linux) else { return false };
        let marked = p.ecn() == Codepoint::Ce;
        let expected = match self.echo {
            Echo::Off => true,
            Echo::Classic { latched } => !latched && !marked && a.expects_ecn(p.ecn()),
            Echo::Exact { ce } => ce == marked && a.expects_ecn(p.ecn()),
        };
        expected
            && p.flags == 0
            && p.seq == self.numbers.wire(self.rcv_nxt)
            && u32::from(p.len) == c.mss
            && a.is_usual(p.len)
            && self.ooo.is_idle()
            && u64::from(p.len) <= self.window
            && self.rcv_nxt + u64::from(p.len) < self.deliver_at.min(self.fin)
            && !self.is_ts_older(now, p)
    }

    /// As `take`, of such a packet.
    #[inline(never)]
    pub(super) fn receive_fast_linux(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        if self.rcv_nxt <= self.last_ack {
            self.set_ts_recent(now, p.ts);
        }
        let rcv_nxt = self.rcv_nxt + u64::from(p.len);
        (self.rcv_nxt, self.pending) = (rcv_nxt, self.pending.saturating_add(1));
        let Some(a) = &mut self.linux else { return };
        a.on_full_segment(p.ecn());
        let again = a.on_in_order_arrival(c, now);
        let (mut held, mut grows) = (0, false);
        if let Some(rcvbuf) = &mut a.rcvbuf {
            rcvbuf.measure_rtt_by_echo(c, now, now.since(p.ts), &mut a.ack_times, true);
            rcvbuf.measure_rtt_by_window(now, rcv_nxt, self.window);
            held = rcvbuf.truesize_of(c, p.len.into(), a.rcv_mss.into());
            grows = rcvbuf.grow(c, p.len.into(), a.rcv_mss.into(), held, true);
        }
        if again {
            self.incr_quickack(c);
        }
        if grows {
            self.quickacks |= 1;
        }
        if self.is_ack_due(c, held) || self.quickacks > 0 {
            self.send_ack(c, now, held, out);
        } else {
            self.delay_ack(c, now, held, out);
        }
        self.read(c, now, rcv_nxt, false, 0, out);
    }
}
