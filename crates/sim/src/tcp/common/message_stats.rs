//! The messages of a connection behind the oldest unacknowledged one, with what has been counted of them (`sender/booking.rs`).
//!
//! A segment belongs to the message of its first byte. So a message that begins inside a segment of the one before it has one segment less
//! than its bytes would need by themselves.

use super::send_stats::SendStats;
use std::collections::VecDeque;

/// Statistics of the message that is being acknowledged.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct MessageStats {
    /// Counters of the message.
    pub(in crate::tcp) current: SendStats,
    /// Offset behind its first window.
    pub(in crate::tcp) first_window_end: u64,
    /// Offset behind its last byte.
    pub(in crate::tcp) message_end: u64,
}

impl MessageStats {
    /// Nothing has been sent; the initial window has `cwnd` segments.
    pub(in crate::tcp) fn new(cwnd: f64) -> MessageStats {
        let current = SendStats { cwnd_max: cwnd, ..SendStats::default() };
        MessageStats { current, first_window_end: 0, message_end: u64::MAX }
    }
}

/// A message behind the oldest unacknowledged one, and what has happened to it so far.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct PendingMessage {
    pub(in crate::tcp) end: u64,
    pub(in crate::tcp) stats: SendStats,
}

/// The messages behind the oldest unacknowledged one, in order. Most connections have none.
#[derive(Debug, Clone, Default)]
#[expect(clippy::box_collection, reason = "a connection that has none carries 8 bytes instead of 32")]
pub(in crate::tcp) struct PendingMessages(pub(in crate::tcp) Option<Box<VecDeque<PendingMessage>>>);

impl PendingMessages {
    /// There are none.
    pub(in crate::tcp) const NONE: PendingMessages = PendingMessages(None);

    /// The one that `offset` lies in.
    pub(in crate::tcp) fn at(&mut self, offset: u64) -> Option<&mut PendingMessage> {
        let list = self.0.as_mut()?;
        // A FIN behind the last byte belongs to the last message.
        let place = list.partition_point(|m| m.end <= offset).min(list.len().checked_sub(1)?);
        list.get_mut(place)
    }
}
