//! State of each outstanding segment of a SACK sender, with the byte counts that `pipe` needs (RFC 6675 section 3).
//!
//! Windows of 100 000 segments are common on fast long paths, so no operation of an ACK visits all segments. Searches continue where they ended last
//! time, and skip runs of SACKed segments. Only operations that happen at most once an episode (a timeout, an undo), and a retransmission across the edge
//! of a receive window that has shrunk, visit the whole window.

mod audit;
mod collapse;
mod cumulative_ack;
mod hints;
mod loss_by_count;
mod order;
mod segment;
mod split;

#[cfg(test)]
mod tests;

pub(crate) use order::Ties;
pub(in crate::tcp) use segment::Seg;
pub(in crate::tcp) use segment::{EVER_RETX, GIVEN_UP, LOST, MERGED, RETX, SACKED};

use super::cold_box::Cold;
use forebay_types::Time;
use hints::{BLOCKS, SearchHints};
use std::cmp::Reverse;
use std::collections::VecDeque;

/// The outstanding segments in order of their offsets.
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    segs: VecDeque<Seg>,
    /// Absolute number of `segs[0]`: numbers stay valid while segments leave at the front.
    pub(crate) base: u64,
    /// Bytes of SACKed segments.
    pub(crate) sacked: u64,
    /// Number of SACKed segments; without SACK, number of duplicate ACKs, each of which represents one.
    pub(crate) sacked_segs: u32,
    /// Number of outstanding retransmissions.
    pub(crate) retx_segs: u32,
    /// Number of segments deemed lost, and of those that are not retransmitted yet.
    lost_segs: u32,
    waiting: u32,
    /// Number of SACKed segments that have been merged with the one before them.
    merged_segs: u32,
    /// Number of segments that have any flag. The others were sent once, and nothing more is known.
    flagged: u32,
    /// Bytes of segments deemed lost.
    pub(crate) lost: u64,
    /// Bytes of outstanding retransmissions.
    pub(crate) retx: u64,
    /// Number of times that a segment was deemed lost.
    pub(crate) marked: u32,
    /// Numbers of lost segments of which the congestion control has not been notified yet; `None` if it takes no notifications.
    #[expect(clippy::box_collection, reason = "a scoreboard without it carries 8 bytes instead of 24")]
    pub(crate) losses: Option<Box<Vec<u64>>>,
    /// Results of searches. Most connections lose nothing, and have none.
    search: Cold<SearchHints>,
}

impl Scoreboard {
    /// Outstanding segments, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Seg> {
        self.segs.iter()
    }

    /// The oldest outstanding segment.
    #[inline]
    pub fn first(&self) -> Option<&Seg> {
        self.segs.front()
    }

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.segs.len()
    }

    /// Returns true if there is no segment, and no duplicate ACK represents one.
    pub fn is_clear(&self) -> bool {
        self.segs.is_empty() && self.sacked_segs == 0
    }

    /// Number of segments neither acknowledged nor SACKed.
    pub fn missing(&self) -> u32 {
        self.segs.len() as u32 - self.sacked_segs
    }

    /// Returns true if a retransmission is outstanding, or the oldest segment was sent more than once (Linux tcp_any_retrans_done).
    pub(in crate::tcp) fn repeats(&self) -> bool {
        self.retx_segs > 0 || self.segs.front().is_some_and(|s| s.is(EVER_RETX))
    }

    /// Number of SACKed segments that have been merged with the one before them, and so share its buffer.
    pub(in crate::tcp) fn merged(&self) -> u32 {
        self.merged_segs
    }

    /// The segment at `index` from the oldest.
    pub fn get(&self, index: usize) -> &Seg {
        &self.segs[index]
    }

    /// Bytes considered to be in the network.
    pub fn pipe(&self, flight: u64) -> u64 {
        flight + self.retx - self.sacked - self.lost
    }

    /// Segments considered to be in the network (Linux tcp_packets_in_flight).
    #[inline]
    pub fn in_network(&self) -> u32 {
        self.segs.len() as u32 + self.retx_segs - self.sacked_segs - self.lost_segs
    }

    /// Returns true if no segment is SACKed, lost or retransmitted.
    pub fn is_plain(&self) -> bool {
        self.sacked | self.lost | self.retx == 0
    }

    /// Removes everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.segs.clear();
        if let Some(search) = self.search.made() {
            search.clear();
        }
        *self = Scoreboard {
            segs: std::mem::take(&mut self.segs),
            search: std::mem::take(&mut self.search),
            ..Scoreboard::default()
        };
    }

    /// Adds a new segment.
    pub fn push(&mut self, start: u64, len: u32, now: Time) {
        self.segs.push_back(Seg::new(start, len, now));
    }

    /// Removes the segments below `snd_una`. Each that was not SACKed before is passed to `newly` with its absolute number. Returns true if one of
    /// them, SACKed or not, had been sent more than once.
    pub fn acknowledge(&mut self, snd_una: u64, mut newly: impl FnMut(u64, &Seg)) -> bool {
        let mut repeated = false;
        while let Some(&seg) = self.segs.front() {
            if seg.end() > snd_una {
                // Part of a segment: receivers acknowledge at segment boundaries, except after repacketisation. Trim the front.
                if seg.start < snd_una {
                    let cut = snd_una - seg.start;
                    self.take_out(&seg, cut);
                    let front = &mut self.segs[0];
                    front.start = snd_una;
                    front.len -= cut as u32;
                }
                break;
            }
            repeated |= seg.is(EVER_RETX);
            self.take_out(&seg, u64::from(seg.len));
            self.count_segs(seg.flags, false);
            if !seg.is(SACKED) {
                newly(self.base, &seg);
            } else {
                if self.base >= self.search.marked_below && !self.is_sacked(1) {
                    self.search.above.0 -= 1;
                }
                if self.base < self.search.head.0 {
                    self.search.head.1 -= 1;
                }
            }
            self.segs.pop_front();
            self.base += 1;
        }
        repeated
    }

    /// `bytes` of the oldest segment are acknowledged.
    fn take_out(&mut self, seg: &Seg, bytes: u64) {
        self.count(seg.flags, bytes, false);
        if seg.is(SACKED) && self.base >= self.search.marked_below {
            self.search.above.1 -= bytes;
        }
    }

    fn count(&mut self, flags: u8, bytes: u64, add: bool) {
        for (flag, counter) in [(SACKED, &mut self.sacked), (LOST, &mut self.lost), (RETX, &mut self.retx)] {
            if flags & flag != 0 {
                *counter = if add { *counter + bytes } else { *counter - bytes };
            }
        }
    }

    fn count_segs(&mut self, flags: u8, add: bool) {
        let waits = flags & (LOST | RETX) == LOST;
        for (is, counter) in [
            (flags & SACKED != 0, &mut self.sacked_segs),
            (flags & RETX != 0, &mut self.retx_segs),
            (flags & LOST != 0, &mut self.lost_segs),
            (waits, &mut self.waiting),
            (flags & MERGED != 0, &mut self.merged_segs),
            (flags != 0, &mut self.flagged),
        ] {
            *counter = if add { *counter + u32::from(is) } else { *counter - u32::from(is) };
        }
    }

    fn set_flags(&mut self, index: usize, flags: u8) {
        let seg = &mut self.segs[index];
        let (before, bytes) = (seg.flags, u64::from(seg.len));
        seg.flags = flags;
        self.count(before, bytes, false);
        self.count_segs(before, false);
        self.count(flags, bytes, true);
        self.count_segs(flags, true);
    }

    /// Index of the segment with absolute number `number`, or of the oldest if that one has left.
    fn index(&self, number: u64) -> usize {
        (number.max(self.base) - self.base) as usize
    }

    fn is_sacked(&self, index: usize) -> bool {
        self.segs.get(index).is_some_and(|s| s.is(SACKED))
    }

    /// Marks segments inside [start, end) as SACKed. Each newly SACKed one is passed to `newly` with its absolute number. Returns the bytes newly
    /// SACKed.
    pub fn sack(&mut self, start: u64, end: u64, mut newly: impl FnMut(u64, &Seg)) -> u64 {
        let mut bytes = 0;
        let known = self.search.blocks.iter().position(|b| b.0 == start);
        let mut index = match known {
            Some(i) => self.index(self.search.blocks[i].1),
            None => self.segs.partition_point(|s| s.start < start),
        };
        while let Some(&seg) = self.segs.get(index)
            && seg.end() <= end
        {
            if seg.is(SACKED) {
                index = self.behind_run(index);
                continue;
            }
            newly(self.base + index as u64, &seg);
            self.set_flags(index, (seg.flags & EVER_RETX) | SACKED);
            self.merge(index, &seg);
            let number = self.base + index as u64;
            self.segs[index].set_sacked_up_to(number + 1);
            self.search.top_sacked = self.search.top_sacked.max(number + 1);
            if number >= self.search.marked_below {
                let joined = number > self.search.marked_below && index > 0 && self.is_sacked(index - 1);
                self.search.above.0 = self.search.above.0 + 1 - u32::from(joined) - u32::from(self.is_sacked(index + 1));
                self.search.above.1 += u64::from(seg.len);
            }
            if number < self.search.head.0 {
                self.search.head.1 += 1;
            }
            bytes += u64::from(seg.len);
            index += 1;
        }
        let known = known.unwrap_or_else(|| {
            self.search.oldest_block = (self.search.oldest_block + 1) % BLOCKS;
            self.search.oldest_block
        });
        self.search.blocks[known] = (start, self.base + index as u64);
        bytes
    }

    /// Merges the segment at `index`, which is newly SACKed, with the one before it if that is SACKed, and then also the one behind it
    /// (tcp_shift_skb_data). `before`: its state before. Segments of other lengths stay on their own.
    fn merge(&mut self, index: usize, before: &Seg) {
        let joins = |s: &Scoreboard, index: usize| s.segs.get(index).is_some_and(|s| s.is(SACKED) && s.len == before.len);
        if index == 0 || !joins(self, index - 1) || before.flags & (LOST | RETX) == RETX {
            return;
        }
        for index in [index, index + 1] {
            if joins(self, index) && !self.segs[index].is(MERGED) {
                self.set_flags(index, self.segs[index].flags | MERGED);
            }
        }
    }

    /// Index behind the run of SACKed segments that contains `index`. Halves the path for the next search (as in union-find).
    fn behind_run(&mut self, mut index: usize) -> usize {
        loop {
            let next = (self.segs[index].sacked_up_to() - self.base) as usize;
            let Some(&further) = self.segs.get(next).filter(|s| s.is(SACKED)) else { return next };
            self.segs[index].set_sacked_up_to(further.sacked_up_to());
            index = (further.sacked_up_to() - self.base) as usize;
            if !self.is_sacked(index) {
                return index;
            }
        }
    }

    /// Marks the segment at `index` as lost. A lost retransmission counts as lost again.
    pub fn mark_lost(&mut self, index: usize) {
        let seg = self.segs[index];
        debug_assert!(!seg.is(SACKED));
        self.set_flags(index, (seg.flags | LOST) & !RETX);
        self.note_loss(index);
        let number = self.base + index as u64;
        if number < self.search.lost_hint && !seg.waits() {
            self.search.below_hint.push(Reverse(number));
        }
    }

    /// Marks the segment at `index` as lost because of its age, permanently.
    pub fn give_up(&mut self, index: usize) {
        self.mark_lost(index);
        self.segs[index].flags |= GIVEN_UP;
    }

    /// Counts that the segment at `index` was deemed lost.
    fn note_loss(&mut self, index: usize) {
        self.marked += 1;
        if let Some(losses) = &mut self.losses {
            losses.push(self.base + index as u64);
        }
    }

    /// End of the highest SACKed segment (tcp_highest_sack_seq; `highest_sack` is the segment just after it).
    pub fn behind_sacked(&self) -> Option<u64> {
        let top = self.search.top_sacked.checked_sub(1).filter(|top| *top >= self.base)?;
        self.segs.get(self.index(top)).map(Seg::end)
    }

    /// Number of retransmissions, of the episode that began at `from`, in a reported duplicate of `len` bytes up to `end`. It is all of the duplicate
    /// if earlier ACKs covered it (up to `acknowledged`), else its segments that were sent again (tcp_check_dsack). Also returns the start of the
    /// first of those that was SACKed before: packets are out of order by at least that distance (tcp_sacktag_one).
    #[cold]
    #[inline(never)]
    pub fn dsack_retransmissions(&self, (end, len): (u64, u64), acknowledged: u64, from: u64, mss: u32) -> (u32, Option<u64>) {
        if end <= acknowledged {
            return (if end > from { len.div_ceil(u64::from(mss)) as u32 } else { 0 }, None);
        }
        let first = self.segs.partition_point(|s| s.start < end.saturating_sub(len));
        let inside = self.segs.range(first..).take_while(|s| s.end() <= end).filter(|s| s.is(EVER_RETX));
        let late = inside.clone().find(|s| s.is(SACKED)).map(|s| s.start);
        (inside.filter(|s| s.end() > from).count() as u32, late)
    }

    /// Number of segments deemed lost.
    pub fn lost_segs(&self) -> u32 {
        self.lost_segs
    }

    /// Marks the oldest segment as lost, unless it is marked (tcp_newreno_mark_lost).
    pub fn mark_first_lost(&mut self) {
        if !self.segs[0].is(LOST) {
            self.mark_lost(0);
        }
    }

    /// Index of the first segment that is lost and not retransmitted.
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.waiting == 0 {
            if let Some(search) = self.search.made() {
                search.below_hint.clear();
            }
            return None;
        }
        while let Some(&Reverse(number)) = self.search.below_hint.peek() {
            let index = self.index(number);
            if number >= self.base && self.segs[index].waits() {
                return Some(index);
            }
            self.search.below_hint.pop();
        }
        let mut index = self.index(self.search.lost_hint);
        while !self.segs[index].waits() {
            index += 1;
        }
        self.search.lost_hint = self.base + index as u64;
        Some(index)
    }

    /// Number of lost segments from `index` on, without gaps and before stream offset `end`, that wait for their retransmission, and the offset behind
    /// the last of them.
    pub fn waiting_run(&self, index: usize, end: u64) -> (usize, u64) {
        let run = self.segs.range(index..).take_while(|s| s.waits() && s.start < end);
        run.fold((0, end), |(count, _), seg| (count + 1, seg.end()))
    }

    /// Notes that the segment at `index` was retransmitted.
    pub fn retransmitted(&mut self, index: usize, now: Time, ties: Ties) {
        let flags = (self.segs[index].flags | RETX | EVER_RETX) & !GIVEN_UP;
        self.set_flags(index, flags);
        self.segs[index].send_again(now);
        self.note_retransmission(index, ties);
    }

    /// Notes that the segment at `index` was sent again as a probe.
    pub fn probed(&mut self, index: usize, now: Time, ties: Ties) {
        let seg = &mut self.segs[index];
        self.flagged += u32::from(seg.flags == 0);
        seg.flags = (seg.flags | EVER_RETX) & !GIVEN_UP;
        // This is the last segment, which the receiver may have SACKed.
        if !seg.is(SACKED) {
            seg.send_again(now);
            self.note_retransmission(index, ties);
        }
    }

    /// Marks segments after a timeout: every segment for which `lost` is true is lost, and no retransmission is outstanding.
    pub fn mark_after_timeout(&mut self, mut lost: impl FnMut(usize, &Seg) -> bool) {
        // All segments are visited, so searches start again.
        self.search.lost_hint = self.base;
        self.search.below_hint.clear();
        for index in 0..self.segs.len() {
            let seg = self.segs[index];
            if !seg.is(SACKED) && lost(index, &seg) {
                self.mark_lost(index);
            }
        }
    }

    /// Clears the loss marks of outstanding segments, after a spurious reduction. Retransmissions stay outstanding (Linux tcp_undo_cwnd_reduction).
    pub fn unmark_lost(&mut self) {
        for index in 0..self.segs.len() {
            let flags = self.segs[index].flags;
            if flags & LOST != 0 {
                self.set_flags(index, flags & !LOST);
            }
        }
        self.search.lost_hint = self.base;
        self.search.below_hint.clear();
        self.search.hole_hint = self.base;
        self.search.marked_below = self.base;
        let runs = (0..self.segs.len()).filter(|&i| self.is_sacked(i) && !self.is_sacked(i + 1)).count();
        self.search.above = (runs as u32, self.sacked);
        self.search.head = (self.base, 0);
        self.find_order();
    }
}
