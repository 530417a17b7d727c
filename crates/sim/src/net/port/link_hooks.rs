//! Rare properties of the link behind a port: errors, and the capture of its packets. Every packet of such a port takes the slow path.

use super::{Port, Threshold};
use crate::net::capture::LinkTap;
use crate::net::link_errors::LinkErrors;
use crate::net::packet::{Codepoint, Extra, Packet};
use crate::net::ring::Ring;
use forebay_queues::{DropReason, Handle, QueueState};
use forebay_types::Time;

/// Errors and capture of a link.
#[derive(Default)]
pub(super) struct LinkHooks {
    errors: Option<LinkErrors>,
    tap: Option<LinkTap>,
}

impl LinkHooks {
    /// The capture of the link, if there is one.
    pub(super) fn tap(&mut self) -> Option<&mut LinkTap> {
        self.tap.as_mut()
    }

    /// The errors of the link, if there are any.
    pub(super) fn errors(&mut self) -> Option<&mut LinkErrors> {
        self.errors.as_mut()
    }
}

impl Port {
    /// Lets the link damage or lose packets.
    pub fn set_errors(&mut self, errors: LinkErrors) {
        self.set_hooks().errors = Some(errors);
    }

    /// Captures the packets of the port.
    pub(crate) fn set_tap(&mut self, tap: LinkTap) {
        self.set_hooks().tap = Some(tap);
    }

    fn set_hooks(&mut self) -> &mut LinkHooks {
        // Every packet takes the slow path.
        (self.fast_limit, self.step, self.threshold) = (QueueState::default(), false, Threshold::default());
        self.hooks.get_or_insert_default()
    }

    /// Returns true if the link has errors, or is captured.
    pub(crate) fn has_hooks(&self) -> bool {
        self.hooks.is_some()
    }

    /// The errors of the link, if any.
    pub fn errors(&self) -> Option<&LinkErrors> {
        self.hooks.as_ref()?.errors.as_ref()
    }

    /// As [`Port::errors`].
    pub fn errors_mut(&mut self) -> Option<&mut LinkErrors> {
        self.hooks.as_mut()?.errors.as_mut()
    }

    fn tap(&mut self) -> Option<&mut LinkTap> {
        self.hooks.as_mut()?.tap()
    }

    /// Applies the errors of the link to a packet that is about to enter the ring at `now`, marked or not (`Ce` or `NotEct`), and captures it.
    #[inline]
    pub(in crate::net) fn enter_link(&mut self, now: Time, packet: &Packet, mark: Codepoint) {
        if self.hooks.is_some() {
            self.enter_hooked_link(now, packet, mark);
        }
    }

    #[cold]
    #[inline(never)]
    fn enter_hooked_link(&mut self, now: Time, packet: &Packet, mark: Codepoint) {
        let position = self.ring.tail();
        let Some(hooks) = &mut self.hooks else { return };
        if let Some(errors) = &mut hooks.errors
            && errors.takes(now, packet, position)
        {
            self.events.damaged += 1;
        }
        if let Some(tap) = &mut hooks.tap {
            tap.enter(now, position, mark == Codepoint::Ce && packet.ecn() != Codepoint::Ce);
        }
    }

    /// Returns true if `packet`, which the far end has just taken out of the ring, was damaged or lost on the link, and captures it. Called once for
    /// each packet, in order.
    pub(crate) fn leave_link(&mut self, packet: *const Packet, seen: (&Packet, Option<&Extra>)) -> bool {
        let (ring, delay) = (&self.ring, self.delay);
        let Some(hooks) = &mut self.hooks else { return false };
        let is_here = |position| ring.place(position) == packet;
        let damaged = hooks.errors.as_mut().is_some_and(|errors| errors.take(is_here));
        if let Some(tap) = &mut hooks.tap {
            tap.take(is_here, delay, damaged, seen);
        }
        damaged
    }

    /// Returns true if `packet`, which the far end has just taken out of the ring, is late. Called as [`Port::leave_link`].
    pub(crate) fn is_late(&mut self, packet: *const Packet) -> bool {
        let ring = &self.ring;
        let errors = self.hooks.as_mut().and_then(|hooks| hooks.errors());
        errors.is_some_and(|errors| errors.take_late(|position| ring.place(position) == packet))
    }

    /// Captures the packets that have left the port by `end` and have not been taken by the far end.
    pub(crate) fn flush_tap(&mut self, end: Time) {
        let (ring, delay) = (&self.ring, self.delay);
        if let Some(tap) = self.hooks.as_mut().and_then(|hooks| hooks.tap()) {
            tap.flush(end, delay, |position| (ring.packet(position), ring.extra(position)));
        }
    }

    /// Captures a waiting packet that is dropped.
    pub(in crate::net) fn capture_drop(
        &mut self,
        at: Time,
        handle: Handle,
        packet: (&Packet, Option<&Extra>),
        reason: DropReason,
    ) {
        if let Some(tap) = self.tap() {
            tap.drop_waiting(at, handle, packet, reason);
        }
    }

    /// Captures an arriving packet that is dropped.
    pub(in crate::net) fn capture_arriving_drop(&mut self, at: Time, p: &Packet, extra: Option<&Extra>, reason: DropReason) {
        if let Some(tap) = self.tap() {
            tap.drop_arriving(at, p, extra, reason);
        }
    }

    /// Notes the reason why a packet is refused, which [`Port::capture_refused`] reports.
    pub(super) fn note_refused(&mut self, reason: DropReason) {
        if let Some(tap) = self.tap() {
            tap.refuse(reason);
        }
    }

    /// As [`Port::note_refused`], because the link is down.
    pub(super) fn note_refused_at_down(&mut self) {
        if let Some(tap) = self.tap() {
            tap.refuse_down();
        }
    }

    /// Captures the complete packet that was refused last, at `at`.
    #[cold]
    #[inline(never)]
    pub(crate) fn capture_refused(&mut self, at: Time, p: &Packet, extra: Option<&Extra>) {
        if let Some(tap) = self.tap() {
            tap.report_refused(at, p, extra);
        }
    }

    /// Notes that the discipline has marked a waiting packet.
    #[inline]
    pub(in crate::net) fn note_marked(&mut self, handle: Handle) {
        if self.hooks.is_some() {
            self.note_marked_at_tap(handle);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_marked_at_tap(&mut self, handle: Handle) {
        if let Some(tap) = self.tap() {
            tap.mark(handle);
        }
    }

    /// Notes that a waiting packet enters the link next.
    pub(in crate::net) fn note_release(&mut self, handle: Handle) {
        if let Some(tap) = self.tap() {
            tap.leave(handle);
        }
    }

    /// Discards the packets from `first` on, which a failure of the link at `at` has taken.
    pub(super) fn cut_link(&mut self, at: Time, first: u32) {
        let (ring, delay): (&Ring, Time) = (&self.ring, self.delay);
        let Some(hooks) = &mut self.hooks else { return };
        if let Some(errors) = hooks.errors() {
            self.events.damaged -= errors.forget(first);
        }
        if let Some(tap) = hooks.tap() {
            tap.cut(at, delay, first, |position| (ring.packet(position), ring.extra(position)));
        }
    }

    /// Captures a packet of the backlog that a failure of the link at `at` has taken.
    pub(super) fn cut_waiting(&mut self, at: Time, p: &Packet) {
        if let Some(tap) = self.tap() {
            tap.cut_waiting(at, p);
        }
    }
}
