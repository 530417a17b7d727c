//! What the SACK option of an ACK reports: duplicates (RFC 2883), and what is there beyond the cumulative ACK.

use super::Sender;
use crate::net::packet::SackBlocks;
use crate::tcp::common::scoreboard::Scoreboard;
use crate::tcp::config::TcpConfig;

/// What SACK blocks report: the end of a duplicate and its length (RFC 2883), and what is there beyond the cumulative ACK, in order.
#[derive(Default)]
pub(in crate::tcp) struct SackReport {
    pub(in crate::tcp) dsack: Option<(u64, u64)>,
    blocks: [(u64, u64); SackBlocks::MOST],
    count: usize,
}

impl SackReport {
    pub(in crate::tcp) fn above(&self) -> &[(u64, u64)] {
        &self.blocks[..self.count]
    }
}

impl Sender {
    /// How many repetitions a kernel takes the reported duplicate for, of the episode that began at `from`: all of it where it had been acknowledged before
    /// this ACK, which acknowledges `acked` bytes, else the segments of it that were sent again (tcp_check_dsack, tcp_sacktag_one). And where the first
    /// of those begins that had been SACKed: packets are out of order by so much at least.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn repetitions(
        &self,
        c: &TcpConfig,
        board: &Scoreboard,
        from: u64,
        (end, len): (u64, u64),
        acked: u64,
    ) -> (u32, Option<u64>) {
        if end <= self.stream.snd_una() - acked {
            return (if end > from { len.div_ceil(u64::from(c.mss)) as u32 } else { 0 }, None);
        }
        board.reported_again((end.saturating_sub(len), end), from)
    }

    /// What the SACK blocks of an ACK up to stream offset `number` report.
    pub(in crate::tcp) fn reported(&self, blocks: &SackBlocks, number: u64) -> SackReport {
        let mut reported = SackReport::default();
        let offsets = |b: (u32, u32)| {
            (self.tx.numbers().offset(b.0, self.stream.snd_una()), self.tx.numbers().offset(b.1, self.stream.snd_una()))
        };
        let second = blocks.iter().nth(1).map(offsets);
        for (i, block) in blocks.iter().enumerate() {
            let (start, end) = offsets(block);
            // RFC 2883 section 4: below the cumulative ACK of the same packet, or inside the second block. (What an ACK that was overtaken SACKs
            // may be acknowledged by now: that is no duplicate; Linux tcp_check_dsack.)
            if i == 0 && (end <= number as i64 || second.is_some_and(|(s2, e2)| s2 <= start && end <= e2)) {
                reported.dsack = Some((end.max(0) as u64, (end - start).max(0) as u64));
            } else if start >= self.stream.snd_una() as i64 && end <= self.stream.snd_max() as i64 {
                reported.blocks[reported.count] = (start as u64, end as u64);
                reported.count += 1;
            }
        }
        // The freshest block comes first, and news of the others with it when ACKs were lost. That is no reordering (RFC 8985 section 6.2
        // step 3), so they are taken in the order of their offsets, as in Linux (tcp_sacktag_write_queue).
        reported.blocks[..reported.count].sort_unstable();
        reported
    }
}
