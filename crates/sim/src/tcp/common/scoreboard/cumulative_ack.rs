//! Scoreboard in which no segment is SACKed, lost or sent twice, as long as no packet is lost.

use super::{Scoreboard, Seg};
use forebay_types::Time;

/// Segments that a cumulative ACK has covered.
#[derive(Debug, Clone, Copy)]
pub struct Covered {
    /// Send time of the oldest.
    pub first: Time,
    /// Youngest segment.
    pub last: Seg,
    /// Number of segments.
    pub segments: u32,
}

impl Scoreboard {
    /// Returns true if each outstanding segment was sent once, and none is SACKed or lost.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.flagged == 0
    }

    /// Removes the segments below `snd_una`, as [`Scoreboard::acknowledge`], of such a scoreboard. Returns `None` if no whole segment is acknowledged;
    /// then nothing has changed.
    #[inline(always)]
    pub fn acknowledge_in_order(&mut self, snd_una: u64) -> Option<Covered> {
        debug_assert!(self.is_in_order());
        let front = *self.segs.front()?;
        if front.end() > snd_una {
            return None;
        }
        let mut covered = Covered { first: front.sent(), last: front, segments: 0 };
        while let Some(seg) = self.segs.front_mut() {
            if seg.end() > snd_una {
                // The beginning of a segment.
                if seg.start < snd_una {
                    seg.len -= (snd_una - seg.start) as u32;
                    seg.start = snd_una;
                }
                break;
            }
            covered.last = *seg;
            covered.segments += 1;
            self.segs.pop_front();
        }
        self.base += u64::from(covered.segments);
        Some(covered)
    }
}
