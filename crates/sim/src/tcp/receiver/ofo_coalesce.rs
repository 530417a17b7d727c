//! Coalescing in the out-of-order queue (tcp_ooo_try_coalesce): memory is saved for the head of every segment but the first. A segment absorbs the
//! next only if no other reference to that exists (skb_try_coalesce: `skb_cloned`): its sender must have received its SACK and have merged it
//! with a SACKed segment before it (tcp_shift_skb_data).
//!
//! Our choice: the sender has a SACK one ACK latency after the ACK left, and only segments that extend the highest run of data are considered. The
//! others, few of which are contiguous, keep their heads.

use super::truesize::{HEAD, MAX_FRAGS};
use forebay_types::Time;

/// State of one receiver. Stream offsets and nanoseconds are their low 32 bits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OfoCoalescing {
    /// End of the highest run.
    end: u32,
    /// Departure of the first ACK after the last buffer of the run began.
    acked_at: u32,
    /// Buffers of the run, at most 255; 0: the queue is empty.
    buffers: u8,
    /// Segments in the last of them.
    frags: u8,
    /// No ACK has left since that one began.
    unacked: bool,
    /// Heads saved in the run, and in the runs below it.
    saved_heads: u16,
    saved_below: u16,
}

impl OfoCoalescing {
    /// Returns true if the queue has a run.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.buffers > 0
    }

    /// Adds an out-of-order segment [start, end), `full` if it has the segment size. True if it is coalesced with the one before it. ACKs take
    /// `ack_latency` ns.
    pub(super) fn add(&mut self, now: Time, (start, end): (u64, u64), full: bool, ack_latency: u32) -> bool {
        let is_higher = (end as u32).wrapping_sub(self.end).cast_signed() > 0;
        if self.is_active() && !is_higher {
            return false;
        }
        let extends = self.is_active() && start as u32 == self.end;
        self.end = end as u32;
        if !extends {
            self.saved_below = self.saved_below.saturating_add(self.saved_heads);
            (self.buffers, self.frags, self.unacked, self.saved_heads) = (1, 1, true, 0);
            return false;
        }
        let is_freed = !self.unacked && now.since(self.acked_at) >= Time::from_ns(ack_latency.into());
        // The sender merges the others into the first of a run, and keeps that one.
        if self.frags > 1 && self.frags < MAX_FRAGS || self.frags == 1 && self.buffers > 1 && is_freed {
            self.frags += 1;
            self.saved_heads = self.saved_heads.saturating_add(1);
            return true;
        }
        // The sender merges full segments only.
        self.buffers = if full { self.buffers.saturating_add(1) } else { 1 };
        (self.frags, self.unacked) = (1, true);
        false
    }

    /// Notes that an ACK leaves.
    #[inline]
    pub(super) fn on_ack_sent(&mut self, now: Time) {
        if self.unacked {
            (self.unacked, self.acked_at) = (false, now.timestamp());
        }
    }

    /// Notes that the stream has grown to `next` by `segments` of the queue; `remains`: the queue is not empty. Returns the memory that is no longer
    /// saved. The runs of the saved heads below the highest run are not stored: at most one head is released for each segment but the first.
    pub(super) fn advance(&mut self, next: u64, segments: u32, remains: bool) -> u32 {
        if remains && self.end.wrapping_sub(next as u32).cast_signed() > 0 {
            let released = u32::from(self.saved_below).min(segments.saturating_sub(1));
            self.saved_below -= released as u16;
            return HEAD * released;
        }
        std::mem::take(self).saved_memory()
    }

    /// Memory of the heads that are saved.
    pub(super) fn saved_memory(&self) -> u32 {
        HEAD * (u32::from(self.saved_heads) + u32::from(self.saved_below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_448;

    fn segment(n: u64) -> (u64, u64) {
        (n * MSS, (n + 1) * MSS)
    }

    /// The SACK of the second and third segment reaches the sender after 40 us; later segments are coalesced with the third, up to 17 in one.
    #[test]
    fn coalesces_with_freed_segments() {
        let mut j = OfoCoalescing::default();
        for n in 1..=3 {
            assert!(!j.add(Time::from_us(n), segment(n), true, 40_000));
            j.on_ack_sent(Time::from_us(n));
        }
        assert!(!j.add(Time::from_us(42), segment(4), true, 40_000), "the ACK of the third is in flight");
        j.on_ack_sent(Time::from_us(42));
        let coalesced = (5..30).filter(|&n| j.add(Time::from_us(100), segment(n), true, 40_000)).count();
        assert_eq!((coalesced, j.saved_memory()), (16, 16 * HEAD), "the 17th begins a buffer that no ACK has covered");
    }

    #[test]
    fn first_of_a_run_absorbs_nothing() {
        let mut j = OfoCoalescing::default();
        assert!(!j.add(Time::from_us(1), segment(1), true, 40_000));
        j.on_ack_sent(Time::from_us(1));
        assert!(!j.add(Time::from_us(1_000), segment(2), true, 40_000));
        j.advance(3 * MSS, 0, false);
        assert!(!j.is_active());
    }
}
