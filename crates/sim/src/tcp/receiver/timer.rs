//! When the engine is to look at a receiver's timer: when it is due, and where it lies in a slot of a timer wheel (`tcp/wheel.rs`).

use super::Receiver;
use crate::tcp::config::TcpConfig;
use forebay_units::{GroupId, Time, TimeOrNever};

impl Receiver {
    /// Whether its timer expires in the slots of a timer wheel.
    pub(crate) fn has_slots(&self) -> bool {
        self.linux.is_some()
    }

    /// When its timer is to be looked at: when it is due, and where it lies in a slot.
    #[inline(always)]
    pub(crate) fn entry<'c>(&self, config: impl FnOnce(GroupId) -> &'c TcpConfig, now: Time) -> TimeOrNever {
        match &self.linux {
            None => self.timer_due,
            Some(a) => self.timer_due.min(a.slot(config(self.group()), now)),
        }
    }

    /// The same after a packet: nothing is new about a slot that the engine has an entry for.
    #[inline(always)]
    pub(crate) fn new_timer_entry<'c>(&self, config: impl FnOnce(GroupId) -> &'c TcpConfig, now: Time) -> TimeOrNever {
        if self.has_unregistered_slot() || self.armed.is_never() { self.entry(config, now) } else { self.timer_due }
    }

    /// Whether it is in one that the engine has no entry for.
    #[inline]
    pub(crate) fn has_unregistered_slot(&self) -> bool {
        self.linux.as_ref().is_some_and(|a| a.has_unregistered_slot())
    }

    /// The engine is about to make an entry for its timer: whether it has one in that slot, which keeps its place.
    pub(crate) fn keeps_wheel_slot(&mut self, c: &TcpConfig, entry: TimeOrNever) -> bool {
        self.linux.as_mut().is_some_and(|a| a.keeps_wheel_slot(c, entry))
    }

    /// The slot is emptied if its time has come.
    pub(crate) fn leave_slot(&mut self, c: &TcpConfig, now: Time) {
        if let Some(a) = &mut self.linux {
            a.leave_slot(c, now);
        }
    }
}
