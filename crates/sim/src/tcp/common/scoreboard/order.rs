//! The order of transmission, which RACK goes by (RFC 8985 section 6.2 step 5; `tsorted_sent_queue` in Linux).
//!
//! First transmissions are in order as they stand in the scoreboard, and retransmissions as they are made. As RACK's newest delivery moves
//! on, transmissions before it are taken from both into one queue, in which they wait for the reordering window to pass. So each is
//! looked at when it enters and when it leaves. What was delivered, or sent again, meanwhile is recognised when it comes to an end of a
//! queue.

use super::{EVER_RETX, GIVEN_UP, LOST, SACKED, Scoreboard};
use forebay_units::Time;
use std::collections::VecDeque;

/// One transmission of a segment, ordered as RFC 8985's RACK_sent_after has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sent {
    /// When.
    pub(super) time: Time,
    /// Absolute number of the segment.
    pub(super) number: u64,
}

/// The queues.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    /// No first transmission of a segment below this absolute number is still to be passed.
    pub(super) first: u64,
    /// Retransmissions still to be passed.
    pub(super) again: VecDeque<Sent>,
    /// Sent before the newest delivery.
    pub(super) passed: VecDeque<Sent>,
}

impl Order {
    pub(super) const NEW: Order = Order { first: 0, again: VecDeque::new(), passed: VecDeque::new() };

    pub(super) fn clear(&mut self) {
        self.first = 0;
        self.again.clear();
        self.passed.clear();
    }
}

impl Scoreboard {
    /// Whether this is the last transmission of its segment, and may still arrive.
    fn under_way(&self, sent: &Sent) -> bool {
        let seg = || self.segs[(sent.number - self.base) as usize];
        sent.number >= self.base && !seg().is(SACKED) && !seg().waits() && seg().sent() == sent.time
    }

    /// The segment at `index` was retransmitted.
    pub(super) fn note_retransmission(&mut self, index: usize) {
        let sent = Sent { time: self.segs[index].sent(), number: self.base + index as u64 };
        // Not every recovery asks for the order: what has been delivered leaves here too.
        while self.search.order.again.front().is_some_and(|s| !self.under_way(s)) {
            self.search.order.again.pop_front();
        }
        // At one instant, in the order of their offsets.
        let later = self.search.order.again.iter().rev().take_while(|&s| *s > sent).count();
        let again = &mut self.search.order.again;
        again.insert(again.len() - later, sent);
    }

    /// The first transmission that is next to be passed.
    fn next_first(&mut self) -> Option<Sent> {
        let mut index = self.index(self.search.order.first);
        while self.segs.get(index).is_some_and(|s| s.is(SACKED | LOST | EVER_RETX | GIVEN_UP)) {
            index += 1;
        }
        self.search.order.first = self.base + index as u64;
        self.segs.get(index).map(|s| Sent { time: s.sent(), number: self.search.order.first })
    }

    /// The retransmission that is next to be passed.
    fn next_again(&mut self) -> Option<Sent> {
        while let Some(&sent) = self.search.order.again.front() {
            if self.under_way(&sent) {
                return Some(sent);
            }
            self.search.order.again.pop_front();
        }
        None
    }

    /// The newest transmission known to be delivered is that of the segment that ends at `end`, at `time`: passes all before it.
    pub fn pass(&mut self, time: Time, end: u64) {
        loop {
            let (first, again) = (self.next_first(), self.next_again());
            let Some(sent) = first.into_iter().chain(again).min() else { return };
            if (sent.time, self.segs[self.index(sent.number)].end()) >= (time, end) {
                return;
            }
            if first == Some(sent) {
                self.search.order.first += 1;
            } else {
                self.search.order.again.pop_front();
            }
            self.search.order.passed.push_back(sent);
        }
    }

    /// Index of the segment whose transmission, of those passed and still under way, is the oldest.
    pub fn oldest_candidate(&mut self) -> Option<usize> {
        while let Some(sent) = self.search.order.passed.front() {
            if self.under_way(sent) {
                return Some(self.index(sent.number));
            }
            self.search.order.passed.pop_front();
        }
        None
    }

    /// The same for the youngest.
    pub fn youngest_candidate(&mut self) -> Option<usize> {
        while let Some(sent) = self.search.order.passed.back() {
            if self.under_way(sent) {
                return Some(self.index(sent.number));
            }
            self.search.order.passed.pop_back();
        }
        None
    }

    /// Loss marks were cleared: what had been given up may be under way after all. Finds the order anew.
    pub(super) fn find_order(&mut self) {
        self.search.order.first = self.base;
        self.search.order.passed.clear();
        self.search.order.again.clear();
        let again = (self.base..).zip(&self.segs).filter(|(_, s)| s.is(EVER_RETX) && !s.is(SACKED | GIVEN_UP));
        self.search.order.again.extend(again.map(|(number, s)| Sent { time: s.sent(), number }));
        self.search.order.again.make_contiguous().sort_unstable();
    }
}
