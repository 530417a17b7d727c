//! When a timer of Linux expires (kernel/time/timer.c, calc_wheel_index): never early, at a tick of the clock, and the later the farther away
//! it was when it was set, because the wheel's slots grow wider with their distance.

use forebay_units::Time;

/// Slots of a level but one, and by how much each level is coarser than the one before, as powers of two (LVL_SIZE, LVL_CLK_SHIFT).
const SLOTS: u64 = 63;
const COARSER: u32 = 3;
const LEVELS: u32 = 9;
/// Clocks that tick faster than this are no kernel's: their timers are exact.
const TICK: Time = Time::from_ms(1);

/// Whether a clock that ticks every `tick` has a wheel.
pub(in crate::tcp) fn has_slots(tick: Time) -> bool {
    tick >= TICK
}

/// When a timer expires that is set at `now` to `delay` later, with a clock that ticks every `tick`.
pub(in crate::tcp) fn expiry(now: Time, delay: Time, tick: Time) -> Time {
    slot(now, delay, tick, 0)
}

/// The same of one that is set as another expires: the wheel's clock is one tick ahead then (__run_timers).
pub(in crate::tcp) fn next_expiry(now: Time, delay: Time, tick: Time) -> Time {
    slot(now, delay, tick, 1)
}

fn slot(now: Time, delay: Time, tick: Time, ahead: u64) -> Time {
    if !has_slots(tick) {
        return now + delay;
    }
    let delta = delay / tick;
    let level = (0..LEVELS).find(|level| delta.saturating_sub(ahead) < SLOTS << (COARSER * level)).unwrap_or(LEVELS);
    let width = COARSER * level;
    tick * ((((now / tick + delta) >> width) + 1) << width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_timers_are_a_tick_late_and_far_ones_a_slot() {
        let at = |now: Time, delay: u64| expiry(now, Time::from_ms(delay), TICK);
        assert_eq!(at(Time::from_us(10_300), 40), Time::from_ms(51));
        assert_eq!(at(Time::from_us(300), 62), Time::from_ms(63));
        // From 63 ticks on slots are eight wide: 201 is in the one that ends at 208.
        assert_eq!(at(Time::from_us(300), 201), Time::from_ms(208));
        assert_eq!(at(Time::from_us(7_300), 201), Time::from_ms(216));
        assert_eq!(at(Time::from_us(300), 1_000), Time::from_ms(1_024));
        assert_eq!(expiry(Time::from_us(300), Time::from_us(40), Time::from_us(1)), Time::from_us(340));
    }
}
