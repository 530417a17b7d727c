//! Buffers of contiguous segments (`struct sk_buff`) at a receiver: TCP coalesces a segment with the buffer that ends where it begins (tcp_try_coalesce).

use super::truesize::MAX_SEGMENTS;

/// Bits for the number of segments of a buffer.
const BITS: u32 = 5;
/// Buffers that the list holds.
const MOST: u32 = u128::BITS / BITS;

/// Number of segments in each buffer of a run, in order of their offsets. Of more than 25 buffers the last are forgotten.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buffers(u128);

impl Buffers {
    /// One segment.
    pub(super) const ONE: Buffers = Buffers(1);

    fn len(self) -> u32 {
        (u128::BITS - self.0.leading_zeros()).div_ceil(BITS)
    }

    /// Adds a segment behind the last. Returns true if it is coalesced with its buffer.
    pub(super) fn append(&mut self) -> bool {
        let shift = BITS * self.len().saturating_sub(1);
        let joins = (self.0 >> shift) as u8 & ((1 << BITS) - 1) < MAX_SEGMENTS;
        if joins {
            self.0 += 1 << shift;
        } else {
            self.join(Buffers::ONE);
        }
        joins
    }

    /// Adds the buffers of the run behind this one.
    pub(super) fn join(&mut self, next: Buffers) {
        let len = self.len();
        if len < MOST {
            self.0 |= (next.0 << (BITS * len)) & ((1 << (BITS * MOST)) - 1);
        }
    }

    fn iter(self) -> impl Iterator<Item = u32> {
        (0..self.len()).map(move |n| (self.0 >> (BITS * n)) as u32 & ((1 << BITS) - 1))
    }

    /// Buffers that the application finds when a segment fills the hole before the run: each buffer is coalesced with the one before it where both
    /// fit into one (tcp_ofo_queue).
    pub(super) fn after_hole(self) -> AfterHole {
        let (mut first, mut coalesced, mut tail) = (None, 0, 1);
        for buffer in self.iter() {
            if tail + buffer <= u32::from(MAX_SEGMENTS) {
                (tail, coalesced) = (tail + buffer, coalesced + 1);
            } else {
                first.get_or_insert(tail);
                tail = buffer;
            }
        }
        AfterHole { absorbed: first.unwrap_or(tail) - 1, coalesced }
    }
}

/// Effects of a segment that fills a hole on the buffers behind it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AfterHole {
    /// Segments that its own buffer has absorbed.
    pub absorbed: u32,
    /// Buffers that are coalesced with another.
    pub coalesced: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(buffers: &[u32]) -> Buffers {
        let mut all = Buffers(0);
        buffers.iter().for_each(|&n| all.join(Buffers(n.into())));
        all
    }

    /// skb_try_coalesce: a buffer has 17 fragments beside its first segment.
    #[test]
    fn buffer_holds_eighteen_segments() {
        let mut b = Buffers::ONE;
        let coalesced = (1..40).filter(|_| b.append()).count();
        assert_eq!((coalesced, b.iter().collect::<Vec<_>>()), (37, vec![18, 18, 4]));
    }

    #[test]
    fn hole_filler_absorbs_what_fits() {
        let found = |buffers: &[u32]| (run(buffers).after_hole().absorbed, run(buffers).after_hole().coalesced);
        assert_eq!(found(&[17]), (17, 1));
        assert_eq!(found(&[18, 3]), (0, 0));
        assert_eq!(found(&[7, 18, 4]), (7, 1));
        assert_eq!(found(&[1, 1, 1, 14, 1]), (17, 4));
        // The fourth fits behind the third.
        assert_eq!(found(&[10, 9, 5, 4]), (10, 3));
    }

    #[test]
    fn long_lists_forget_the_end() {
        let all = run(&[18; 30]);
        assert_eq!(all.iter().collect::<Vec<_>>(), [18; 25]);
        let mut all = run(&[18; 24]);
        all.join(run(&[9; 9]));
        assert!(all.append());
        assert_eq!((all.len(), all.iter().last()), (25, Some(10)));
    }
}
