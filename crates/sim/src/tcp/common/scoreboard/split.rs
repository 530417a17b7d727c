//! Division of a segment whose retransmission the receive window has no space for (Linux tcp_fragment).

use super::{SACKED, Scoreboard, Seg};
use std::cmp::Reverse;

impl Scoreboard {
    /// Divides the segment at `index`, which is not SACKed, after its first `len` bytes. Both parts have its flags and its send time. Visits all
    /// segments: windows of receivers shrink rarely.
    #[cold]
    #[inline(never)]
    pub fn split(&mut self, index: usize, len: u32) {
        let (whole, number) = (self.segs[index], self.base + index as u64);
        debug_assert!(!whole.is(SACKED) && (1..whole.len).contains(&len));
        self.segs[index].len = len;
        self.segs.insert(index + 1, Seg { start: whole.start + u64::from(len), len: whole.len - len, ..whole });
        self.count_segs(whole.flags, true);
        let renumber = |n: &mut u64| *n += u64::from(*n > number);
        for seg in self.segs.iter_mut().filter(|s| s.is(SACKED)) {
            let mut up_to = seg.sacked_up_to();
            renumber(&mut up_to);
            seg.set_sacked_up_to(up_to);
        }
        if let Some(losses) = &mut self.losses {
            losses.iter_mut().for_each(renumber);
        }
        let Some(search) = self.search.made() else { return };
        for block in &mut search.blocks {
            renumber(&mut block.1);
            // The second part may be inside a block that began within the segment.
            if (whole.start + 1..whole.end()).contains(&block.0) {
                *block = (u64::MAX, 0);
            }
        }
        for hint in
            [&mut search.top_sacked, &mut search.lost_hint, &mut search.hole_hint, &mut search.marked_below, &mut search.head.0]
        {
            renumber(hint);
        }
        let below: Vec<_> = search.below_hint.drain().collect();
        for Reverse(mut n) in below {
            renumber(&mut n);
            search.below_hint.push(Reverse(n));
        }
        if whole.waits() && number + 1 < search.lost_hint {
            search.below_hint.push(Reverse(number + 1));
        }
        search.order.split(number);
    }
}
