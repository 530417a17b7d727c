//! Generic receive offload at a receiver: when segments are joined and when the super-segment is handed over; what that is, is in `tcp/gro.rs`.

use super::Receiver;
use crate::net::packet::{Packet, Wire, flag};
use crate::tcp::config::TcpConfig;
use forebay_units::Time;

impl Receiver {
    /// A packet of the data direction, but for SYNs, arrived at a host that joins segments.
    #[cold]
    #[inline(never)]
    pub(super) fn gro_receive(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        let Some(gro) = &mut self.gro else { return };
        if gro.segments > 0 && !gro.continues(c, p) {
            self.gro_flush(c, now, out);
        }
        if p.len == 0 {
            // Nothing to join: a FIN alone, a probe, the handshake's ACK.
            return self.take(c, now, p, 1, out);
        }
        let end = self.end_of(p);
        let Some(gro) = &mut self.gro else { return };
        let short = gro.segments > 0 && p.len < gro.size;
        if gro.segments == 0 {
            (gro.coalescing, gro.size, gro.ack) = (*p, p.len, self.timer_due);
        } else {
            gro.coalescing.len += p.len;
            gro.coalescing.flags |= p.flags;
        }
        gro.segments += 1;
        // A write's last segment carries PSH.
        if short || p.has(flag::FIN) || end >= self.deliver_at {
            return self.gro_flush(c, now, out);
        }
        gro.flush = (now + c.gro.unwrap_or(Time::ZERO)).into();
        self.timer_due = gro.flush.min(gro.ack);
    }

    /// Hands the super-segment over, if one is held.
    fn gro_flush(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let Some(gro) = &mut self.gro else { return };
        let segments = std::mem::take(&mut gro.segments);
        if segments > 0 {
            let coalescing = gro.coalescing;
            self.timer_due = gro.ack;
            self.take(c, now, &coalescing, segments, out);
        }
    }

    /// A timer of such a receiver came due: what it holds is handed over, or a delayed ACK for what came before leaves.
    pub(super) fn on_gro_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        let Some(gro) = &mut self.gro else { return };
        if gro.segments == 0 {
            return;
        }
        if gro.flush.has_come(now) {
            return self.gro_flush(c, now, out);
        }
        // Only the delayed ACK is due: what is held goes on waiting.
        let flush = gro.flush;
        self.timer_due = std::mem::take(&mut gro.ack);
        self.on_ack_timer(c, now, out);
        self.timer_due = flush;
    }
}
