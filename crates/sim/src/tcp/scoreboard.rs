//! What a SACK sender knows about each outstanding segment, with the byte counts that `pipe` needs (RFC 6675 section 3).

use std::collections::VecDeque;

/// SACKed.
pub const SACKED: u8 = 1;
/// Deemed lost.
pub const LOST: u8 = 2;
/// Retransmitted since it was last deemed lost; the retransmission is outstanding.
pub const RETX: u8 = 4;
/// Retransmitted at least once: gives no RTT sample and no evidence of reordering.
pub const EVER_RETX: u8 = 8;

/// One outstanding segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seg {
    /// Stream offset of its first byte.
    pub start: u64,
    /// Time of its last transmission, ps.
    pub xmit: u64,
    /// Sequence space it takes (FIN counts one).
    pub len: u32,
    /// [`SACKED`], [`LOST`], [`RETX`], [`EVER_RETX`].
    pub flags: u8,
}

impl Seg {
    /// Offset behind its last byte.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
    /// Whether any flag of `mask` is set.
    pub fn is(&self, mask: u8) -> bool {
        self.flags & mask != 0
    }
}

/// The outstanding segments in order of their offsets.
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    segs: VecDeque<Seg>,
    /// Absolute number of `segs[0]`: numbers stay valid while segments leave at the front.
    base: u64,
    /// Bytes of SACKed segments.
    pub sacked: u64,
    /// Number of SACKed segments.
    pub sacked_segs: u32,
    /// Bytes of segments deemed lost.
    pub lost: u64,
    /// Bytes of outstanding retransmissions.
    pub retx: u64,
    /// Absolute number behind the highest SACKed segment.
    top_sacked: u64,
    /// No segment below this absolute number is LOST without RETX.
    lost_hint: u64,
    /// RFC 6675 marking has covered everything below this absolute number.
    marked_below: u64,
}

impl Scoreboard {
    /// Outstanding segments, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Seg> {
        self.segs.iter()
    }

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.segs.len()
    }

    /// The segment at `index` from the oldest.
    pub fn get(&self, index: usize) -> &Seg {
        &self.segs[index]
    }

    /// Bytes considered to be in the network.
    pub fn pipe(&self, flight: u64) -> u64 {
        flight + self.retx - self.sacked - self.lost
    }

    /// Whether the cumulative ACK is all there is to know.
    pub fn is_plain(&self) -> bool {
        self.sacked | self.lost | self.retx == 0
    }

    /// Offset behind the highest SACKed byte, 0 if none is outstanding.
    pub fn sacked_end(&self) -> u64 {
        if self.sacked_segs == 0 { 0 } else { self.segs[(self.top_sacked - 1 - self.base) as usize].end() }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.segs.clear();
        let base = self.base;
        *self = Scoreboard {
            segs: std::mem::take(&mut self.segs),
            base,
            top_sacked: base,
            lost_hint: base,
            marked_below: base,
            ..Scoreboard::default()
        };
    }

    /// A new segment was sent.
    pub fn push(&mut self, start: u64, len: u32, now: u64) {
        self.segs.push_back(Seg { start, xmit: now, len, flags: 0 });
    }

    /// Segments below `una` are acknowledged; each that was not SACKed before is handed to `newly`.
    pub fn acknowledge(&mut self, una: u64, mut newly: impl FnMut(&Seg)) {
        while let Some(&seg) = self.segs.front() {
            if seg.end() > una {
                // Part of a segment: receivers acknowledge at segment boundaries, except after repacketisation. Trim the front.
                if seg.start < una {
                    let cut = una - seg.start;
                    self.count(&seg, cut, false);
                    let front = &mut self.segs[0];
                    front.start = una;
                    front.len -= cut as u32;
                }
                break;
            }
            self.count(&seg, u64::from(seg.len), false);
            if seg.is(SACKED) {
                self.sacked_segs -= 1;
            } else {
                newly(&seg);
            }
            self.segs.pop_front();
            self.base += 1;
        }
    }

    fn count(&mut self, seg: &Seg, bytes: u64, add: bool) {
        for (flag, counter) in [(SACKED, &mut self.sacked), (LOST, &mut self.lost), (RETX, &mut self.retx)] {
            if seg.is(flag) {
                *counter = if add { *counter + bytes } else { *counter - bytes };
            }
        }
    }

    fn set_flags(&mut self, index: usize, flags: u8) {
        let mut seg = self.segs[index];
        self.count(&seg, u64::from(seg.len), false);
        seg.flags = flags;
        self.count(&seg, u64::from(seg.len), true);
        self.segs[index] = seg;
    }

    /// Marks segments inside [start, end) as SACKed; each newly SACKed one is handed to `newly`. Returns the bytes newly SACKed.
    pub fn sack(&mut self, start: u64, end: u64, mut newly: impl FnMut(&Seg)) -> u64 {
        let mut bytes = 0;
        let mut index = self.segs.partition_point(|s| s.start < start);
        while index < self.segs.len() && self.segs[index].end() <= end {
            let seg = self.segs[index];
            if !seg.is(SACKED) {
                newly(&seg);
                self.set_flags(index, (seg.flags & EVER_RETX) | SACKED);
                self.sacked_segs += 1;
                self.top_sacked = self.top_sacked.max(self.base + index as u64 + 1);
                bytes += u64::from(seg.len);
            }
            index += 1;
        }
        bytes
    }

    /// Marks the segment at `index` as lost. A lost retransmission counts as lost again.
    pub fn mark_lost(&mut self, index: usize) {
        let seg = self.segs[index];
        debug_assert!(!seg.is(SACKED));
        self.set_flags(index, (seg.flags | LOST) & !RETX);
        self.lost_hint = self.lost_hint.min(self.base + index as u64);
    }

    /// RFC 6675 IsLost for all segments at once: those with `thresh` SACKed segments, or more than (thresh - 1) * mss SACKed bytes, above them.
    pub fn mark_by_count(&mut self, thresh: u32, mss: u32) {
        let mut index = (self.top_sacked.max(self.base) - self.base) as usize;
        let (mut segs, mut bytes) = (0, 0);
        let floor = (self.marked_below.max(self.base) - self.base) as usize;
        while index > floor && segs < thresh && bytes <= u64::from((thresh - 1) * mss) {
            index -= 1;
            if self.segs[index].is(SACKED) {
                segs += 1;
                bytes += u64::from(self.segs[index].len);
            }
        }
        if segs < thresh && bytes <= u64::from((thresh - 1) * mss) {
            return;
        }
        for i in floor..index {
            let seg = self.segs[i];
            if seg.is(RETX) && !seg.is(LOST) {
                // Retransmitted on suspicion (NextSeg rule 3, rescue): now only the retransmission is in the pipe.
                self.set_flags(i, seg.flags | LOST);
            } else if !seg.is(SACKED | LOST | EVER_RETX) {
                self.mark_lost(i);
            }
        }
        self.marked_below = self.marked_below.max(self.base + index as u64);
    }

    /// Index of the first segment that is lost and not retransmitted.
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let mut index = (self.lost_hint.max(self.base) - self.base) as usize;
        while index < self.segs.len() && (!self.segs[index].is(LOST) || self.segs[index].is(RETX)) {
            index += 1;
        }
        self.lost_hint = self.base + index as u64;
        (index < self.segs.len()).then_some(index)
    }

    /// Index of the first segment below the highest SACKed one that was neither SACKed nor retransmitted nor lost (RFC 6675 NextSeg rule 3).
    pub fn next_hole(&self) -> Option<usize> {
        let top = (self.top_sacked.max(self.base) - self.base) as usize;
        (0..top.min(self.segs.len())).find(|&i| !self.segs[i].is(SACKED | LOST | RETX | EVER_RETX))
    }

    /// The segment at `index` was retransmitted.
    pub fn retransmitted(&mut self, index: usize, now: u64) {
        let flags = self.segs[index].flags | RETX | EVER_RETX;
        self.set_flags(index, flags);
        self.segs[index].xmit = now;
    }

    /// After a timeout: every segment `lost` says is lost, and no retransmission is outstanding any more.
    pub fn mark_after_timeout(&mut self, mut lost: impl FnMut(usize, &Seg) -> bool) {
        for index in 0..self.segs.len() {
            let seg = self.segs[index];
            if !seg.is(SACKED) && lost(index, &seg) {
                self.mark_lost(index);
            }
        }
    }

    /// Recounts; see [`Sender::audit`](super::sender::Sender::audit).
    pub fn audit(&self) {
        let bytes = |flag: u8| self.segs.iter().filter(|s| s.is(flag)).map(|s| u64::from(s.len)).sum::<u64>();
        assert_eq!((self.sacked, self.lost, self.retx), (bytes(SACKED), bytes(LOST), bytes(RETX)), "scoreboard bytes");
        assert_eq!(self.sacked_segs as usize, self.segs.iter().filter(|s| s.is(SACKED)).count(), "scoreboard segments");
        assert!(self.segs.iter().all(|s| !s.is(SACKED) || !s.is(LOST | RETX)), "a segment both delivered and missing");
        let waiting = self.segs.iter().position(|s| s.is(LOST) && !s.is(RETX));
        assert!(waiting.is_none_or(|i| self.base + i as u64 >= self.lost_hint), "a lost segment that nobody will find");
    }

    /// Clears the loss marks of segments that are still outstanding: the reduction was spurious.
    pub fn unmark_lost(&mut self) {
        for index in 0..self.segs.len() {
            let flags = self.segs[index].flags;
            if flags & LOST != 0 {
                self.set_flags(index, flags & !(LOST | RETX));
            }
        }
        self.marked_below = self.base;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(n: u64) -> Scoreboard {
        let mut b = Scoreboard::default();
        for i in 0..n {
            b.push(i * 100, 100, i);
        }
        b
    }

    #[test]
    fn three_sacked_above_make_a_loss() {
        let mut b = board(10);
        b.sack(200, 300, |_| {});
        b.sack(400, 500, |_| {});
        b.mark_by_count(3, 100);
        assert_eq!((b.lost, b.next_lost()), (0, None));
        b.sack(500, 600, |_| {});
        b.mark_by_count(3, 100);
        assert_eq!(b.lost, 200, "segments 0 and 1; 3 has only two SACKed above it");
        assert_eq!(b.pipe(1000), 1000 - 300 - 200);
        assert_eq!(b.next_lost(), Some(0));
        b.retransmitted(0, 50);
        assert_eq!((b.pipe(1000), b.next_lost()), (600, Some(1)));
        b.acknowledge(300, |_| {});
        assert_eq!((b.lost, b.retx, b.sacked, b.len()), (0, 0, 200, 7));
        b.sack(600, 1000, |_| {});
        b.mark_by_count(3, 100);
        assert_eq!(b.lost, 100);
        b.acknowledge(1000, |_| {});
        assert!(b.is_plain() && b.len() == 0);
    }

    #[test]
    fn partial_acknowledgement_trims() {
        let mut b = board(2);
        b.acknowledge(130, |_| {});
        assert_eq!((b.get(0).start, b.get(0).len, b.pipe(70)), (130, 70, 70));
    }
}
