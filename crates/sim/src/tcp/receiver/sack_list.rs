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

    /// Extends the block that [start, end) continues in its place, if it is none of the two most recent ones: the withheld ACKs that leave then report
    /// it so (tcp_sack_new_ofo_skb calls tcp_sack_compress_send_ack behind tcp_sack_extend).
    pub(super) fn extend_older_block(&mut self, start: u64, end: u64) {
        if let Some(at) = self.touched(start, end).filter(|&at| at >= EXPECTED) {
            let (s, e) = self.blocks[at];
            self.blocks[at] = (s.min(start), e.max(end));
        }
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
    use crate::sequences::{each_sequence, interval, offsets};

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

    #[test]
    fn older_block_grows_in_place() {
        let mut r = SackList::default();
        for start in [10, 20, 30] {
            r.insert(start, start + 5);
        }
        r.extend_older_block(35, 40);
        assert_eq!(all(&r), [(30, 35), (20, 25), (10, 15)], "the newest is none of the older ones");
        r.extend_older_block(15, 18);
        assert_eq!(all(&r), [(30, 35), (20, 25), (10, 18)]);
        r.insert(15, 18);
        assert_eq!(all(&r), [(10, 18), (30, 35), (20, 25)]);
    }

    /// All sequences of four segments among the 15 intervals of five bytes: each block has only bytes that arrived, the first has the newest segment,
    /// and no two blocks touch.
    #[test]
    fn exhaustive_segments_are_reported() {
        each_sequence(15, 4, |word| {
            let (mut list, mut arrived) = (SackList::default(), 0);
            for number in word {
                let (start, end) = interval(*number);
                list.insert(start, end);
                arrived |= offsets((start, end));
                let blocks = all(&list);
                assert!(blocks.len() <= MAX_BLOCKS && blocks[0].0 <= start && end <= blocks[0].1, "{word:?}: {blocks:?}");
                assert!(blocks.iter().all(|b| offsets(*b) & !arrived == 0), "{word:?}: {blocks:?}");
                let apart = |a: &(u64, u64), b: &(u64, u64)| a.1 < b.0 || b.1 < a.0;
                assert!(blocks.iter().enumerate().all(|(i, a)| blocks[..i].iter().all(|b| apart(a, b))), "{word:?}: {blocks:?}");
            }
            for next in 0..=5 {
                let mut rest = list;
                rest.advance(next);
                assert!(rest.iter().all(|b| b.0 > next), "{word:?} from {next}");
                assert_eq!(rest.iter().count(), list.iter().filter(|b| b.0 > next).count(), "{word:?} from {next}");
            }
        });
    }
}
