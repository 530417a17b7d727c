//! When the engine is to look at a receiver's timer: when it is due, and where it lies in a slot of a timer wheel (`tcp/timer_wheel.rs`).

use super::Receiver;
use crate::tcp::config::TcpConfig;
use forebay_units::{GroupId, Time, TimeOrNever};

impl Receiver {
    /// Whether its timer expires in the slots of a timer wheel.
    pub(crate) fn has_slots(&self) -> bool {
        self.adaptive.is_some()
    }

    /// When its timer is to be looked at: when it is due, and where it lies in a slot.
    #[inline(always)]
    pub(crate) fn entry<'c>(&self, config: impl FnOnce(GroupId) -> &'c TcpConfig, now: Time) -> TimeOrNever {
        match &self.adaptive {
            None => self.timer_due,
            Some(a) => self.timer_due.min(a.slot(config(self.group()), now)),
        }
    }

    /// The same after a packet: nothing is new about a slot that the engine has an entry for.
    #[inline(always)]
    pub(crate) fn new_entry<'c>(&self, config: impl FnOnce(GroupId) -> &'c TcpConfig, now: Time) -> TimeOrNever {
        if self.is_in_new_slot() || self.armed.is_never() { self.entry(config, now) } else { self.timer_due }
    }

    /// Whether it is in one that the engine has no entry for.
    #[inline]
    pub(crate) fn is_in_new_slot(&self) -> bool {
        self.adaptive.as_ref().is_some_and(|a| a.is_in_new_slot())
    }

    /// The engine is about to make an entry for its timer: whether it has one in that slot, which keeps its place.
    pub(crate) fn is_in_its_place(&mut self, c: &TcpConfig, entry: TimeOrNever) -> bool {
        self.adaptive.as_mut().is_some_and(|a| a.is_in_its_place(c, entry))
    }

    /// The slot is emptied if its time has come.
    pub(crate) fn leave_slot(&mut self, c: &TcpConfig, now: Time) {
        if let Some(a) = &mut self.adaptive {
            a.leave_slot(c, now);
        }
    }
}
