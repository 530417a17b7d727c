//! The sender's timers: one retransmission timer (RTO, probe or reordering), the alarm of paced senders, and the engine's entries for both.

use super::rtt::TimedSegment;
use super::timer_wheel::Place;
use crate::net::generation::Generation;
use crate::tcp::common::state::Timer;
use forebay_types::{Time, TimeOrNever};

/// Timers of one sender.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct Timers {
    /// Expiry of the running timer; never when idle.
    due: TimeOrNever,
    /// Time of the earliest timer entry in the engine.
    armed: TimeOrNever,
    /// Time of the alarm in the engine, for congestion controls that pace and for the interface of the host.
    alarm: TimeOrNever,
    /// Segment whose round trip is timed, in stacks without timestamps.
    timed_segment: TimedSegment,
    /// Running timer.
    kind: Timer,
    /// Place in the kernel's timer wheel, in stacks that have one.
    pub(in crate::tcp) place: Place,
    /// Generation of the endpoint in its connection slot. Entries of an earlier one are stale.
    generation: Generation,
}

impl Timers {
    /// No timer runs.
    pub(in crate::tcp) fn new(generation: Generation) -> Timers {
        Timers {
            due: TimeOrNever::NEVER,
            armed: TimeOrNever::NEVER,
            alarm: TimeOrNever::NEVER,
            timed_segment: TimedSegment::NONE,
            kind: Timer::Idle,
            place: Place::NONE,
            generation,
        }
    }

    /// Running timer.
    #[inline(always)]
    pub(in crate::tcp) fn kind(&self) -> Timer {
        self.kind
    }

    /// Expiry of the running timer; never when idle.
    #[inline(always)]
    pub(in crate::tcp) fn due(&self) -> TimeOrNever {
        self.due
    }

    /// Starts timer `kind`, which expires at `due`.
    #[inline(always)]
    pub(in crate::tcp) fn run(&mut self, kind: Timer, due: TimeOrNever) {
        (self.kind, self.due) = (kind, due);
    }

    /// Moves the expiry of the running timer.
    #[inline(always)]
    pub(in crate::tcp) fn set_due(&mut self, due: TimeOrNever) {
        self.due = due;
    }

    /// Stops the timer.
    #[inline(always)]
    pub(in crate::tcp) fn stop(&mut self) {
        self.run(Timer::Idle, TimeOrNever::NEVER);
    }

    /// Notes that the timer has expired. The next segment that is sent starts it.
    pub(in crate::tcp) fn set_idle(&mut self) {
        self.kind = Timer::Idle;
    }

    /// Turns the running timer into a probe timer with the same expiry.
    pub(in crate::tcp) fn turn_into_probe(&mut self) {
        self.kind = Timer::Probe;
    }

    /// Returns true if the timer expires before the engine's entry.
    #[inline(always)]
    pub(in crate::tcp) fn needs_entry(&self) -> bool {
        self.due < self.armed
    }

    /// Returns true if the host has to count the timer in its timer wheel.
    #[inline(always)]
    pub(in crate::tcp) fn awaits_count(&self) -> bool {
        self.place.awaits_count()
    }

    /// Time of the engine's timer entry.
    #[inline(always)]
    pub(in crate::tcp) fn armed(&self) -> TimeOrNever {
        self.armed
    }

    /// Sets the time of the engine's timer entry.
    #[inline(always)]
    pub(in crate::tcp) fn set_armed(&mut self, at: TimeOrNever) {
        self.armed = at;
    }

    /// Time of the alarm.
    #[inline(always)]
    pub(in crate::tcp) fn alarm(&self) -> TimeOrNever {
        self.alarm
    }

    /// Sets the time of the alarm.
    pub(in crate::tcp) fn set_alarm(&mut self, at: TimeOrNever) {
        self.alarm = at;
    }

    /// Generation of the endpoint.
    #[inline(always)]
    pub(in crate::tcp) fn generation(&self) -> Generation {
        self.generation
    }

    /// Replaces the generation.
    pub(in crate::tcp) fn set_generation(&mut self, generation: Generation) {
        self.generation = generation;
    }

    /// Notes the end of the connection: no timer runs, and no packet belongs to the endpoint any more.
    pub(in crate::tcp) fn retire(&mut self) {
        self.generation = Generation::RETIRED;
        self.due = TimeOrNever::NEVER;
    }

    /// Times the segment that ends at stream offset `end` and leaves now, unless another one is being timed.
    #[inline(always)]
    pub(in crate::tcp) fn time_segment(&mut self, end: u64, now: Time) {
        if self.timed_segment.is_free() {
            self.timed_segment = TimedSegment::segment(end, now);
        }
    }

    /// Send time of the timed segment, if `ack` acknowledges it.
    #[inline(always)]
    pub(in crate::tcp) fn take_timed(&mut self, ack: u64) -> Option<Time> {
        self.timed_segment.take(ack)
    }

    /// Stops timing of a segment (Karn's algorithm, RFC 6298 section 3).
    #[inline(always)]
    pub(in crate::tcp) fn forget_timed(&mut self) {
        self.timed_segment = TimedSegment::NONE;
    }
}
