//! Results of searches in the scoreboard. There are none before a segment is SACKed, deemed lost or sent again.

use super::order::Order;
use crate::tcp::common::cold_box::Initial;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of SACK blocks that are kept: an option has at most four, and the next one mostly repeats them.
pub(super) const BLOCKS: usize = 4;

/// Positions up to which searches are complete.
#[derive(Debug, Clone)]
pub(super) struct SearchHints {
    /// Last blocks: (start, absolute number up to which everything behind the start is SACKed).
    pub blocks: [(u64, u64); BLOCKS],
    /// Index of the block that is replaced next.
    pub oldest_block: usize,
    /// Absolute number behind the highest SACKed segment.
    pub top_sacked: u64,
    /// No segment below this absolute number waits for its retransmission, but for those in `below_hint`.
    pub lost_hint: u64,
    /// Absolute numbers of segments that were deemed lost (again) below the hint.
    pub below_hint: BinaryHeap<Reverse<u64>>,
    /// No segment below this absolute number is one that NextSeg rule 3 may choose.
    pub hole_hint: u64,
    /// RFC 6675 marking has covered everything below this absolute number.
    pub marked_below: u64,
    /// Runs of SACKed segments from there on, and their bytes.
    pub above: (u32, u64),
    /// Absolute number below which [`Scoreboard::mark_head_lost`] has marked all segments, and number of SACKed segments below it.
    pub head: (u64, u32),
    /// Order of transmission.
    pub order: Order,
}

impl SearchHints {
    const NEW: SearchHints = SearchHints {
        blocks: [(0, 0); BLOCKS],
        oldest_block: 0,
        top_sacked: 0,
        lost_hint: 0,
        below_hint: BinaryHeap::new(),
        hole_hint: 0,
        marked_below: 0,
        above: (0, 0),
        head: (0, 0),
        order: Order::NEW,
    };

    /// Removes everything, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.below_hint.clear();
        self.order.clear();
        *self = SearchHints {
            below_hint: std::mem::take(&mut self.below_hint),
            order: std::mem::take(&mut self.order),
            ..SearchHints::NEW
        };
    }
}

impl Default for SearchHints {
    fn default() -> SearchHints {
        SearchHints::NEW
    }
}

impl Initial for SearchHints {
    const INITIAL: &'static SearchHints = &SearchHints::NEW;
}
