//! Memory of received segments in Linux (`skb->truesize`), and units of time in 32 bits.

use crate::net::packet::{MAX_SEGMENTS, Packet, SAVED};
use crate::tcp::config::TcpConfig;
use forebay_experiment::skb;
use forebay_types::Time;

/// Memory of a segment with `len` bytes of payload.
pub(super) fn truesize(c: &TcpConfig, len: u32) -> u32 {
    skb::received(len, c.timestamps)
}

/// Bytes behind a segment with `len` bytes of payload in its buffer.
pub(super) fn tailroom(c: &TcpConfig, len: u32) -> u32 {
    skb::tailroom(len, c.timestamps)
}

/// Segments that GRO has merged into one buffer. Its memory is that of all, less the `struct sk_buff` of those that are fragments of another
/// (skb_gro_receive).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segments {
    pub count: u32,
    /// Payload of the first (`gso_size`).
    pub size: u16,
}

impl Segments {
    /// A segment that is not merged.
    #[inline(always)]
    pub(super) fn one(p: &Packet) -> Segments {
        Segments { count: 1, size: p.len }
    }

    /// Buffers that are saved.
    pub(super) fn merged(self) -> u32 {
        self.count - self.count.div_ceil(MAX_SEGMENTS)
    }

    /// Memory that is saved.
    #[inline(always)]
    pub(super) fn saved(self) -> u32 {
        if self.count > 1 { self.merged() * SAVED } else { 0 }
    }

    /// Memory of `len` bytes.
    pub(super) fn truesize(self, c: &TcpConfig, len: u32) -> u32 {
        if self.count <= 1 {
            return truesize(c, len);
        }
        let last = len.saturating_sub((self.count - 1) * u32::from(self.size));
        (self.count - 1) * truesize(c, self.size.into()) + truesize(c, last) - self.saved()
    }
}

/// A packet that enters the out-of-order queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stored {
    /// Its segments.
    pub segments: u32,
    /// Its payload.
    pub len: u32,
    /// Its memory (`skb->truesize`).
    pub memory: u32,
    /// Bytes behind it in its buffer, if it is a single segment (`skb_tailroom`).
    pub room: u32,
}

impl Stored {
    /// A packet of `len` bytes.
    pub(super) fn of(c: &TcpConfig, segments: Segments, len: u32) -> Stored {
        let room = if segments.count == 1 { tailroom(c, len) } else { 0 };
        Stored { segments: segments.count, len, memory: segments.truesize(c, len), room }
    }

    /// A packet of `len` bytes at a receiver that does not charge memory.
    pub(super) fn free(segments: Segments, len: u32) -> Stored {
        Stored { segments: segments.count, len, memory: 0, room: 0 }
    }
}

/// A time in us, the low 32 bits.
pub(super) fn us(time: Time) -> u32 {
    time.as_us() as u32
}

/// A time in ns, at most 2^32 - 1.
pub(super) fn ns(time: Time) -> u32 {
    time.as_ns().min(u64::from(u32::MAX)) as u32
}
