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
}
