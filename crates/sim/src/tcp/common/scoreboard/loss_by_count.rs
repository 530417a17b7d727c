//! Losses by count (RFC 6675), for all segments in one pass.

use super::{EVER_RETX, LOST, RETX, SACKED, Scoreboard};

impl Scoreboard {
    /// RFC 6675 IsLost for all segments at once: "either DupThresh discontiguous SACKed sequences have arrived above 'SeqNum' or more than
    /// (DupThresh - 1) * SMSS bytes with sequence numbers greater than 'SeqNum' have been SACKed" (section 4). Each is marked once.
    pub fn mark_by_count(&mut self, thresh: u32, mss: u32) {
        let enough = |(runs, bytes): (u32, u64)| runs >= thresh || bytes > u64::from((thresh - 1) * mss);
        while enough(self.search.above) {
            let mut index = self.index(self.search.marked_below);
            while !self.segs[index].is(SACKED) {
                self.mark_counted(index);
                index += 1;
            }
            self.search.marked_below = self.base + index as u64;
            // Beyond this run of SACKed segments, only those behind it count.
            let next = self.behind_run(index);
            let bytes = self.segs[next - 1].end() - self.segs[index].start;
            let beyond = (self.search.above.0 - 1, self.search.above.1 - bytes);
            if !enough(beyond) {
                break;
            }
            (self.search.above, self.search.marked_below) = (beyond, self.base + next as u64);
        }
    }

    fn mark_counted(&mut self, index: usize) {
        let seg = self.segs[index];
        if seg.is(RETX) && !seg.is(LOST) {
            // Retransmitted on suspicion (NextSeg rule 3, rescue): now only the retransmission is in the pipe.
            self.set_flags(index, seg.flags | LOST);
            self.note_loss(index);
        } else if !seg.is(LOST | EVER_RETX) {
            self.mark_lost(index);
        }
    }

    /// Marks all segments as lost that are not SACKed, up to the SACKed segment with number `sacked` + 1 from the oldest (tcp_mark_head_lost). The next
    /// search continues there (`lost_skb_hint`).
    pub fn mark_head_lost(&mut self, sacked: u32) {
        let (number, mut count) = self.search.head;
        let mut index = self.index(number);
        debug_assert!(index > 0 || count == 0);
        while let Some(seg) = self.segs.get(index) {
            if seg.is(SACKED) {
                let next = self.behind_run(index);
                let beyond = count + (next - index) as u32;
                if beyond > sacked {
                    break;
                }
                (index, count) = (next, beyond);
                continue;
            }
            self.mark_skb_lost(index);
            index += 1;
        }
        self.search.head = (self.base + index as u64, count);
    }

    /// Marks the oldest segment as lost, if none behind it has been (tcp_mark_head_lost with `mark_head`).
    pub fn mark_oldest_lost(&mut self) {
        if self.search.head.0 <= self.base && self.segs.front().is_some_and(|s| !s.is(SACKED)) {
            self.mark_skb_lost(0);
        }
    }

    /// Marks a segment as lost. An outstanding retransmission stays in the network (tcp_mark_skb_lost).
    fn mark_skb_lost(&mut self, index: usize) {
        let seg = self.segs[index];
        if seg.is(LOST) {
            return;
        }
        if seg.is(RETX) {
            self.set_flags(index, seg.flags | LOST);
            self.note_loss(index);
        } else {
            self.mark_lost(index);
        }
    }

    /// Index of the first segment below the highest SACKed one that was neither SACKed nor retransmitted nor lost (RFC 6675 NextSeg rule 3).
    pub fn next_hole(&mut self) -> Option<usize> {
        // A segment that is no such hole becomes one only when loss marks are cleared.
        let top = self.index(self.search.top_sacked);
        let mut index = self.index(self.search.hole_hint);
        while index < top && self.segs[index].is(SACKED | LOST | RETX | EVER_RETX) {
            index += 1;
        }
        self.search.hole_hint = self.base + index as u64;
        (index < top).then_some(index)
    }
}
