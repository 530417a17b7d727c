//! Which message a counter belongs to: the one that the stream offset lies in. Of several at once the oldest unacknowledged one is at hand
//! (`Sender::start_message`, `Sender::stats`); the others wait in [`PendingMessages`](crate::tcp::common::message_stats::PendingMessages).

use super::Sender;
use crate::tcp::common::message_stats::PendingMessage;
use crate::tcp::common::send_stats::SendStats;

impl Sender {
    /// A message that ends at stream offset `end` is written while another is unacknowledged.
    pub(in crate::tcp) fn add_pending_message(&mut self, end: u64) {
        let stats = SendStats { cwnd_max: self.cc.window.cwnd, ..SendStats::default() };
        self.cold.pending.0.get_or_insert_default().push_back(PendingMessage { end, stats });
    }

    /// Statistics are now those of this message: its first byte, the byte behind the first window, and the byte behind its last.
    pub fn start_message(&mut self, (begin, window, end): (u64, u64, u64)) {
        (self.stats.first_window_end, self.stats.message_end) = (window, end);
        if self.cc.hooks.gate() || self.cold.tag.is_some() {
            self.cold.begin = begin;
        }
    }

    /// The oldest message is done with: `next` is the one behind it, as of [`Sender::start_message`]; `None`: there is none.
    pub fn next_message(&mut self, next: Option<(u64, u64, u64)>) {
        self.start_message(next.unwrap_or((0, 0, u64::MAX)));
        let waiting = self.cold.made().and_then(|s| s.pending.0.as_mut()?.pop_front());
        match waiting {
            Some(waiting) => self.stats.current = waiting.stats,
            None => self.stats.current.restart(),
        }
        self.stats.current.cwnd_max = self.cc.window.cwnd;
    }

    /// The counters of the message that `offset` lies in.
    #[inline]
    pub(in crate::tcp) fn stats_at(&mut self, offset: u64) -> &mut SendStats {
        if offset < self.stats.message_end {
            return &mut self.stats.current;
        }
        match self.cold.made().and_then(|s| s.pending.at(offset)) {
            Some(m) => &mut m.stats,
            None => &mut self.stats.current,
        }
    }

    /// Full segments of `mss` bytes were sent for the first time, from stream offset `first` to `end`.
    #[inline]
    pub(in crate::tcp) fn count_sent(&mut self, first: u64, end: u64, segments: u64, mss: u64) {
        if end <= self.stats.message_end {
            self.stats.current.segs_sent += segments;
        } else {
            self.count_sent_across(first, end, mss);
        }
    }

    #[cold]
    #[inline(never)]
    fn count_sent_across(&mut self, mut first: u64, end: u64, mss: u64) {
        while first < end {
            self.stats_at(first).segs_sent += 1;
            first += mss;
        }
    }

    /// `bytes` up to `snd_una` were acknowledged with ECE.
    #[cold]
    pub(in crate::tcp) fn count_marked(&mut self, bytes: u64) {
        let (mut from, to) = (self.stream.snd_una - bytes, self.stream.snd_una);
        while from < to {
            let end = if from < self.stats.message_end {
                self.stats.message_end
            } else {
                self.cold.made().and_then(|s| s.pending.at(from)).map_or(to, |m| m.end)
            };
            // PendingMessages the last message there is only its FIN.
            let end = if end > from { end.min(to) } else { to };
            self.stats_at(from).losses.ce_bytes += end - from;
            from = end;
        }
    }
}
