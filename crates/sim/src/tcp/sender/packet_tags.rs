//! Effects of a shim that tags packets (`shim/tag.rs`): the window at the start of a message, and a delay of fast retransmissions.

use super::{CaState, Sender, Timer};
use crate::cc::Event;
use crate::net::packet::Wire;
use crate::shim::tag::MessageStart;
use crate::tcp::config::TcpConfig;
use forebay_types::{Time, TimeOrNever};

impl Sender {
    /// Lets the shim set the window before the first segment of a message, at `snd_nxt`. Returns true if it did.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn restart_for_message(&mut self, c: &TcpConfig) -> bool {
        let Some(tag) = self.cold.tag_mut() else { return false };
        let cwnd = if self.loss.ca_state() == CaState::Recovery {
            self.cc.window.ssthresh.cap(self.cc.window.cwnd)
        } else {
            self.cc.window.cwnd
        };
        let initial = self.stream.snd_nxt() == 0 && self.cc.window.cwnd == f64::from(c.init_cwnd);
        let Some(restart) = tag.message_start(&MessageStart { offset: self.stream.snd_nxt(), cwnd, initial }) else {
            return false;
        };
        self.cc.window.cwnd = restart.cwnd;
        // Statistics: the new window is the first window of the message.
        if self.cold.begin == self.stream.snd_nxt() {
            self.stats.set_first_window_end(self.stream.snd_nxt() + (self.cc.window.cwnd * f64::from(c.mss)) as u64);
        }
        if let Some(limit) = restart.ssthresh_limit {
            self.cc.window.ssthresh = self.cc.window.ssthresh.lowered_to(limit);
        }
        // Our choice: for the congestion control this is a restart, as after an idle period.
        self.cc.cwnd_event(Event::Restart);
        true
    }

    /// Delays a fast retransmission if the shim requires it. Any ACK that advances restarts the retransmission timer and cancels the delay. Returns
    /// true if it is delayed.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn delay_fast_retransmit(&mut self, c: &TcpConfig, now: Time) -> bool {
        let Some(wait) = self.cold.tag.as_ref().and_then(|t| t.fast_retransmit_wait(self.stream.snd_max())) else { return false };
        // The retransmission timer must not expire before.
        if self.timers.kind() != Timer::Rto || TimeOrNever::at(now.saturating_add(wait)) >= self.timers.due() {
            return false;
        }
        self.cold.held_due = self.timers.due();
        self.set_timer(c, Timer::Reorder, now, wait);
        true
    }

    /// Starts the fast retransmission after the delay: no ACK has advanced, so a segment is lost.
    pub(in crate::tcp) fn on_fast_retransmit_delay(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        self.timers.run(Timer::Rto, self.cold.held_due);
        self.enter_fast_recovery(c, now, out);
        // RFC 5681 section 3.2 step 4, for duplicates that arrived during the delay.
        self.cc.window.cwnd += f64::from(self.loss.dupacks().saturating_sub(c.dup_thresh));
        self.transmit(c, now, out);
    }
}
