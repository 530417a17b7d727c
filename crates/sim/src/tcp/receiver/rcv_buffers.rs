//! Buffers of contiguous segments (`struct sk_buff`) at a receiver: TCP coalesces a segment with the buffer that ends where it begins (tcp_try_coalesce).

use crate::net::packet;

/// Segments of a buffer.
const MAX_SEGMENTS: u8 = packet::MAX_SEGMENTS as u8;
/// No buffer.
const NONE: u32 = u32::MAX;

/// A buffer, linked with the next of its run or, if it is not in use, with the next free one.
#[derive(Debug, Clone, Copy)]
struct Buffer {
    next: u32,
    segments: u8,
}

/// Buffers of a run of contiguous segments, in order of their offsets: the first and the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    first: u32,
    last: u32,
}

/// All buffers of a receiver, also free ones, which are used again.
#[derive(Debug, Clone)]
pub(super) struct Buffers {
    all: Vec<Buffer>,
    free: u32,
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers { all: Vec::new(), free: NONE }
    }
}

impl Buffers {
    /// A run of one buffer of `segments`. A buffer with a list of others (`frag_list`) is full.
    pub(super) fn single(&mut self, segments: u32) -> Run {
        let buffer = Buffer { next: NONE, segments: segments.min(MAX_SEGMENTS.into()) as u8 };
        let index = self.free;
        if let Some(unused) = self.all.get_mut(index as usize) {
            self.free = unused.next;
            *unused = buffer;
            return Run { first: index, last: index };
        }
        self.all.push(buffer);
        let index = self.all.len() as u32 - 1;
        Run { first: index, last: index }
    }

    /// Adds a buffer of `segments` behind the last of `run`. Returns true if it is coalesced with that.
    pub(super) fn append(&mut self, run: &mut Run, segments: u32) -> bool {
        let last = &mut self.all[run.last as usize];
        let joins = u32::from(last.segments) + segments <= u32::from(MAX_SEGMENTS);
        if joins {
            last.segments += segments as u8;
        } else {
            let next = self.single(segments);
            self.join(run, next);
        }
        joins
    }

    /// Adds the buffers of the run behind `run`.
    pub(super) fn join(&mut self, run: &mut Run, next: Run) {
        self.all[run.last as usize].next = next.first;
        run.last = next.last;
    }

    /// Frees the buffers of `run`.
    pub(super) fn release(&mut self, run: Run) {
        self.all[run.last as usize].next = self.free;
        self.free = run.first;
    }

    /// Segments in each buffer of `run`.
    fn segments(&self, run: Run) -> impl Iterator<Item = u8> {
        let mut next = run.first;
        std::iter::from_fn(move || {
            let buffer = self.all.get(next as usize)?;
            next = if next == run.last { NONE } else { buffer.next };
            Some(buffer.segments)
        })
    }

    /// Buffers that the application finds when a segment fills the hole before `run`: each buffer is coalesced with the one before it where both fit
    /// into one (tcp_ofo_queue).
    pub(super) fn after_hole(&self, run: Run) -> AfterHole {
        let (mut first, mut coalesced, mut tail) = (None, 0, 1);
        for buffer in self.segments(run) {
            if tail + buffer <= MAX_SEGMENTS {
                (tail, coalesced) = (tail + buffer, coalesced + 1);
            } else {
                first.get_or_insert(tail);
                tail = buffer;
            }
        }
        AfterHole { absorbed: u32::from(first.unwrap_or(tail) - 1), coalesced }
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

    fn found(segments: &[u8]) -> (u32, u32) {
        let mut buffers = Buffers::default();
        let runs: Vec<Run> = segments
            .iter()
            .map(|&n| {
                let mut run = buffers.single(1);
                (1..n).for_each(|_| assert!(buffers.append(&mut run, 1)));
                run
            })
            .collect();
        let mut all = runs[0];
        runs[1..].iter().for_each(|&run| buffers.join(&mut all, run));
        let found = buffers.after_hole(all);
        (found.absorbed, found.coalesced)
    }

    /// skb_try_coalesce: a buffer has 17 fragments beside its first segment.
    #[test]
    fn buffer_holds_eighteen_segments() {
        let mut buffers = Buffers::default();
        let mut run = buffers.single(1);
        let coalesced = (1..40).filter(|_| buffers.append(&mut run, 1)).count();
        assert_eq!((coalesced, buffers.segments(run).collect::<Vec<_>>()), (37, vec![18, 18, 4]));
    }

    #[test]
    fn hole_filler_absorbs_what_fits() {
        assert_eq!(found(&[17]), (17, 1));
        assert_eq!(found(&[18, 3]), (0, 0));
        assert_eq!(found(&[7, 18, 4]), (7, 1));
        assert_eq!(found(&[1, 1, 1, 14, 1]), (17, 4));
        // The fourth fits behind the third.
        assert_eq!(found(&[10, 9, 5, 4]), (10, 3));
        // Retransmissions of every second segment: eight buffers join the filler, and then nine make one, five times, less the first of each.
        assert_eq!(found(&[2; 53]), (16, 8 + 5 * 8));
    }

    #[test]
    fn released_buffers_are_used_again() {
        let mut buffers = Buffers::default();
        for _ in 0..10 {
            let mut run = buffers.single(1);
            (1..40).for_each(|_| _ = buffers.append(&mut run, 1));
            let other = buffers.single(1);
            buffers.release(run);
            assert_eq!(buffers.segments(other).collect::<Vec<_>>(), [1]);
            buffers.release(other);
        }
        assert_eq!(buffers.all.len(), 4);
    }
}
