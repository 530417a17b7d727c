//! Collapse of a segment that is retransmitted with those behind it (Linux tcp_collapse_retrans).

use super::{EVER_RETX, Scoreboard};
use std::cmp::Reverse;

impl Scoreboard {
    /// Joins all segments behind `index` to the one at `index`. None of them may be SACKed. Later segments use the numbers of the joined ones again.
    #[cold]
    #[inline(never)]
    pub fn collapse_tail(&mut self, index: usize) {
        let before = self.segs[index].flags;
        let (mut len, mut flags) = (self.segs[index].len, before);
        for other in index + 1..self.segs.len() {
            len += self.segs[other].len;
            flags |= self.segs[other].flags & EVER_RETX;
            self.set_flags(other, 0);
        }
        self.segs.truncate(index + 1);
        self.set_flags(index, 0);
        self.segs[index].len = len;
        self.set_flags(index, flags);
        let end = self.base + self.segs.len() as u64;
        if let Some(losses) = &mut self.losses {
            losses.retain(|&number| number < end);
        }
        if let Some(search) = self.search.made() {
            search.below_hint.retain(|&Reverse(number)| number < end);
            search.order.truncate(end);
            for block in &mut search.blocks {
                if block.1 > end {
                    *block = (u64::MAX, 0);
                }
            }
            for hint in [&mut search.lost_hint, &mut search.hole_hint, &mut search.marked_below, &mut search.order.first] {
                *hint = (*hint).min(end);
            }
            search.head.0 = search.head.0.min(end);
        }
    }
}
