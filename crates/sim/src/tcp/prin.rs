//! What PRIN (`incast-prin.md` 3) changes in the sender beside the tags of its segments: the window at the start of a block, and, as an
//! extension, patience at its end. Rules and parameters are in `shim/prin.rs`.

use super::sender::{CaState, Sender, Timer};
use crate::cc::{CongestionControl, Event};
use crate::config::TcpConfig;
use crate::net::packet::Wire;

impl Sender {
    /// PRIN R2, immediately before the segment at `nxt` is sent: if it is the first new one of a block, halves the window. True if so.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_block(&mut self, c: &TcpConfig) -> bool {
        let Some(halving) = self.tag.as_mut().and_then(|t| t.begins_block(self.nxt)) else { return false };
        // The first block of a connection: no effect on a window that is still the initial one.
        if self.nxt == 0 && self.w.cwnd == f64::from(c.init_cwnd) {
            return false;
        }
        // Never the inflated window. A full acknowledgement will set the window to ssthresh later: the source is silent, and `cap` is
        // there for whom that is too much.
        let w = if self.ca == CaState::Recovery { self.w.cwnd.min(self.w.ssthresh) } else { self.w.cwnd };
        self.w.cwnd = (w / 2.0).floor().max(f64::from(halving.floor));
        if halving.cap {
            self.w.ssthresh = self.w.ssthresh.min(self.w.cwnd.max(2.0));
        }
        // Our choice: to the law it is what a restart after an idle period is, a smaller window for no fault of the path.
        self.law.cwnd_event(&mut self.w, Event::Restart);
        true
    }

    /// PRIN 3.4 item 2, at the duplicate ACK that would start a fast retransmission: waits instead if the whole block has been sent and the
    /// transport asks for that. Any ACK that advances restarts the retransmission timer and so cancels the wait.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_for_tail(&mut self, now: u64) -> bool {
        let Some(wait) = self.tag.as_ref().and_then(|t| t.tail_wait(self.high)) else { return false };
        // Not if the retransmission timer is due before.
        if self.timer != Timer::Rto || now.saturating_add(wait) >= self.deadline {
            return false;
        }
        self.held_deadline = self.deadline;
        self.timer = Timer::Reorder;
        self.deadline = now + wait;
        true
    }

    /// The wait is over and nothing came: it was a loss.
    pub(super) fn on_tail_wait(&mut self, c: &TcpConfig, now: u64, out: &mut impl Wire) {
        self.timer = Timer::Rto;
        self.deadline = self.held_deadline;
        self.enter_fast_recovery(c, now, out);
        // RFC 5681 section 3.2 step 4, for the duplicates that came meanwhile.
        self.w.cwnd += f64::from(self.dupacks.saturating_sub(c.dup_thresh));
        self.transmit(c, now, out);
    }
}
