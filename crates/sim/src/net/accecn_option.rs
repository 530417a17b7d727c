//! AccECN option (RFC 9768 section 3.2.3): the lowest 24 bits of three byte counters of a receiver.

/// Bits of a counter in an option (DIVOPT = 2^24).
const MASK: u32 = (1 << 24) - 1;

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
