//! TCP small queues (Linux `tcp_small_queue_check`): how much of a connection may wait in its own host's interface. Otherwise, where the
//! host's link is the bottleneck, the whole window would wait there.

use super::sender::Sender;
use crate::tcp::config::TcpConfig;
use forebay_units::{Rate, Time, TimeOrNever};
use std::collections::VecDeque;

/// `tcp_limit_output_bytes`, Linux 6.16 and later.
const MOST: u64 = 4 << 20;
/// `sk_pacing_shift`: the pacing rate's bytes in 1/1024 s.
const PER_SECOND: u64 = 1024;

/// A connection's packets in the interface.
#[derive(Debug, Clone)]
pub(super) struct HostQueue {
    /// (departure, bytes on the wire), in the order in which they leave.
    waiting: VecDeque<(Time, u32)>,
    /// Their sum.
    bytes: u64,
    /// The limit at the current opportunity to send, bytes; `None` while nobody has asked.
    limit: Option<u64>,
    /// When so much will have left that sending may go on; never while nothing is held back.
    resume: TimeOrNever,
    /// The burst that the interface has accepted goes to this stream offset; only senders with segmentation offload have bursts.
    burst: u64,
}

impl Default for HostQueue {
    fn default() -> HostQueue {
        HostQueue { waiting: VecDeque::new(), bytes: 0, limit: None, resume: TimeOrNever::NEVER, burst: 0 }
    }
}

impl HostQueue {
    /// A new opportunity to send, at `now`: what has left by then is gone.
    pub(super) fn settle(&mut self, now: Time) {
        while let Some(&(departure, bytes)) = self.waiting.front()
            && departure <= now
        {
            self.bytes -= u64::from(bytes);
            self.waiting.pop_front();
        }
        self.limit = None;
        self.resume = TimeOrNever::NEVER;
    }

    /// A packet of `bytes` was handed over at `now` that will have left at `departure`, in the past where there is no interface.
    #[inline]
    pub(super) fn push(&mut self, now: Time, departure: Time, bytes: u32) {
        if departure > now {
            self.bytes += u64::from(bytes);
            self.waiting.push_back((departure, bytes));
        }
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// When sending may go on.
    pub(super) fn resume(&self) -> TimeOrNever {
        self.resume
    }

    /// Notes when no more than `limit` bytes will be left.
    fn wait_for(&mut self, limit: u64) {
        let mut bytes = self.bytes;
        for &(departure, size) in &self.waiting {
            bytes -= u64::from(size);
            if bytes <= limit {
                self.resume = self.resume.min(departure.into());
                return;
            }
        }
    }
}

/// Bytes that may wait: about 1 ms of the pacing rate, at least `pair` (two segments, or bursts), at most [`MOST`].
fn limit(rate: Rate, pair: u64) -> u64 {
    (rate.0 / 8 / PER_SECOND).max(pair).min(MOST)
}

impl Sender {
    /// Whether the next segment must wait until others have left the interface; retransmissions may have `factor` 2 times as much there
    /// (tcp_xmit_retransmit_queue). If so, an alarm will tell.
    #[inline]
    pub(super) fn held_back(&mut self, c: &TcpConfig, factor: u64) -> bool {
        match &self.host_queue {
            Some(q) if q.bytes > 2 * u64::from(c.mss + c.header) => self.exceeds(c, factor),
            _ => false,
        }
    }

    #[inline(never)]
    fn exceeds(&mut self, c: &TcpConfig, factor: u64) -> bool {
        let flight = self.flight();
        // An estimate of the segments outstanding where there is no list of them.
        let segments = self.sack.as_ref().map_or(flight.div_ceil(u64::from(c.mss)), |s| s.board.len() as u64);
        let new = factor == 1;
        let burst = self.burst_size(c);
        let Some(q) = &mut self.host_queue else { return false };
        if new && (self.nxt + 1..=self.nxt + burst).contains(&q.burst) {
            // The rest of a burst goes with its beginning.
            return false;
        }
        // Before the first ACK of data there is no pacing rate; and at most one segment outstanding never waits.
        if self.una == 0 || segments <= 1 {
            return false;
        }
        let pair = 2 * burst / u64::from(c.mss) * u64::from(c.mss + c.header);
        let limit = *q.limit.get_or_insert_with(|| {
            let rate = match self.hooks.paces {
                true => self.law.pacing_rate(c.mss),
                false => self.w.pacing_rate(segments as f64, c.mss, self.rtt.smoothed().get()),
            };
            limit(rate, pair)
        });
        if q.bytes <= limit * factor {
            if new && c.tso.is_some() {
                q.burst = self.nxt + burst;
            }
            return false;
        }
        q.wait_for(limit * factor);
        true
    }
}
