//! Hooks of shims that tag packets at the sender, and their inputs: the message of a byte, and the window at its start. The list of them is in
//! `shim/tag_shims.rs`; `tcp/sender/packet_tags.rs` calls the hooks that affect more than a tag.

use forebay_types::Time;
use std::collections::VecDeque;

/// A message of the application as a range of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Stream offset of its first byte.
    pub begin: u64,
    /// Stream offset behind its last byte.
    pub end: u64,
}

/// A segment about to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Stream offset of its first byte.
    pub offset: u64,
    /// Oldest unacknowledged offset.
    pub una: u64,
    /// Bytes behind it that the receiver has selectively acknowledged.
    pub sacked: u64,
    /// Highest offset sent so far, this segment not included.
    pub high: u64,
    /// Payload bytes of a full segment.
    pub mss: u64,
    /// True if it is a retransmission.
    pub again: bool,
}

/// The congestion window at the start of a message, in segments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageStart {
    /// Stream offset of the message's first byte, which is about to be sent for the first time.
    pub offset: u64,
    /// Congestion window, without the inflation of fast recovery.
    pub cwnd: f64,
    /// True if this is the connection's first message and the window is still the initial one.
    pub initial: bool,
}

/// The window that a shim sets at the start of a message, in segments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Restart {
    /// The new congestion window.
    pub cwnd: f64,
    /// Upper bound of the slow start threshold; `None`: unchanged.
    pub ssthresh_limit: Option<f64>,
}

/// A shim that tags the packets of one sender. To add one: implement this trait in a file of its own, and add a line to the list in
/// `shim/tag_shims.rs`.
pub trait TagShim: std::fmt::Debug + Clone {
    /// Its parameters, from the registry entry.
    type Config: std::fmt::Debug + Clone + PartialEq;

    /// True if packets without data (SYN, ACK, FIN) are of the most urgent class, in both directions.
    const URGENT_CONTROL: bool;

    /// True if its tags have ranks.
    const RANKS: bool = false;

    /// The state of a new connection; `delayed_acks` is true if the peer delays ACKs.
    fn new(c: &Self::Config, delayed_acks: bool) -> Self;

    /// Class of the sender's own packets without data: SYN, FIN, and ACKs in the data direction.
    fn control(&self) -> u8 {
        if Self::URGENT_CONTROL { URGENT } else { 0 }
    }

    /// Tag of a data segment of message `m`; see [`service`](crate::net::packet::service).
    fn tag(&self, m: &Message, s: &Segment) -> u16;

    /// Bytes from stream offset `offset` to the next required segment boundary; `u64::MAX`: there is none.
    fn cut(&self, _messages: &Messages, _offset: u64, _mss: u64) -> u64 {
        u64::MAX
    }

    /// Called immediately before new data is sent: if a message starts there, the shim may set the window for it.
    fn message_start(&mut self, _messages: &Messages, _at: &MessageStart) -> Option<Restart> {
        None
    }

    /// Called at the duplicate ACK that would start a fast retransmission, when everything up to `high` has been sent. Returns the time to wait for
    /// an ACK that makes it unnecessary.
    fn fast_retransmit_wait(&self, _messages: &Messages, _high: u64) -> Option<Time> {
        None
    }
}

/// The most urgent class of service.
const URGENT: u8 = 7;

/// The messages of a connection that are not fully acknowledged, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Messages(pub(super) VecDeque<Message>);

impl Messages {
    /// The message of `offset`, or for a FIN the last one. `None` if it is acknowledged.
    pub fn at(&self, offset: u64) -> Option<Message> {
        let behind = self.0.partition_point(|m| m.begin <= offset);
        behind.checked_sub(1).map(|i| self.0[i])
    }

    /// Appends the message that the application has just written.
    pub fn push(&mut self, message: Message) {
        self.0.push_back(message);
    }

    /// Removes fully acknowledged messages.
    pub(super) fn forget(&mut self, una: u64) {
        while self.0.front().is_some_and(|m| m.end <= una) {
            self.0.pop_front();
        }
    }
}
