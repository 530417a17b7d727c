//! A way through every value of a state: what a state that comes back later is compared by, and moved by.
//!
//! A state *comes back* when it is the same but for what counts from somewhere: clocks, stream offsets, numbers of queries, and counters that
//! decide nothing. So each value says which of these it is. What owns values goes through them in one function, which takes its fields apart
//! without a rest, so that whoever adds a field is asked by the compiler what it is.

use crate::units::id::{ConnSlot, QueryId};
use crate::units::time::Time;
use crate::units::time_or_never::TimeOrNever;

/// Goes through the values of a state, always in the same order. *Now* is the time of the state.
pub trait Walk {
    /// A value that something depends on: a number, a duration, the bits of a real number.
    fn same(&mut self, value: u64);

    /// A point in time, as far from now as it is.
    fn time(&mut self, time: &mut Time);

    /// A point in time that decides nothing any more once it has passed.
    fn until(&mut self, time: &mut Time);

    /// A time that has passed, of which nothing but its order among others of its kind matters, which the owner has told.
    fn past(&mut self, time: &mut Time);

    /// Low 32 bits of a point in time in ns.
    fn stamp(&mut self, ns: &mut u32);

    /// A point in time in ticks of this length: so many of its low bits.
    fn ticks(&mut self, ticks: &mut u64, bits: u32, length: Time);

    /// What follows is of this connection, of which everything below stream offset `una` is acknowledged.
    fn connection(&mut self, conn: ConnSlot, una: u64);

    /// A stream offset of that connection.
    fn offset(&mut self, offset: &mut u64);

    /// One that decides nothing once it is acknowledged, or so far ahead that nothing ever reaches it.
    fn mark(&mut self, offset: &mut u64);

    /// The low 32 bits of a stream offset, or a sequence number.
    fn sequence(&mut self, number: &mut u32);

    /// What is counted and decides nothing.
    fn count(&mut self, count: &mut u64);

    /// The same in more bits.
    fn sum(&mut self, sum: &mut u128);

    /// What counts up, and decides something when it gets to `most`.
    fn below(&mut self, count: &mut u64, most: u64);

    /// How many queries source `source` of queries has begun.
    fn queries(&mut self, source: u32, begun: &mut u32);

    /// The number of a query: of a source, and among its queries.
    fn query(&mut self, query: &mut QueryId);

    /// This state is not known to come back, and why.
    fn never(&mut self, why: &str);

    /// Whether something is so.
    fn flag(&mut self, flag: bool) {
        self.same(u64::from(flag));
    }

    /// A real number.
    fn real(&mut self, value: f64) {
        self.same(value.to_bits());
    }

    /// A duration.
    fn duration(&mut self, duration: Time) {
        self.same(duration.0);
    }

    /// A point in time, or never.
    fn timer(&mut self, time: &mut TimeOrNever) {
        self.flag(time.is_never());
        if let Some(mut at) = time.get() {
            self.time(&mut at);
            *time = at.into();
        }
    }

    /// Low 32 bits of a point in time in us.
    fn micros(&mut self, us: &mut u32) {
        let mut ticks = u64::from(*us);
        self.ticks(&mut ticks, 32, Time::from_us(1));
        *us = ticks as u32;
    }

    /// What is counted and decides nothing, in 32 bits.
    fn count32(&mut self, count: &mut u32) {
        let mut wide = u64::from(*count);
        self.count(&mut wide);
        *count = wide as u32;
    }
}
