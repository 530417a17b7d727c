//! Packets in the network, and what is noted of them.

use crate::frame::Headers;
use crate::port::{Skb, Watch};
use forebay_queues::{DropReason, QueueState};
use forebay_types::{PortId, Time};

/// A packet on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The packet as the kernel made it.
    pub(crate) bytes: Vec<u8>,
    /// Its parsed headers.
    pub(crate) headers: Headers,
    /// Number of the packet, in the order in which hosts sent them.
    pub(crate) id: u64,
    /// Ports that it has passed.
    pub(crate) hop: usize,
    /// Hash that selects the path, with per-packet load balancing.
    pub(crate) hash: u16,
}

impl Packet {
    /// A packet that has not left yet.
    pub fn new(bytes: Vec<u8>, headers: Headers, id: u64) -> Packet {
        Packet { bytes, headers, id, hop: 0, hash: 0 }
    }
}

/// Why a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The queue refused it.
    Queue(DropReason),
    /// The link was down.
    Dead,
    /// It waited or was in service when the link went down.
    Cut,
    /// It was on the wire when the link went down, or no path leads on.
    InFlight,
    /// The link damaged it.
    Damaged,
}

/// Packet events at ports, in the order of time.
pub trait Records {
    /// The packet joined the queue of `port`, in which it found `found`; with CE set there, or not.
    fn joined(&mut self, time: Time, port: PortId, skb: &Skb<Packet>, found: QueueState, marked: bool);
    /// A packet that had joined the queue of `port` before got CE.
    fn marked(&mut self, time: Time, port: PortId, skb: &Skb<Packet>);
    /// The packet was dropped at `port`, where there was `found` before.
    fn dropped(&mut self, time: Time, port: PortId, skb: &Skb<Packet>, found: QueueState, loss: Loss);
    /// The packet's last bit left `port`.
    fn left(&mut self, time: Time, port: PortId, skb: &Skb<Packet>);
}

/// Tells of what a port does where and when it is.
pub(crate) struct PortObserver<'a, R> {
    pub(crate) records: &'a mut R,
    pub(crate) time: Time,
    pub(crate) port: PortId,
    pub(crate) found: QueueState,
}

impl<R: Records> Watch<Packet> for PortObserver<'_, R> {
    fn joined(&mut self, skb: &Skb<Packet>, marked: bool) {
        self.records.joined(self.time, self.port, skb, self.found, marked);
    }

    fn marked(&mut self, skb: &Skb<Packet>) {
        self.records.marked(self.time, self.port, skb);
    }

    fn dropped(&mut self, skb: Skb<Packet>, reason: DropReason) {
        self.records.dropped(self.time, self.port, &skb, self.found, Loss::Queue(reason));
    }
}
