//! TCP small queues in the sender: whether the next segment must wait until others have left the host's interface.

use super::Sender;
use crate::tcp::config::TcpConfig;
use crate::tcp::host_queue::limit;
use crate::tcp::send_buffer::HEAD;

impl Sender {
    /// Whether the next segment must wait until others have left the interface; retransmissions may have `factor` 2 times as much there
    /// (tcp_xmit_retransmit_queue). If so, an alarm will tell.
    #[inline]
    pub(super) fn held_back(&mut self, c: &TcpConfig, factor: u64) -> bool {
        match &self.host_queue {
            Some(q) if q.bytes > 2 * memory(c, c.mss) => self.exceeds(c, factor),
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
        let (pair, paced) = (2 * burst / u64::from(c.mss) * memory(c, c.mss), self.hooks.paces());
        let limit = *q.limit.get_or_insert_with(|| {
            let rate = match self.hooks.paces() {
                true => self.law.pacing_rate(c.mss),
                false => self.w.pacing_rate(segments as f64, c.mss, self.rtt.smoothed().get()),
            };
            limit(rate, pair, paced)
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

/// What a segment of so many bytes counts in the interface: its memory (`truesize`, by `sk_wmem_alloc`), which a burst has once for all segments.
pub(super) fn memory(c: &TcpConfig, data: u32) -> u64 {
    u64::from(data) + if c.tso.is_some() { u64::from(c.header) } else { HEAD }
}
