//! Acceptable acknowledgement numbers (RFC 9293 section 3.10.7.4, RFC 5961 section 5.2). The simulator's packets always have one; a script's may not.

use super::{Connection, Trace};
use crate::script::{Segment, flag};
use forebay_sim::net::packet::{self, Packet};

impl Connection {
    /// True if the segment's acknowledgement is at most a largest window old, and of data that was sent (Linux tcp_ack).
    pub(super) fn acceptable(&mut self, segment: &Segment) -> bool {
        let Some(s) = &self.sender else { return true };
        if segment.flags & flag::ACK == 0 {
            return true;
        }
        let ahead = |of: u64| i64::from(segment.ack.wrapping_sub((of as u32).wrapping_add(1)) as i32);
        let oldest = -(self.largest_window.min(s.snd_una()) as i64);
        ahead(s.snd_max()) <= 0 && ahead(s.snd_una()) >= oldest
    }

    /// Answers a dropped segment by a challenge ACK (RFC 5961) with the contents of a current ACK.
    pub(super) fn challenge(&mut self, now: u64) {
        let (ack, sack) = self.due_ack();
        let mut tape = Trace::default();
        tape.packets.push((Packet { flags: packet::flag::ACK, ..ack }, sack));
        self.take(now, tape);
    }
}
