//! Segments that wait for something before them and have become one in a receiver's memory (tcp_ooo_try_coalesce): the head of each but the
//! first is spared. A segment takes another in only if it is nobody else's any more (skb_try_coalesce: `skb_cloned`): its sender has to know that
//! it has come, and to have joined it to a SACKed one before it (tcp_shift_skb_data).
//!
//! Our choice: what the sender knows is what an ACK has told that left long enough ago, and only segments that extend the data furthest on are
//! looked at. Others, of which few are contiguous, keep their heads.

use forebay_units::Time;

/// MAX_SKB_FRAGS.
const FRAGMENTS: u8 = 17;

/// Of one receiver. Stream offsets and nanoseconds are their low 32 bits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OfoCoalescing {
    /// The data furthest on end here.
    end: u32,
    /// When the first ACK left after the last of its segments that stands for itself had come.
    acked_at: u32,
    /// Segments there that stand for themselves, as far as 255; 0: nothing waits.
    segments: u8,
    /// Those that have become one with the last of them, itself included.
    merged: u8,
    /// No ACK has left since that one came.
    unacked: bool,
    /// Heads that are spared there, and in what waits before it.
    saved_headers: u16,
    before: u16,
}

impl OfoCoalescing {
    /// Something waits, as far as is known here.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.segments > 0
    }

    /// A segment [start, end) has come out of order, `whole` if it is a full one; ACKs take `back` ns. True if it has become one with the segment
    /// before it.
    pub(super) fn add(&mut self, now: Time, (start, end): (u64, u64), whole: bool, back: u32) -> bool {
        let further = (end as u32).wrapping_sub(self.end).cast_signed() > 0;
        if self.any() && !further {
            return false;
        }
        let extends = self.any() && start as u32 == self.end;
        self.end = end as u32;
        if !extends {
            self.before = self.before.saturating_add(self.saved_headers);
            (self.segments, self.merged, self.unacked, self.saved_headers) = (1, 1, true, 0);
            return false;
        }
        let acked_at = !self.unacked && now.since(self.acked_at) >= Time::from_ns(back.into());
        // The first of them is what the sender joins the others to: it keeps that one.
        if self.merged > 1 && self.merged < FRAGMENTS || self.merged == 1 && self.segments > 1 && acked_at {
            self.merged += 1;
            self.saved_headers = self.saved_headers.saturating_add(1);
            return true;
        }
        // The sender joins none that is shorter.
        self.segments = if whole { self.segments.saturating_add(1) } else { 1 };
        (self.merged, self.unacked) = (1, true);
        false
    }

    /// An ACK leaves.
    #[inline]
    pub(super) fn on_ack_sent(&mut self, now: Time) {
        if self.unacked {
            (self.unacked, self.acked_at) = (false, now.timestamp());
        }
    }

    /// The stream has grown to `next`, by `segments` that had waited; behind it, something waits or does not. How many heads had been spared that are
    /// not any more: of what waits before the data furthest on it is not known where, but at most one of each segment but the first.
    pub(super) fn advance(&mut self, next: u64, segments: u32, waits: bool) -> u32 {
        if waits && self.end.wrapping_sub(next as u32).cast_signed() > 0 {
            let released = u32::from(self.before).min(segments.saturating_sub(1));
            self.before -= released as u16;
            return released;
        }
        std::mem::take(self).saved_headers()
    }

    /// Heads that are spared.
    pub(super) fn saved_headers(&self) -> u32 {
        u32::from(self.saved_headers) + u32::from(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_448;

    fn segment(n: u64) -> (u64, u64) {
        (n * MSS, (n + 1) * MSS)
    }

    /// The sender hears of the second and third segment 40 us after the ACK; what comes then is joined to the third, up to 17 in one.
    #[test]
    fn joined_to_what_the_sender_has_let_go() {
        let mut j = OfoCoalescing::default();
        for n in 1..=3 {
            assert!(!j.add(Time::from_us(n), segment(n), true, 40_000));
            j.on_ack_sent(Time::from_us(n));
        }
        assert!(!j.add(Time::from_us(42), segment(4), true, 40_000), "the ACK for the third is on its way");
        j.on_ack_sent(Time::from_us(42));
        let coalescing = (5..30).filter(|&n| j.add(Time::from_us(100), segment(n), true, 40_000)).count();
        assert_eq!(
            (coalescing, j.saved_headers()),
            (16, 16),
            "the 17th is the next to stand for itself, and nobody has been told of it"
        );
    }

    /// The sender keeps the first of a run, to which it joins the others.
    #[test]
    fn the_first_of_a_run_takes_nothing_in() {
        let mut j = OfoCoalescing::default();
        assert!(!j.add(Time::from_us(1), segment(1), true, 40_000));
        j.on_ack_sent(Time::from_us(1));
        assert!(!j.add(Time::from_us(1_000), segment(2), true, 40_000));
        j.advance(3 * MSS, 0, false);
        assert!(!j.any());
    }
}
