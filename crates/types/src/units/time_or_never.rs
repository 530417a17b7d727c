//! Optional time in eight bytes, for data that every packet reads.

use crate::units::time::Time;
use core::fmt;

/// Time or never. It has half the size of `Option<Time>`. Never is later than every time, so that the earlier of two is `min`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct TimeOrNever(u64);

impl TimeOrNever {
    /// No time.
    pub const NEVER: TimeOrNever = TimeOrNever(Time::NEVER.0);

    /// Converts `time`; [`Time::NEVER`] is never.
    #[inline(always)]
    pub const fn at(time: Time) -> TimeOrNever {
        TimeOrNever(time.0)
    }

    /// The time, if there is one.
    #[inline(always)]
    pub const fn get(self) -> Option<Time> {
        if self.is_never() { None } else { Some(Time(self.0)) }
    }

    /// The time in picoseconds, if there is one.
    pub const fn ps(self) -> Option<u64> {
        if self.is_never() { None } else { Some(self.0) }
    }

    /// The time, or [`Time::NEVER`].
    #[inline(always)]
    pub const fn or_never(self) -> Time {
        Time(self.0)
    }

    /// Returns true if there is no time.
    #[inline(always)]
    pub const fn is_never(self) -> bool {
        self.0 == Time::NEVER.0
    }

    /// Returns true if there is a time and it is not later than `now`.
    #[inline(always)]
    pub const fn is_due(self, now: Time) -> bool {
        self.0 <= now.0
    }
}

impl Default for TimeOrNever {
    fn default() -> TimeOrNever {
        TimeOrNever::NEVER
    }
}

impl From<Time> for TimeOrNever {
    #[inline(always)]
    fn from(time: Time) -> TimeOrNever {
        TimeOrNever::at(time)
    }
}

impl From<Option<Time>> for TimeOrNever {
    #[inline(always)]
    fn from(time: Option<Time>) -> TimeOrNever {
        time.map_or(TimeOrNever::NEVER, TimeOrNever::at)
    }
}

impl fmt::Debug for TimeOrNever {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(time) => write!(f, "{time}"),
            None => f.write_str("never"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_is_later_than_every_time() {
        let soon = TimeOrNever::at(Time::from_secs(1));
        assert_eq!((soon.min(TimeOrNever::NEVER), soon.max(TimeOrNever::NEVER)), (soon, TimeOrNever::NEVER));
        assert_eq!((soon.get(), TimeOrNever::NEVER.get()), (Some(Time::from_secs(1)), None));
        assert!(soon.is_due(Time::from_secs(1)) && !soon.is_due(Time(1)) && !TimeOrNever::NEVER.is_due(Time::from_secs(9)));
        assert_eq!(size_of::<TimeOrNever>(), 8);
        assert_eq!(format!("{soon:?} {:?}", TimeOrNever::default()), "1s never");
    }
}
