//! What a discipline is told, and what it can say.

use forebay_units::QueueLen;

/// A queue's length, or a limit on it, in packets and in wire bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueState {
    /// Packets.
    pub packets: u32,
    /// Wire bytes of those packets, each counted whole until its last bit has left.
    pub bytes: u64,
}

impl QueueState {
    /// The limit that no queue reaches.
    pub const UNLIMITED: QueueState = QueueState { packets: u32::MAX, bytes: u64::MAX };

    /// An optional threshold; without one it is never reached.
    pub(crate) fn threshold(len: Option<QueueLen>) -> QueueState {
        len.map_or(QueueState::UNLIMITED, QueueState::limit)
    }

    /// `len` as a limit or a threshold: the unit it does not name is unlimited.
    pub fn limit(len: QueueLen) -> QueueState {
        match len {
            QueueLen::Packets(n) => QueueState { packets: u32::try_from(n).unwrap_or(u32::MAX), bytes: u64::MAX },
            QueueLen::Bytes(n) => QueueState { packets: u32::MAX, bytes: n },
        }
    }

    /// Whether the queue is at or above `threshold` in either unit.
    #[inline]
    pub fn reaches(self, threshold: QueueState) -> bool {
        self.packets >= threshold.packets || self.bytes >= threshold.bytes
    }

    /// Whether a packet of `wire` bytes may join this queue under `limit`.
    #[inline]
    pub fn fits(self, wire: u32, limit: QueueState) -> bool {
        self.packets < limit.packets && self.bytes + u64::from(wire) <= limit.bytes
    }

    pub(crate) fn add(&mut self, wire: u32) {
        self.packets += 1;
        self.bytes += u64::from(wire);
    }

    pub(crate) fn remove(&mut self, wire: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(wire);
    }
}

/// Facts about the arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Bytes on the wire.
    pub wire: u32,
    /// Whether it declares an ECN-capable transport (RFC 3168 section 5), marked or not.
    pub ect: bool,
    /// Class of service, 0 (ordinary) to 7 (most urgent), as 802.1p and the DSCP class selectors number it.
    pub class: u8,
    /// Urgency that a scheduler by remaining size goes by: smaller is more urgent.
    pub rank: u16,
    /// The same for packets of one connection and direction, different otherwise.
    pub flow: u64,
}

/// What an arriving packet finds at the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Time, ps.
    pub now: u64,
    /// Packets that wait or are being transmitted, the arriving one not counted.
    pub queue: QueueState,
    /// The port's own buffer.
    pub limit: QueueState,
    /// Most bytes the port may hold because others hold the rest of a shared memory; `u64::MAX` while there is enough.
    pub memory: u64,
    /// Wire bytes of the packet in service, 0 when the port is idle.
    pub serving: u32,
    /// When the port became idle, ps; of interest while it is.
    pub idle_since: u64,
}

impl Found {
    /// Whether a packet of `wire` bytes would fit if `freed` were not there.
    pub fn fits_without(&self, freed: QueueState, wire: u32) -> bool {
        let left = QueueState { packets: self.queue.packets - freed.packets, bytes: self.queue.bytes - freed.bytes };
        left.fits(wire, self.limit) && left.bytes + u64::from(wire) <= self.memory
    }

    /// Whether a packet of `wire` bytes fits.
    pub fn fits(&self, wire: u32) -> bool {
        self.fits_without(QueueState::default(), wire)
    }

    /// The queue without the packet in service.
    pub fn waiting(&self) -> QueueState {
        let serving = u32::from(self.serving > 0);
        QueueState { packets: self.queue.packets - serving, bytes: self.queue.bytes - u64::from(self.serving) }
    }
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The port's own buffer was full: the packet did not fit, or it made room for a more urgent one.
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
    /// Do not enqueue.
    Drop(DropReason),
}

impl Verdict {
    /// The congestion signal to a packet that fits: CE where the transport understands it, a drop elsewhere (RFC 3168 section 5).
    pub(crate) fn signal(ect: bool) -> Verdict {
        if ect { Verdict::Mark } else { Verdict::Drop(DropReason::Early) }
    }

    /// Accepted, marked when `queue` has reached the step `k`; a packet that cannot be marked passes (`dctcp.md` 2.1).
    pub(crate) fn step(queue: QueueState, k: QueueState, ect: bool) -> Verdict {
        if ect && queue.reaches(k) { Verdict::Mark } else { Verdict::Accept }
    }
}

/// What an arrival does to packets that wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The waiting packet gets CE.
    Mark {
        /// The packet.
        handle: u32,
    },
    /// The waiting packet is thrown away; the discipline has forgotten it.
    Drop {
        /// The packet.
        handle: u32,
        /// Why.
        reason: DropReason,
    },
}

/// A packet that waits, as its discipline knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiter {
    /// The port's name for it.
    pub handle: u32,
    /// Its facts.
    pub packet: Arrival,
}

impl Waiter {
    pub(crate) fn overflow(&self) -> Effect {
        Effect::Drop { handle: self.handle, reason: DropReason::Overflow }
    }
}
