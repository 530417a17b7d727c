//! What a receiver of Linux remembers of the data that it has out of order, to report it: four blocks (`selective_acks`). Beyond that it forgets, and
//! may have two blocks of what is one piece (tcp_sack_new_ofo_skb, tcp_sack_maybe_coalesce, tcp_sack_remove).

/// TCP_NUM_SACKS.
const MOST: usize = 4;
/// TCP_SACK_BLOCKS_EXPECTED.
const EXPECTED: usize = 2;

/// The blocks, freshest first.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SackList {
    blocks: [(u64, u64); MOST],
    count: usize,
}

impl SackList {
    /// Freshest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks[..self.count].iter().copied()
    }

    /// The first block that [start, end) continues or overlaps.
    fn touched(&self, start: u64, end: u64) -> Option<usize> {
        self.iter().position(|(s, e)| start <= e && s <= end)
    }

    /// Whether [start, end) is news of none of the two freshest blocks, where there are others.
    pub(super) fn misses_recent_blocks(&self, start: u64, end: u64) -> bool {
        self.count > 0 && self.touched(start, end).unwrap_or(self.count) >= EXPECTED
    }

    fn remove(&mut self, at: usize) {
        self.blocks.copy_within(at + 1..self.count, at);
        self.count -= 1;
    }

    /// [start, end) has come.
    pub(super) fn insert(&mut self, mut start: u64, mut end: u64) {
        if let Some(at) = self.touched(start, end) {
            // What the block has grown to may reach others.
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
        let kept = self.count.min(MOST - 1);
        self.blocks.copy_within(..kept, 1);
        self.blocks[0] = (start, end);
        self.count = kept + 1;
    }

    /// The stream reaches `next`.
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
    fn a_fifth_block_pushes_the_stalest_out() {
        let mut r = SackList::default();
        for start in [10, 20, 30, 40, 50] {
            r.insert(start, start + 5);
        }
        assert_eq!(all(&r), [(50, 55), (40, 45), (30, 35), (20, 25)]);
        // Of the piece [10, 18) only what is new is known.
        r.insert(15, 18);
        assert_eq!(all(&r), [(15, 18), (50, 55), (40, 45), (30, 35)]);
        r.advance(25);
        assert_eq!(all(&r), [(50, 55), (40, 45), (30, 35)]);
        // One that joins the two stalest is the freshest.
        r.insert(35, 40);
        assert_eq!(all(&r), [(30, 45), (50, 55)]);
    }

    #[test]
    fn news_of_the_two_freshest_is_expected() {
        let mut r = SackList::default();
        assert!(!r.misses_recent_blocks(10, 20), "the first block follows no other");
        r.insert(10, 20);
        assert!(!r.misses_recent_blocks(30, 40), "nor does the second push one out of the two");
        r.insert(30, 40);
        assert!(r.misses_recent_blocks(50, 60) && !r.misses_recent_blocks(20, 22) && !r.misses_recent_blocks(40, 41));
        r.insert(50, 60);
        assert!(r.misses_recent_blocks(20, 22) && !r.misses_recent_blocks(60, 61) && !r.misses_recent_blocks(40, 41));
    }
}
