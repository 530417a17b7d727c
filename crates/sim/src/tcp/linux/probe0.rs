//! Receive windows that have no space for the next segment: window probes (tcp_check_probe_timer, tcp_send_probe0, tcp_ack_probe), and retransmissions
//! after a window has shrunk.

use crate::net::packet::Wire;
use crate::tcp::common::scoreboard::SACKED;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{Phase, Sender, Timer};
use forebay_types::Time;

/// Smallest time before the first window probe, for every `rto-min` (tcp_probe0_base: TCP_RTO_MIN).
const LEAST: Time = Time::from_ms(200);
/// Largest number of doublings that count (tcp_probe0_when: TCP_RTO_MAX / TCP_RTO_MIN).
const MOST_DOUBLINGS: u32 = 10;

impl Sender {
    /// End of the first unsent buffer.
    fn end_of_send_head(&self, c: &TcpConfig) -> u64 {
        match self.tx.send_buffer.as_ref().and_then(|b| b.queue()) {
            Some(q) if let Some(head) = q.head() => head,
            _ => self.stream.snd_nxt() + self.segment_len(c, self.stream.snd_nxt()),
        }
    }

    /// Returns true if the receive window has no space for the next segment (tcp_snd_wnd_test). A segment may leave without its FIN.
    pub(in crate::tcp) fn next_exceeds_window(&self, c: &TcpConfig) -> bool {
        let (nxt, written) = (self.stream.snd_nxt(), self.stream.written());
        let end = self.end_of_send_head(c).min(nxt + u64::from(c.mss));
        let end = if nxt < written { end.min(written) } else { end };
        end > self.stream.snd_wnd_edge()
    }

    /// Time after which [`Timer::Rto`] expires: the RTO, or with nothing outstanding in Linux the time before a window probe (tcp_probe0_when).
    pub(in crate::tcp) fn full_timeout(&self, c: &TcpConfig) -> Time {
        let probes = c.is_linux() && self.stream.phase() == Phase::Established && self.flight() == 0;
        let least = if probes { LEAST * (1 << self.rtt.backoff().min(MOST_DOUBLINGS)) } else { Time::ZERO };
        self.rto(c).max(least.min(c.rto_max))
    }

    /// Starts that timer.
    pub(in crate::tcp) fn arm_full_timeout(&mut self, c: &TcpConfig, now: Time) {
        self.set_timer(c, Timer::Rto, now, self.full_timeout(c));
    }

    /// Handles an ACK that arrives while all data waits for the window (tcp_ack_probe). The kernel ends the probes if the window has space for the whole
    /// first buffer. Its doublings are none of the RTO's (`icsk_backoff`, `icsk_rto`), and data that leaves replaces the timer: so here space for a segment
    /// ends them.
    pub(in crate::tcp) fn ack_probe(&mut self, c: &TcpConfig, now: Time) {
        if self.next_exceeds_window(c) {
            self.arm_full_timeout(c, now);
        } else {
            self.timers.stop();
            self.rtt.reset_backoff();
        }
    }

    /// Sends the part of the first buffer that the window has space for (tcp_write_wakeup).
    pub(in crate::tcp) fn write_wakeup(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        self.loss.ensure_scoreboard(c, self.stream.snd_una());
        let first = self.stream.snd_nxt();
        let end = self.end_of_send_head(c).min(first + u64::from(c.mss)).min(self.stream.snd_wnd_edge());
        if let Some(q) = self.tx.send_buffer.as_mut().and_then(|b| b.queue_mut())
            && q.head().is_some_and(|head| end < head)
        {
            q.split_head(end);
        }
        self.start_transmission(c, now);
        // tcp_send_probe0: something is outstanding now.
        self.rtt.reset_backoff();
        self.timers.stop();
        if self.sends_bursts() {
            self.send_up_to(c, now, end, out);
        } else {
            self.stream.advance_nxt(end - first);
            self.send_segment(c, now, first, end - first, out);
        }
        self.timers.set_idle();
        self.rearm_rto(c, now);
        self.set_alarm(now, out);
    }

    /// Number of segments from `index` of the scoreboard on, at most `count`, that may be retransmitted within the receive window, which may have shrunk
    /// (__tcp_retransmit_skb). Part of the first one makes it two segments; without space only the oldest segment leaves, as a window probe.
    /// Our choice: a congestion control that keeps records of each segment sends a whole one.
    #[inline]
    fn count_in_window(&mut self, c: &TcpConfig, index: usize, count: usize) -> usize {
        match &self.loss.sack {
            Some(s) if c.is_linux() && s.board.get(index + count - 1).end() > self.stream.snd_wnd_edge() => {
                self.cut_to_window(c, index, count)
            }
            _ => count,
        }
    }

    /// As [`Sender::count_in_window`]. Without space the retransmission of segment `index` counts nevertheless (tcp_retransmit_skb).
    #[inline]
    pub(in crate::tcp) fn may_retransmit(&mut self, c: &TcpConfig, index: usize, count: usize) -> usize {
        let count = self.count_in_window(c, index, count);
        if count == 0
            && let Some(s) = &mut self.loss.sack
        {
            s.episode.undo.retransmitted(s.board.get(index).sent());
        }
        count
    }

    /// Index of the last outstanding segment, or of the part of it that the window has space for.
    pub(in crate::tcp) fn last_in_window(&mut self, c: &TcpConfig) -> Option<usize> {
        let last = self.loss.sack.as_ref().and_then(|s| s.board.len().checked_sub(1))?;
        (self.count_in_window(c, last, 1) > 0).then_some(last)
    }

    #[cold]
    #[inline(never)]
    fn cut_to_window(&mut self, c: &TcpConfig, index: usize, count: usize) -> usize {
        let (edge, written, mss) = (self.stream.snd_wnd_edge(), self.stream.written(), u64::from(c.mss));
        let Some(s) = &mut self.loss.sack else { return 0 };
        let seg = *s.board.get(index);
        if edge <= seg.start {
            return usize::from(seg.start == self.stream.snd_una());
        }
        let space = edge - seg.start;
        if seg.is(SACKED) {
            // A probe may repeat it.
            return 1;
        }
        // The length of a buffer does not include a FIN.
        if space < mss && seg.end().min(written) - seg.start > space && !self.cc.hooks().records() {
            s.board.split(index, space as u32);
        }
        count.min((space / mss) as usize).max(1)
    }
}
