//! Contents of a SACK option: duplicates (RFC 2883), and data that was received beyond the cumulative ACK (RFC 2018).

use super::send_stream::SendStream;
use super::seq::Numbers;
use crate::net::packet::SackBlocks;

/// SACK blocks of one ACK in stream offsets.
#[derive(Default)]
pub(in crate::tcp) struct SackReport {
    /// End of a duplicate, and its length.
    dsack: Option<(u64, u64)>,
    /// Start and end of received data, in order.
    blocks: [(u64, u64); SackBlocks::MOST],
    /// Number of those blocks.
    count: usize,
}

impl SackReport {
    /// Reads `blocks` of an ACK up to stream offset `number`.
    pub(in crate::tcp) fn read(blocks: &SackBlocks, number: u64, numbers: Numbers, stream: &SendStream) -> SackReport {
        let (snd_una, snd_max) = (stream.snd_una(), stream.snd_max());
        let mut report = SackReport::default();
        let offsets = |b: (u32, u32)| (numbers.offset(b.0, snd_una), numbers.offset(b.1, snd_una));
        let second = blocks.iter().nth(1).map(offsets);
        for (i, block) in blocks.iter().enumerate() {
            let (start, end) = offsets(block);
            // RFC 2883 section 4: a duplicate is below the cumulative ACK of the same packet, or inside the second block. Data that an overtaken
            // ACK reports may be acknowledged by now, but is no duplicate (Linux tcp_check_dsack).
            if i == 0 && (end <= number as i64 || second.is_some_and(|(s2, e2)| s2 <= start && end <= e2)) {
                report.dsack = Some((end.max(0) as u64, (end - start).max(0) as u64));
            } else if start >= snd_una as i64 && end <= snd_max as i64 {
                report.blocks[report.count] = (start as u64, end as u64);
                report.count += 1;
            }
        }
        // The latest block comes first. After lost ACKs the other blocks report new data too. That is no reordering (RFC 8985 section 6.2 step 3),
        // so blocks are taken in the order of their offsets (Linux tcp_sacktag_write_queue).
        report.blocks[..report.count].sort_unstable();
        report
    }

    /// End and length of a duplicate.
    pub(in crate::tcp) fn dsack(&self) -> Option<(u64, u64)> {
        self.dsack
    }

    /// Received data beyond the cumulative ACK.
    pub(in crate::tcp) fn above(&self) -> &[(u64, u64)] {
        &self.blocks[..self.count]
    }
}
