//! Statistics of messages at their sender.
//!
//! A counter belongs to the message in which the stream offset of the segment lies. A segment belongs to the message of its first byte: a message
//! that begins inside a segment of the one before it has one segment less than its bytes would need alone. Of several messages, the oldest
//! unacknowledged one is in [`MessageStats`], the others are in [`PendingMessages`](super::send_stats::PendingMessages).

use super::cold_box::Cold;
use super::cold_state::ColdState;
use super::send_stats::SendStats;

/// Statistics of the message that is being acknowledged.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct MessageStats {
    /// Counters of the message.
    current: SendStats,
    /// Offset behind its first window.
    first_window_end: u64,
    /// Offset behind its last byte.
    message_end: u64,
}

impl MessageStats {
    /// Nothing has been sent; the initial window has `cwnd` segments.
    pub(in crate::tcp) fn new(cwnd: f64) -> MessageStats {
        let current = SendStats { cwnd_max: cwnd, ..SendStats::default() };
        MessageStats { current, first_window_end: 0, message_end: u64::MAX }
    }

    /// Counters of the message.
    #[inline(always)]
    pub(in crate::tcp) fn current(&self) -> &SendStats {
        &self.current
    }

    /// Counters of the message, to change them.
    #[inline(always)]
    pub(in crate::tcp) fn current_mut(&mut self) -> &mut SendStats {
        &mut self.current
    }

    /// Offset behind the last byte of the message.
    #[inline(always)]
    pub(in crate::tcp) fn message_end(&self) -> u64 {
        self.message_end
    }

    /// Sets the offset behind the last byte of the message.
    pub(in crate::tcp) fn set_message_end(&mut self, end: u64) {
        self.message_end = end;
    }

    /// Sets the offset behind the first window of the message.
    pub(in crate::tcp) fn set_first_window_end(&mut self, end: u64) {
        self.first_window_end = end;
    }

    /// Starts the message that ends at `message_end`.
    pub(in crate::tcp) fn start(&mut self, first_window_end: u64, message_end: u64) {
        (self.first_window_end, self.message_end) = (first_window_end, message_end);
    }

    /// Continues with the counters of the next message, if there are any. The window has `cwnd` segments.
    pub(in crate::tcp) fn next(&mut self, cold: &mut Cold<ColdState>, cwnd: f64) {
        match cold.made().and_then(|cold| cold.pending.0.as_mut()?.pop_front()) {
            Some(next) => self.current = next.stats,
            None => self.current.restart(),
        }
        self.current.cwnd_max = cwnd;
    }

    /// Counters of the message in which `offset` lies.
    #[inline]
    pub(in crate::tcp) fn at<'a>(&'a mut self, offset: u64, cold: &'a mut Cold<ColdState>) -> &'a mut SendStats {
        if offset < self.message_end {
            return &mut self.current;
        }
        match cold.made().and_then(|cold| cold.pending.at(offset)) {
            Some(message) => &mut message.stats,
            None => &mut self.current,
        }
    }

    /// Counts full segments of `mss` bytes that were sent for the first time, from `first` to `end`.
    #[inline]
    pub(in crate::tcp) fn count_sent(&mut self, (first, end): (u64, u64), segments: u64, mss: u64, cold: &mut Cold<ColdState>) {
        if end <= self.message_end {
            self.current.count_sent(segments);
        } else {
            self.count_sent_across(first, end, mss, cold);
        }
    }

    #[cold]
    #[inline(never)]
    fn count_sent_across(&mut self, mut first: u64, end: u64, mss: u64, cold: &mut Cold<ColdState>) {
        while first < end {
            self.at(first, cold).count_sent(1);
            first += mss;
        }
    }

    /// Counts `bytes` up to offset `snd_una` that were acknowledged with ECE.
    #[inline(always)]
    pub(in crate::tcp) fn count_marked(&mut self, bytes: u64, snd_una: u64, cold: &mut Cold<ColdState>) {
        if snd_una <= self.message_end {
            self.current.losses.ce_bytes += bytes;
        } else {
            self.count_marked_across(snd_una - bytes, snd_una, cold);
        }
    }

    #[cold]
    fn count_marked_across(&mut self, mut from: u64, to: u64, cold: &mut Cold<ColdState>) {
        while from < to {
            let end = if from < self.message_end {
                self.message_end
            } else {
                cold.made().and_then(|cold| cold.pending.at(from)).map_or(to, |message| message.end)
            };
            // Behind the last message there is only its FIN.
            let end = if end > from { end.min(to) } else { to };
            self.at(from, cold).losses.ce_bytes += end - from;
            from = end;
        }
    }

    /// Counts a retransmission timeout of the segment at `snd_una`.
    pub(in crate::tcp) fn count_rto(&mut self, snd_una: u64, mss: u64) {
        self.current.losses.rtos += 1;
        if snd_una < self.first_window_end {
            self.current.losses.rtos_head += 1;
        } else if snd_una + 3 * mss >= self.message_end {
            self.current.losses.rtos_tail += 1;
        }
    }

    /// Updates the largest window.
    #[inline(always)]
    pub(in crate::tcp) fn update_cwnd_max(&mut self, cwnd: f64) {
        if cwnd > self.current.cwnd_max {
            self.current.cwnd_max = cwnd;
        }
    }
}
