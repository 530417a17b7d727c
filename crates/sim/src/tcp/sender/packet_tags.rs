//! What a shim that tags a sender's packets may change beside the tags (`shim/tag.rs`): the window at the start of a message, and how long
//! a fast retransmission waits.

use super::{CaState, Sender, Timer};
use crate::cc::Event;
use crate::net::packet::Wire;
use crate::shim::tag::MessageStart;
use crate::tcp::config::TcpConfig;
use forebay_units::{Time, TimeOrNever};

impl Sender {
    /// Immediately before the segment at `snd_nxt` is sent: if it is the first new one of a message, the shim may set the window. True if it
    /// did.
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
        // Statistics: the first window of the message is the new one.
        if self.cold.begin == self.stream.snd_nxt() {
            self.stats.set_first_window_end(self.stream.snd_nxt() + (self.cc.window.cwnd * f64::from(c.mss)) as u64);
        }
        if let Some(limit) = restart.ssthresh_limit {
            self.cc.window.ssthresh = self.cc.window.ssthresh.lowered_to(limit);
        }
        // Our choice: to the law it is what a restart after an idle period is, a smaller window for no fault of the path.
        self.cc.cwnd_event(Event::Restart);
        true
    }

    /// At the duplicate ACK that would start a fast retransmission: waits instead if the shim asks for that. Any ACK that advances restarts
    /// the retransmission timer and so cancels the wait.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn delay_fast_retransmit(&mut self, now: Time) -> bool {
        let Some(wait) = self.cold.tag.as_ref().and_then(|t| t.fast_retransmit_wait(self.stream.snd_max())) else { return false };
        // Not if the retransmission timer is due before.
        if self.timers.kind() != Timer::Rto || TimeOrNever::at(now.saturating_add(wait)) >= self.timers.due() {
            return false;
        }
        self.cold.held_due = self.timers.due();
        self.set_timer(Timer::Reorder, now, wait);
        true
    }

    /// The wait is over and no ACK has advanced: it was a loss.
    pub(in crate::tcp) fn on_fast_retransmit_delay(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        self.timers.run(Timer::Rto, self.cold.held_due);
        self.enter_fast_recovery(c, now, out);
        // RFC 5681 section 3.2 step 4, for the duplicates that came meanwhile.
        self.cc.window.cwnd += f64::from(self.loss.dupacks().saturating_sub(c.dup_thresh));
        self.transmit(c, now, out);
    }
}
