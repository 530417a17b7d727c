//! The sender's timers.

use crate::net::generation::Generation;
use crate::tcp::common::rtt::Timed;
use crate::tcp::sender::Timer;
use forebay_units::TimeOrNever;

/// Retransmission timer, alarm, and the entries in the engine's calendar.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct Timers {
    /// Expiry of the running timer; never when idle.
    pub(in crate::tcp) due: TimeOrNever,
    /// Time of the earliest timer entry in the engine.
    pub(in crate::tcp) armed: TimeOrNever,
    /// Time of the alarm in the engine, for congestion controls that pace and for the interface of the host.
    pub(in crate::tcp) alarm: TimeOrNever,
    /// Segment whose round trip is timed, in stacks without timestamps.
    pub(in crate::tcp) timed_segment: Timed,
    /// Running timer.
    pub(in crate::tcp) kind: Timer,
    /// Generation of the endpoint in its connection slot. Entries of an earlier one are stale.
    pub(in crate::tcp) generation: Generation,
}

impl Timers {
    /// No timer runs.
    pub(in crate::tcp) fn new(generation: Generation) -> Timers {
        Timers {
            due: TimeOrNever::NEVER,
            armed: TimeOrNever::NEVER,
            alarm: TimeOrNever::NEVER,
            timed_segment: Timed::NONE,
            kind: Timer::Idle,
            generation,
        }
    }
}
