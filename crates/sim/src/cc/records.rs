//! Congestion controls that remember something of every segment under way: their records, kept beside the scoreboard under its numbers.

use super::hooks::{Arrival, CongestionControl, Departure, Loss};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

/// A congestion control with the records of its segments under way. Boxed, so that connections of other congestion controls stay small.
#[derive(Debug, Clone)]
pub struct Recorded<L: CongestionControl>(Box<Parts<L>>);

#[derive(Debug, Clone)]
struct Parts<L: CongestionControl> {
    cc: L,
    /// The scoreboard's number of the first record.
    first: u64,
    records: VecDeque<L::Sent>,
}

impl<L: CongestionControl> From<L> for Recorded<L> {
    fn from(cc: L) -> Recorded<L> {
        Recorded(Box::new(Parts { cc, first: 0, records: VecDeque::new() }))
    }
}

impl<L: CongestionControl> Deref for Recorded<L> {
    type Target = L;
    fn deref(&self) -> &L {
        &self.0.cc
    }
}

impl<L: CongestionControl> DerefMut for Recorded<L> {
    fn deref_mut(&mut self) -> &mut L {
        &mut self.0.cc
    }
}

impl<L: CongestionControl> Parts<L> {
    fn record(&self, number: u64) -> Option<L::Sent> {
        self.records.get(number.checked_sub(self.first)? as usize).copied()
    }
}

/// How a congestion control is kept. Segments have the scoreboard's numbers.
pub(super) trait Keep {
    /// Segment `number` left, new or again.
    fn note_sent(&mut self, _number: u64, _at: &Departure) {}
    /// The receiver has segment `number`, as was not known before.
    fn note_arrival(&mut self, _number: u64, _at: &Arrival) {}
    /// Segment `number` is deemed lost.
    fn note_loss(&mut self, _number: u64, _at: &Loss) {}
    /// Segments below `number` are acknowledged.
    fn forget(&mut self, _number: u64) {}
}

impl<L: CongestionControl> Keep for L {}

impl<L: CongestionControl> Keep for Recorded<L> {
    fn note_sent(&mut self, number: u64, at: &Departure) {
        let parts = &mut *self.0;
        let record = parts.cc.segment_sent(at);
        let place = (number - parts.first) as usize;
        match parts.records.get_mut(place) {
            Some(old) => *old = record,
            None => parts.records.push_back(record),
        }
        debug_assert!(place < parts.records.len(), "segments are new in the order of their numbers");
    }

    fn note_arrival(&mut self, number: u64, at: &Arrival) {
        if let Some(sent) = self.0.record(number) {
            self.0.cc.segment_arrived(sent, at);
        }
    }

    fn note_loss(&mut self, number: u64, at: &Loss) {
        if let Some(sent) = self.0.record(number) {
            self.0.cc.segment_lost(sent, at);
        }
    }

    fn forget(&mut self, number: u64) {
        let parts = &mut *self.0;
        let acknowledged = (number.saturating_sub(parts.first) as usize).min(parts.records.len());
        parts.records.drain(..acknowledged);
        parts.first = number.max(parts.first);
    }
}
