//! Timestamp of a receiver (RFC 7323 section 3), in ticks of its timestamp clock: its ACKs carry it (TSval), and the sender's segments return it
//! (TSecr). A receiver of Linux takes its RTT from it (tcp_rcv_rtt_measure_ts).
//!
//! Packets have 13 bits for it that are otherwise 0: in ACKs of `len`, which counts payload, in segments of `win`, below the class of service.
//! Packets with a rank have no space for it.

/// The low bits of a tick and a flag above them, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Tick(u16);

impl Tick {
    /// Number of bits of a tick. Ages repeat after 4096 ticks: 4.1 s with the clock of Linux, about the range of `Packet::ts`.
    pub(super) const BITS: u32 = 12;
    /// Flag of packets that carry a tick.
    const PRESENT: u16 = 1 << Tick::BITS;
    /// The flag and the bits of the tick.
    const MASK: u16 = (Tick::PRESENT << 1) - 1;
    /// No tick.
    pub const NONE: Tick = Tick(0);

    /// Tick number `tick`.
    #[inline(always)]
    pub fn new(tick: u64) -> Tick {
        Tick(Tick::PRESENT | tick as u16 & (Tick::PRESENT - 1))
    }

    /// Decodes a field of a packet, of which other bits may be in use.
    #[inline(always)]
    pub(super) fn from_field(field: u16) -> Tick {
        if field & Tick::PRESENT == 0 { Tick::NONE } else { Tick(field & Tick::MASK) }
    }

    /// The field of a packet.
    #[inline(always)]
    pub fn bits(self) -> u16 {
        self.0
    }

    /// Replaces the tick in `field` of a packet.
    #[inline(always)]
    pub fn replace_in(self, field: u16) -> u16 {
        field & !Tick::MASK | self.0
    }

    /// Returns true if it is a tick.
    #[inline(always)]
    pub fn is_some(self) -> bool {
        self.0 != 0
    }

    /// Ticks from `earlier` to this one, modulo 2^12.
    #[inline(always)]
    pub fn since(self, earlier: Tick) -> u16 {
        self.0.wrapping_sub(earlier.0) & (Tick::PRESENT - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_survives_wrap() {
        assert_eq!(Tick::new(4_097).since(Tick::new(4_090)), 7);
        assert_eq!(Tick::new(3).since(Tick::new(3)), 0);
    }

    #[test]
    fn class_of_service_stays() {
        let field = Tick::new(4_095).replace_in(7 << 13 | 5);
        assert_eq!((field >> 13, Tick::from_field(field)), (7, Tick::new(4_095)));
        assert_eq!(Tick::NONE.replace_in(field), 7 << 13);
        assert!(!Tick::from_field(4_095).is_some(), "a rank");
    }
}
