//! The interface between an application and what carries its traffic.

use crate::{Job, OpenSpec, QueryStart};
use forebay_experiment::traffic::Datagram;
use forebay_types::{AppId, ConnSlot, GroupId, NodeId, Time};

/// What carries the traffic of [`App`](crate::App)s: connections, timers and a clock.
///
/// # Who calls what, and when
/// All times are absolute, counted from the start of the run.
///
/// 1. Before the run the host makes the applications, in the order of the workloads, and calls [`App::start`](crate::App::start) of each.
/// 2. It advances time. Before it passes a time `t` it calls [`App::inject`](crate::App::inject) with an `until` of at least `t`, if
///    [`App::next_arrival`](crate::App::next_arrival) is below that.
/// 3. When a timer set by [`Host::wake`] is due, it calls [`App::on_wake`](crate::App::on_wake) with the time for which it was set, or, where
///    it cannot be punctual, with its clock. Timers are called in the order of their times; those of the same time in any order that the host
///    likes, as long as it is the same in every run, where runs are to repeat.
/// 4. When a message has been delivered completely and when its sender knows of that, it calls
///    [`App::on_notice`](crate::App::on_notice) of the application that owns the connection. A host that does not learn of acknowledgements
///    gives both notices at once.
/// 5. It stops at the end of the experiment's time, or when every application [is finished](crate::App::finished) and all that they wrote has
///    been delivered and acknowledged.
///
/// An application calls its host only from inside these calls. It opens connections with [`Host::open`] in `start` and `inject`, and with
/// [`Host::open_later`] anywhere. What a connection is to do before it is open waits until it is. Messages of a connection arrive in the
/// order in which they were written. An application draws its random numbers in the order of the calls that it gets, each part of it from a
/// stream of its own.
pub trait Host {
    /// So many connections will be opened at the start. Only a hint.
    fn reserve(&mut self, connections: usize) {
        let _ = connections;
    }

    /// Prepares a connection that opens at `time` and then writes what `spec` says. It can be written to as soon as it is open, under the
    /// number returned, which stays its own until it has ended.
    fn open(&mut self, time: Time, spec: OpenSpec) -> ConnSlot;

    /// The earliest time at which [`Host::open_later`] can open a connection; the current time for a host that can open one at any time.
    fn earliest_open(&self) -> Time;

    /// As [`Host::open`], at a time not before [`Host::earliest_open`], for a connection that carries only what `spec` says: nobody writes to
    /// it later.
    fn open_later(&mut self, time: Time, spec: OpenSpec);

    /// A sender of datagrams without TCP, which can send from the start.
    fn open_datagrams(&mut self, spec: OpenSpec, datagram: Datagram) -> ConnSlot;

    /// The sending host of `conn` writes a message at `now`.
    fn write(&mut self, conn: ConnSlot, now: Time, job: Job);

    /// The sending host of `conn`, which writes without end, stops at `now`.
    fn stop(&mut self, conn: ConnSlot, now: Time);

    /// The sending host of `conn` sends one datagram at `now`.
    fn send_datagram(&mut self, conn: ConnSlot, now: Time);

    /// Sets a timer.
    fn wake(&mut self, wake: Wake);

    /// A query begins: a barrier round, or an exchange of request and response. Its messages carry its number.
    fn begin_query(&mut self, start: QueryStart);

    /// How long a request takes that `from` sends to `to` outside of the network, for a workload that gives no latency: what a small packet
    /// of transport `group` takes on the empty path.
    fn request_latency(&self, from: NodeId, to: NodeId, group: GroupId) -> Time;
}

/// A timer of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// The application that is called.
    pub app: AppId,
    /// What it is reminded of.
    pub tag: u64,
    /// Where the cause lies: the host on whose behalf it is set.
    pub origin: NodeId,
    /// The host at which it comes due, and on whose connections the application will act.
    pub host: NodeId,
    /// When it is due.
    pub time: Time,
}
