//! How Linux ends a stream at its receiver: the application reads that there is no more, and closes as well (tcp_fin, tcp_close). Its FIN takes
//! along what had not been acknowledged yet; behind an ACK that left at once it is a packet of its own. It is sent again until it is acknowledged.

use super::Receiver;
use crate::net::packet::{Wire, flag};
use crate::tcp::config::TcpConfig;
use crate::tcp::timer_wheel;
use forebay_experiment::transport::Recovery;
use forebay_units::{Time, TimeOrNever};

/// In place of a number of FINs: every ACK of the sender's FIN has one.
pub(super) const WITH_ACK: u8 = u8::MAX;

impl Receiver {
    /// The application has read all and closes. `waiting`: memory of what is out of order.
    #[cold]
    #[inline(never)]
    pub(super) fn close(&mut self, c: &TcpConfig, now: Time, waiting: u32, out: &mut impl Wire) {
        let Some(a) = &self.adaptive else { return };
        // It reads before it closes (tcp_cleanup_rbuf).
        if self.pending > 0 && a.is_too_much(c, self.rcv_nxt - self.last_ack) {
            self.send_ack(c, now, waiting, out);
        }
        self.send_fin(c, now, out);
    }

    /// Sends its FIN for the first time, or again because the timer is due (tcp_send_fin, tcp_send_loss_probe, tcp_retransmit_timer).
    #[cold]
    #[inline(never)]
    pub(super) fn send_fin(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        self.template.flags |= flag::FIN;
        self.send_ack(c, now, 0, out);
        self.template.flags &= !flag::FIN;
        let Some(a) = &self.adaptive else { return };
        // With SACK a tail loss probe comes first, of a single packet no earlier than a timeout, which it does not put off (tcp_schedule_loss_probe).
        let probes = u8::from(c.recovery == Recovery::Rack);
        let wait = a.rto().saturating_mul(1 << self.fins.saturating_sub(probes).min(32)).min(c.rto_max);
        self.fins = (self.fins + 1).min(WITH_ACK - 1);
        self.timer_due = timer_wheel::expiry(now, wait, c.rto_granularity).into();
    }

    /// Whether its FIN has been sent.
    pub(super) fn has_closed(&self) -> bool {
        self.fins > 0 && self.fins != WITH_ACK
    }

    /// An ACK of its FIN has come.
    pub fn end(&mut self) {
        self.timer_due = TimeOrNever::NEVER;
    }
}
