//! The messages on a connection: what the application wrote, from the first byte of each to its delivery and acknowledgement.

use super::core::First;
use forebay_units::QueryId;
use std::collections::VecDeque;

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Stream offset of its first byte.
    pub begin: u64,
    /// Stream offset behind its last byte; `u64::MAX` for an endless one.
    pub end: u64,
    /// When the application handed it over, ps.
    pub start: u64,
    /// When the receiver had all of it, ps; `u64::MAX` before.
    pub delivered: u64,
    /// Barrier round or request it belongs to.
    pub query: Option<QueryId>,
    /// When it should have arrived, ps; `u64::MAX` for no deadline.
    pub deadline: u64,
    /// Bytes of the congestion window when it was written.
    pub first_window: u64,
}

/// What a receiver has of a stream: all up to an offset, and intervals beyond it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// Delivered to the application up to here.
    pub in_order: u64,
    /// What waits for something before it, disjoint.
    pub beyond: Vec<(u64, u64)>,
}

impl Held {
    /// Bytes of [begin, end) among it.
    pub fn within(&self, begin: u64, end: u64) -> u64 {
        let common = |a: u64, b: u64| b.min(end).saturating_sub(a.max(begin));
        common(0, self.in_order) + self.beyond.iter().map(|&(a, b)| common(a, b)).sum::<u64>()
    }
}

/// Identity and messages of one connection.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// Messages not yet acknowledged, oldest first.
    pub messages: VecDeque<Message>,
    /// How many of them are delivered.
    pub delivered: usize,
    /// Number of the connection in order of creation.
    pub conn_id: u64,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// ECMP hash of the data direction.
    pub hash: u16,
    /// Application that owns it.
    pub app: u32,
    /// The application's own name for it.
    pub tag: u64,
    /// Generation of the slot, 6 bits.
    pub generation: u8,
    /// Whether the slot is in use.
    pub live: bool,
    /// What is written when it opens.
    pub first: First,
    /// A source of datagrams: there is no TCP on this connection.
    pub datagrams: bool,
    /// Packets of this connection dropped in the network.
    pub dropped: u64,
    /// Next time of a `tcp` series row; `u64::MAX` for none.
    pub next_sample: u64,
    /// Interval of the series, ps; 0: every ACK.
    pub sample_every: u64,
    /// What its receiver had when the warm-up ended.
    pub before: Held,
}
