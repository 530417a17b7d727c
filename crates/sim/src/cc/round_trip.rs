//! Round trips: a part that a law has if it goes by them, so that senders whose law does not carry nothing for it.

use super::congestion_control::Ack;

/// The round trip under way. It ends when something is acknowledged that was sent after it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Round {
    /// The next new byte when it began, as a stream offset.
    end: u64,
}

impl Round {
    /// Whether the round ends with this ACK; if so the next one begins.
    #[inline]
    pub fn ends(&mut self, ack: &Ack) -> bool {
        let ends = ack.snd_una > self.end;
        if ends {
            self.begin(ack.snd_nxt);
        }
        ends
    }

    /// The same as Linux's laws count: it ends when all is acknowledged that had been sent when it began.
    #[inline]
    pub fn is_covered(&mut self, ack: &Ack) -> bool {
        let ends = ack.snd_una >= self.end;
        if ends {
            self.begin(ack.snd_nxt);
        }
        ends
    }

    /// Another begins, when the next new byte is at stream offset `snd_nxt`.
    #[inline]
    pub fn begin(&mut self, snd_nxt: u64) {
        self.end = snd_nxt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::ACK;

    #[test]
    fn a_round_ends_with_what_was_sent_in_it() {
        let mut round = Round::default();
        let mut ack = |snd_una, snd_nxt| round.ends(&Ack { snd_una, snd_nxt, ..ACK });
        assert!(ack(1, 10), "the first ACK");
        assert_eq!(
            [(5, 14), (10, 19), (11, 20), (20, 30), (21, 31)].map(|(una, nxt)| ack(una, nxt)),
            [false, false, true, false, true]
        );
    }
}
