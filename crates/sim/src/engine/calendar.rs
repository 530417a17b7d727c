//! When each node has to be looked at next: a calendar of windows.
//!
//! No packet crosses a link in less than the lookahead L, so time is cut into windows of length L, and inside one window every
//! node can be advanced on its own. The calendar holds, for each of the next 256 windows, a bitmap of the nodes that have something
//! to do in it; what lies further ahead waits in a heap. Marks may be early (the node finds nothing and marks again), never late.

use crate::net::arena::Arena;
use forebay_units::{IndexVec, NodeId, Time, TimeOrNever};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

const SPAN: u64 = 256;

/// Marks are exact in windows shorter than this, 2^28 ps: what window a node is looked at in then does not depend on when it was marked.
pub(super) const EXACT: Time = Time(1 << 28);

/// Position of a calendar.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    /// Number of the window.
    pub window: u64,
    /// End of the part of it that is run.
    pub end: Time,
    /// End of the whole window.
    pub whole: Time,
}

/// Calendar of node activations.
pub(crate) struct Calendar {
    /// Bitmaps over nodes, one per window, `words` words each.
    bits: Arena<u32, u64>,
    words: usize,
    /// Per window of a large network, where any node is marked: a bit for 2^`shift` words of the bitmap, so that it is not looked through for few
    /// busy nodes. Where `shift` is 0 it has 64 words or less and is looked through: to note where something is takes 4 instructions a transmission of
    /// the benchmark's case s2.
    filled: [u64; SPAN as usize],
    shift: u32,
    /// Which windows have any node.
    occupied: [u64; 4],
    /// Number of the current window.
    window: u64,
    /// Start of the current window.
    pub(crate) start: Time,
    /// End of the current window, or of the part of it that is run.
    pub(crate) end: Time,
    /// How many windows ahead a mark behind the end is at least: none while the end is that of a part.
    least: u64,
    /// End of the current window while a part of it is run.
    whole: Time,
    length: Time,
    /// 2^64 / length, for dividing by multiplication: rounded up where that gives the exact quotient for all times in the calendar.
    inverse: u64,
    far: BinaryHeap<Reverse<(Time, NodeId)>>,
    far_next: TimeOrNever,
    /// Per node: its earliest mark in `far`; a later one adds nothing, for the node marks itself again when it has been looked at.
    far_of: IndexVec<NodeId, TimeOrNever>,
}

impl Calendar {
    /// A calendar for `nodes` nodes with windows of this length, standing in the window that starts at 0.
    pub(crate) fn new(nodes: usize, length: Time) -> Calendar {
        let words = nodes.div_ceil(64).max(1);
        Calendar {
            bits: Arena::new(vec![0; words * SPAN as usize]),
            words,
            filled: [0; SPAN as usize],
            shift: words.div_ceil(64).next_power_of_two().trailing_zeros(),
            occupied: [0; 4],
            window: 0,
            start: Time::ZERO,
            end: length,
            least: 1,
            whole: Time::ZERO,
            length,
            // With x the time, the quotient of a rounded inverse exceeds the exact one by less than x / 2^64, which does not reach the next
            // whole number while x < 2^64 / length; here x < 256 * length.
            inverse: (u64::MAX / length.0).saturating_add(u64::from(length < EXACT)),
            far: BinaryHeap::new(),
            far_next: TimeOrNever::NEVER,
            far_of: IndexVec::repeat(TimeOrNever::NEVER, nodes),
        }
    }

    /// The node must be looked at in the window that contains `time`, which is not before the current window.
    #[inline]
    pub(crate) fn mark(&mut self, node: NodeId, time: Time) {
        debug_assert!(time >= self.start);
        self.mark_in(node, time, self.windows_to(time).max(u64::from(time >= self.end) & self.least));
    }

    /// The same of a time that is not in the current window.
    #[inline(always)]
    pub(crate) fn mark_ahead(&mut self, node: NodeId, time: Time) {
        debug_assert!(time >= self.end);
        self.mark_in(node, time, self.windows_to(time).max(self.least));
    }

    /// Windows from the current one to that of `time`. In windows of 2^28 ps or more it may be one too few: early, which is allowed, except back into
    /// the current window, where the node would find nothing again and again.
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
                self.filled[bucket] |= 1 << (node.get() >> 6 >> self.shift);
            }
            self.occupied[bucket >> 6] |= 1 << (bucket & 63);
        } else if !self.far_of[node].has_come(time) {
            self.mark_far(node, time);
        }
    }

    #[inline(never)]
    fn mark_far(&mut self, node: NodeId, time: Time) {
        self.far_of[node] = time.into();
        self.far.push(Reverse((time, node)));
        self.far_next = self.far_next.min(time.into());
    }

    /// Moves to the next window that has a node marked or contains `other` (an event outside the calendar). False when there is
    /// neither. The current window must have been emptied by [`Calendar::take`].
    #[inline(always)]
    pub(crate) fn advance(&mut self, other: TimeOrNever) -> bool {
        let far = self.far_next.min(other);
        let until_far = (far.or_never() - self.start).0;
        // Mostly the calendar's own next window comes first, and the division is not needed.
        let ahead = match self.next_occupied() {
            Some(near) if until_far >= near * self.length.0 => near,
            _ if far.is_never() => return false,
            _ => until_far / self.length.0,
        };
        self.step(ahead);
        true
    }

    /// Moves on by so many windows, in none of which but the last a node is marked.
    #[inline(always)]
    fn step(&mut self, ahead: u64) {
        self.window += ahead;
        self.start += self.length * ahead;
        self.end = self.start + self.length;
        while self.far_next < self.end.into() {
            if let Some(Reverse((time, node))) = self.far.pop() {
                if self.far_of[node] == time.into() {
                    self.far_of[node] = TimeOrNever::NEVER;
                }
                self.mark(node, self.start);
            }
            self.far_next = self.far.peek().map(|Reverse((t, _))| *t).into();
        }
    }

    /// Moves to the position of another calendar.
    pub(super) fn follow(&mut self, other: Position) {
        self.step(other.window - self.window);
        self.resume_window(other.whole);
        if other.end < other.whole {
            self.shorten_window(other.end);
        }
    }

    /// The window is run as far as `at` first: what its nodes mark in the rest of it stays there.
    pub(super) fn shorten_window(&mut self, at: Time) {
        self.whole = self.window_end();
        (self.end, self.least) = (at, 0);
    }

    /// From here on the window is run to its end.
    pub(super) fn resume_window(&mut self, end: Time) {
        (self.end, self.least) = (end, 1);
    }

    /// End of the current window, also while a part of it is run.
    pub(super) fn window_end(&self) -> Time {
        if self.least == 0 { self.whole } else { self.end }
    }

    /// Length of a window.
    #[inline(always)]
    pub(super) fn length(&self) -> Time {
        self.length
    }

    /// Position of this calendar.
    pub(super) fn place(&self) -> Position {
        Position { window: self.window, end: self.end, whole: self.window_end() }
    }

    /// Whether marks are exact.
    pub(super) fn is_exact(&self) -> bool {
        self.length > Time(1) && self.length < EXACT
    }

    /// A time in the next window that has a node marked, the current one having been worked off.
    pub(super) fn next(&self) -> TimeOrNever {
        let near = self.next_occupied().map(|ahead| self.start + self.length * ahead);
        self.far_next.min(near.into())
    }

    /// Gives all marks away, each with a time in its window.
    pub(super) fn drain_marks(&mut self, mut to: impl FnMut(NodeId, Time)) {
        // Mostly there are none.
        let near = if self.occupied == [0; 4] { 0 } else { SPAN };
        for ahead in 0..near {
            let bucket = ((self.window + ahead) % SPAN) as usize;
            if self.occupied[bucket >> 6] >> (bucket & 63) & 1 == 0 {
                continue;
            }
            self.occupied[bucket >> 6] &= !(1 << (bucket & 63));
            self.filled[bucket] = 0;
            for word in 0..self.words {
                let mut bits = std::mem::take(&mut self.bits[(bucket * self.words + word) as u32]);
                while bits != 0 {
                    to(NodeId::new((word as u32) << 6 | bits.trailing_zeros()), self.start + self.length * ahead);
                    bits &= bits - 1;
                }
            }
        }
        while let Some(Reverse((time, node))) = self.far.pop() {
            self.far_of[node] = TimeOrNever::NEVER;
            to(node, time);
        }
        self.far_next = TimeOrNever::NEVER;
    }

    /// Windows from the current one to the next occupied one.
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

    /// The next words of the current window's bitmap, from word `from` on and below `limit`, among which a node is marked.
    #[inline(always)]
    pub(crate) fn next_words(&mut self, from: usize, limit: usize) -> Option<Range<usize>> {
        if from >= limit {
            return None;
        }
        if self.shift == 0 {
            return Some(from..limit);
        }
        let (filled, group) = (&mut self.filled[(self.window % SPAN) as usize], from >> self.shift);
        let rest = *filled >> group;
        if rest == 0 {
            return None;
        }
        let group = group + rest.trailing_zeros() as usize;
        *filled &= !(1 << group);
        let first = group << self.shift;
        Some(first.min(limit)..(first + (1 << self.shift)).min(limit))
    }

    /// Takes one word of the current window's bitmap: nodes `64 * word..`. A mark that a node sets for the current window, in which it is
    /// being worked on, is one too many: it comes up when the same place of the calendar does again.
    #[inline]
    pub(crate) fn take(&mut self, word: usize) -> u64 {
        let index = (self.window % SPAN) as usize * self.words + word;
        std::mem::take(&mut self.bits[index as u32])
    }

    /// The current window has been worked off.
    #[inline]
    pub(crate) fn finish(&mut self) {
        let bucket = (self.window % SPAN) as usize;
        self.occupied[bucket >> 6] &= !(1 << (bucket & 63));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two calendars, one of which gives its marks to the other, look at the same nodes in the same windows as one that has all marks, also if
    /// marks are set anew in between.
    #[test]
    fn marks_are_exact_whenever_they_are_set() {
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

    /// Every mark comes up in the window that holds its time or, by rounding, the one before it.
    #[test]
    fn nothing_is_late() {
        // A small network, and two large ones.
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

    /// A window that is run in parts, also by a calendar that follows another one, keeps the marks in its rest.
    #[test]
    fn parts_of_windows_keep_marks() {
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
}
