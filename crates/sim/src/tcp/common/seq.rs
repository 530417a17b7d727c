//! Addressing of a connection's packets, and sequence numbers on the wire.

use crate::net::generation::Generation;
use forebay_types::ConnSlot;

/// Fields that an endpoint writes into its packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Address {
    /// Connection slot.
    pub conn: ConnSlot,
    /// Initial sequence number of the data direction.
    pub isn: u32,
    /// Host the packets go to: `Packet::dst`.
    pub dst: u16,
    /// ECMP hash of the packets in this direction: `Packet::hash`.
    pub hash: u16,
    /// Generation of the endpoint.
    pub generation: Generation,
}

impl Address {
    /// Sequence numbers of its stream.
    #[inline]
    pub fn numbers(&self) -> Numbers {
        Numbers(self.isn)
    }
}

/// Sequence numbers of a stream, which follow from the initial one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers(u32);

impl Numbers {
    /// Numbers that begin with `isn`.
    #[inline(always)]
    pub fn from_initial(isn: u32) -> Numbers {
        Numbers(isn)
    }

    /// Initial number, which is that of the SYN.
    #[inline]
    pub fn initial(self) -> u32 {
        self.0
    }

    /// Sequence number of stream offset `offset`; the SYN takes the number before offset 0.
    #[inline]
    pub fn wire(self, offset: u64) -> u32 {
        self.0.wrapping_add(1).wrapping_add(offset as u32)
    }

    /// Stream offset of sequence number `seq`, which lies within 2^31 of `near`. Negative for the SYN's own number and before.
    #[inline]
    pub fn offset(self, seq: u32, near: u64) -> i64 {
        near as i64 + i64::from(seq.wrapping_sub(self.wire(near)) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_wrap_around() {
        let a = Numbers(u32::MAX - 1000);
        for near in [0u64, 500, 1000, 5000, 1 << 33, (1 << 33) + 12345] {
            for delta in [-400i64, -1, 0, 1, 1 << 20, 1 << 30] {
                let offset = near as i64 + delta;
                if offset >= 0 {
                    assert_eq!(a.offset(a.wire(offset as u64), near), offset);
                }
            }
        }
        assert_eq!(a.offset(a.initial(), 0), -1);
    }

    /// Sequence arithmetic: all distances within eight of each edge (0, 2^31 less one, and their negatives), for initial numbers and positions within
    /// four of the edges of 32 bits. The offset of the number of an offset is that offset.
    #[test]
    fn exhaustive_edges_of_sequence_numbers() {
        let around = |edge: u64, by: u64| (0..=2 * by).filter_map(move |i| (edge + i).checked_sub(by));
        for isn in [0, 1 << 31, u64::from(u32::MAX)].into_iter().flat_map(|edge| around(edge, 4)) {
            let numbers = Numbers::from_initial(isn as u32);
            for near in [0, 1 << 31, 1 << 32, 3 << 32].into_iter().flat_map(|edge| around(edge, 4)) {
                // Within 2^31, exclusive at the upper end.
                for far in [0, (1 << 31) - 9].into_iter().flat_map(|edge| around(edge, 8)) {
                    for offset in [near.checked_add(far), near.checked_sub(far)].into_iter().flatten() {
                        assert_eq!(numbers.offset(numbers.wire(offset), near), offset as i64, "{isn} {near} {far}");
                    }
                }
            }
        }
    }
}
