//! What the shims that tag packets at the sender have in common: which message a byte belongs to, and the `win` field of its packet.

use super::{ShimConfig, pias, prin};
use crate::net::packet::{rank_of, service};
use std::collections::VecDeque;

/// A message of the application as a stretch of the stream; PRIN calls it a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Stream offset of its first byte.
    pub begin: u64,
    /// Stream offset behind its last byte.
    pub end: u64,
}

/// A segment about to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Stream offset of its first byte.
    pub offset: u64,
    /// Oldest unacknowledged offset.
    pub una: u64,
    /// Highest offset sent so far, this segment not included.
    pub high: u64,
    /// Payload bytes of a full segment.
    pub mss: u64,
    /// Whether it is a retransmission.
    pub again: bool,
}

/// The rule.
#[derive(Debug, Clone)]
enum Scheme {
    Pias(pias::Pias),
    Prin(prin::Prin),
    Srpt,
}

/// Tags the packets of one connection.
#[derive(Debug, Clone)]
pub struct Tagger {
    scheme: Scheme,
    /// Messages not wholly acknowledged, oldest first.
    messages: VecDeque<Message>,
}

/// Class of packets without data (SYN, ACK, FIN) where a scheme wants them to go first.
const URGENT: u8 = 7;

impl Tagger {
    /// The tagger among `shims`, boxed: connections of other transports carry no more than a null pointer. `delayed_acks` says whether the
    /// peer delays ACKs.
    pub fn new(shims: &[ShimConfig], delayed_acks: bool) -> Option<Box<Tagger>> {
        let scheme = shims.iter().find_map(|s| match s {
            ShimConfig::Pias(c) => Some(Scheme::Pias(pias::Pias::new(c))),
            ShimConfig::Prin(c) => Some(Scheme::Prin(prin::Prin::new(c, delayed_acks))),
            ShimConfig::Srpt => Some(Scheme::Srpt),
            ShimConfig::Ictcp(_) | ShimConfig::Proboscis(_) => None,
        })?;
        Some(Box::new(Tagger { scheme, messages: VecDeque::new() }))
    }

    /// The application wrote the message `begin..end`; everything before `una` is acknowledged.
    pub fn write(&mut self, begin: u64, end: u64, una: u64) {
        self.forget(una);
        self.messages.push_back(Message { begin, end });
    }

    /// The stream ends at `end`, before the end of its last message.
    pub fn stop(&mut self, end: u64) {
        if let Some(m) = self.messages.back_mut() {
            m.end = m.end.min(end);
        }
    }

    fn forget(&mut self, una: u64) {
        while self.messages.front().is_some_and(|m| m.end <= una) {
            self.messages.pop_front();
        }
    }

    /// The message that `offset` belongs to, or for a FIN the last one. `None` if that is acknowledged.
    fn message(&self, offset: u64) -> Option<Message> {
        let behind = self.messages.partition_point(|m| m.begin <= offset);
        behind.checked_sub(1).map(|i| self.messages[i])
    }

    /// The `win` field of a data segment.
    pub fn data(&mut self, s: &Segment) -> u16 {
        self.forget(s.una);
        let Some(m) = self.message(s.offset) else { return self.control() };
        match &self.scheme {
            Scheme::Pias(p) => service(p.class(&m, s), 0),
            Scheme::Prin(p) => service(p.class(&m, s), 0),
            // Alizadeh et al., SIGCOMM 2013, section 4.1: the remaining size when the packet was sent. Our choice: from this segment to the
            // end of the message, in segments, so that retransmissions carry what the original did.
            Scheme::Srpt => service(0, rank_of((m.end.saturating_sub(s.offset)).div_ceil(s.mss))),
        }
    }

    /// The `win` field of SYNs and of ACKs in the data direction.
    pub fn control(&self) -> u16 {
        match self.scheme {
            // PRIN R4: everything but the tail is normal.
            Scheme::Prin(_) => 0,
            _ => service(URGENT, 0),
        }
    }

    /// Bytes from `offset` to the next place where a segment has to end.
    pub fn cut(&self, offset: u64, mss: u64) -> u64 {
        match (&self.scheme, self.message(offset)) {
            (Scheme::Prin(p), Some(m)) if offset < m.end => p.cut(&m, offset, mss),
            _ => u64::MAX,
        }
    }

    /// The PRIN rule for the first new segment of a block, if the one at `offset` is that; says so once for each block.
    pub fn begins_block(&mut self, offset: u64) -> Option<prin::Halving> {
        if !matches!(self.scheme, Scheme::Prin(_)) || self.message(offset).is_none_or(|m| m.begin != offset) {
            return None;
        }
        let Scheme::Prin(p) = &mut self.scheme else { return None };
        p.begin(offset)
    }

    /// How long a fast retransmission waits when everything up to `high` has been sent, ps; PRIN's extension.
    pub fn tail_wait(&self, high: u64) -> Option<u64> {
        let Scheme::Prin(p) = &self.scheme else { return None };
        // Behind the last byte of a block, or behind the FIN.
        let m = self.message(high.saturating_sub(1))?;
        if high >= m.end { p.tail_wait } else { None }
    }
}

/// Whether receivers of a transport with `shims` send their ACKs in the most urgent class.
pub fn urgent_acks(shims: &[ShimConfig]) -> bool {
    // PIAS and pFabric; PRIN R4 leaves ACKs alone.
    shims.iter().any(|s| matches!(s, ShimConfig::Pias(_) | ShimConfig::Srpt))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagger(scheme: Scheme) -> Tagger {
        Tagger { scheme, messages: VecDeque::new() }
    }

    #[test]
    fn ranks_fall_towards_the_end_of_each_message() {
        let mut t = tagger(Scheme::Srpt);
        t.write(0, 5_000, 0);
        t.write(5_000, 7_500, 0);
        let mut rank = |offset| t.data(&Segment { offset, una: 0, high: offset, mss: 1_000, again: false });
        let ranks: Vec<u16> = [0, 1_000, 4_000, 5_000, 6_000, 7_000].map(&mut rank).to_vec();
        assert_eq!(ranks, [5, 4, 1, 3, 2, 1]);
    }

    #[test]
    fn acknowledged_messages_are_forgotten() {
        let mut t = tagger(Scheme::Srpt);
        for i in 0..1_000 {
            t.write(i * 10, i * 10 + 10, (i * 10).saturating_sub(20));
        }
        assert!(t.messages.len() <= 4);
        // A FIN behind the last message, all acknowledged or not.
        let mut fin = |una| t.data(&Segment { offset: 10_000, una, high: 10_000, mss: 1_000, again: false });
        assert_eq!(fin(9_995), 0);
        assert_eq!(fin(10_000), service(7, 0));
    }

    #[test]
    fn endless_messages_are_the_least_urgent() {
        let mut t = tagger(Scheme::Srpt);
        t.write(0, u64::MAX / 4, 0);
        let s = Segment { offset: 1 << 40, una: 0, high: 1 << 40, mss: 1_460, again: false };
        assert_eq!(t.data(&s), rank_of(u64::MAX));
        t.stop((1 << 40) + 1_460);
        assert_eq!(t.data(&s), 1);
    }
}
