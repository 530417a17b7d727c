//! Memory of received segments in Linux (`skb->truesize`), and units of time in 32 bits.

use crate::tcp::config::TcpConfig;
use forebay_types::Time;

/// Aligned sizes of `struct sk_buff` and `struct skb_shared_info`, and the space before the packet (NET_SKB_PAD).
const SKB: u32 = 256;
const SHARED_INFO: u32 = 320;
const PAD: u32 = 64;
/// Memory that is saved for a segment that is coalesced with another (skb_try_coalesce): its `struct sk_buff`, where the driver builds that around the
/// packet (build_skb).
pub(super) const SAVED: u32 = SKB;
/// Segments in one buffer: the first, and those in its fragments (MAX_SKB_FRAGS).
pub(super) const MAX_SEGMENTS: u8 = 18;
/// Headers of a segment without timestamps, with the alignment of the option.
const HEADERS: u32 = 40;
const TIMESTAMPS: u32 = 12;

/// Memory of a segment with `len` bytes of payload: a buffer of a power of two for each packet, as drivers allocate.
pub(super) fn truesize(c: &TcpConfig, len: u32) -> u32 {
    let packet = len + HEADERS + if c.timestamps { TIMESTAMPS } else { 0 };
    ((PAD + packet).next_multiple_of(64) + SHARED_INFO).next_power_of_two().max(2_048) + SKB
}

/// A time in us, the low 32 bits.
pub(super) fn us(time: Time) -> u32 {
    time.as_us() as u32
}

/// A time in ns, at most 2^32 - 1.
pub(super) fn ns(time: Time) -> u32 {
    time.as_ns().min(u64::from(u32::MAX)) as u32
}
