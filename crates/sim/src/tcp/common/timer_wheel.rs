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

/// Returns true if a timer that is due at `time` is in the slot of one that is set at `now` to `delay` later, and has the same level.
pub(in crate::tcp) fn in_slot(time: Time, (now, delay): (Time, Time), tick: Time) -> bool {
    let delta = delay / tick;
    has_slots(tick) && (time / tick) >> width(delta) == (now / tick + delta) >> width(delta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_have_the_width_of_their_level() {
        let same = |earlier: u64, set: u64, delay: u64| {
            in_slot(Time::from_ms(earlier), (Time::from_ms(set), Time::from_ms(delay)), TICK)
        };
        // Slots of eight ticks: [408, 416).
        assert!(same(409, 214, 201) && same(409, 207, 201));
        assert!(!same(407, 214, 201) && !same(409, 215, 201));
        // Slots of one tick.
        assert!(same(254, 214, 40) && !same(253, 214, 40));
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
