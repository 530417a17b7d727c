//! Scheduled events of the whole run: the end of the warm-up, failures and repairs of links, points of the table `deliveries`.
//!
//! They belong to no node, and each takes effect at its own time: a window that contains one is run up to that time first. Idle time is not skipped
//! across the end of the warm-up, failures and repairs, so that they do not depend on the next packet. A point of `deliveries` in idle time is added
//! later, with the same numbers.

use forebay_types::{Time, TimeOrNever};

/// A scheduled event. Events at the same time take effect in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheduled {
    /// The warm-up ends: statistics start.
    EndOfWarmup,
    /// Deliveries are added up.
    NoteDeliveries,
    /// A link goes down, comes up or changes, or forwarding tables change.
    ChangeLinks,
}

/// The next event of each kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule([TimeOrNever; 3]);

impl Schedule {
    /// Creates a schedule without events.
    pub(super) fn new() -> Schedule {
        Schedule([TimeOrNever::NEVER; 3])
    }

    /// Sets the time of the next event of this kind.
    pub(super) fn set(&mut self, event: Scheduled, time: TimeOrNever) {
        self.0[event as usize] = time;
    }

    /// The next event that is due before `end`.
    pub(super) fn before(&self, end: Time) -> Option<(Time, Scheduled)> {
        let all = [Scheduled::EndOfWarmup, Scheduled::NoteDeliveries, Scheduled::ChangeLinks];
        let first = all.into_iter().min_by_key(|event| self.0[*event as usize])?;
        let time = self.0[first as usize].get()?;
        (time < end).then_some((time, first))
    }

    /// Time of the next event.
    pub(super) fn next(&self) -> TimeOrNever {
        self.0.into_iter().min().unwrap_or(TimeOrNever::NEVER)
    }

    /// Time of the next event across which idle time is not skipped.
    pub(super) fn next_stop(&self) -> TimeOrNever {
        self.0[Scheduled::EndOfWarmup as usize].min(self.0[Scheduled::ChangeLinks as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time() {
        let mut s = Schedule::new();
        assert!(s.next().is_never() && s.before(Time::NEVER).is_none());
        s.set(Scheduled::ChangeLinks, Time(5).into());
        s.set(Scheduled::NoteDeliveries, Time(3).into());
        s.set(Scheduled::EndOfWarmup, Time(5).into());
        assert_eq!((s.next(), s.next_stop()), (Time(3).into(), Time(5).into()));
        assert_eq!((s.before(Time(3)), s.before(Time(4))), (None, Some((Time(3), Scheduled::NoteDeliveries))));
        s.set(Scheduled::NoteDeliveries, TimeOrNever::NEVER);
        assert_eq!(s.before(Time(6)), Some((Time(5), Scheduled::EndOfWarmup)), "before a link that fails at the same time");
        s.set(Scheduled::EndOfWarmup, TimeOrNever::NEVER);
        assert_eq!(s.before(Time(6)), Some((Time(5), Scheduled::ChangeLinks)));
    }
}
