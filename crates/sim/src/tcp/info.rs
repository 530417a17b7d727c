//! Internal state of endpoints for comparisons with other implementations (`tcp_info`), and checks of it.

use super::common::scoreboard::{LOST, RETX, SACKED};
use super::receiver::Receiver;
use super::sender::Sender;
use crate::net::packet::Wire;
use crate::tcp::config::TcpConfig;

/// Outstanding segments of a sender, as Linux counts them for `tcp_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Sent and not cumulatively acknowledged.
    pub unacked: u32,
    /// Of those, SACKed; without SACK, duplicate ACKs.
    pub sacked: u32,
    /// Of those, deemed lost.
    pub lost: u32,
    /// Retransmissions in flight.
    pub retrans: u32,
}

impl Sender {
    /// Counts of outstanding segments.
    pub fn counts(&self, c: &TcpConfig) -> Counts {
        let Some(s) = &self.loss.sack else {
            let unacked = self.flight().div_ceil(u64::from(c.mss)) as u32;
            return Counts { unacked, sacked: self.loss.dupacks().min(unacked), ..Counts::default() };
        };
        let counted = (s.reordering > 0).then_some(s.board.sacked_segs);
        let count = |flag: u8| s.board.iter().filter(|seg| seg.is(flag)).count() as u32;
        Counts {
            unacked: s.board.len() as u32,
            sacked: counted.unwrap_or_else(|| count(SACKED)),
            lost: count(LOST),
            retrans: count(RETX),
        }
    }

    /// Bytes in the network: the pipe of RFC 6675 with SACK, the flight size without.
    pub fn in_network(&self) -> u64 {
        self.loss.sack.as_ref().map_or(self.flight(), |s| s.board.pipe(self.flight()))
    }

    /// Degree of reordering in segments before one is considered lost, where that is counted (Linux `reordering`).
    pub fn reordering(&self, c: &TcpConfig) -> u32 {
        self.loss
            .sack
            .as_ref()
            .map_or(c.dup_thresh, |s| if s.reordering > 0 { s.reordering } else { s.rack.far.max(c.dup_thresh) })
    }

    /// Counts the segments of the scoreboard again, for tests.
    ///
    /// # Panics
    /// If a counter is wrong, or the scoreboard does not cover exactly the outstanding data.
    pub fn audit(&self) {
        let Some(s) = &self.loss.sack else {
            assert!(
                !self.loss.uses_scoreboard() || self.stream.snd_una() == self.stream.snd_nxt(),
                "what is outstanding is in no scoreboard"
            );
            return;
        };
        let mut next = self.stream.snd_una();
        for seg in s.board.iter() {
            assert_eq!(seg.start, next, "the scoreboard has a gap or an overlap");
            next = seg.end();
        }
        assert_eq!(next, self.stream.snd_nxt(), "the scoreboard ends elsewhere than the data sent");
        s.board.audit(s.reordering > 0);
    }
}

impl Receiver {
    /// Acknowledges all received data now, as a segment in the other direction would.
    pub fn flush(&mut self, out: &mut impl Wire) {
        self.acknowledge_early(out);
    }
}
