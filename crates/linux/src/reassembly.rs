//! Bytes of a stream that a receiver has: the union of the delivered segments.

/// Bytes that have arrived: all up to an offset, and intervals beyond it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReceivedBytes {
    in_order: u64,
    /// Disjoint, in order, none touching another.
    beyond: Vec<(u64, u64)>,
}

impl ReceivedBytes {
    /// A segment with the bytes from `begin` to `end` has arrived.
    pub(crate) fn add(&mut self, begin: u64, end: u64) {
        if begin <= self.in_order && self.beyond.is_empty() {
            self.in_order = self.in_order.max(end);
            return;
        }
        let first = self.beyond.partition_point(|piece| piece.1 < begin);
        let last = self.beyond.partition_point(|piece| piece.0 <= end);
        let joined = self.beyond[first..last].iter().fold((begin, end), |all, piece| (all.0.min(piece.0), all.1.max(piece.1)));
        self.beyond.splice(first..last, [joined]);
        let next = self.beyond.partition_point(|piece| piece.0 <= self.in_order);
        if let Some(furthest) = self.beyond.drain(..next).map(|piece| piece.1).max() {
            self.in_order = self.in_order.max(furthest);
        }
    }

    /// Bytes from `begin` to `end` among it; all from `begin` on without an end.
    pub(crate) fn within(&self, begin: u64, end: Option<u64>) -> u64 {
        let end = end.unwrap_or(u64::MAX);
        let common = |a: u64, b: u64| b.min(end).saturating_sub(a.max(begin));
        common(0, self.in_order) + self.beyond.iter().map(|&(a, b)| common(a, b)).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Rng;

    #[test]
    fn reordered_duplicate_segments_match_byte_list() {
        let mut rng = Rng::stream(7, &[]);
        for _ in 0..300 {
            let (mut received, mut bytes) = (ReceivedBytes::default(), [false; 120]);
            for _ in 0..25 {
                let begin = rng.below(100);
                let end = begin + 1 + rng.below(20);
                received.add(begin, end);
                bytes[begin as usize..end as usize].fill(true);
                for (from, to) in [(0, 120), (10, 60), (37, 38)] {
                    let expected = bytes[from..to].iter().filter(|b| **b).count() as u64;
                    assert_eq!(received.within(from as u64, Some(to as u64)), expected, "{received:?}");
                }
                assert_eq!(received.in_order, bytes.iter().take_while(|b| **b).count() as u64, "{received:?}");
            }
        }
    }
}
