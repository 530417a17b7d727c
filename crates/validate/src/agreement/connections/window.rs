//! The window that the peer offers with each ACK.

use super::super::dice::by_chance;
use forebay_types::Rng;

/// The shift of the window field (RFC 7323 section 2).
pub(super) const SCALE: u32 = 7;
/// Bytes of window that 1 in the field stands for.
pub(super) const UNIT: u64 = 1 << SCALE;

/// How the window moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habit {
    /// It is as large as it can be: the application reads at once.
    Open,
    /// Another one each time, without shrinking.
    Varies,
    /// As large as it can be, or, once in five times, no further than before.
    Stops,
    /// Another one each time, small ones often, and its edge may go back. RFC 9293 section 3.8.6: a receiver should not do so, and a sender must
    /// bear it.
    Shrinks,
}

impl Habit {
    /// Whether an ACK may be followed by a later one that only tells of the window.
    pub(super) fn tells_later(self) -> bool {
        matches!(self, Habit::Stops | Habit::Shrinks)
    }
}

/// The window of one connection, bytes.
#[derive(Debug, Clone)]
pub(super) struct Window {
    habit: Habit,
    largest: u64,
    /// The first sequence number beyond all that was offered.
    edge: u64,
}

impl Window {
    /// After the handshake, in which `offered` was.
    pub(super) fn new(habit: Habit, largest: u64, offered: u64) -> Window {
        Window { habit, largest, edge: 1 + offered }
    }

    /// The window field of an ACK for everything before `next`.
    pub(super) fn field(&mut self, next: u64, rng: &mut Rng) -> u64 {
        let some = rng.below(self.largest);
        let size = match self.habit {
            Habit::Open => self.largest,
            Habit::Varies => some,
            Habit::Stops if by_chance(rng, 20) => 0,
            Habit::Stops => self.largest,
            Habit::Shrinks if by_chance(rng, 33) => some / 8,
            Habit::Shrinks => some,
        };
        // RFC 9293 section 3.8.6: the right edge should not go back, by the rounding to units of the field neither (RFC 7323 section 2.4).
        let least = if self.habit == Habit::Shrinks { 0 } else { self.edge.saturating_sub(next) };
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

    /// The right edge goes back with the habit that says so, and with no other.
    #[test]
    fn windows_shrink_only_where_they_should() {
        for (habit, shrinks) in [(Habit::Open, false), (Habit::Varies, false), (Habit::Stops, false), (Habit::Shrinks, true)] {
            let (mut window, mut rng) = (Window::new(habit, 20_480, first(20_480)), Rng::stream(1, &[]));
            let mut edge = 1 + first(20_480);
            let mut shrunk = false;
            for i in 0..200 {
                let next = 1 + 777 * i;
                let now = next + window.field(next, &mut rng) * UNIT;
                shrunk |= now < edge;
                edge = now;
            }
            assert_eq!(shrunk, shrinks, "{habit:?}");
        }
    }
}
