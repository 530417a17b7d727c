//! TCP small queues (Linux `tcp_small_queue_check`): limit of the data of a connection in the interface of its host. Without it the whole window
//! waits there if the link of the host is the bottleneck.

use crate::cc::Window;
use crate::tcp::config::TcpConfig;
use crate::tcp::linux::send_buffer::HEAD;
use crate::tcp::sender::Sender;
use forebay_types::{Rate, Time, TimeOrNever};
use std::collections::VecDeque;

/// TCP_INIT_CWND.
const INITIAL: f64 = 10.0;

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
    /// Time at which sending continues; never while no data waits for the interface.
    resume: TimeOrNever,
    /// End of the burst that the interface has accepted, a stream offset; only with segmentation offload.
    pub(in crate::tcp) burst: u64,
}

impl Default for SmallQueue {
    fn default() -> SmallQueue {
        SmallQueue { waiting: VecDeque::new(), bytes: 0, rate: None, resume: TimeOrNever::NEVER, burst: 0 }
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
        self.waiting.is_empty()
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
        self.resume = self.waiting.front().map_or(self.resume, |first| self.resume.min(first.0.into()));
    }

    /// Continues when fewer than `limit` bytes are left.
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

/// Limit in bytes: about 1 ms of the pacing rate, at least `pair` (two segments, or bursts), and without pacing at most [`MOST`].
pub(in crate::tcp) fn limit(rate: Rate, pair: u64, paced: bool) -> u64 {
    let limit = (rate.0 / 8 / PER_SECOND).max(pair);
    if paced { limit } else { limit.min(MOST) }
}

impl Sender {
    /// Returns true if the next segment, of `data` bytes of payload, must wait until others have left the interface; an alarm is set then. The limit
    /// of retransmissions has `factor` 2 (tcp_xmit_retransmit_queue).
    #[inline]
    pub(in crate::tcp) fn tsq_throttled(&mut self, c: &TcpConfig, data: u64, factor: u64) -> bool {
        let Some(q) = &self.tx.tsq else { return false };
        // Two of them are always allowed (tcp_small_queue_check).
        let pair = 2 * memory(c, data as u32);
        let known = q.rate.filter(|_| c.tso.is_none());
        q.bytes >= pair
            && known.is_none_or(|rate| q.bytes >= limit(rate, pair, false) * factor)
            && self.exceeds_tsq_limit(c, data, factor)
    }

    /// Limit for a segment of `data` bytes of payload, while `segments` are outstanding.
    fn tsq_limit(&mut self, c: &TcpConfig, data: u64, segments: u32) -> u64 {
        let (paced, burst) = (self.cc.hooks().paces(), self.burst_size(c));
        // Until the first ACK of data the rate is that of the SYN-ACK, which comes before the initial window is set (tcp_init_transfer). A
        // retransmitted SYN has left a window of one segment (tcp_enter_loss).
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
            // The rest of a burst follows its beginning.
            return false;
        }
        // A single outstanding segment never waits.
        let segments = self.segments_out(c);
        if segments <= 1 {
            return false;
        }
        let limit = self.tsq_limit(c, data, segments) * factor;
        let Some(q) = &mut self.tx.tsq else { return false };
        // The memory of a socket starts at one (`sk_wmem_alloc`).
        if q.bytes < limit {
            if new && c.tso.is_some() {
                q.burst = self.stream.snd_nxt() + burst;
            }
            return false;
        }
        q.wait_for(limit);
        true
    }

    /// Stream offset up to which the interface takes full segments at once.
    pub(in crate::tcp) fn tsq_reach(&mut self, c: &TcpConfig) -> u64 {
        if !c.tsq {
            return u64::MAX;
        }
        let (size, mss) = (memory(c, c.mss), u64::from(c.mss));
        let room = self.tsq_limit(c, mss, self.segments_out(c)).saturating_sub(self.tx.tsq.as_ref().map_or(0, |q| q.bytes));
        self.stream.snd_nxt() + room.div_ceil(size) * mss
    }
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
