//! Time that a queue spends at each length, at the cost of one addition per change.
//!
//! A queue that grows from length n at time t adds t to sum n, and one that shrinks to length n subtracts t from it. The time at length n is sum n
//! less sum n - 1: a stay begins with growth from n - 1 or shrinking from n + 1, and ends with the reverse. The order of the additions does not
//! matter, nor the wrap-around of the sums, nor a constant offset of all times: [`OccupancyTimes::times`] computes the times at the end.

use forebay_types::Time;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};

/// Words before the sums: number of sums, time of the first length, and that length.
const HEAD: usize = 3;
/// Initial words: two cache lines.
const FIRST: usize = 16;

/// The sums of one queue, in one allocation behind a thin pointer, so that a change touches one cache line beside those of its port.
pub(super) struct OccupancyTimes {
    words: *mut u64,
    owned: PhantomData<Box<[u64]>>,
}

// SAFETY: it owns the memory.
unsafe impl Send for OccupancyTimes {}

impl OccupancyTimes {
    /// Of a queue that is not counted.
    pub(super) const OFF: OccupancyTimes = OccupancyTimes { words: null_mut(), owned: PhantomData };

    /// Counts a queue of `length` from `time` on, with room for growth to `most`.
    pub(super) fn new(time: Time, length: u32, most: u32) -> OccupancyTimes {
        let mut occupancy = OccupancyTimes { words: zeroed(FIRST), owned: PhantomData };
        occupancy.head_mut().copy_from_slice(&[(FIRST - HEAD) as u64, time.0, u64::from(length)]);
        occupancy.reserve(most.max(length));
        occupancy
    }

    /// Returns true if the queue is counted.
    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        !self.words.is_null()
    }

    /// Counts growth from `length` at `time`.
    ///
    /// # Safety
    /// The queue is counted, and has not been longer than the argument of [`OccupancyTimes::reserve`].
    #[inline(always)]
    pub(super) unsafe fn grow(&mut self, length: u32, time: Time) {
        // SAFETY: by the caller.
        let sum = unsafe { &mut *self.words.add(HEAD + length as usize) };
        *sum = sum.wrapping_add(time.0);
    }

    /// Counts shrinking to `length` at `time`.
    ///
    /// # Safety
    /// As for [`OccupancyTimes::grow`].
    #[inline(always)]
    pub(super) unsafe fn shrink(&mut self, length: u32, time: Time) {
        // SAFETY: by the caller.
        let sum = unsafe { &mut *self.words.add(HEAD + length as usize) };
        *sum = sum.wrapping_sub(time.0);
    }

    /// Counts shrinking to nothing at one time and growth to one packet at another.
    ///
    /// # Safety
    /// As for [`OccupancyTimes::grow`] of 0.
    #[inline(always)]
    pub(super) unsafe fn renew(&mut self, shrinks: Time, grows: Time) {
        // SAFETY: by the caller.
        let sum = unsafe { &mut *self.words.add(HEAD) };
        *sum = sum.wrapping_add((grows - shrinks).0);
    }

    /// Reserves room for growth to `most`.
    #[cold]
    #[inline(never)]
    pub(super) fn reserve(&mut self, most: u32) {
        let (Some(count), most) = (self.sums().map(<[u64]>::len), most as usize) else { return };
        if most <= count {
            return;
        }
        let words = (HEAD + most).next_power_of_two();
        let grown = zeroed(words);
        // SAFETY: both allocations hold as many words, and differ.
        unsafe { grown.copy_from_nonoverlapping(self.words, HEAD + count) };
        *self = OccupancyTimes { words: grown, owned: PhantomData };
        self.head_mut()[0] = (words - HEAD) as u64;
    }

    /// Time at each length up to `time`, when it is `length`; empty if the queue is not counted.
    ///
    /// # Panics
    /// If a change was added outside the interval from the first length to `time`, because the differences overflow then.
    pub(super) fn times(&self, time: Time, length: u32) -> Vec<u64> {
        let Some(sums) = self.sums() else { return Vec::new() };
        let mut below = 0;
        let mut times: Vec<u64> = sums.iter().chain([&0]).map(|&s| s.wrapping_sub(std::mem::replace(&mut below, s))).collect();
        // SAFETY: the head of a counted queue.
        let (since, first) = unsafe { (*self.words.add(1), *self.words.add(2)) };
        times[first as usize] = times[first as usize].wrapping_sub(since);
        times[length as usize] = times[length as usize].wrapping_add(time.0);
        let span = time.0.checked_sub(since);
        assert!(
            span.is_some_and(|span| times.iter().all(|&t| t <= span)),
            "a change of a queue lies outside the interval from {since} to {} ps",
            time.0
        );
        times
    }

    fn sums(&self) -> Option<&[u64]> {
        // SAFETY: the first word holds the number of sums behind the head.
        self.is_on().then(|| unsafe { std::slice::from_raw_parts(self.words.add(HEAD), *self.words as usize) })
    }

    fn head_mut(&mut self) -> &mut [u64] {
        // SAFETY: called only if the queue is counted.
        unsafe { std::slice::from_raw_parts_mut(self.words, HEAD) }
    }
}

impl Drop for OccupancyTimes {
    fn drop(&mut self) {
        if let Some(words) = self.sums().map(|s| s.len() + HEAD) {
            // SAFETY: allocated by `zeroed` with this layout.
            unsafe { dealloc(self.words.cast(), layout(words)) };
        }
    }
}

/// Whole cache lines.
fn layout(words: usize) -> Layout {
    Layout::array::<u64>(words).and_then(|l| l.align_to(64)).unwrap_or_else(|_| panic!("a queue of {words} packets"))
}

fn zeroed(words: usize) -> *mut u64 {
    let layout = layout(words);
    // SAFETY: the size is not zero.
    let place = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
    place.cast().as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequences::each_sequence;
    use forebay_types::Rng;

    /// The queue grows or shrinks from `length` at `time`; returns its length then. There must be room.
    fn step(occupancy: &mut OccupancyTimes, grows: bool, length: u32, time: u64) -> u32 {
        let to = if grows { length + 1 } else { length - 1 };
        // SAFETY: the tests reserve room for their longest queue.
        unsafe {
            if grows {
                occupancy.grow(length, Time(time));
            } else {
                occupancy.shrink(to, Time(time));
            }
        }
        to
    }

    #[test]
    fn times_match_a_simple_model() {
        let mut rng = Rng::stream(3, &[]);
        for first in [0, 2, 40] {
            let mut occupancy = OccupancyTimes::new(Time(100), first, first);
            let (mut expected, mut length, mut most, mut now, mut last) = (vec![0; 5_000], first, first, 100, 100);
            for _ in 0..20_000 {
                now += rng.below(50);
                expected[length as usize] += now - last;
                last = now;
                // Grows, then shrinks.
                let grows = length == 0 || rng.below(100) < 51;
                most = most.max(length + u32::from(grows));
                occupancy.reserve(most);
                length = step(&mut occupancy, grows, length, now);
            }
            let mut times = occupancy.times(Time(now + 7), length);
            expected[length as usize] += 7;
            times.resize(expected.len(), 0);
            assert_eq!(times, expected);
        }
    }

    #[test]
    #[should_panic(expected = "a change of a queue lies outside the interval from 100 to 200 ps")]
    fn change_before_the_start_panics() {
        let mut occupancy = OccupancyTimes::new(Time(100), 0, 4);
        step(&mut occupancy, true, 0, 50);
        occupancy.times(Time(200), 1);
    }

    #[test]
    #[should_panic(expected = "a change of a queue lies outside the interval from 100 to 50 ps")]
    fn end_before_the_start_panics() {
        OccupancyTimes::new(Time(100), 0, 4).times(Time(50), 0);
    }

    /// Occupancy: all walks of seven steps, each up or down after 0, 1 or 3 ps: the time at each length is that of a simple count.
    #[test]
    fn exhaustive_walks_have_their_times() {
        each_sequence(6, 7, |word| {
            let mut occupancy = OccupancyTimes::new(Time(100), 1, 8);
            let (mut expected, mut length, mut now) = ([0; 9], 1_u32, 100);
            for letter in word {
                let wait = [0, 1, 3][usize::from(letter / 2)];
                expected[length as usize] += wait;
                now += wait;
                if letter % 2 == 0 || length > 0 {
                    length = step(&mut occupancy, letter % 2 == 0, length, now);
                }
            }
            let mut times = occupancy.times(Time(now + 2), length);
            expected[length as usize] += 2;
            assert!(times[9.min(times.len())..].iter().all(|t| *t == 0), "{word:?}");
            times.resize(9, 0);
            assert_eq!(times, expected, "{word:?}");
        });
    }
}
