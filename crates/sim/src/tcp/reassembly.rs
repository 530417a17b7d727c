//! Data received out of order: intervals of stream offsets, freshest first as SACK wants them (RFC 2018 section 4).

/// Disjoint, non-adjacent intervals [start, end), ordered by how recently each was extended.
#[derive(Debug, Clone, Default)]
pub struct Reassembly {
    intervals: Vec<(u64, u64)>,
}

impl Reassembly {
    /// Nothing is out of order.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Intervals, freshest first.
    pub fn intervals(&self) -> &[(u64, u64)] {
        &self.intervals
    }

    /// Adds [start, end). Returns true if all of it was there already.
    pub fn insert(&mut self, mut start: u64, mut end: u64) -> bool {
        let known = self.intervals.iter().any(|&(s, e)| s <= start && end <= e);
        self.intervals.retain(|&(s, e)| {
            let touches = s <= end && start <= e;
            if touches {
                start = start.min(s);
                end = end.max(e);
            }
            !touches
        });
        self.intervals.insert(0, (start, end));
        known
    }

    /// In-order data reaches up to `next`: takes out what it covers and returns how far the stream now reaches.
    pub fn advance(&mut self, mut next: u64) -> u64 {
        while let Some(i) = self.intervals.iter().position(|&(s, _)| s <= next) {
            next = next.max(self.intervals.remove(i).1);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_and_keeps_the_freshest_first() {
        let mut r = Reassembly::default();
        assert!(!r.insert(10, 20));
        assert!(!r.insert(30, 40));
        assert!(r.insert(12, 18));
        assert_eq!(r.intervals()[0], (10, 20));
        assert!(!r.insert(20, 30));
        assert_eq!(r.intervals(), [(10, 40)]);
        assert_eq!(r.advance(5), 5);
        assert_eq!(r.advance(10), 40);
        assert!(r.is_empty());
    }
}
