//! Calendar queue of node activations.
//!
//! A packet takes at least the lookahead L to cross a link. So time is divided into windows of length L, in which each node can be advanced
//! independently. For each of the next 256 windows the calendar holds a bitmap of the nodes that are active in it; later activations wait in a heap.
//! A bit in a bitmap is a *mark*. It may be early (the node has no event and marks itself again), but never late.

use crate::net::arena::Arena;
use forebay_types::{IndexVec, NodeId, Time, TimeOrNever};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

const SPAN: u64 = 256;

/// Marks are exact in windows shorter than this, 2^28 ps: the window of an activation does not depend on when the mark was set.
pub(super) const EXACT: Time = Time(1 << 28);

/// Position of a calendar.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    /// Number of the window.
    pub window: u64,
    /// End of the part of the window that is run.
    pub end: Time,
    /// End of the full window.
    pub full_end: Time,
}

/// Calendar of node activations.
pub(crate) struct Calendar {
    /// Bitmaps of nodes, one per window, of `words` words each.
    bits: Arena<u32, u64>,
    words: usize,
    /// Per window: the groups of 2^`shift` words with a marked node, so that large bitmaps with few active nodes are not scanned. A network with
    /// `shift` 0 has at most 64 words, which are scanned: keeping the groups costs 4 instructions per transmission in the benchmark case s2.
    marked_groups: [u64; SPAN as usize],
    shift: u32,
    /// Windows with a marked node.
    occupied: [u64; 4],
    /// Number of the current window.
    window: u64,
    /// Start of the current window.
    pub(crate) start: Time,
    /// End of the current window, or of the part of it that is run.
    pub(crate) end: Time,
    /// Minimum distance in windows of a mark behind `end`: 0 while `end` is that of a part, otherwise 1.
    min_ahead: u64,
    /// End of the full window while a part of it is run.
    full_end: Time,
    length: Time,
    /// 2^64 / length, for division by multiplication: rounded up where that gives the exact quotient for all times in the calendar.
    inverse: u64,
    far: BinaryHeap<Reverse<(Time, NodeId)>>,
    far_next: TimeOrNever,
    /// Earliest mark of each node in `extra-delay`. A later mark is redundant, because the node marks itself again when it is run.
    far_mark: IndexVec<NodeId, TimeOrNever>,
}

impl Calendar {
    /// Creates a calendar for `nodes` nodes with windows of this length, positioned at the window that starts at 0.
    pub(crate) fn new(nodes: usize, length: Time) -> Calendar {
        let words = nodes.div_ceil(64).max(1);
        Calendar {
            bits: Arena::new(vec![0; words * SPAN as usize]),
            words,
            marked_groups: [0; SPAN as usize],
            shift: words.div_ceil(64).next_power_of_two().trailing_zeros(),
            occupied: [0; 4],
            window: 0,
            start: Time::ZERO,
            end: length,
            min_ahead: 1,
            full_end: Time::ZERO,
            length,
            // For a time x, the quotient of a rounded inverse exceeds the exact one by less than x / 2^64. That does not reach the next integer while
            // x < 2^64 / length; here x < 256 * length.
            inverse: (u64::MAX / length.0).saturating_add(u64::from(length < EXACT)),
            far: BinaryHeap::new(),
            far_next: TimeOrNever::NEVER,
            far_mark: IndexVec::repeat(TimeOrNever::NEVER, nodes),
        }
    }

    /// Marks a node for the window that contains `time`, which is not before the current window.
    #[inline]
    pub(crate) fn mark(&mut self, node: NodeId, time: Time) {
        debug_assert!(time >= self.start);
        self.mark_in(node, time, self.windows_to(time).max(u64::from(time >= self.end) & self.min_ahead));
    }

    /// Marks a node for a time that is not in the current window.
    #[inline(always)]
    pub(crate) fn mark_ahead(&mut self, node: NodeId, time: Time) {
        debug_assert!(time >= self.end);
        self.mark_in(node, time, self.windows_to(time).max(self.min_ahead));
    }

    /// Distance in windows from the current one to that of `time`. For windows of 2^28 ps or more it may be one too small. An early mark is allowed,
    /// except in the current window, where the node would be activated forever without an event.
    #[inline(always)]
    fn windows_to(&self, time: Time) -> u64 {
        ((u128::from((time - self.start).0) * u128::from(self.inverse)) >> 64) as u64
    }

    #[inline(always)]
    fn mark_in(&mut self, node: NodeId, time: Time, ahead: u64) {
        if ahead < SPAN {
            let bucket = ((self.window + ahead) % SPAN) as usize;
            self.bits[(bucket * self.words) as u32 + (node.get() >> 6)] |= 1 << (node.get() & 63);
            if self.shift > 0 {
                self.marked_groups[bucket] |= 1 << (node.get() >> 6 >> self.shift);
            }
            self.occupied[bucket >> 6] |= 1 << (bucket & 63);
        } else if !self.far_mark[node].is_due(time) {
            self.mark_far(node, time);
        }
    }

    #[inline(never)]
    fn mark_far(&mut self, node: NodeId, time: Time) {
        self.far_mark[node] = time.into();
        self.far.push(Reverse((time, node)));
        self.far_next = self.far_next.min(time.into());
    }

    /// Moves to the next window that has a marked node or contains `other`, an event outside the calendar. Returns false if there is neither. The
    /// current window must have been emptied by [`Calendar::take`].
    #[inline(always)]
    pub(crate) fn advance(&mut self, other: TimeOrNever) -> bool {
        let far = self.far_next.min(other);
        let until_far = (far.or_never() - self.start).0;
        // Usually the calendar's own next window comes first, and no division is needed.
        let ahead = match self.next_occupied() {
            Some(near) if until_far >= near * self.length.0 => near,
            _ if far.is_never() => return false,
            _ => until_far / self.length.0,
        };
        self.step(ahead);
        true
    }

    /// Advances by this many windows, of which only the last has marked nodes.
    #[inline(always)]
    fn step(&mut self, ahead: u64) {
        self.window += ahead;
        self.start += self.length * ahead;
        self.end = self.start + self.length;
        while self.far_next < self.end.into() {
            if let Some(Reverse((time, node))) = self.far.pop() {
                if self.far_mark[node] == time.into() {
                    self.far_mark[node] = TimeOrNever::NEVER;
                }
                self.mark(node, self.start);
            }
            self.far_next = self.far.peek().map(|Reverse((t, _))| *t).into();
        }
    }

    /// Moves to the position of another calendar.
    pub(super) fn follow(&mut self, other: Position) {
        self.step(other.window - self.window);
        self.resume_window(other.full_end);
        if other.end < other.full_end {
            self.shorten_window(other.end);
        }
    }

    /// Limits the window to `at`: marks that its nodes set behind `at` stay in this window.
    pub(super) fn shorten_window(&mut self, at: Time) {
        self.full_end = self.window_end();
        (self.end, self.min_ahead) = (at, 0);
    }

    /// Extends a limited window to its end again.
    pub(super) fn resume_window(&mut self, end: Time) {
        (self.end, self.min_ahead) = (end, 1);
    }

    /// End of the full current window.
    pub(super) fn window_end(&self) -> Time {
        if self.min_ahead == 0 { self.full_end } else { self.end }
    }

    /// Length of a window.
    #[inline(always)]
    pub(super) fn length(&self) -> Time {
        self.length
    }

    /// Position of this calendar.
    pub(super) fn place(&self) -> Position {
        Position { window: self.window, end: self.end, full_end: self.window_end() }
    }

    /// Returns true if marks are exact.
    pub(super) fn is_exact(&self) -> bool {
        self.length > Time(1) && self.length < EXACT
    }

    /// A time in the next window with a marked node, after the current window has been run.
    pub(super) fn next(&self) -> TimeOrNever {
        let near = self.next_occupied().map(|ahead| self.start + self.length * ahead);
        self.far_next.min(near.into())
    }

    /// Removes all marks and passes each to `to`, with a time in its window.
    pub(super) fn drain_marks(&mut self, mut to: impl FnMut(NodeId, Time)) {
        // Usually there are none.
        let near = if self.occupied == [0; 4] { 0 } else { SPAN };
        for ahead in 0..near {
            let bucket = ((self.window + ahead) % SPAN) as usize;
            if self.occupied[bucket >> 6] >> (bucket & 63) & 1 == 0 {
                continue;
            }
            self.occupied[bucket >> 6] &= !(1 << (bucket & 63));
            self.marked_groups[bucket] = 0;
            for word in 0..self.words {
                let mut bits = std::mem::take(&mut self.bits[(bucket * self.words + word) as u32]);
                while bits != 0 {
                    to(NodeId::new((word as u32) << 6 | bits.trailing_zeros()), self.start + self.length * ahead);
                    bits &= bits - 1;
                }
            }
        }
        while let Some(Reverse((time, node))) = self.far.pop() {
            self.far_mark[node] = TimeOrNever::NEVER;
            to(node, time);
        }
        self.far_next = TimeOrNever::NEVER;
    }

    /// Distance in windows from the current one to the next with a marked node.
    #[inline(always)]
    fn next_occupied(&self) -> Option<u64> {
        let first = (self.window % SPAN) as usize;
        let mut offset = 0;
        while offset < SPAN as usize + 64 {
            let bucket = (first + offset) % SPAN as usize;
            let word = self.occupied[bucket >> 6] >> (bucket & 63);
            if word != 0 {
                let ahead = offset as u64 + u64::from(word.trailing_zeros());
                return (ahead < SPAN).then_some(ahead);
            }
            offset += 64 - (bucket & 63);
        }
        None
    }

    /// Words of a bitmap.
    #[inline]
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// The next range of words of the current window's bitmap, from word `from` on and below `limit`, that has a marked node.
    #[inline(always)]
    pub(crate) fn next_words(&mut self, from: usize, limit: usize) -> Option<Range<usize>> {
        if from >= limit {
            return None;
        }
        if self.shift == 0 {
            return Some(from..limit);
        }
        let (marked_groups, group) = (&mut self.marked_groups[(self.window % SPAN) as usize], from >> self.shift);
        let rest = *marked_groups >> group;
        if rest == 0 {
            return None;
        }
        let group = group + rest.trailing_zeros() as usize;
        *marked_groups &= !(1 << group);
        let first = group << self.shift;
        Some(first.min(limit)..(first + (1 << self.shift)).min(limit))
    }

    /// Takes one word of the current window's bitmap: nodes `64 * word..`. A mark that a running node sets for the current window is redundant: it
    /// takes effect when the bucket is used again.
    #[inline]
    pub(crate) fn take(&mut self, word: usize) -> u64 {
        let index = (self.window % SPAN) as usize * self.words + word;
        std::mem::take(&mut self.bits[index as u32])
    }

    /// Ends the current window.
    #[inline]
    pub(crate) fn finish(&mut self) {
        let bucket = (self.window % SPAN) as usize;
        self.occupied[bucket >> 6] &= !(1 << (bucket & 63));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequences::each_sequence;

    /// Two calendars, one of which passes its marks to the other, activate the same nodes in the same windows as one that has all marks, also if
    /// marks are set in between.
    #[test]
    fn marks_are_exact_in_short_windows() {
        for length in [3, 1000, 1_032_000, 50_000_000, EXACT.0 - 1] {
            let times: Vec<u64> = (0..400).map(|i| i * 7 % 300 * length + [0, 1, length - 1][i as usize % 3]).collect();
            let mut early = Calendar::new(400, Time(length));
            times.iter().zip(0..).for_each(|(&time, i)| early.mark(NodeId::new(i), Time(time)));
            let mut late = Calendar::new(400, Time(length));
            early.drain_marks(|node, time| late.mark(node, time));
            assert!(early.next().is_never());
            while late.advance(TimeOrNever::NEVER) {
                early.follow(late.place());
                let mut from = 0;
                while let Some(some) = late.next_words(from, late.words()) {
                    from = some.end;
                    for word in some {
                        let mut bits = late.take(word);
                        while bits != 0 {
                            let node = word * 64 + bits.trailing_zeros() as usize;
                            bits &= bits - 1;
                            let time = Time(times[node]);
                            assert!(late.start <= time && time < late.end, "{length}: {node} at {time:?}");
                        }
                    }
                }
                late.finish();
                assert!(late.next().is_never() || late.next() >= late.end.into());
            }
        }
    }

    /// Every mark takes effect in the window that holds its time or, by rounding, the one before it.
    #[test]
    fn marks_are_never_late() {
        // A small network and two large ones.
        let networks = [1, 40, 531].map(|apart| [1, 3, 1000, 1_032_000, 50_000_000].map(|length| (apart, length)));
        for (apart, length) in networks.into_iter().flatten() {
            let mut calendar = Calendar::new(130 * apart as usize, Time(length));
            let mut pending: Vec<(u32, Time)> = Vec::new();
            for i in 0..130u32 {
                let time = Time((u64::from(i) * 7_919 * length) / (1 + u64::from(i % 5) * 40));
                calendar.mark(NodeId::new(i * apart), time);
                pending.push((i * apart, time));
            }
            while calendar.advance(TimeOrNever::NEVER) {
                let mut from = 0;
                while let Some(some) = calendar.next_words(from, calendar.words()) {
                    from = some.end;
                    for word in some {
                        let mut bits = calendar.take(word);
                        while bits != 0 {
                            let node = word as u32 * 64 + bits.trailing_zeros();
                            bits &= bits - 1;
                            let (_, time) = *pending.iter().find(|p| p.0 == node).unwrap();
                            if time < calendar.end {
                                assert!(time >= calendar.start, "late: {node}");
                                pending.retain(|p| p.0 != node);
                            } else {
                                calendar.mark(NodeId::new(node), time.max(calendar.end));
                            }
                        }
                    }
                }
                calendar.finish();
            }
            assert!(pending.is_empty(), "{length}: {pending:?}");
        }
    }

    /// A window that is run in parts keeps the marks in its rest, also in a calendar that follows another one.
    #[test]
    fn partial_windows_keep_marks() {
        for length in [3, 1000, 50_000_000, EXACT.0 - 1] {
            let (mut lead, mut calendar) = (Calendar::new(1, Time(length)), Calendar::new(1, Time(length)));
            let (start, at) = (7 * length, 7 * length + length / 2);
            calendar.mark(NodeId::new(0), Time(start));
            assert!(lead.advance(Time(start).into()));
            lead.shorten_window(Time(at));
            calendar.follow(lead.place());
            assert_eq!((calendar.end, calendar.window_end()), (Time(at), Time(8 * length)));
            assert_eq!(calendar.take(0), 1);
            calendar.mark_ahead(NodeId::new(0), Time(at));
            calendar.finish();
            lead.resume_window(Time(8 * length));
            calendar.follow(lead.place());
            assert_eq!((calendar.start, calendar.end, calendar.window_end()), (Time(start), Time(8 * length), Time(8 * length)));
            assert_eq!(calendar.take(0), 1);
            calendar.mark_ahead(NodeId::new(0), Time(8 * length));
            calendar.finish();
            assert!(calendar.advance(TimeOrNever::NEVER) && calendar.start == Time(8 * length) && calendar.take(0) == 1);
        }
    }

    /// Calendar: all sets of three marks, one for each of three nodes, at twelve times in the near windows, at their edges and far beyond the span. Each
    /// node is run in the window that holds its time, and in no other.
    #[test]
    fn exhaustive_marks_run_in_their_window() {
        const LENGTH: u64 = 10;
        let times = [0, 9, 10, 11, 19, 20, 25, 10 * (SPAN - 1), 10 * SPAN - 1, 10 * SPAN, 10 * SPAN + 1, 30 * SPAN + 5];
        each_sequence(times.len() as u8, 3, |word| {
            let mut calendar = Calendar::new(3, Time(LENGTH));
            let time = |node: usize| times[usize::from(word[node])];
            (0..3).for_each(|node| calendar.mark(NodeId::new(node as u32), Time(time(node))));
            let mut pending = vec![0, 1, 2];
            while calendar.advance(TimeOrNever::NEVER) {
                let bits = calendar.take(0);
                for node in (0..3).filter(|node| bits >> node & 1 == 1) {
                    let window = calendar.start.0..calendar.end.0;
                    assert!(window.contains(&time(node)), "{word:?}: node {node} in {window:?}");
                    pending.retain(|other| *other != node);
                }
                calendar.finish();
            }
            assert!(pending.is_empty(), "{word:?}: {pending:?} never run");
        });
    }
}
