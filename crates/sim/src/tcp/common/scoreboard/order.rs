//! Order of transmission, by which RACK finds losses (RFC 8985 section 6.2 step 5; `tsorted_sent_queue` in Linux).
//!
//! First transmissions are ordered in the scoreboard, retransmissions in a queue. When RACK's newest delivery advances, transmissions before it move
//! from both into one queue, in which they wait for the reordering window to pass. So each is visited when it enters and when it leaves. Segments
//! that were delivered or sent again in between are recognized at the ends of a queue.

use super::{EVER_RETX, GIVEN_UP, LOST, SACKED, Scoreboard};
use forebay_types::Time;
use std::collections::VecDeque;

/// Order of transmissions that have the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// By offset (RACK_sent_after of RFC 8985).
    Offset,
    /// In the order of transmission. The search of Linux ends at the first segment of its list that was not sent before the newest delivery
    /// (tcp_rack_detect_loss), so that a retransmission waits behind new data of the same microsecond.
    Transmission,
}

impl Ties {
    /// The rule of a stack.
    pub fn of(linux: bool) -> Ties {
        if linux { Ties::Transmission } else { Ties::Offset }
    }
}

/// One transmission of a segment, ordered as by RACK_sent_after of RFC 8985.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sent {
    /// Send time.
    pub(super) time: Time,
    /// Absolute number of the segment.
    pub(super) number: u64,
    /// Absolute number of the first segment that was not sent before.
    behind: u64,
}

impl Sent {
    /// Returns true if this first transmission comes before the retransmission `again`.
    fn precedes(&self, again: &Sent, ties: Ties) -> bool {
        match ties {
            Ties::Offset => self < again,
            Ties::Transmission => self.number < again.behind,
        }
    }
}

/// Queues of transmissions.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    /// First transmissions of segments below this absolute number have been passed.
    pub(super) first: u64,
    /// Retransmissions that have not been passed.
    pub(super) again: VecDeque<Sent>,
    /// Transmissions before the newest delivery.
    pub(super) passed: VecDeque<Sent>,
}

impl Order {
    pub(super) const NEW: Order = Order { first: 0, again: VecDeque::new(), passed: VecDeque::new() };

    pub(super) fn clear(&mut self) {
        self.first = 0;
        self.again.clear();
        self.passed.clear();
    }

    /// Renumbers all segments after that with absolute number `number`, and gives its transmissions to the segment after it too.
    pub(super) fn split(&mut self, number: u64) {
        self.first += u64::from(self.first > number);
        for queue in [&mut self.again, &mut self.passed] {
            for sent in queue.iter_mut() {
                sent.number += u64::from(sent.number > number);
                sent.behind += u64::from(sent.behind > number);
            }
            let mut index = 0;
            while let Some(&sent) = queue.get(index) {
                index += 1;
                if sent.number == number {
                    queue.insert(index, Sent { number: number + 1, ..sent });
                    index += 1;
                }
            }
        }
    }

    /// Discards the transmissions of segments from absolute number `end` on. Segments that are sent from now on are behind all others.
    pub(super) fn truncate(&mut self, end: u64) {
        for queue in [&mut self.again, &mut self.passed] {
            queue.retain(|sent| sent.number < end);
            for sent in queue {
                sent.behind = sent.behind.min(end);
            }
        }
    }
}

impl Scoreboard {
    /// Returns true if this is the last transmission of its segment, and may still arrive.
    fn is_outstanding(&self, sent: &Sent) -> bool {
        let seg = || self.segs[(sent.number - self.base) as usize];
        sent.number >= self.base && !seg().is(SACKED) && !seg().waits() && seg().sent() == sent.time
    }

    /// Notes that the segment at `index` was retransmitted.
    pub(super) fn note_retransmission(&mut self, index: usize, ties: Ties) {
        let behind = self.base + self.segs.len() as u64;
        let sent = Sent { time: self.segs[index].sent(), number: self.base + index as u64, behind };
        // Not every recovery uses the order: delivered segments are removed here too.
        while self.search.order.again.front().is_some_and(|s| !self.is_outstanding(s)) {
            self.search.order.again.pop_front();
        }
        let follows = |s: &&Sent| ties == Ties::Offset && **s > sent;
        let later = self.search.order.again.iter().rev().take_while(follows).count();
        let again = &mut self.search.order.again;
        again.insert(again.len() - later, sent);
    }

    /// First transmission that is next to be passed.
    fn next_first(&mut self) -> Option<Sent> {
        let mut index = self.index(self.search.order.first);
        while self.segs.get(index).is_some_and(|s| s.is(SACKED | LOST | EVER_RETX | GIVEN_UP)) {
            index += 1;
        }
        self.search.order.first = self.base + index as u64;
        let number = self.search.order.first;
        self.segs.get(index).map(|s| Sent { time: s.sent(), number, behind: number })
    }

    /// Retransmission that is next to be passed.
    fn next_again(&mut self) -> Option<Sent> {
        while let Some(&sent) = self.search.order.again.front() {
            if self.is_outstanding(&sent) {
                return Some(sent);
            }
            self.search.order.again.pop_front();
        }
        None
    }

    /// Passes all transmissions before that of the segment that ends at `end`, sent at `time`, which is the newest delivered one.
    pub fn pass(&mut self, time: Time, end: u64, ties: Ties) {
        loop {
            let (first, again) = (self.next_first(), self.next_again());
            let is_first = |first: &Sent| again.is_none_or(|again| first.precedes(&again, ties));
            let Some(sent) = first.filter(is_first).or(again) else { return };
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

    /// Index of the segment with the oldest passed transmission that may still arrive.
    pub fn oldest_candidate(&mut self) -> Option<usize> {
        while let Some(sent) = self.search.order.passed.front() {
            if self.is_outstanding(sent) {
                return Some(self.index(sent.number));
            }
            self.search.order.passed.pop_front();
        }
        None
    }

    /// Index of the segment with the youngest one.
    pub fn youngest_candidate(&mut self) -> Option<usize> {
        while let Some(sent) = self.search.order.passed.back() {
            if self.is_outstanding(sent) {
                return Some(self.index(sent.number));
            }
            self.search.order.passed.pop_back();
        }
        None
    }

    /// Rebuilds the order after loss marks were cleared: segments that had been given up may still arrive.
    pub(super) fn find_order(&mut self) {
        self.search.order.first = self.base;
        self.search.order.passed.clear();
        self.search.order.again.clear();
        let again = (self.base..).zip(&self.segs).filter(|(_, s)| s.is(EVER_RETX) && !s.is(SACKED | GIVEN_UP));
        self.search.order.again.extend(again.map(|(number, s)| Sent { time: s.sent(), number, behind: 0 }));
        self.search.order.again.make_contiguous().sort_unstable();
        // Behind the new data of the same time.
        let mut new = (self.base..).zip(&self.segs).filter(|(_, s)| !s.is(SACKED | EVER_RETX)).peekable();
        let mut behind = self.base;
        for sent in &mut self.search.order.again {
            while let Some((number, _)) = new.next_if(|(_, s)| s.sent() <= sent.time) {
                behind = number + 1;
            }
            sent.behind = behind;
        }
    }
}
