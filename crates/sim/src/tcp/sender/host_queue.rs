//! TCP small queues in the sender: whether the next segment must wait until others have left the host's interface.

use super::Sender;
use crate::tcp::config::TcpConfig;
use crate::tcp::host_queue::limit;
use crate::tcp::send_buffer::HEAD;

impl Sender {
    /// Whether the next segment, of `data` bytes of payload, must wait until others have left the interface; retransmissions may have `factor` 2 times
    /// as much there (tcp_xmit_retransmit_queue). If so, an alarm will tell.
    #[inline]
    pub(super) fn held_back(&mut self, c: &TcpConfig, data: u64, factor: u64) -> bool {
        match &self.host_queue {
            // The memory of two of them is always free for a connection (tcp_small_queue_check).
            Some(q) if q.bytes >= 2 * memory(c, data as u32) => self.exceeds(c, data, factor),
            _ => false,
        }
    }

    #[inline(never)]
    fn exceeds(&mut self, c: &TcpConfig, data: u64, factor: u64) -> bool {
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
        let paced = self.hooks.paces();
        let rate = *q.rate.get_or_insert_with(|| match paced {
            true => self.law.pacing_rate(c.mss),
            false => self.w.pacing_rate(segments as f64, c.mss, self.rtt.smoothed().get()),
        });
        let pair = if c.tso.is_some() { 2 * burst / u64::from(c.mss) * memory(c, c.mss) } else { 2 * memory(c, data as u32) };
        let limit = limit(rate, pair, paced) * factor;
        // What a socket has in use is counted from one (`sk_wmem_alloc`).
        if q.bytes < limit {
            if new && c.tso.is_some() {
                q.burst = self.nxt + burst;
            }
            return false;
        }
        q.wait_for(limit);
        true
    }
}

/// What a segment of so many bytes counts in the interface: its memory (`truesize`, by `sk_wmem_alloc`), which a burst has once for all segments.
pub(super) fn memory(c: &TcpConfig, data: u32) -> u64 {
    u64::from(data) + if c.tso.is_some() { u64::from(c.header) } else { HEAD }
}
