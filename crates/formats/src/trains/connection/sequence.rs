//! Sequence space of one direction: what was sent, what is missing in the capture, and what is acknowledged.

/// Largest step of sequence numbers that is believed: the largest window (RFC 7323). A larger step is a new start.
const MAX_STEP: i64 = 1 << 30;

/// Missing ranges that are remembered.
const HOLES: usize = 4;

/// A range below the highest byte that the capture has not shown.
#[derive(Debug, Clone, Copy)]
struct Hole {
    start: u64,
    end: u64,
    /// When a later byte was seen, ns.
    since: u64,
}

/// Relation of a data segment to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It has bytes above all before it: this many.
    New(u64),
    /// It fills a range that was missing since this time, ns.
    Late(u64),
    /// All of it was seen before.
    Seen,
}

/// Sequence space of one direction. Numbers are extended to 64 bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sequence {
    known: bool,
    base: u64,
    max: u64,
    una: u64,
    acked: bool,
    missed: u64,
    holes: [Hole; HOLES],
    hole_count: usize,
}

impl Default for Sequence {
    fn default() -> Sequence {
        let holes = [Hole { start: 0, end: 0, since: 0 }; HOLES];
        Sequence { known: false, base: 0, max: 0, una: 0, acked: false, missed: 0, holes, hole_count: 0 }
    }
}

impl Sequence {
    /// Begins at `seq`, the number of the first payload byte.
    pub(super) fn start(&mut self, seq: u32) {
        // One turn ahead, so that numbers before it stay positive.
        let at = (1 << 32) + u64::from(seq);
        (self.known, self.base, self.max, self.una, self.hole_count) = (true, at, at, at, 0);
    }

    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    /// The 64-bit number of `seq`, the one closest to the highest byte.
    #[inline]
    pub(super) fn extend(&self, seq: u32) -> u64 {
        let step = i64::from(seq.wrapping_sub(self.max as u32) as i32);
        self.max.saturating_add_signed(step)
    }

    /// End of the highest byte.
    pub(super) fn max(&self) -> u64 {
        self.max
    }

    /// First byte that is not acknowledged.
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    /// The capture has ACKs of this direction.
    pub(super) fn has_acks(&self) -> bool {
        self.acked
    }

    /// Everything is acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        self.una >= self.max
    }

    /// No range below the highest byte is missing.
    pub(super) fn is_complete(&self) -> bool {
        self.hole_count == 0
    }

    /// Payload bytes, each counted once.
    pub(super) fn bytes(&self) -> u64 {
        self.max - self.base
    }

    /// Acknowledged bytes that the capture does not have.
    pub(super) fn missed(&self) -> u64 {
        self.missed
    }

    /// Places the data from `start` to `end`, captured at `now`.
    #[inline]
    pub(super) fn place(&mut self, start: u64, end: u64, now: u64) -> Place {
        if end > self.max {
            if start > self.max {
                self.leave_hole(start, now);
            }
            let new = end - self.max;
            self.max = end;
            return Place::New(new);
        }
        if self.hole_count == 0 {
            return Place::Seen;
        }
        self.fill(start, end)
    }

    /// The range from the highest byte to `start` was not captured.
    fn leave_hole(&mut self, start: u64, now: u64) {
        if (start - self.max) as i64 > MAX_STEP {
            self.base += start - self.max;
            (self.max, self.una, self.hole_count) = (start, start, 0);
            return;
        }
        if self.hole_count == HOLES {
            // The oldest is given up: a later segment for it counts as seen.
            self.holes.copy_within(1.., 0);
            self.hole_count -= 1;
        }
        self.holes[self.hole_count] = Hole { start: self.max, end: start, since: now };
        self.hole_count += 1;
    }

    fn fill(&mut self, start: u64, end: u64) -> Place {
        let Some(i) = (0..self.hole_count).find(|i| self.holes[*i].start < end && start < self.holes[*i].end) else {
            return Place::Seen;
        };
        let hole = self.holes[i];
        match (start > hole.start, end < hole.end) {
            (false, false) => self.remove(i),
            (false, true) => self.holes[i].start = end,
            (true, false) => self.holes[i].end = start,
            (true, true) => {
                self.holes[i].end = start;
                if self.hole_count < HOLES {
                    self.holes[self.hole_count] = Hole { start: end, ..hole };
                    self.hole_count += 1;
                }
            }
        }
        Place::Late(hole.since)
    }

    fn remove(&mut self, i: usize) {
        self.holes.copy_within(i + 1..self.hole_count, i);
        self.hole_count -= 1;
    }

    /// Processes an acknowledgment number. Returns true if it acknowledges something new, and bytes above all captured ones.
    #[inline]
    pub(super) fn acknowledge(&mut self, ack: u32, fin_sent: bool) -> (bool, u64) {
        let mut number = self.extend(ack);
        let mut beyond = 0;
        if number > self.max {
            let step = number - self.max;
            // The FIN takes a number, which is no byte. Where no packet of this direction was captured, a single number is taken for it.
            let fin = u64::from(step == 1 && (fin_sent || self.bytes() == self.missed));
            number -= fin;
            if step - fin > MAX_STEP as u64 {
                return (false, 0);
            }
            beyond = step - fin;
            self.missed += beyond;
            self.max = number;
        }
        self.acked = true;
        if number <= self.una {
            return (false, beyond);
        }
        self.una = number;
        let mut i = 0;
        while i < self.hole_count {
            if self.holes[i].end <= number {
                self.missed += self.holes[i].end - self.holes[i].start;
                self.remove(i);
            } else {
                i += 1;
            }
        }
        (true, beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seq: u32) -> Sequence {
        let mut s = Sequence::default();
        s.start(seq);
        s
    }

    fn place(s: &mut Sequence, seq: u32, len: u64) -> Place {
        let start = s.extend(seq);
        s.place(start, start + len, 7)
    }

    #[test]
    fn numbers_wrap() {
        let mut s = at(u32::MAX - 99);
        assert_eq!(place(&mut s, u32::MAX - 99, 100), Place::New(100));
        assert_eq!(place(&mut s, 0, 100), Place::New(100));
        assert_eq!(place(&mut s, u32::MAX - 99, 100), Place::Seen);
        assert_eq!(s.bytes(), 200);
        assert_eq!(s.acknowledge(100, false), (true, 0));
        assert!(s.is_idle());
    }

    #[test]
    fn late_segment_fills_hole() {
        let mut s = at(1);
        assert_eq!(place(&mut s, 101, 100), Place::New(200));
        assert_eq!(place(&mut s, 51, 50), Place::Late(7));
        assert_eq!(place(&mut s, 51, 50), Place::Seen);
        assert_eq!(place(&mut s, 1, 50), Place::Late(7));
        assert!(s.is_complete());
        assert_eq!(s.missed(), 0);
    }

    #[test]
    fn acknowledged_hole_was_missed() {
        let mut s = at(1);
        place(&mut s, 101, 100);
        assert_eq!(s.acknowledge(301, false), (true, 100));
        assert_eq!((s.missed(), s.bytes()), (200, 300));
    }

    #[test]
    fn fin_is_no_byte() {
        let mut s = at(1);
        place(&mut s, 1, 10);
        assert_eq!(s.acknowledge(12, true), (true, 0));
        assert_eq!(s.bytes(), 10);
        assert_eq!(at(1).acknowledge(2, false), (false, 0));
    }

    #[test]
    fn huge_step_is_a_new_start() {
        let mut s = at(1);
        place(&mut s, 1, 10);
        assert_eq!(place(&mut s, 0x7000_0000, 10), Place::New(10));
        assert_eq!(s.bytes(), 20);
    }
}
