//! TCP small queues (Linux `tcp_small_queue_check`): how much of a connection may wait in its own host's interface. Otherwise, where the
//! host's link is the bottleneck, the whole window would wait there.

use crate::cc::Window;
use crate::tcp::config::TcpConfig;
use crate::tcp::linux::send_buffer::HEAD;
use crate::tcp::sender::Sender;
use forebay_units::{Rate, Time, TimeOrNever, Walk};
use std::collections::VecDeque;

/// TCP_INIT_CWND.
const INITIAL: f64 = 10.0;

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
    /// Goes through what it knows.
    pub(in crate::tcp) fn walk(&mut self, v: &mut dyn Walk) {
        let SmallQueue { waiting, bytes, rate, resume, burst } = self;
        v.same(waiting.len() as u64);
        for (departure, bytes) in waiting {
            v.time(departure);
            v.same(u64::from(*bytes));
        }
        v.same(*bytes);
        v.same(rate.map_or(u64::MAX, |rate| rate.0));
        v.timer(resume);
        v.mark(burst);
    }

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

impl Sender {
    /// Whether the next segment, of `data` bytes of payload, must wait until others have left the interface; retransmissions may have `factor` 2 times
    /// as much there (tcp_xmit_retransmit_queue). If so, an alarm will tell.
    #[inline]
    pub(in crate::tcp) fn tsq_throttled(&mut self, c: &TcpConfig, data: u64, factor: u64) -> bool {
        let Some(q) = &self.tx.tsq else { return false };
        // The memory of two of them is always free for a connection (tcp_small_queue_check).
        let pair = 2 * memory(c, data as u32);
        let known = q.rate.filter(|_| c.tso.is_none());
        q.bytes >= pair
            && known.is_none_or(|rate| q.bytes >= limit(rate, pair, false) * factor)
            && self.exceeds_tsq_limit(c, data, factor)
    }

    /// How much a segment of `data` bytes of payload may find in the interface, while so many `segments` are outstanding.
    fn tsq_limit(&mut self, c: &TcpConfig, data: u64, segments: u32) -> u64 {
        let (paced, burst) = (self.cc.hooks().paces(), self.burst_size(c));
        // Until the first ACK of data the rate is that of the SYN-ACK, which comes before the initial window is known (tcp_init_transfer); a SYN that
        // was sent again has left a window of one segment (tcp_enter_loss).
        let first = Window { cwnd: if self.cold.syn_retx { 1.0 } else { INITIAL }, ..self.cc.window };
        let (window, segments) = if self.stream.snd_una() > 0 { (self.cc.window, segments) } else { (first, 0) };
        let rate = || match paced {
            true => self.cc.algorithm().pacing_rate(c.mss),
            false => window.pacing_rate(f64::from(segments), c.mss, self.rtt.smoothed().get()),
        };
        let rate = match &mut self.tx.tsq {
            Some(q) => *q.rate.get_or_insert_with(rate),
            None => rate(),
        };
        let pair = if c.tso.is_some() { 2 * burst / u64::from(c.mss) * memory(c, c.mss) } else { 2 * memory(c, data as u32) };
        limit(rate, pair, paced)
    }

    #[inline(never)]
    fn exceeds_tsq_limit(&mut self, c: &TcpConfig, data: u64, factor: u64) -> bool {
        let new = factor == 1;
        let burst = self.burst_size(c);
        let begun =
            (self.stream.snd_nxt() + 1..=self.stream.snd_nxt() + burst).contains(&self.tx.tsq.as_ref().map_or(0, |q| q.burst));
        if new && begun {
            // The rest of a burst goes with its beginning.
            return false;
        }
        // At most one segment outstanding never waits.
        let segments = self.segments_out(c);
        if segments <= 1 {
            return false;
        }
        let limit = self.tsq_limit(c, data, segments) * factor;
        let Some(q) = &mut self.tx.tsq else { return false };
        // What a socket has in use is counted from one (`sk_wmem_alloc`).
        if q.bytes < limit {
            if new && c.tso.is_some() {
                q.burst = self.stream.snd_nxt() + burst;
            }
            return false;
        }
        q.wait_for(limit);
        true
    }

    /// The stream offset up to which the interface takes full segments at once.
    pub(in crate::tcp) fn tsq_reach(&mut self, c: &TcpConfig) -> u64 {
        if !c.tsq {
            return u64::MAX;
        }
        let (size, mss) = (memory(c, c.mss), u64::from(c.mss));
        let room = self.tsq_limit(c, mss, self.segments_out(c)).saturating_sub(self.tx.tsq.as_ref().map_or(0, |q| q.bytes));
        self.stream.snd_nxt() + room.div_ceil(size) * mss
    }
}

/// What a segment of so many bytes counts in the interface: its memory (`truesize`, by `sk_wmem_alloc`), which a burst has once for all segments.
pub(in crate::tcp) fn memory(c: &TcpConfig, data: u32) -> u64 {
    u64::from(data) + if c.tso.is_some() { u64::from(c.header) } else { HEAD }
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
