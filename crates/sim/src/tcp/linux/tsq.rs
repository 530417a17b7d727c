//! TCP small queues (Linux `tcp_small_queue_check`): limit of the data of a connection in the interface of its host. Without it the whole window
//! waits there if the link of the host is the bottleneck.

use crate::cc::Window;
use crate::tcp::common::tsq_backlog::{limit, memory};
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::Sender;
use forebay_types::{Rate, Time};

/// TCP_INIT_CWND.
const INITIAL: f64 = 10.0;

impl Sender {
    /// Returns true if the next segment, of `data` bytes of payload, must wait until others have left the interface; an alarm is set then. The limit
    /// of retransmissions has `factor` 2 (tcp_xmit_retransmit_queue).
    #[inline]
    pub(in crate::tcp) fn tsq_throttled(&mut self, c: &TcpConfig, data: u64, factor: u64) -> bool {
        let Some(q) = &self.tx.tsq else { return false };
        if self.sends_bursts() {
            return self.small_queue_check(c, c.kernel.sent_head() + data, factor);
        }
        // Two of them are always allowed (tcp_small_queue_check).
        let pair = 2 * memory(c, data as u32);
        let known = q.rate.filter(|_| c.tso.is_none());
        q.bytes >= pair
            && known.is_none_or(|rate| q.bytes >= limit(rate, pair, false) * factor)
            && self.exceeds_tsq_limit(c, data, factor)
    }

    /// Returns true if the connection paces by itself, whatever the queue of its host (`sk_pacing_status`).
    fn is_paced(&self, c: &TcpConfig) -> bool {
        self.cc.hooks().paces() || c.max_pacing_rate.is_some()
    }

    /// Stores the pacing rate after an ACK that may change the window (tcp_update_pacing_rate, the end of tcp_cong_control). Until the next such ACK,
    /// data that the application writes, timers and the queue of the host do not change it.
    #[inline(always)]
    pub(in crate::tcp) fn update_pacing_rate(&mut self, c: &TcpConfig) {
        if c.tso.is_some() && !self.cc.hooks().paces() {
            let packets_out = self.loss.sack.as_ref().map_or(0, |s| s.board.len() as u32);
            self.cold.pacing_rate = self.uncapped_pacing_rate(c, packets_out);
        }
    }

    /// Pacing rate of this opportunity to send (`sk_pacing_rate`), while `segments` are outstanding.
    #[inline(always)]
    pub(in crate::tcp) fn sk_pacing_rate(&self, c: &TcpConfig, segments: u32) -> Rate {
        let stored = self.cold.pacing_rate;
        let rate = if stored > Rate(0) { stored } else { self.uncapped_pacing_rate(c, segments) };
        c.max_pacing_rate.map_or(rate, |most| rate.min(most))
    }

    /// The same without `sk_max_pacing_rate`.
    #[inline(always)]
    fn uncapped_pacing_rate(&self, c: &TcpConfig, segments: u32) -> Rate {
        if self.cc.hooks().paces() {
            return self.cc.algorithm().pacing_rate(c.mss);
        }
        // Until the first ACK of data the rate is that of the SYN-ACK, which comes before the initial window is set (tcp_init_transfer). A
        // retransmitted SYN has left a window of one segment (tcp_enter_loss).
        let first = Window { cwnd: if self.cold.syn_retx { 1.0 } else { INITIAL }, ..self.cc.window };
        let (window, segments) = if self.stream.snd_una() > 0 { (self.cc.window, segments) } else { (first, 0) };
        window.pacing_rate(f64::from(segments), c.mss, self.rtt.smoothed().get())
    }

    /// Pacing rate, computed once for each opportunity to send.
    #[inline(always)]
    pub(in crate::tcp) fn tsq_rate(&mut self, c: &TcpConfig, segments: u32) -> Rate {
        if let Some(rate) = self.tx.tsq.as_ref().and_then(|q| q.rate) {
            return rate;
        }
        let rate = self.sk_pacing_rate(c, segments);
        if let Some(q) = &mut self.tx.tsq {
            q.rate = Some(rate);
        }
        rate
    }

    /// Returns true if a buffer of `truesize` bytes must wait until others have left the interface; an alarm is set then (tcp_small_queue_check).
    pub(in crate::tcp) fn small_queue_check(&mut self, c: &TcpConfig, truesize: u64, factor: u64) -> bool {
        if self.tx.tsq.as_ref().is_none_or(|q| q.bytes < 2 * truesize) {
            return false;
        }
        // A single buffer outstanding never waits (tcp_rtx_queue_empty_or_single_skb).
        if self.tx.send_buffer.as_ref().and_then(|b| b.queue()).is_some_and(|q| q.outstanding() <= 1) {
            return false;
        }
        let segments = self.segments_out(c);
        let limit = limit(self.tsq_rate(c, segments), 2 * truesize, self.is_paced(c)) * factor;
        let Some(q) = &mut self.tx.tsq else { return false };
        // The memory of a socket starts at one (`sk_wmem_alloc`).
        if q.bytes < limit {
            return false;
        }
        q.wait_for(limit);
        true
    }

    /// Returns true if the packet of the buffer with the byte at `offset` has not left the host as a whole (skb_still_in_host_queue). Then the buffer is
    /// not sent again: a segment at the beginning of a burst can be lost while the end of the burst still waits.
    pub(in crate::tcp) fn still_in_host_queue(&self, now: Time, offset: u64) -> bool {
        let queue = self.tx.send_buffer.as_ref().and_then(|b| b.queue());
        let Some(packet) = queue.and_then(|q| q.packet_of(offset)) else { return false };
        let Some(q) = &self.tx.tsq else { return false };
        let seq = self.tx.numbers().wire(packet);
        q.holds(now, seq) || self.cold.pacer.as_ref().is_some_and(|p| p.holds(seq))
    }

    /// Limit for a segment of `data` bytes of payload, while `segments` are outstanding.
    #[inline(always)]
    fn tsq_limit(&mut self, c: &TcpConfig, data: u64, segments: u32) -> u64 {
        let (paced, burst) = (self.is_paced(c), self.burst_size(c));
        let rate = self.tsq_rate(c, segments);
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
