//! The interface between an application and the host that carries its traffic.

use crate::{Job, OpenSpec, QueryStart};
use forebay_experiment::traffic::Datagram;
use forebay_types::{AppId, ConnSlot, GroupId, NodeId, Time};

/// Connections, timers and the clock of [`App`](crate::App)s.
///
/// # Order of calls
/// All times are absolute, counted from the start of the run.
///
/// 1. Before the run the host creates the applications, in the order of the workloads, and calls [`App::start`](crate::App::start) of each.
/// 2. It advances time. Before it passes a time `t` it calls [`App::inject`](crate::App::inject) with an `until` of at least `t`, if
///    [`App::next_arrival`](crate::App::next_arrival) is below that.
/// 3. When a timer set by [`Host::wake`] is due, it calls [`App::on_wake`](crate::App::on_wake) with the time for which it was set, or with its clock
///    if it is late. Timers are called in the order of their times. The order of timers with equal times is up to the host, but must be the same in
///    every run if runs are to be reproducible.
/// 4. When a message has been delivered completely, and when its last ACK has arrived, it calls [`App::on_notice`](crate::App::on_notice) of the
///    application that owns the connection. A host without information about ACKs sends both notices together.
/// 5. It stops at the end of the experiment's time, or when every application [is finished](crate::App::finished) and all messages have been
///    delivered and acknowledged.
///
/// An application calls its host only from inside these calls. It opens connections with [`Host::open`] in `start` and `inject`, and with
/// [`Host::open_later`] anywhere. Writes to a connection that is not open yet are delayed until it is. Messages of a connection arrive in the order
/// in which they were written. An application draws random numbers in the order of its calls; each source has a stream of its own.
pub trait Host {
    /// Reserves memory for connections that will be opened at the start. Only a hint.
    fn reserve(&mut self, connections: usize) {
        let _ = connections;
    }

    /// Creates a connection that opens at `time` and then writes the initial data of `spec`. The number returned is valid until the connection has
    /// ended.
    fn open(&mut self, time: Time, spec: OpenSpec) -> ConnSlot;

    /// The earliest time at which [`Host::open_later`] can open a connection; the current time if there is no restriction.
    fn earliest_open(&self) -> Time;

    /// As [`Host::open`], at a time not before [`Host::earliest_open`], for a connection that carries only the initial data of `spec`.
    fn open_later(&mut self, time: Time, spec: OpenSpec);

    /// Creates a sender of datagrams, without TCP.
    fn open_datagrams(&mut self, spec: OpenSpec, datagram: Datagram) -> ConnSlot;

    /// Writes a message on `conn`, from its sending host, at `now`.
    fn write(&mut self, conn: ConnSlot, now: Time, job: Job);

    /// Stops the endless data of `conn`, from its sending host, at `now`.
    fn stop(&mut self, conn: ConnSlot, now: Time);

    /// Sends one datagram on `conn`, from its sending host, at `now`.
    fn send_datagram(&mut self, conn: ConnSlot, now: Time);

    /// Sets a timer.
    fn wake(&mut self, wake: Wake);

    /// A query begins: a barrier round, or a request with its response. Its messages carry its number.
    fn begin_query(&mut self, start: QueryStart);

    /// Latency of a request out of band from `from` to `to`, for workloads without `request-latency`: that of a small packet of
    /// transport `group` on the path without queueing.
    fn request_latency(&self, from: NodeId, to: NodeId, group: GroupId) -> Time;
}

/// A timer of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// Application that is called.
    pub app: AppId,
    /// Argument of the call.
    pub tag: u64,
    /// Host that sets the timer.
    pub origin: NodeId,
    /// Host at which it is due, and on whose connections the application will act.
    pub host: NodeId,
    /// Time at which it is due.
    pub time: Time,
}
