//! TCP small queues (Linux `tcp_small_queue_check`): how much of a connection may wait in its own host's interface. Otherwise, where the
//! host's link is the bottleneck, the whole window would wait there.

use forebay_units::{Rate, Time, TimeOrNever};
use std::collections::VecDeque;

/// `tcp_limit_output_bytes` (tcp_sk_init); 4 MB since Linux 6.16.
const MOST: u64 = 1 << 20;
/// `sk_pacing_shift`: the pacing rate's bytes in 1/1024 s.
const PER_SECOND: u64 = 1024;

/// A connection's packets in the interface.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct SmallQueue {
    /// (departure, bytes of memory), in the order in which they leave.
    waiting: VecDeque<(Time, u32)>,
    /// Their sum.
    pub(in crate::tcp) bytes: u64,
    /// The pacing rate at the current opportunity to send; `None` until it is first needed.
    pub(in crate::tcp) rate: Option<Rate>,
    /// When so much will have left that sending may go on; never while nothing is held back.
    resume: TimeOrNever,
    /// The burst that the interface has accepted goes to this stream offset; only senders with segmentation offload have bursts.
    pub(in crate::tcp) burst: u64,
}

impl Default for SmallQueue {
    fn default() -> SmallQueue {
        SmallQueue { waiting: VecDeque::new(), bytes: 0, rate: None, resume: TimeOrNever::NEVER, burst: 0 }
    }
}

impl SmallQueue {
    /// A new opportunity to send, at `now`: what has left by then is gone.
    pub(in crate::tcp) fn settle(&mut self, now: Time) {
        while let Some(&(departure, bytes)) = self.waiting.front()
            && departure <= now
        {
            self.bytes -= u64::from(bytes);
            self.waiting.pop_front();
        }
        self.rate = None;
        self.resume = TimeOrNever::NEVER;
    }

    /// A packet that takes `bytes` was handed over at `now` that will have left at `departure`, in the past where there is no interface.
    #[inline]
    pub(in crate::tcp) fn push(&mut self, now: Time, departure: Time, bytes: u32) {
        // A link that failed has emptied the interface: what was to leave later than this will not.
        while self.waiting.back().is_some_and(|(later, _)| *later > departure)
            && let Some((_, lost)) = self.waiting.pop_back()
        {
            self.bytes -= u64::from(lost);
        }
        if departure > now {
            self.bytes += u64::from(bytes);
            self.waiting.push_back((departure, bytes));
        }
    }

    /// Whether nothing waits.
    pub(in crate::tcp) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the packet that was handed over last has not left by `now`.
    pub(in crate::tcp) fn holds_last(&self, now: Time) -> bool {
        self.waiting.back().is_some_and(|(departure, _)| *departure > now)
    }

    /// When sending may go on.
    pub(in crate::tcp) fn resume(&self) -> TimeOrNever {
        self.resume
    }

    /// Sending goes on when the first has left.
    pub(in crate::tcp) fn wait_for_first(&mut self) {
        self.resume = self.waiting.front().map_or(self.resume, |first| self.resume.min(first.0.into()));
    }

    /// Notes when fewer than `limit` bytes will be left.
    pub(in crate::tcp) fn wait_for(&mut self, limit: u64) {
        let mut bytes = self.bytes;
        for &(departure, size) in &self.waiting {
            bytes -= u64::from(size);
            if bytes < limit {
                self.resume = self.resume.min(departure.into());
                return;
            }
        }
    }
}

/// Bytes that may wait: about 1 ms of the pacing rate, at least `pair` (two segments, or bursts), and of what is not `paced` at most [`MOST`].
pub(in crate::tcp) fn limit(rate: Rate, pair: u64, paced: bool) -> u64 {
    let limit = (rate.0 / 8 / PER_SECOND).max(pair);
    if paced { limit } else { limit.min(MOST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The link of the interface failed at 5, which lost what was to leave at 10 and 20, and came back: the next packet leaves before them.
    #[test]
    fn a_failed_link_leaves_nothing_behind() {
        let mut q = SmallQueue::default();
        for departure in [10, 20] {
            q.push(Time(1), Time(departure), 100);
        }
        q.push(Time(6), Time(8), 100);
        assert_eq!(q.bytes, 100);
        q.settle(Time(7));
        q.wait_for(1);
        assert_eq!((q.resume(), q.waiting.len()), (Time(8).into(), 1));
    }
}
