//! Acceptable acknowledgment numbers (RFC 9293 section 3.10.7.4, RFC 5961 section 5.2). The simulator's packets always have one; a script's may not.

use super::{Connection, Trace};
use crate::script::{Segment, flag};
use forebay_sim::net::packet::{self, Packet};

/// Treatment of a segment because of its acknowledgment number.
pub(super) enum Acceptance {
    Accepted,
    /// It is dropped and answered.
    Answered,
    /// It is dropped.
    Ignored,
}

impl Connection {
    /// A segment is accepted if its acknowledgment is at most a largest window old, and of data that was sent. Linux does not answer an acknowledgment
    /// of other data (tcp_ack).
    pub(super) fn acceptance(&self, segment: &Segment) -> Acceptance {
        let Some(s) = self.sender.as_ref().filter(|_| segment.flags & flag::ACK != 0) else { return Acceptance::Accepted };
        let ahead = |of: u64| i64::from(segment.ack.wrapping_sub((of as u32).wrapping_add(1)) as i32);
        let oldest = -(self.largest_window.min(s.snd_una()) as i64);
        if ahead(s.snd_max()) > 0 {
            if self.c.is_linux() { Acceptance::Ignored } else { Acceptance::Answered }
        } else if ahead(s.snd_una()) < oldest {
            Acceptance::Answered
        } else {
            Acceptance::Accepted
        }
    }

    /// Answers a dropped segment by a challenge ACK (RFC 5961) with the contents of a current ACK.
    pub(super) fn challenge(&mut self, now: u64) {
        let (ack, sack) = self.due_ack();
        let mut tape = Trace::default();
        tape.packets.push((Packet { flags: packet::flag::ACK, ..ack }, sack));
        self.take(now, tape);
    }
}
