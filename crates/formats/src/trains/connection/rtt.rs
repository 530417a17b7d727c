//! Round-trip times at the point of capture.
//!
//! The time from data to its ACK covers the path from the point of capture to the receiver and back. The other part, to the sender and back, comes from
//! the other direction: the handshake, its data, or its timestamps. The RTT of the connection is the sum.

/// Segments that are timed at once.
const TIMED: usize = 4;

/// Weight of a new sample in the smoothed RTT: that of TRIM (its Algorithm 2).
const WEIGHT: f64 = 0.25;

#[derive(Debug, Clone, Copy, Default)]
struct Timed {
    end: u64,
    time: u64,
}

/// Times of one direction: from its packets to the answers to them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rtt {
    timed: [Timed; TIMED],
    count: usize,
    smoothed: Option<f64>,
    min: Option<u64>,
    /// Timestamp that waits for its echo, and when it was captured.
    stamp: Option<(u32, u64)>,
    /// Newest timestamp.
    newest_stamp: Option<u32>,
}

impl Rtt {
    /// Times the data that ends at `end`.
    #[inline]
    pub(super) fn time(&mut self, end: u64, now: u64) {
        if self.count < TIMED {
            self.timed[self.count] = Timed { end, time: now };
            self.count += 1;
        }
    }

    /// Drops what is timed: after a retransmission, an ACK cannot be assigned (Karn), and later data waits for the missing.
    pub(super) fn forget(&mut self) {
        self.count = 0;
    }

    /// An ACK of everything before `una`. Returns a sample, ns.
    #[inline]
    pub(super) fn acknowledged(&mut self, una: u64, now: u64) -> Option<u64> {
        let covered = self.timed[..self.count].iter().take_while(|t| t.end <= una).count();
        let newest = self.timed[..covered].last()?.time;
        self.timed.copy_within(covered..self.count, 0);
        self.count -= covered;
        let sample = now.saturating_sub(newest);
        self.add(sample);
        Some(sample)
    }

    /// Adds a sample, ns.
    pub(super) fn add(&mut self, sample: u64) {
        let new = sample as f64;
        self.smoothed = Some(self.smoothed.map_or(new, |old| old + WEIGHT * (new - old)));
        self.bound(sample);
    }

    fn bound(&mut self, sample: u64) {
        self.min = Some(self.min.map_or(sample, |old| old.min(sample)));
    }

    /// A timestamp of this direction.
    #[inline]
    pub(super) fn stamped(&mut self, value: u32, now: u64) {
        if self.newest_stamp != Some(value) {
            self.newest_stamp = Some(value);
            // One at a time: the echo of a later one would not bound the time of the earlier.
            if self.stamp.is_none() {
                self.stamp = Some((value, now));
            }
        }
    }

    /// An echo of a timestamp, from the other end. Its first echo bounds the time from above.
    #[inline]
    pub(super) fn echoed(&mut self, echo: u32, now: u64) {
        let Some((value, time)) = self.stamp else { return };
        let ahead = echo.wrapping_sub(value) as i32;
        if ahead >= 0 {
            self.stamp = None;
            if ahead == 0 {
                self.bound(now.saturating_sub(time));
            }
        }
    }

    /// Smoothed time, ns.
    pub(super) fn smoothed(&self) -> Option<f64> {
        self.smoothed
    }

    /// Smallest time, ns.
    pub(super) fn min(&self) -> Option<u64> {
        self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_covered_segment_gives_the_sample() {
        let mut r = Rtt::default();
        r.time(10, 100);
        r.time(20, 130);
        r.time(30, 140);
        assert_eq!(r.acknowledged(20, 200), Some(70));
        assert_eq!(r.acknowledged(20, 210), None);
        assert_eq!(r.acknowledged(30, 220), Some(80));
        assert_eq!((r.min(), r.smoothed()), (Some(70), Some(72.5)));
    }

    #[test]
    fn echo_bounds_the_minimum() {
        let mut r = Rtt::default();
        r.stamped(7, 100);
        r.stamped(8, 150);
        r.echoed(6, 160);
        assert_eq!(r.min(), None);
        r.echoed(7, 180);
        assert_eq!((r.min(), r.smoothed()), (Some(80), None));
    }
}
