//! The peer's receive buffer, and its report in ACKs (RFC 2018, RFC 2883).

/// A range of sequence numbers: the first, and the one after the last.
pub(super) type Range = (u64, u64);

/// Received parts of the endpoint's stream.
#[derive(Debug, Clone)]
pub(super) struct Receiver {
    /// RCV.NXT: everything before it has arrived.
    pub(super) next: u64,
    /// Blocks beyond a hole, the one with the latest segment first.
    held: Vec<Range>,
}

/// Consequences of a segment for its ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    /// Duplicate part of the segment.
    pub(super) duplicate: Option<Range>,
    /// The ACK must not be delayed.
    pub(super) at_once: bool,
}

impl Receiver {
    /// After the handshake.
    pub(super) fn new() -> Receiver {
        Receiver { next: 1, held: Vec::new() }
    }

    /// A segment arrives.
    pub(super) fn take(&mut self, (start, end): Range) -> Taken {
        if start == end {
            // RFC 9293 section 3.10.7.4: an unacceptable segment, such as a probe with an old number, is answered.
            return Taken { duplicate: None, at_once: start < self.next };
        }
        let duplicate = self.duplicate((start, end));
        let hole = !self.held.is_empty();
        if start > self.next {
            self.hold((start, end));
        } else {
            self.next = self.next.max(end);
            while let Some(i) = self.held.iter().position(|b| b.0 <= self.next) {
                self.next = self.next.max(self.held.remove(i).1);
            }
        }
        // RFC 5681 section 4.2: at once for a segment that is out of order or fills a hole. RFC 2883 section 4: a duplicate is reported by the ACK of
        // its segment.
        Taken { duplicate, at_once: start > self.next || hole || duplicate.is_some() }
    }

    /// RFC 2883 section 4 (2): the first duplicate sequence of bytes in the segment.
    fn duplicate(&self, (start, end): Range) -> Option<Range> {
        if start < self.next {
            return Some((start, end.min(self.next)));
        }
        let held = self.held.iter().filter(|b| b.0 < end && start < b.1).min()?;
        Some((start.max(held.0), end.min(held.1)))
    }

    /// Stores a block beyond a hole, merged with its neighbors.
    fn hold(&mut self, (mut start, mut end): Range) {
        self.held.retain(|b| {
            let apart = b.1 < start || end < b.0;
            if !apart {
                (start, end) = (start.min(b.0), end.max(b.1));
            }
            apart
        });
        // RFC 2018 section 4: the first block is the one with the latest segment, then those reported most recently.
        self.held.insert(0, (start, end));
    }

    /// The blocks of an ACK, up to the maximum number: first the duplicate (RFC 2883 section 4), if there is one, then the stored blocks.
    pub(super) fn blocks(&self, duplicate: Option<Range>, most: usize) -> Vec<Range> {
        duplicate.into_iter().chain(self.held.iter().copied()).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 500 bytes as in the examples of the RFCs, whose streams begin at 5000: each with the ACK that it causes.
    fn acks(segments: &[Range]) -> Vec<(u64, Vec<Range>)> {
        let mut r = Receiver { next: 5000, held: Vec::new() };
        segments
            .iter()
            .map(|&s| {
                let taken = r.take(s);
                (r.next, r.blocks(taken.duplicate, 3))
            })
            .collect()
    }

    /// RFC 2018 section 5, case 3, as the ACKs of the segments that arrive: the 2nd, 4th, 6th and 8th of eight are dropped; then the 4th comes, then
    /// the 2nd.
    #[test]
    fn sack_block_order_rfc_2018() {
        let got = acks(&[(5000, 5500), (6000, 6500), (7000, 7500), (8000, 8500), (6500, 7000), (5500, 6000)]);
        assert_eq!(got[0], (5500, vec![]));
        assert_eq!(got[1], (5500, vec![(6000, 6500)]));
        assert_eq!(got[2], (5500, vec![(7000, 7500), (6000, 6500)]));
        assert_eq!(got[3], (5500, vec![(8000, 8500), (7000, 7500), (6000, 6500)]));
        assert_eq!(got[4], (5500, vec![(6000, 7500), (8000, 8500)]));
        assert_eq!(got[5], (7500, vec![(8000, 8500)]));
    }

    /// RFC 2883 section 4.1: a whole segment twice, within the stream and beyond a hole.
    #[test]
    fn a_duplicate_is_the_first_block() {
        let got = acks(&[(5000, 5500), (5000, 5500), (6000, 6500), (7000, 7500), (6000, 6500), (5000, 5500)]);
        assert_eq!(got[1], (5500, vec![(5000, 5500)]));
        // The duplicate first, then the block that it is a part of (section 4, (4)).
        assert_eq!(got[4], (5500, vec![(6000, 6500), (6000, 6500), (7000, 7500)]));
        assert_eq!(got[5], (5500, vec![(5000, 5500), (6000, 6500), (7000, 7500)]));
    }

    /// RFC 2883 section 4.2: only the duplicate part, and of two such parts the first.
    #[test]
    fn partial_duplicate_reported() {
        let got = acks(&[(5000, 5500), (5000, 6000), (6500, 7000), (7500, 8000), (6500, 8000), (5500, 6500)]);
        assert_eq!(got[1], (6000, vec![(5000, 5500)]));
        assert_eq!(got[4], (6000, vec![(6500, 7000), (6500, 8000)]));
        assert_eq!(got[5], (8000, vec![(5500, 6000)]));
    }

    #[test]
    fn only_in_order_acks_delayed() {
        let mut r = Receiver::new();
        let mut at_once = |s| r.take(s).at_once;
        assert!(!at_once((1, 1001)));
        assert!(at_once((2001, 3001)), "out of order");
        assert!(at_once((1001, 2001)), "fills the hole");
        assert!(!at_once((3001, 4001)));
        assert!(at_once((3001, 4001)), "a duplicate");
        assert!(at_once((4000, 4000)), "a probe of the window");
        assert!(!at_once((4001, 4001)), "a pure ACK");
    }
}
