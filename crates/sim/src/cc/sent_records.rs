//! Records of outstanding segments for congestion controls that need them, under the scoreboard's numbers.

use super::congestion_control::{Arrival, CongestionControl, Departure, Loss};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

/// A congestion control with the records of its outstanding segments. Boxed, so that other connections stay small.
#[derive(Debug, Clone)]
pub struct WithSentRecords<L: CongestionControl>(Box<Inner<L>>);

#[derive(Debug, Clone)]
struct Inner<L: CongestionControl> {
    cc: L,
    /// The scoreboard's number of the first record.
    first: u64,
    records: VecDeque<L::Sent>,
}

impl<L: CongestionControl> From<L> for WithSentRecords<L> {
    fn from(cc: L) -> WithSentRecords<L> {
        WithSentRecords(Box::new(Inner { cc, first: 0, records: VecDeque::new() }))
    }
}

impl<L: CongestionControl> Deref for WithSentRecords<L> {
    type Target = L;
    fn deref(&self) -> &L {
        &self.0.cc
    }
}

impl<L: CongestionControl> DerefMut for WithSentRecords<L> {
    fn deref_mut(&mut self) -> &mut L {
        &mut self.0.cc
    }
}

impl<L: CongestionControl> Inner<L> {
    fn record(&self, number: u64) -> Option<L::Sent> {
        self.records.get(number.checked_sub(self.first)? as usize).copied()
    }
}

/// Hooks of segments, by the scoreboard's numbers; they do nothing without records.
pub(super) trait SegmentHooks {
    /// Segment `number` left, new or retransmitted.
    fn note_sent(&mut self, _number: u64, _at: &Departure) {}
    /// Notes the arrival of segment `number`.
    fn note_arrival(&mut self, _number: u64, _at: &Arrival) {}
    /// Segment `number` is marked lost.
    fn note_loss(&mut self, _number: u64, _at: &Loss) {}
    /// Segments below `number` are acknowledged.
    fn forget(&mut self, _number: u64) {}
}

impl<L: CongestionControl> SegmentHooks for L {}

impl<L: CongestionControl> SegmentHooks for WithSentRecords<L> {
    fn note_sent(&mut self, number: u64, at: &Departure) {
        let inner = &mut *self.0;
        let record = inner.cc.segment_sent(at);
        let place = (number - inner.first) as usize;
        match inner.records.get_mut(place) {
            Some(old) => *old = record,
            None => inner.records.push_back(record),
        }
        debug_assert!(place < inner.records.len(), "segments are new in the order of their numbers");
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
        let inner = &mut *self.0;
        let acknowledged = (number.saturating_sub(inner.first) as usize).min(inner.records.len());
        inner.records.drain(..acknowledged);
        inner.first = number.max(inner.first);
    }
}
