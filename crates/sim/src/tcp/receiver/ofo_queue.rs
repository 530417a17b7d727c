//! Out-of-order queue: intervals of stream offsets, the most recent first as SACK reports them (RFC 2018 section 4).
//!
//! A segment that begins at the end of a buffer is coalesced with it, up to 18 in one, which saves memory (tcp_ooo_try_coalesce, skb_try_coalesce). One that ends where a buffer begins is not.

use super::rcv_buffers::{AfterHole, Buffers, Run, Tail};
use super::sack_list::SackList;
use super::truesize::Stored;
use crate::net::packet::MAX_SEGMENTS;
use std::collections::VecDeque;

/// No slot.
const NONE: u32 = u32::MAX;

/// Data [start, end), linked with the intervals touched just after and just before it.
#[derive(Debug, Clone, Copy)]
struct Interval {
    start: u64,
    end: u64,
    newer: u32,
    /// In a free slot, the next free one.
    older: u32,
    run: Run,
    /// Memory of its buffers.
    memory: u32,
}

/// Out-of-order data of one receiver. It is allocated when the first segment arrives out of order, because most connections never need it.
#[derive(Debug, Clone, Default)]
pub(super) struct OfoQueue(Option<Box<Intervals>>);

impl OfoQueue {
    /// Returns true if no data is out of order.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|i| i.sorted.is_empty())
    }

    /// Returns true if no data is out of order and no D-SACK is to be sent.
    #[inline]
    pub(super) fn is_clear(&self) -> bool {
        self.0.as_ref().is_none_or(|i| i.sorted.is_empty() && i.dsack.is_none())
    }

    /// Sets the sequence numbers that the next ACK reports as D-SACK.
    pub(super) fn set_dsack(&mut self, numbers: (u32, u32)) {
        self.0.get_or_insert_default().dsack = Some(numbers);
    }

    /// The D-SACK to send, which is removed.
    pub(super) fn take_dsack(&mut self) -> Option<(u32, u32)> {
        self.0.as_mut()?.dsack.take()
    }

    /// Bytes in all intervals.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |i| i.bytes)
    }

    /// Intervals, the most recent first.
    pub(super) fn intervals(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().flat_map(|i| i.newest_first())
    }

    /// The SACK list that Linux keeps.
    pub(super) fn sack_list(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().flat_map(|i| i.sack_list.iter())
    }

    /// Returns true if [start, end) belongs to none of the recent blocks of the SACK list: see [`SackList::misses_recent_blocks`].
    pub(super) fn misses_recent_blocks(&self, start: u64, end: u64) -> bool {
        self.0.as_ref().is_some_and(|i| i.sack_list.misses_recent_blocks(start, end))
    }

    /// Notes that the last buffer of the receive queue will have `segments`, and `room` behind them, with the segment that is about to be processed.
    pub(super) fn set_tail(&mut self, segments: u32, room: u32) {
        if let Some(i) = &mut self.0 {
            i.tail = Tail { segments: segments.clamp(1, MAX_SEGMENTS) as u8, room: room.min(u16::MAX.into()) as u16 };
        }
    }

    /// Extends an older block of the SACK list: see [`SackList::extend_older_block`].
    pub(super) fn extend_older_block(&mut self, start: u64, end: u64) {
        if let Some(i) = &mut self.0 {
            i.sack_list.extend_older_block(start, end);
        }
    }

    /// Memory of all buffers.
    #[inline]
    pub(super) fn memory(&self) -> u32 {
        self.0.as_ref().map_or(0, |i| i.memory)
    }

    /// Effects of the segment that filled the last hole.
    pub(super) fn after_hole(&self) -> AfterHole {
        self.0.as_ref().map_or_else(AfterHole::default, |i| i.after_hole)
    }

    //= https://www.rfc-editor.org/rfc/rfc2018#section-4
    //# The first SACK block (i.e., the one immediately following the kind and length fields in the option) MUST specify
    //# the contiguous block of data containing the segment which triggered this ACK, unless that segment advanced the
    //# Acknowledgment Number field in the header.
    /// Adds [start, end) of `packet`, also to the list that Linux keeps if `keeps_sack_list`.
    pub(super) fn insert(&mut self, start: u64, end: u64, packet: Stored, keeps_sack_list: bool) {
        let intervals = self.0.get_or_insert_default();
        if keeps_sack_list {
            intervals.sack_list.insert(start, end);
        }
        intervals.insert(start, end, &packet);
    }

    /// The first part of [start, end) that is in the queue.
    pub(super) fn find_duplicate(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        self.0.as_ref().and_then(|i| i.find_duplicate(start, end))
    }

    /// Removes the data that the stream, in order up to `next`, has reached. Returns how far the stream reaches with it.
    pub(super) fn advance(&mut self, next: u64) -> u64 {
        self.0.as_mut().map_or(next, |i| {
            let next = i.advance(next);
            i.sack_list.advance(next);
            next
        })
    }
}

/// Disjoint, non-adjacent intervals in two orders: by offset, to find those that a segment touches, and by time of the last change, to report them.
#[derive(Debug, Clone)]
struct Intervals {
    slots: Vec<Interval>,
    /// Slots in order of offsets.
    sorted: VecDeque<u32>,
    newest: u32,
    free: u32,
    /// Total length.
    bytes: u64,
    sack_list: SackList,
    buffers: Buffers,
    /// Memory of all buffers.
    memory: u32,
    /// The last buffer of the receive queue once the next segment in order is there.
    tail: Tail,
    /// Buffers that left the queue last.
    after_hole: AfterHole,
    /// D-SACK of the next ACK, in sequence numbers.
    dsack: Option<(u32, u32)>,
}

impl Default for Intervals {
    fn default() -> Intervals {
        Intervals {
            slots: Vec::new(),
            sorted: VecDeque::new(),
            newest: NONE,
            free: NONE,
            bytes: 0,
            sack_list: SackList::default(),
            buffers: Buffers::default(),
            memory: 0,
            tail: Tail { segments: 1, room: 0 },
            after_hole: AfterHole::default(),
            dsack: None,
        }
    }
}

impl Intervals {
    fn newest_first(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut next = self.newest;
        std::iter::from_fn(move || {
            let interval = self.slots.get(next as usize)?;
            next = interval.older;
            Some((interval.start, interval.end))
        })
    }

    fn find_duplicate(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        // The first interval found may only be adjacent.
        let reached = self.sorted.range(self.find_slot(start)..).map(|&slot| self.at(slot)).find(|i| i.end > start)?;
        (reached.start < end).then(|| (reached.start.max(start), reached.end.min(end)))
    }

    fn insert(&mut self, start: u64, end: u64, packet: &Stored) {
        // Common case: it extends the interval changed last, which is the highest.
        if self.sorted.back() == Some(&self.newest)
            && let last = &mut self.slots[self.newest as usize]
            && last.end == start
        {
            last.end = end;
            self.bytes += end - start;
            let added = self.buffers.append(&mut last.run, packet);
            last.memory += added;
            self.memory += added;
            return;
        }
        let first = self.find_slot(start);
        let touched = self.sorted.range(first..).take_while(|&&slot| self.at(slot).start <= end).count();
        if touched == 0 {
            let slot = self.occupy(start, end, packet);
            self.sorted.insert(first, slot);
            self.link(slot);
            return;
        }
        // The first interval touched absorbs the others.
        let slot = self.sorted[first];
        let last = self.at(self.sorted[first + touched - 1]).end;
        let interval = &mut self.slots[slot as usize];
        let mut added = 0;
        if interval.end == start {
            added = self.buffers.append(&mut interval.run, packet);
        } else if start < interval.start {
            let mut run = self.buffers.single(packet);
            self.buffers.join(&mut run, interval.run);
            interval.run = run;
            added = packet.memory;
        } else if interval.end < end {
            let next = self.buffers.single(packet);
            self.buffers.join(&mut interval.run, next);
            added = packet.memory;
        }
        // Buffers that `packet` covers are dropped (tcp_data_queue_ofo).
        if start <= interval.start && interval.start < end && interval.end <= end && added > 0 {
            self.memory -= std::mem::take(&mut interval.memory);
        }
        interval.memory += added;
        self.memory += added;
        for _ in 1..touched {
            if let Some(other) = self.sorted.remove(first + 1) {
                let covered = self.at(other).start < end && self.at(other).end <= end;
                let memory = if covered { 0 } else { self.at(other).memory };
                let Interval { run, .. } = *self.at(other);
                let interval = &mut self.slots[slot as usize];
                self.buffers.join(&mut interval.run, run);
                interval.memory += memory;
                self.memory += memory;
                self.unlink(other);
                self.release(other);
            }
        }
        let interval = &mut self.slots[slot as usize];
        let before = interval.end - interval.start;
        interval.start = interval.start.min(start);
        interval.end = last.max(end);
        self.bytes += interval.end - interval.start - before;
        if slot != self.newest {
            self.unlink(slot);
            self.link(slot);
        }
    }

    fn advance(&mut self, mut next: u64) -> u64 {
        self.after_hole = AfterHole::default();
        while let Some(&slot) = self.sorted.front()
            && self.at(slot).start <= next
        {
            let Interval { run, end, .. } = *self.at(slot);
            self.after_hole = self.buffers.after_hole(run, self.tail);
            self.buffers.release(run);
            next = next.max(end);
            self.sorted.pop_front();
            self.unlink(slot);
            self.release(slot);
        }
        next
    }

    fn at(&self, slot: u32) -> &Interval {
        &self.slots[slot as usize]
    }

    /// Position in the order of offsets of the first interval that ends at `start` or above.
    fn find_slot(&self, start: u64) -> usize {
        // Common cases: the last interval, or none.
        match self.sorted.back().map(|&slot| self.at(slot)) {
            Some(last) if last.end < start => self.sorted.len(),
            Some(last) if last.start <= start => self.sorted.len() - 1,
            _ => self.sorted.partition_point(|&slot| self.at(slot).end < start),
        }
    }

    fn occupy(&mut self, start: u64, end: u64, packet: &Stored) -> u32 {
        let run = self.buffers.single(packet);
        let interval = Interval { start, end, newer: NONE, older: NONE, run, memory: packet.memory };
        self.bytes += end - start;
        self.memory += packet.memory;
        let slot = self.free;
        if slot == NONE {
            self.slots.push(interval);
            return self.slots.len() as u32 - 1;
        }
        self.free = self.at(slot).older;
        self.slots[slot as usize] = interval;
        slot
    }

    fn release(&mut self, slot: u32) {
        self.bytes -= self.at(slot).end - self.at(slot).start;
        self.memory -= self.at(slot).memory;
        self.slots[slot as usize].older = self.free;
        self.free = slot;
    }

    /// Makes an interval that is not linked the newest.
    fn link(&mut self, slot: u32) {
        let before = std::mem::replace(&mut self.newest, slot);
        if before != NONE {
            self.slots[before as usize].newer = slot;
        }
        let interval = &mut self.slots[slot as usize];
        (interval.newer, interval.older) = (NONE, before);
    }

    fn unlink(&mut self, slot: u32) {
        let Interval { newer, older, .. } = *self.at(slot);
        match newer {
            NONE => self.newest = older,
            _ => self.slots[newer as usize].older = older,
        }
        if older != NONE {
            self.slots[older as usize].newer = newer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequences::{each_sequence, interval, offsets};

    const ONE: Stored = Stored { segments: 1, len: 1_448, memory: 2_304, room: 164 };
    use crate::net::packet::SAVED;
    use forebay_types::Rng;

    fn all(r: &OfoQueue) -> Vec<(u64, u64)> {
        r.intervals().collect()
    }

    #[test]
    fn merges_and_keeps_the_newest_first() {
        let mut r = OfoQueue::default();
        r.insert(10, 20, ONE, false);
        r.insert(30, 40, ONE, false);
        r.insert(12, 18, ONE, false);
        assert_eq!(all(&r)[0], (10, 20));
        r.insert(20, 30, ONE, false);
        assert_eq!(all(&r), [(10, 40)]);
        assert_eq!(r.advance(5), 5);
        assert_eq!(r.advance(10), 40);
        assert!(r.is_empty());
    }

    const MSS: u64 = 1_448;

    fn saved_by(segments: impl IntoIterator<Item = u64>) -> u32 {
        let mut r = OfoQueue::default();
        let count = segments.into_iter().map(|n| r.insert(n * MSS, (n + 1) * MSS, ONE, true)).count();
        (count as u32 * ONE.memory - r.memory()) / SAVED
    }

    /// skb_try_coalesce: 17 fragments beside the first segment of a buffer, so 30 segments are two buffers.
    #[test]
    fn coalesces_up_to_eighteen_segments() {
        assert_eq!(saved_by(1..=18), 17);
        assert_eq!(saved_by(1..=19), 17);
        assert_eq!(saved_by(1..=30), 28);
    }

    /// tcp_data_queue_ofo tries the buffer before a segment, and never the one behind it.
    #[test]
    fn coalesces_with_the_buffer_before() {
        assert_eq!(saved_by((1..=10).rev()), 0);
        // The third fills the hole between the others: it joins the first, and the next joins the second.
        assert_eq!(saved_by([1, 3, 2]), 1);
        assert_eq!(saved_by([1, 3, 2, 4]), 2);
    }

    #[test]
    fn memory_is_released_with_its_interval() {
        let mut r = OfoQueue::default();
        for n in [2, 3, 4, 7, 8] {
            r.insert(n * MSS, (n + 1) * MSS, ONE, true);
        }
        assert_eq!(r.memory(), 5 * ONE.memory - 3 * SAVED);
        assert_eq!(r.advance(2 * MSS), 5 * MSS);
        assert_eq!(r.memory(), 2 * ONE.memory - SAVED);
        assert_eq!(r.advance(7 * MSS), 9 * MSS);
        assert_eq!(r.memory(), 0);
    }

    /// A packet of three segments that covers two buffers replaces them (tcp_data_queue_ofo); one that is there already is dropped.
    #[test]
    fn covered_buffers_are_dropped() {
        let mut r = OfoQueue::default();
        for n in [3, 5] {
            r.insert(n * MSS, (n + 1) * MSS, ONE, true);
        }
        let merged = Stored { segments: 3, len: 4_344, memory: 3 * ONE.memory - 2 * SAVED, room: 0 };
        r.insert(3 * MSS, 6 * MSS, merged, true);
        assert_eq!(r.memory(), merged.memory);
        r.insert(4 * MSS, 5 * MSS, ONE, true);
        assert_eq!(r.memory(), merged.memory);
    }

    /// Reference implementation: a list that is scanned on each call.
    #[derive(Default)]
    struct ScannedList(Vec<(u64, u64)>);

    impl ScannedList {
        fn insert(&mut self, mut start: u64, mut end: u64) {
            self.0.retain(|&(s, e)| {
                let touches = s <= end && start <= e;
                if touches {
                    start = start.min(s);
                    end = end.max(e);
                }
                !touches
            });
            self.0.insert(0, (start, end));
        }

        fn find_duplicate(&self, start: u64, end: u64) -> Option<(u64, u64)> {
            let merged = self.0.iter().map(|&(s, e)| (s.max(start), e.min(end)));
            merged.filter(|(s, e)| s < e).min()
        }

        fn advance(&mut self, mut next: u64) -> u64 {
            while let Some(i) = self.0.iter().position(|&(s, _)| s <= next) {
                next = next.max(self.0.remove(i).1);
            }
            next
        }
    }

    /// Segments in order, late, duplicate and partial, with and without advances of the left edge.
    #[test]
    fn equals_a_scanned_list() {
        for seed in 0..400 {
            let mut rng = Rng::stream(seed, &[0]);
            let (mut fast, mut plain) = (OfoQueue::default(), ScannedList::default());
            let mut next = 0;
            let spread = [8, 40, 300][seed as usize % 3];
            for _ in 0..1500 {
                let start = next + rng.below(spread);
                let longest = [1, 4, 30][rng.below(3) as usize];
                let end = start + 1 + rng.below(longest);
                if start == next {
                    next = fast.advance(end);
                    assert_eq!(next, plain.advance(end));
                } else {
                    assert_eq!(fast.find_duplicate(start, end), plain.find_duplicate(start, end));
                    fast.insert(start, end, ONE, seed % 2 == 0);
                    plain.insert(start, end);
                }
                assert_eq!(all(&fast), plain.0);
                assert_eq!(fast.bytes(), plain.0.iter().map(|(start, end)| end - start).sum::<u64>());
                assert_eq!(fast.is_empty(), plain.0.is_empty());
            }
            assert!(fast.0.is_none_or(|i| i.slots.len() <= spread as usize), "slots are used again");
        }
    }

    /// Reassembly: all sequences of four segments among the 15 intervals of five bytes. The queue has exactly the bytes that arrived, in disjoint
    /// intervals, and the stream advances over exactly those without a hole.
    #[test]
    fn exhaustive_segments_are_reassembled() {
        each_sequence(15, 4, |word| {
            let (mut queue, mut arrived) = (OfoQueue::default(), 0_u64);
            for number in word {
                let (start, end) = interval(*number);
                let duplicate = queue.find_duplicate(start, end).map_or(0, offsets);
                assert_eq!(duplicate != 0, arrived & offsets((start, end)) != 0, "{word:?}");
                assert_eq!(duplicate & !arrived, 0, "{word:?}");
                queue.insert(start, end, ONE, true);
                arrived |= offsets((start, end));
                let held: Vec<u64> = queue.intervals().map(offsets).collect();
                assert_eq!(held.iter().sum::<u64>(), arrived, "{word:?}: disjoint, and nothing else");
                assert_eq!(queue.bytes(), u64::from(arrived.count_ones()), "{word:?}");
                assert!(offsets(all(&queue)[0]) & offsets((start, end)) == offsets((start, end)), "{word:?}: the newest first");
            }
            for next in 0..=5 {
                let reached = queue.clone().advance(next);
                let in_order = (arrived >> next).trailing_ones();
                assert_eq!(reached, next + u64::from(in_order), "{word:?} from {next}");
            }
        });
    }
}
