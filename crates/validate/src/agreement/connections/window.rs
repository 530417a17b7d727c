//! The window that the peer offers with each ACK.

use forebay_torture::draw::by_chance;
use forebay_types::Rng;

/// The shift of the window field (RFC 7323 section 2).
pub(super) const SCALE: u32 = 7;
/// Bytes of window for 1 in the field.
pub(super) const UNIT: u64 = 1 << SCALE;

/// Behavior of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// As large as possible: the application reads at once.
    Open,
    /// A new size each time, without shrinking.
    Varies,
    /// As large as possible, or, once in five times, with the same edge as before.
    Stops,
    /// A new size each time, often a small one, and its edge may move back. RFC 9293 section 3.8.6: a receiver should not do so, and a sender must
    /// cope with it.
    Shrinks,
}

impl Behaviour {
    /// True if an ACK may be followed by a window update.
    pub(super) fn sends_updates(self) -> bool {
        matches!(self, Behaviour::Stops | Behaviour::Shrinks)
    }
}

/// The window of one connection, bytes.
#[derive(Debug, Clone)]
pub(super) struct Window {
    behaviour: Behaviour,
    largest: u64,
    /// The first sequence number beyond all offered windows.
    edge: u64,
}

impl Window {
    /// After the handshake, in which `offered` was announced.
    pub(super) fn new(behaviour: Behaviour, largest: u64, offered: u64) -> Window {
        Window { behaviour, largest, edge: 1 + offered }
    }

    /// The window field of an ACK for everything before `next`.
    pub(super) fn field(&mut self, next: u64, rng: &mut Rng) -> u64 {
        let some = rng.below(self.largest);
        let size = match self.behaviour {
            Behaviour::Open => self.largest,
            Behaviour::Varies => some,
            Behaviour::Stops if by_chance(rng, 20) => 0,
            Behaviour::Stops => self.largest,
            Behaviour::Shrinks if by_chance(rng, 33) => some / 8,
            Behaviour::Shrinks => some,
        };
        // RFC 9293 section 3.8.6: the right edge should not move back, not even by rounding to units of the field (RFC 7323 section 2.4).
        let least = if self.behaviour == Behaviour::Shrinks { 0 } else { self.edge.saturating_sub(next) };
        let field = size.max(least).div_ceil(UNIT).min(u64::from(u16::MAX));
        self.edge = self.edge.max(next + field * UNIT);
        field
    }
}

/// The window of a SYN, which is not shifted (RFC 7323 section 2.2).
pub(super) fn first(largest: u64) -> u64 {
    largest.min(u64::from(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The right edge moves back only with the behavior that allows it.
    #[test]
    fn windows_shrink_only_if_allowed() {
        for (behaviour, shrinks) in
            [(Behaviour::Open, false), (Behaviour::Varies, false), (Behaviour::Stops, false), (Behaviour::Shrinks, true)]
        {
            let (mut window, mut rng) = (Window::new(behaviour, 20_480, first(20_480)), Rng::stream(1, &[]));
            let mut edge = 1 + first(20_480);
            let mut shrunk = false;
            for i in 0..200 {
                let next = 1 + 777 * i;
                let now = next + window.field(next, &mut rng) * UNIT;
                shrunk |= now < edge;
                edge = now;
            }
            assert_eq!(shrunk, shrinks, "{behaviour:?}");
        }
    }
}
