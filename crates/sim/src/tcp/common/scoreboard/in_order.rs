//! A scoreboard of which nothing is known but when each segment was sent, as it is as long as nothing is lost: the usual one.

use super::{Scoreboard, Seg};
use forebay_units::Time;

/// The segments that a cumulative ACK has covered.
#[derive(Debug, Clone, Copy)]
pub struct Covered {
    /// When the oldest was sent.
    pub first: Time,
    /// The youngest.
    pub last: Seg,
    /// How many there are.
    pub segments: u32,
}

impl Scoreboard {
    /// Whether all that is known of the outstanding segments is that each was sent once.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.flagged == 0
    }

    /// As [`Scoreboard::acknowledge`], of such a scoreboard. `None`: no whole segment is acknowledged, and nothing has changed.
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
