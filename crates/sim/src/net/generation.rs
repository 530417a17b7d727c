//! Generation of a connection slot: identifies the connection of a packet, a timer or an endpoint among those that have used the slot.

/// Generation of an endpoint: its number among the connections of its slot, modulo 64, and whether a shim sits between it and the network. Packets
/// carry the number only. So one comparison per packet finds late packets, closed endpoints, and endpoints with a shim; all other packets have no
/// extra cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation(u8);

impl Generation {
    /// Set in the generation of endpoints with a shim, and in no packet.
    const SHIM: u8 = 0x40;

    /// Set, beside [`Generation::SHIM`], in the generation of endpoints that share a TCP connection with those of the other direction.
    const REVERSE: u8 = 0x80;

    /// Generation of a closed endpoint: no packet has it.
    pub const RETIRED: Generation = Generation(0x80);

    /// Generation of an endpoint without shim; `number` counts modulo 64.
    pub const fn new(number: u8) -> Generation {
        Generation(number & 0x3F)
    }

    /// Returns the encoding.
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// Decodes the output of [`Generation::bits`].
    pub(crate) fn from_bits(bits: u8) -> Generation {
        Generation(bits)
    }

    /// The same generation with a shim.
    pub fn with_shim(self) -> Generation {
        Generation(self.0 | Self::SHIM)
    }

    /// Returns true if the endpoint has a shim.
    #[inline(always)]
    pub fn has_shim(self) -> bool {
        self.0 & (Self::SHIM | Self::REVERSE) == Self::SHIM
    }

    /// The same generation of an endpoint whose TCP connection has data in both directions.
    pub fn with_reverse(self) -> Generation {
        Generation(self.0 | Self::SHIM | Self::REVERSE)
    }

    /// Returns true if the TCP connection has data in both directions.
    #[inline(always)]
    pub fn has_reverse(self) -> bool {
        self.0 & (Self::SHIM | Self::REVERSE) == Self::SHIM | Self::REVERSE
    }

    /// Returns true if the endpoint has a shim, or data in both directions.
    #[inline(always)]
    pub fn is_special(self) -> bool {
        self.0 & Self::SHIM != 0
    }

    /// Returns true if a packet with `number` belongs to this endpoint, whose TCP connection has data in both directions.
    #[inline(always)]
    pub fn receives_both_ways(self, number: u8) -> bool {
        self.0 == number | Self::SHIM | Self::REVERSE
    }

    /// The number that its packets carry.
    #[inline(always)]
    pub(super) fn number(self) -> u8 {
        self.0 & 0x3F
    }

    /// Returns true if a packet with `number` belongs to this endpoint, without a shim in between.
    #[inline(always)]
    pub fn receives(self, number: u8) -> bool {
        self.0 == number
    }

    /// Returns true if a packet with `number` belongs to this endpoint, which has a shim.
    #[inline(always)]
    pub fn receives_through_shim(self, number: u8) -> bool {
        self.0 == number | Self::SHIM
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::Packet;
    use crate::net::packet::{Codepoint, Meta};

    #[test]
    fn packets_carry_the_number_alone() {
        for number in 0..64 {
            let plain = Generation::new(number);
            let shim = plain.with_shim();
            let packet = Packet { meta: Meta::new(plain, Codepoint::Ce), ..Packet::default() };
            assert_eq!((Meta::new(shim, Codepoint::Ce), packet.generation()), (packet.meta, number));
            assert!(
                plain.receives(packet.generation()) && !plain.receives_through_shim(packet.generation()) && !plain.has_shim()
            );
            assert!(!shim.receives(packet.generation()) && shim.receives_through_shim(packet.generation()) && shim.has_shim());
            let retired = Generation::RETIRED;
            assert!(
                !retired.receives(packet.generation())
                    && !retired.receives_through_shim(packet.generation())
                    && !retired.has_shim()
            );
        }
        let other = Packet { meta: Meta::new(Generation::new(6), Codepoint::NotEct), ..Packet::default() };
        assert!(
            !Generation::new(5).receives(other.generation())
                && !Generation::new(5).with_shim().receives_through_shim(other.generation())
        );
    }

    /// All generations and all numbers of packets: an endpoint takes exactly the packets of its number, by exactly one of the three ways.
    #[test]
    fn exhaustive_numbers_reach_their_endpoint() {
        for own in 0..64 {
            let plain = Generation::new(own);
            for endpoint in [plain, plain.with_shim(), plain.with_reverse(), Generation::RETIRED] {
                assert_eq!(Generation::from_bits(endpoint.bits()), endpoint);
                for number in 0..64 {
                    let ways =
                        [endpoint.receives(number), endpoint.receives_through_shim(number), endpoint.receives_both_ways(number)];
                    let expected = endpoint != Generation::RETIRED && number == own;
                    assert_eq!(ways.iter().filter(|way| **way).count(), usize::from(expected), "{endpoint:?} and {number}");
                    assert!(!ways[1] || endpoint.has_shim(), "{endpoint:?}");
                    assert!(!ways[2] || endpoint.has_reverse(), "{endpoint:?}");
                }
            }
        }
    }
}
