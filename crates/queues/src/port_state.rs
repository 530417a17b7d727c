//! Input of a discipline (port, packet) and its decisions.

use forebay_types::{QueueLen, Time};

/// A queue's length, or a limit on it, in packets and in wire bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueState {
    /// Packets.
    pub packets: u32,
    /// Wire bytes of those packets. A packet counts in full until its last bit has left.
    pub bytes: u64,
}

impl QueueState {
    /// A limit that no queue reaches.
    pub const UNLIMITED: QueueState = QueueState { packets: u32::MAX, bytes: u64::MAX };

    /// A threshold; `None` is never reached.
    pub(crate) fn threshold(len: Option<QueueLen>) -> QueueState {
        len.map_or(QueueState::UNLIMITED, QueueState::limit)
    }

    /// `len` as a limit or a threshold; the other unit is unlimited.
    pub fn limit(len: QueueLen) -> QueueState {
        match len {
            QueueLen::Packets(n) => QueueState { packets: u32::try_from(n).unwrap_or(u32::MAX), bytes: u64::MAX },
            QueueLen::Bytes(n) => QueueState { packets: u32::MAX, bytes: n },
        }
    }

    /// Returns true if the queue is at or above `threshold` in either unit.
    #[inline]
    pub fn reaches(self, threshold: QueueState) -> bool {
        self.packets >= threshold.packets || self.bytes >= threshold.bytes
    }

    /// Returns true if a packet of `wire` bytes may join this queue under `limit`.
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

/// ECN field of the IP header, with the values of RFC 3168 section 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[repr(u8)]
pub enum Codepoint {
    /// The transport is not ECN-capable.
    #[default]
    NotEct = 0b00,
    /// ECN-capable; for experiments such as L4S (RFC 8311, RFC 9331).
    Ect1 = 0b01,
    /// ECN-capable.
    Ect0 = 0b10,
    /// Congestion experienced: the packet has been marked.
    Ce = 0b11,
}

impl Codepoint {
    /// Bits that the field takes.
    pub const MASK: u8 = 0b11;

    /// The codepoint in the two low bits of `field`.
    #[inline]
    pub const fn from_bits(field: u8) -> Codepoint {
        match field & Codepoint::MASK {
            0b00 => Codepoint::NotEct,
            0b01 => Codepoint::Ect1,
            0b10 => Codepoint::Ect0,
            _ => Codepoint::Ce,
        }
    }

    /// Returns true if the packet may be marked instead of dropped; so may one that is marked already (RFC 3168 section 5).
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Codepoint::NotEct)
    }
}

/// An arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Bytes on the wire.
    pub wire: u32,
    /// ECN field of its IP header.
    pub ecn: Codepoint,
    /// Class of service, 0 (best effort) to 7 (most urgent), numbered as in 802.1p and the DSCP class selectors.
    pub class: u8,
    /// Rank for schedulers by remaining size: smaller is more urgent.
    pub rank: u16,
    /// Identifier of the connection and direction. At an interface of a host also [`Arrival::RELEASED`] and [`Arrival::ORPHAN`].
    pub flow: u64,
}

impl Arrival {
    /// Bit of `flow` of a packet that the sender has held until its departure time, for a discipline that holds packets
    /// ([`Queue::holds_departures`](crate::Queue::holds_departures)). The others do not receive it.
    pub const RELEASED: u64 = 1 << 63;
    /// Bit of `flow` of a packet that no full socket sends: a SYN-ACK, for the same disciplines.
    pub const ORPHAN: u64 = 1 << 62;
}

/// State of the port at which a packet arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortState {
    /// Time of the arrival.
    pub now: Time,
    /// Packets that wait or are being transmitted, the arriving one not counted.
    pub queue: QueueState,
    /// The port's own buffer.
    pub limit: QueueState,
    /// Limit on the port's bytes while other ports occupy the rest of a shared memory; `None` while enough is free.
    pub memory: Option<u64>,
    /// Wire bytes of the packet in service, 0 when the port is idle.
    pub serving: u32,
    /// Time at which the port became idle; valid while it is idle.
    pub idle_since: Time,
}

impl PortState {
    /// Returns true if a packet of `wire` bytes would fit without the packets of `freed`.
    #[inline]
    pub fn fits_without(&self, freed: QueueState, wire: u32) -> bool {
        let left = QueueState { packets: self.queue.packets - freed.packets, bytes: self.queue.bytes - freed.bytes };
        left.fits(wire, self.limit) && self.memory.is_none_or(|limit| left.bytes + u64::from(wire) <= limit)
    }

    /// Returns true if a packet of `wire` bytes fits.
    #[inline]
    pub fn fits(&self, wire: u32) -> bool {
        self.fits_without(QueueState::default(), wire)
    }

    /// The queue without the packet in service.
    pub fn waiting(&self) -> QueueState {
        let serving = u32::from(self.serving > 0);
        QueueState { packets: self.queue.packets - serving, bytes: self.queue.bytes - u64::from(self.serving) }
    }
}

/// Reason for a drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The port's own buffer was full: the packet did not fit, or it was evicted by a more urgent one.
    Overflow,
    /// The switch's shared memory refused it.
    SharedBuffer,
    /// The discipline dropped it early, as a congestion signal.
    Early,
}

/// Decision about an arriving packet.
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
    /// Congestion signal to a packet that fits: CE if it is ECN-capable, otherwise a drop (RFC 3168 section 5).
    pub(crate) fn signal(ecn: Codepoint) -> Verdict {
        Verdict::signal_if(true, ecn)
    }

    /// As [`Verdict::signal`] if the queue `marks`, otherwise a drop: queues stop marking under overload (RFC 3168 section 7).
    pub(crate) fn signal_if(marks: bool, ecn: Codepoint) -> Verdict {
        if marks && ecn.is_capable() { Verdict::Mark } else { Verdict::Drop(DropReason::Early) }
    }

    /// Accepts a packet, marked if `queue` has reached `k`; one that is not ECN-capable is accepted unmarked (`dctcp.md` 2.1).
    #[inline]
    pub(crate) fn step(queue: QueueState, k: QueueState, ecn: Codepoint) -> Verdict {
        if ecn.is_capable() && queue.reaches(k) { Verdict::Mark } else { Verdict::Accept }
    }
}

/// Effects of a buffered discipline on packets, carried out by the port immediately.
pub trait Effects {
    /// Sets CE on a packet of the backlog, or on the one being pushed or popped.
    fn mark(&mut self, packet: Handle);

    /// Drops a packet of the backlog, or the one being pushed. The discipline holds it no longer.
    fn drop(&mut self, packet: Handle, reason: DropReason);
}

/// The port's number of a packet in its backlog. Handles are reused, so that they stay small.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Handle(pub u32);

/// A packet of the backlog, as its discipline receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queued {
    /// The port's number of it.
    pub handle: Handle,
    /// Arrival time.
    pub since: Time,
    /// The packet.
    pub packet: Arrival,
}

impl Queued {
    /// Sojourn time at `now`.
    #[inline]
    pub fn sojourn(&self, now: Time) -> Time {
        now - self.since
    }

    /// Carries out the decision about this packet, which is being pushed. True if it joins the backlog.
    #[inline]
    pub(crate) fn admit(&self, verdict: Verdict, effects: &mut impl Effects) -> bool {
        match verdict {
            Verdict::Accept => true,
            Verdict::Mark => {
                effects.mark(self.handle);
                true
            }
            Verdict::Drop(reason) => {
                effects.drop(self.handle, reason);
                false
            }
        }
    }

    /// Drops it from a full buffer.
    pub(crate) fn evict(&self, effects: &mut impl Effects) {
        effects.drop(self.handle, DropReason::Overflow);
    }

    /// Its handle and length.
    #[inline]
    pub(crate) fn packet_ref(&self) -> PacketRef {
        PacketRef { handle: self.handle, wire: self.packet.wire }
    }
}

/// Handle and length of a packet in the backlog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PacketRef {
    pub(crate) handle: Handle,
    /// Bytes on the wire.
    pub(crate) wire: u32,
}

impl PacketRef {
    /// Drops it from a full buffer.
    pub(crate) fn evict(self, effects: &mut impl Effects) {
        effects.drop(self.handle, DropReason::Overflow);
    }
}
