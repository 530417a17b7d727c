//! Which acknowledgement numbers are acceptable (RFC 9293 section 3.10.7.4, RFC 5961 section 5.2). The simulator's packets always have
//! one that is; a script's may not.

use super::{Connection, Tape};
use crate::script::{Segment, flag};
use forebay_sim::net::packet::{self, Packet};

impl Connection {
    /// Whether the segment's acknowledgement lies between what was acknowledged a largest window ago and what has been sent (Linux tcp_ack).
    pub(super) fn acceptable(&mut self, segment: &Segment) -> bool {
        let Some(s) = &self.sender else { return true };
        if segment.flags & flag::ACK == 0 {
            return true;
        }
        let ahead = |of: u64| i64::from(segment.ack.wrapping_sub((of as u32).wrapping_add(1)) as i32);
        let oldest = -(self.largest_window.min(s.snd_una()) as i64);
        ahead(s.snd_max()) <= 0 && ahead(s.snd_una()) >= oldest
    }

    /// Answers a segment that was dropped: a challenge ACK (RFC 5961), which says what an ACK would say now.
    pub(super) fn challenge(&mut self, now: u64) {
        let (ack, sack) = self.due_ack();
        let mut tape = Tape::default();
        tape.packets.push((Packet { flags: packet::flag::ACK, ..ack }, sack));
        self.take(now, tape);
    }
}
