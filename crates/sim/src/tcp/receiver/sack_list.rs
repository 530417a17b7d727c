//! SACK blocks that Linux keeps to report (`selective_acks`): at most four. Older blocks are dropped, so that one interval of the out-of-order queue
//! may have two blocks (tcp_sack_new_ofo_skb, tcp_sack_maybe_coalesce, tcp_sack_remove).

/// TCP_NUM_SACKS.
const MAX_BLOCKS: usize = 4;
/// TCP_SACK_BLOCKS_EXPECTED.
const EXPECTED: usize = 2;

/// The blocks, the most recent first.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SackList {
    blocks: [(u64, u64); MAX_BLOCKS],
    count: usize,
}

impl SackList {
    /// The blocks, the most recent first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks[..self.count].iter().copied()
    }

    /// The first block that [start, end) continues or overlaps.
    fn touched(&self, start: u64, end: u64) -> Option<usize> {
        self.iter().position(|(s, e)| start <= e && s <= end)
    }

    /// Returns true if [start, end) extends none of the two most recent blocks, where there are others.
    pub(super) fn misses_recent_blocks(&self, start: u64, end: u64) -> bool {
        self.count > 0 && self.touched(start, end).unwrap_or(self.count) >= EXPECTED
    }

    fn remove(&mut self, at: usize) {
        self.blocks.copy_within(at + 1..self.count, at);
        self.count -= 1;
    }

    /// Adds [start, end).
    pub(super) fn insert(&mut self, mut start: u64, mut end: u64) {
        if let Some(at) = self.touched(start, end) {
            // The extended block may touch others.
            (start, end) = (start.min(self.blocks[at].0), end.max(self.blocks[at].1));
            self.remove(at);
            let mut other = 0;
            while other < self.count {
                let (s, e) = self.blocks[other];
                if start <= e && s <= end {
                    (start, end) = (start.min(s), end.max(e));
                    self.remove(other);
                } else {
                    other += 1;
                }
            }
        }
        let kept = self.count.min(MAX_BLOCKS - 1);
        self.blocks.copy_within(..kept, 1);
        self.blocks[0] = (start, end);
        self.count = kept + 1;
    }

    /// Removes the blocks that the stream, in order up to `next`, has reached.
    pub(super) fn advance(&mut self, next: u64) {
        let mut at = 0;
        while at < self.count {
            if self.blocks[at].0 <= next { self.remove(at) } else { at += 1 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(r: &SackList) -> Vec<(u64, u64)> {
        r.iter().collect()
    }

    #[test]
    fn fifth_block_evicts_the_oldest() {
        let mut r = SackList::default();
        for start in [10, 20, 30, 40, 50] {
            r.insert(start, start + 5);
        }
        assert_eq!(all(&r), [(50, 55), (40, 45), (30, 35), (20, 25)]);
        // Of the interval [10, 18) only the new part has a block.
        r.insert(15, 18);
        assert_eq!(all(&r), [(15, 18), (50, 55), (40, 45), (30, 35)]);
        r.advance(25);
        assert_eq!(all(&r), [(50, 55), (40, 45), (30, 35)]);
        // A segment that merges the two oldest blocks makes the newest.
        r.insert(35, 40);
        assert_eq!(all(&r), [(30, 45), (50, 55)]);
    }

    #[test]
    fn two_most_recent_blocks_are_expected() {
        let mut r = SackList::default();
        assert!(!r.misses_recent_blocks(10, 20), "there is no other block");
        r.insert(10, 20);
        assert!(!r.misses_recent_blocks(30, 40), "the second block is one of the two");
        r.insert(30, 40);
        assert!(r.misses_recent_blocks(50, 60) && !r.misses_recent_blocks(20, 22) && !r.misses_recent_blocks(40, 41));
        r.insert(50, 60);
        assert!(r.misses_recent_blocks(20, 22) && !r.misses_recent_blocks(60, 61) && !r.misses_recent_blocks(40, 41));
    }
}
