//! AccECN option (RFC 9768 section 3.2.3): three byte counters of a receiver, of which each option carries the lowest 24 bits.

use super::packet::Codepoint;

/// Bits of a counter in an option (DIVOPT = 2^24).
const MASK: u32 = (1 << 24) - 1;

/// Payload bytes that have arrived with each ECN codepoint (`r.e0b`, `r.ceb` and `r.e1b`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ByteCounters {
    e0b: u32,
    ceb: u32,
    e1b: u32,
}

impl ByteCounters {
    /// Initial values (section 3.2.1), which are distinct from fields that a middlebox has set to zero.
    pub(crate) fn new() -> ByteCounters {
        ByteCounters { e0b: 1, ceb: 0, e1b: 1 }
    }

    /// Counts the payload of a packet with this codepoint. There is no counter for packets that are not ECN-capable.
    pub(crate) fn count(&mut self, ecn: Codepoint, bytes: u16) {
        let counter = match ecn {
            Codepoint::NotEct => return,
            Codepoint::Ect0 => &mut self.e0b,
            Codepoint::Ect1 => &mut self.e1b,
            Codepoint::Ce => &mut self.ceb,
        };
        *counter = counter.wrapping_add(bytes.into());
    }

    /// The option of an ACK.
    pub(crate) fn option(&self) -> AccEcnOption {
        AccEcnOption::new(self.e0b, self.ceb, self.e1b)
    }
}

/// The option with all three fields. Its bytes are not aligned, because a packet has few to spare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccEcnOption([[u8; 3]; 3]);

impl AccEcnOption {
    /// Bytes of the option on the wire, with its padding.
    pub const SIZE: u16 = 12;

    /// The option with the lowest bits of these counters (`r.e0b`, `r.ceb` and `r.e1b`).
    pub fn new(e0b: u32, ceb: u32, e1b: u32) -> AccEcnOption {
        AccEcnOption([e0b, ceb, e1b].map(|counter| {
            let [_, high, middle, low] = counter.to_be_bytes();
            [high, middle, low]
        }))
    }

    /// The three fields, in the order of AccECN0.
    pub(crate) fn bytes(self) -> [[u8; 3]; 3] {
        self.0
    }

    /// The option with these fields.
    pub(crate) fn from_bytes(fields: [[u8; 3]; 3]) -> AccEcnOption {
        AccEcnOption(fields)
    }

    fn field(&self, number: usize) -> u32 {
        let [high, middle, low] = self.0[number];
        u32::from_be_bytes([0, high, middle, low])
    }

    /// EE0B: bytes with ECT(0), plus 1.
    pub fn e0b(&self) -> u32 {
        self.field(0)
    }

    /// ECEB: bytes with CE.
    pub fn ceb(&self) -> u32 {
        self.field(1)
    }

    /// EE1B: bytes with ECT(1), plus 1.
    pub fn e1b(&self) -> u32 {
        self.field(2)
    }

    /// Smallest number of bytes with CE since the field ECEB was `before` (section 3.2.3.1).
    pub fn new_ce_bytes(&self, before: u32) -> u32 {
        self.ceb().wrapping_sub(before) & MASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 3.2.1, and modulo 2^24.
    #[test]
    fn counters_start_and_wrap() {
        let mut c = ByteCounters::new();
        let fields = |o: AccEcnOption| (o.e0b(), o.ceb(), o.e1b());
        assert_eq!(fields(c.option()), (1, 0, 1));
        for (ecn, bytes) in [(Codepoint::NotEct, 9), (Codepoint::Ect0, 100), (Codepoint::Ect1, 20), (Codepoint::Ce, 3)] {
            c.count(ecn, bytes);
        }
        assert_eq!(fields(c.option()), (101, 3, 21));
        c.ceb = (1 << 24) + 5;
        assert_eq!((c.option().ceb(), c.option().new_ce_bytes(MASK)), (5, 6));
    }
}
