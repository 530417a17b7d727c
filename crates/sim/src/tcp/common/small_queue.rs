//! Packets of one connection in the interface of its own host, for TCP small queues (Linux `tcp_small_queue_check`).

use super::send_buffer::HEAD;
use crate::tcp::config::TcpConfig;
use forebay_types::{Rate, Time, TimeOrNever};
use std::collections::VecDeque;

/// `tcp_limit_output_bytes` (tcp_sk_init); 4 MB since Linux 6.16.
const MOST: u64 = 1 << 20;
/// `sk_pacing_shift`: the pacing rate's bytes in 1/1024 s.
const PER_SECOND: u64 = 1024;

/// Packets of one connection in the interface.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct SmallQueue {
    /// (departure, bytes of memory), in the order in which they leave.
    waiting: VecDeque<(Time, u32)>,
    /// Sum of the bytes.
    pub(in crate::tcp) bytes: u64,
    /// Pacing rate at this opportunity to send; `None` until it is needed.
    pub(in crate::tcp) rate: Option<Rate>,
    /// Time at which sending continues; never while nothing is held back.
    resume: TimeOrNever,
    /// Limit below which sending continues, while that depends on packets whose departure from the interface is unknown; else 0.
    limit: u64,
    /// End of the burst that the interface has accepted, a stream offset; only with segmentation offload.
    pub(in crate::tcp) burst: u64,
}

impl Default for SmallQueue {
    fn default() -> SmallQueue {
        SmallQueue { waiting: VecDeque::new(), bytes: 0, rate: None, resume: TimeOrNever::NEVER, limit: 0, burst: 0 }
    }
}

impl SmallQueue {
    /// Starts an opportunity to send at `now`: removes packets that have left.
    pub(in crate::tcp) fn settle(&mut self, now: Time) {
        while let Some(&(departure, bytes)) = self.waiting.front()
            && departure <= now
        {
            self.bytes -= u64::from(bytes);
            self.waiting.pop_front();
        }
        self.rate = None;
        self.resume = TimeOrNever::NEVER;
        self.limit = 0;
    }

    /// Adds a packet of `bytes` that the queue of the host holds until its departure time.
    pub(in crate::tcp) fn hold(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
    }

    /// Notes that a held packet of `bytes` was passed to the interface at `now`, which it will have left at `departure`.
    pub(in crate::tcp) fn release(&mut self, now: Time, departure: Time, bytes: u32) {
        self.bytes -= u64::from(bytes);
        self.push(now, departure, bytes);
        if self.limit > 0 {
            self.wait_for(self.limit);
        }
    }

    /// Adds a packet of `bytes` at `now` that will have left at `departure`, which is in the past where there is no interface.
    #[inline]
    pub(in crate::tcp) fn push(&mut self, now: Time, departure: Time, bytes: u32) {
        // A failed link has emptied the interface: packets with a later departure are lost.
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

    /// Returns true if no packet waits.
    pub(in crate::tcp) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns true if the last packet has not left by `now`.
    pub(in crate::tcp) fn holds_last(&self, now: Time) -> bool {
        self.waiting.back().is_some_and(|(departure, _)| *departure > now)
    }

    /// Time at which sending continues.
    pub(in crate::tcp) fn resume(&self) -> TimeOrNever {
        self.resume
    }

    /// Continues when the first packet has left.
    pub(in crate::tcp) fn wait_for_first(&mut self) {
        self.wait_for(self.bytes);
    }

    /// Continues when fewer than `limit` bytes are left.
    pub(in crate::tcp) fn wait_for(&mut self, limit: u64) {
        let mut bytes = self.bytes;
        for &(departure, size) in &self.waiting {
            bytes -= u64::from(size);
            if bytes < limit {
                self.resume = self.resume.min(departure.into());
                self.limit = 0;
                return;
            }
        }
        self.limit = limit;
    }
}

/// Limit in bytes: about 1 ms of the pacing rate, at least `pair` (two segments, or bursts), and without pacing at most [`MOST`].
pub(in crate::tcp) fn limit(rate: Rate, pair: u64, paced: bool) -> u64 {
    let limit = (rate.0 / 8 / PER_SECOND).max(pair);
    if paced { limit } else { limit.min(MOST) }
}

/// Memory of a segment in the interface (`truesize`, by `sk_wmem_alloc`); a burst has it once for all segments.
pub(in crate::tcp) fn memory(c: &TcpConfig, data: u32) -> u64 {
    u64::from(data) + if c.tso.is_some() { u64::from(c.header) } else { HEAD }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The link of the interface failed at 5, which lost the packets that were to leave at 10 and 20, and came back: the next packet leaves before
    /// them.
    #[test]
    fn failed_link_empties_queue() {
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
