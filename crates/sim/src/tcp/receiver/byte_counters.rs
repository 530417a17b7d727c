//! Byte counters of a receiver with Accurate ECN (RFC 9768 section 3.2.3).

use crate::net::accecn_option::AccEcnOption;
use crate::net::packet::Codepoint;

/// Payload bytes that have arrived with each ECN codepoint (`r.e0b`, `r.ceb` and `r.e1b`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ByteCounters {
    e0b: u32,
    ceb: u32,
    e1b: u32,
}

impl ByteCounters {
    /// Initial values (section 3.2.1), which are distinct from fields that a middlebox has set to zero.
    pub(super) fn new() -> ByteCounters {
        ByteCounters { e0b: 1, ceb: 0, e1b: 1 }
    }

    /// Counts the payload of a packet with this codepoint. There is no counter for packets that are not ECN-capable.
    pub(super) fn count(&mut self, ecn: Codepoint, bytes: u16) {
        let counter = match ecn {
            Codepoint::NotEct => return,
            Codepoint::Ect0 => &mut self.e0b,
            Codepoint::Ect1 => &mut self.e1b,
            Codepoint::Ce => &mut self.ceb,
        };
        *counter = counter.wrapping_add(bytes.into());
    }

    /// The option of an ACK.
    pub(super) fn option(&self) -> AccEcnOption {
        AccEcnOption::new(self.e0b, self.ceb, self.e1b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULUS: u32 = 1 << 24;

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
        c.ceb = MODULUS + 5;
        assert_eq!((c.option().ceb(), c.option().new_ce_bytes(MODULUS - 1)), (5, 6));
    }
}
