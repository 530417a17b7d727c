//! Expiry of timers in Linux (kernel/time/timer.c, calc_wheel_index): never early, at a tick of the clock. Far timers expire later, because the slots
//! of the wheel grow with their distance.

use forebay_types::Time;

/// Number of slots of a level less one, and the factor by which each level is coarser than the one before, as a power of two (LVL_SIZE,
/// LVL_CLK_SHIFT).
const SLOTS: u64 = 63;
const COARSER: u32 = 3;
const LEVELS: u32 = 9;
/// Clocks with a shorter tick are not those of a kernel: their timers are exact.
const TICK: Time = Time::from_ms(1);

/// Returns true if a clock that ticks every `tick` has a wheel.
pub(in crate::tcp) fn has_slots(tick: Time) -> bool {
    tick >= TICK
}

/// Expiry of a timer that is set at `now` to `delay` later, with a clock that ticks every `tick`.
pub(in crate::tcp) fn expiry(now: Time, delay: Time, tick: Time) -> Time {
    slot(now, delay, tick, 0)
}

/// Expiry of a timer that is set when another expires: the clock of the wheel is one tick ahead then (__run_timers).
pub(in crate::tcp) fn next_expiry(now: Time, delay: Time, tick: Time) -> Time {
    slot(now, delay, tick, 1)
}

fn slot(now: Time, delay: Time, tick: Time, ahead: u64) -> Time {
    if !has_slots(tick) {
        return now + delay;
    }
    let delta = delay / tick;
    let width = width(delta.saturating_sub(ahead));
    tick * ((((now / tick + delta) >> width) + 1) << width)
}

/// Bits of the ticks in a slot for a timer that expires `delta` ticks later.
fn width(delta: u64) -> u32 {
    COARSER * (0..LEVELS).find(|level| delta < SLOTS << (COARSER * level)).unwrap_or(LEVELS)
}

/// Bits of [`Place::order`] that hold the count.
const COUNT_BITS: u32 = 28;
const COUNT: u32 = (1 << COUNT_BITS) - 1;

/// Place of a timer in the wheel (`timer_list`). A timer keeps its place when it is set again for the same slot. It also keeps it when its connection
/// stops the timer: the kernel leaves it in the wheel (inet_csk_clear_xmit_timer without INET_CSK_CLEAR_TIMERS).
#[derive(Debug, Clone, Copy)]
pub(in crate::tcp) struct Place {
    /// Tick for which the timer is set (`expires`).
    expires: u32,
    /// Level of the slot, and below it the number of timers that the host had put into slots; 0 until the host has counted.
    order: u32,
}

impl Place {
    /// A timer that was never set.
    pub(in crate::tcp) const NONE: Place = Place { expires: 0, order: 1 };

    /// Returns true if the timer is set for the tick of `due`.
    #[inline(always)]
    pub(in crate::tcp) fn is_set_for(&self, due: Time, tick: Time) -> bool {
        due.0.wrapping_sub(tick.0.wrapping_mul(self.expires.into())) < tick.0
    }

    /// Sets the timer at `now` to `delay` later (__mod_timer, calc_wheel_index); `ahead`: in the handler of a timer, where the clock of the wheel is one
    /// tick ahead (__run_timers).
    #[inline(never)]
    pub(in crate::tcp) fn set(&mut self, (now, delay): (Time, Time), tick: Time, ahead: bool) {
        let clock = now / tick;
        let (delta, earlier) = (delay / tick, self.slot());
        let pending = earlier > clock;
        if pending && u64::from(self.expires) == clock + delta {
            return;
        }
        self.expires = (clock + delta) as u32;
        let level = width(delta.saturating_sub(ahead.into())) / COARSER;
        if !pending || self.order >> COUNT_BITS != level || self.slot() != earlier {
            self.order = level << COUNT_BITS;
        }
    }

    /// Moves the timer to the head of its slot: it was in another one in between.
    #[inline(always)]
    pub(in crate::tcp) fn enter_again(&mut self) {
        self.order &= !COUNT;
    }

    /// Tick at which the slot expires (calc_index).
    fn slot(&self) -> u64 {
        let width = COARSER * (self.order >> COUNT_BITS);
        ((u64::from(self.expires) >> width) + 1) << width
    }

    /// Expiry of the slot.
    pub(in crate::tcp) fn expiry(&self, tick: Time) -> Time {
        tick * self.slot()
    }

    /// Returns true if the host has to count the timer, because it has entered a slot.
    #[inline(always)]
    pub(in crate::tcp) fn awaits_count(&self) -> bool {
        self.order & COUNT == 0
    }

    /// Notes that the timer is the one with number `count` that its host has put into a slot.
    pub(in crate::tcp) fn set_count(&mut self, count: u64) {
        self.order |= (count as u32 & COUNT).max(1);
    }

    /// Level of the slot, and the number of the timer.
    pub(in crate::tcp) fn order(&self) -> (u32, u64) {
        (self.order >> COUNT_BITS, (self.order & COUNT).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets a timer at each of these times to a delay, both in ms. Returns the expiry of its slot and whether the last setting moved it.
    fn place(settings: &[(u64, u64)]) -> (Time, bool) {
        let mut place = Place::NONE;
        for (now, delay) in settings {
            place.set_count(7);
            place.set((Time::from_ms(*now), Time::from_ms(*delay)), TICK, false);
        }
        (place.expiry(TICK), place.awaits_count())
    }

    /// LVL_START of the kernel: the first level has timers of less than 63 ticks, the second those of less than 504.
    #[test]
    fn levels_begin_as_in_kernel() {
        for (now, delay, slot) in [(1, 62, 64), (1, 63, 72), (8, 503, 512), (8, 504, 576)] {
            assert_eq!(expiry(Time::from_ms(now), Time::from_ms(delay), TICK), Time::from_ms(slot), "{delay}");
        }
    }

    #[test]
    fn timer_keeps_its_slot() {
        let at = Time::from_ms;
        // Slots of eight ticks: [408, 416).
        assert_eq!(place(&[(207, 201), (214, 201)]), (at(416), false));
        assert_eq!(place(&[(206, 201), (207, 201)]), (at(416), true));
        assert_eq!(place(&[(207, 201), (215, 201)]), (at(424), true));
        // The same slot after another one.
        assert_eq!(place(&[(207, 201), (208, 5), (209, 201)]), (at(416), true));
        // Slots of one tick.
        assert_eq!(place(&[(213, 40), (214, 40)]), (at(255), true));
    }

    /// A timer that is set again for the same tick stays in the wider slot of its first setting.
    #[test]
    fn timer_for_same_tick_keeps_level() {
        assert_eq!(place(&[(100, 100), (160, 40)]), (Time::from_ms(208), false));
        assert_eq!(place(&[(160, 40)]).0, Time::from_ms(201));
    }

    #[test]
    fn expired_timer_enters_its_slot_again() {
        assert_eq!(place(&[(100, 4), (105, 3)]), (Time::from_ms(109), true));
    }

    /// The engine takes the timer out of its slot and puts it in again, behind those that are there.
    #[test]
    fn timer_enters_same_slot_again() {
        let mut place = Place::NONE;
        place.set((Time::from_ms(100), Time::from_ms(201)), TICK, false);
        place.set_count(7);
        let expiry = place.expiry(TICK);
        place.enter_again();
        assert!(place.awaits_count());
        assert_eq!(place.expiry(TICK), expiry);
    }

    #[test]
    fn expiry_is_rounded_to_slots() {
        let at = |now: Time, delay: u64| expiry(now, Time::from_ms(delay), TICK);
        assert_eq!(at(Time::from_us(10_300), 40), Time::from_ms(51));
        assert_eq!(at(Time::from_us(300), 62), Time::from_ms(63));
        // From 63 ticks on slots are eight wide: 201 is in the one that ends at 208.
        assert_eq!(at(Time::from_us(300), 201), Time::from_ms(208));
        assert_eq!(at(Time::from_us(7_300), 201), Time::from_ms(216));
        assert_eq!(at(Time::from_us(300), 1_000), Time::from_ms(1_024));
        assert_eq!(expiry(Time::from_us(300), Time::from_us(40), Time::from_us(1)), Time::from_us(340));
    }

    /// Timer wheel: all delays up to 600 ms from all times up to 600 ms. A timer never expires early, and late by at most a slot of its level; a longer
    /// delay never expires earlier.
    #[test]
    fn exhaustive_timers_are_never_early() {
        for now in 0..600 {
            let mut before = Time::ZERO;
            for delay in 0..600 {
                let (set, wait) = (Time::from_ms(now), Time::from_ms(delay));
                let at = expiry(set, wait, TICK);
                let slot = TICK * (1 << width(delay));
                assert!(at > set + wait && at <= set + wait + slot, "{now} and {delay}: {at}");
                assert!(at >= before && at % slot == Time::ZERO, "{now} and {delay}: {at}");
                before = at;
            }
        }
    }
}
