//! The scoreboard's counts against its segments.

use super::Scoreboard;
use super::segment::{LOST, MERGED, RETX, SACKED, Seg};

impl Scoreboard {
    /// Compares all counters with the segments; see `Sender::audit`. `counted`: duplicate ACKs represent segments.
    pub fn audit(&self, counted: bool) {
        let bytes = |flag: u8| self.segs.iter().filter(|s| s.is(flag)).map(|s| u64::from(s.len)).sum::<u64>();
        assert_eq!((self.sacked, self.lost, self.retx), (bytes(SACKED), bytes(LOST), bytes(RETX)), "scoreboard bytes");
        let segs = |is: &dyn Fn(&Seg) -> bool| self.segs.iter().filter(|s| is(s)).count() as u32;
        let sacked = if counted { self.sacked_segs } else { segs(&|s| s.is(SACKED)) };
        assert!(sacked <= self.segs.len() as u32, "more delivered than sent");
        let counts = (sacked, segs(&|s| s.is(RETX)), segs(&|s| s.is(LOST)), segs(&Seg::waits));
        assert_eq!((self.sacked_segs, self.retx_segs, self.lost_segs, self.waiting), counts, "scoreboard segments");
        assert_eq!(self.merged_segs, segs(&|s| s.is(MERGED)), "merged segments");
        assert_eq!(self.flagged, segs(&|s| s.flags != 0), "segments of which something is known");
        assert!(self.segs.iter().all(|s| !s.is(SACKED) || !s.is(LOST | RETX)), "a segment both delivered and missing");
        let mut numbered = (self.base..).zip(&self.segs);
        let found = |n: u64| n >= self.search.lost_hint || self.search.below_hint.iter().any(|b| b.0 == n);
        assert!(numbered.all(|(n, s)| !s.waits() || found(n)), "a lost segment that no search will find");
    }
}
