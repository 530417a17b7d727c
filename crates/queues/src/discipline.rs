//! What a discipline sees and says.

use crate::{DctcpStep, DropTail};

/// The queue as an arriving packet finds it: packets that wait or are being transmitted, the arriving one not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueState {
    /// Packets, the one in service included.
    pub packets: u32,
    /// Wire bytes of those packets, each counted whole until its last bit has left.
    pub bytes: u64,
}

/// Facts about the arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes on the wire.
    pub wire: u32,
    /// Whether it declares an ECN-capable transport (RFC 3168 section 5).
    pub ect: bool,
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The port's own buffer was full.
    Overflow,
    /// The switch's shared memory refused it.
    SharedBuffer,
    /// The discipline dropped it early, as a congestion signal.
    Early,
}

/// The decision about one arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Enqueue unchanged.
    Accept,
    /// Enqueue with CE set.
    Mark,
    /// Drop as a congestion signal. (Overflow is decided by the port before the discipline is asked.)
    Drop,
}

/// A discipline and its state. An enum, so that the packet path has no indirect call.
#[derive(Debug, Clone, PartialEq)]
pub enum Discipline {
    /// Tail drop only.
    DropTail(DropTail),
    /// DCTCP's step.
    DctcpStep(DctcpStep),
}

impl Discipline {
    /// A promise that lets a port skip the question: any arrival that finds fewer packets than this and fewer bytes than this is
    /// accepted unchanged, and the discipline's state does not depend on having been asked.
    pub fn quiet_below(&self) -> QueueState {
        match self {
            Discipline::DropTail(_) => QueueState { packets: u32::MAX, bytes: u64::MAX },
            Discipline::DctcpStep(d) => d.quiet_below(),
        }
    }

    /// Decides about a packet for which there is room.
    #[inline]
    pub fn on_arrival(&mut self, queue: QueueState, packet: Arrival) -> Verdict {
        match self {
            Discipline::DropTail(_) => Verdict::Accept,
            Discipline::DctcpStep(d) => d.on_arrival(queue, packet),
        }
    }
}
