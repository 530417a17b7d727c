//! Counting of round trips, for congestion controls that need it.

use super::congestion_control::Ack;

/// The current round trip. It ends when data sent after its start is acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Round {
    /// Stream offset of the next new byte at its start.
    end: u64,
}

impl Round {
    /// Returns true if the round ends with this ACK; if so the next one begins.
    #[inline]
    pub fn ends(&mut self, ack: &Ack) -> bool {
        let ends = self.is_over(ack);
        if ends {
            self.begin(ack.snd_nxt);
        }
        ends
    }

    /// As [`Round::ends`] by the rule of Linux: it ends when all data sent before its start is acknowledged.
    #[inline]
    pub fn ends_when_covered(&mut self, ack: &Ack) -> bool {
        let ends = self.is_covered(ack);
        if ends {
            self.begin(ack.snd_nxt);
        }
        ends
    }

    /// Returns true if the round ends with this ACK, by the rule of [`Round::ends`].
    #[inline]
    pub fn is_over(&self, ack: &Ack) -> bool {
        ack.snd_una > self.end
    }

    /// Returns true if the round ends with this ACK, by the rule of Linux.
    #[inline]
    pub fn is_covered(&self, ack: &Ack) -> bool {
        ack.snd_una >= self.end
    }

    /// Begins a round, with the next new byte at stream offset `snd_nxt`.
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
    fn round_ends_with_its_data() {
        let mut round = Round::default();
        let mut ack = |snd_una, snd_nxt| round.ends(&Ack { snd_una, snd_nxt, ..ACK });
        assert!(ack(1, 10), "the first ACK");
        assert_eq!(
            [(5, 14), (10, 19), (11, 20), (20, 30), (21, 31)].map(|(una, nxt)| ack(una, nxt)),
            [false, false, true, false, true]
        );
    }
}
