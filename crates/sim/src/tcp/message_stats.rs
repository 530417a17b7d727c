//! The messages of a connection behind the oldest unacknowledged one, with what has been counted of them (`sender/booking.rs`).
//!
//! A segment belongs to the message of its first byte. So a message that begins inside a segment of the one before it has one segment less
//! than its bytes would need by themselves.

use super::send_stats::SendStats;
use std::collections::VecDeque;

/// A message behind the oldest unacknowledged one, and what has happened to it so far.
#[derive(Debug, Clone)]
pub(super) struct PendingMessage {
    pub(super) end: u64,
    pub(super) stats: SendStats,
}

/// The messages behind the oldest unacknowledged one, in order. Most connections have none.
#[derive(Debug, Clone, Default)]
#[expect(clippy::box_collection, reason = "a connection that has none carries 8 bytes instead of 32")]
pub(super) struct PendingMessages(pub(super) Option<Box<VecDeque<PendingMessage>>>);

impl PendingMessages {
    /// There are none.
    pub(super) const NONE: PendingMessages = PendingMessages(None);

    /// The one that `offset` lies in.
    pub(super) fn at(&mut self, offset: u64) -> Option<&mut PendingMessage> {
        let list = self.0.as_mut()?;
        // A FIN behind the last byte belongs to the last message.
        let place = list.partition_point(|m| m.end <= offset).min(list.len().checked_sub(1)?);
        list.get_mut(place)
    }
}
