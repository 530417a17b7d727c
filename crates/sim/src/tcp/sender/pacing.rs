//! The sender and its pacer: which segments wait for their departure, and what the timers add for it.

use super::{Sender, Timer};
use crate::tcp::config::TcpConfig;
use forebay_units::Time;

impl Sender {
    /// Whether the pacer makes the next segment wait. If so, an alarm will come.
    #[inline]
    pub(in crate::tcp) fn pacing_check(&mut self, now: Time) -> bool {
        self.cold.pacer_mut().is_some_and(|p| p.holds_back(now))
    }

    /// How much later than by itself a timer expires that is set now.
    #[inline]
    pub(in crate::tcp) fn pacing_delay(&self, c: &TcpConfig, now: Time) -> Time {
        self.cold.pacer.as_ref().map_or(Time::ZERO, |p| p.delay(now, c.rto_granularity))
    }

    /// The retransmission timer, if it was set at this very instant, allows for the pacer (tcp_rearm_rto and tcp_xmit_retransmit_queue by
    /// way of tcp_reset_xmit_timer). Here and not where it is set, so that senders without a pacer are not asked.
    pub(in crate::tcp) fn extend_timer(&mut self, c: &TcpConfig, now: Time) {
        if self.timers.kind() == Timer::Rto && self.timers.due() == now.saturating_add(self.rtt.rto(c)).into() {
            let delay = self.pacing_delay(c, now);
            self.timers.set_due(now.saturating_add(self.rtt.rto(c)).saturating_add(delay).into());
        }
    }

    /// A data segment of `bytes` left.
    #[inline]
    pub(in crate::tcp) fn note_departure(&mut self, c: &TcpConfig, now: Time, bytes: u64) {
        if let Some(p) = self.cold.pacer_mut() {
            p.sent(now, bytes, self.cc.algorithm().pacing_rate(c.mss));
        }
    }
}
