//! Calls to senders that no packet causes: writes and stops of applications, and timers. Sources of datagrams, which have no TCP.

use super::SimState;
use super::remote::ENDLESS;
use super::shims::{Direct, EndpointPath, Shimmed, cold_path};
use crate::engine::connection::Message;
use crate::engine::endpoint_shim::Endpoint;
use crate::engine::host::{TimerKind, TimerOrder};
use crate::engine::nic::Nic;
use crate::engine::partition_state::DeferredEffect;
use crate::net::packet::Wire;
use crate::shim::endpoint::Side;
use crate::tcp::config::TcpConfig;
use crate::tcp::datagram::Datagram;
use crate::tcp::sender::Sender;
use forebay_apps::{Job, OpenSpec};
use forebay_experiment::writes::Writes;
use forebay_types::{ConnSlot, NodeId, Time, TimeOrNever};
use std::num::NonZeroU64;

/// A call to a sender.
#[derive(Debug, Clone, Copy)]
pub(super) enum SenderCall {
    /// Open the connection.
    Open,
    /// The application writes a message with these calls.
    Write { bytes: u64, writes: Writes, deadline: Option<Time>, last: bool },
    /// The application, which waited for space in the send buffer, continues.
    Resume,
    /// A packet left the queue of the host, and leaves the interface at `time`.
    Departure { seq: u32, time: Time },
    /// The application of an endless flow stops.
    Stop,
    /// Its timer expired.
    Timer,
    /// The timer of its congestion control expired.
    Alarm,
}

impl SenderCall {
    /// Performs the call; packets leave through `out`.
    #[inline(always)]
    pub(super) fn make(self, sender: &mut Sender, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        match self {
            SenderCall::Open => sender.open(c, now, out),
            SenderCall::Write { bytes, writes, deadline, last } => sender.write_by(c, now, (bytes, writes), deadline, last, out),
            SenderCall::Resume => sender.resume(c, now, out),
            SenderCall::Departure { seq, time } => sender.on_departure(now, seq, time, out),
            SenderCall::Stop => sender.stop(c, now, out),
            SenderCall::Timer => sender.on_timer(c, now, out),
            SenderCall::Alarm => sender.on_alarm(c, now, out),
        }
    }
}

impl SimState {
    /// Writes a message to connection `conn` at `now`. Called at the sending host.
    pub(crate) fn write_message(&mut self, conn: ConnSlot, now: Time, job: Job) {
        let Job { bytes, query, deadline } = job;
        let (out, sender) = self.connections.sending_half(conn);
        let begin = sender.written();
        let length = bytes.unwrap_or(ENDLESS);
        let end = bytes.map(|b| begin + b);
        let deadline = TimeOrNever::at(deadline);
        let first_window = (sender.window().cwnd * f64::from(self.tcp[sender.group()].mss)) as u64;
        let end_offset = end.and_then(NonZeroU64::new);
        let alone = out.is_empty();
        let message = Message { begin, end_offset, start: now, delivered: TimeOrNever::NEVER, query, deadline, first_window };
        out.push(message, &mut self.partition.spare);
        self.recorder.begin_message();
        if alone {
            sender.start_message((begin, begin.saturating_add(first_window), end.unwrap_or(u64::MAX)));
        }
        let s = self.connections.get(conn);
        if let Some(end) = end {
            self.partition.open += 1;
            // No byte of it arrives in this window.
            self.partition.defer(s.src, DeferredEffect::Expect { conn, end, query, start: now });
        }
        let (last, writes) = (s.only, self.writes[s.app]);
        self.with_sender(conn, now, SenderCall::Write { bytes: length, writes, deadline: deadline.get(), last });
        if alone {
            let (out, sender) = self.connections.sending_half(conn);
            let window = sender.window_from(&self.tcp[sender.group()], begin);
            out.narrow_first_window(window);
        }
    }

    /// Stops an endless flow.
    pub(crate) fn stop_writing(&mut self, conn: ConnSlot, now: Time) {
        self.with_sender(conn, now, SenderCall::Stop);
        // Its row is due when everything written has been acknowledged, which may be now.
        let (s, sender) = self.connections.with_sender(conn);
        sender.end_message();
        self.partition.open += 1;
        self.partition.defer(s.src, DeferredEffect::Stopped { conn, written: sender.written() });
        if sender.snd_una() >= sender.written() {
            self.message_acked(conn, now);
        }
    }

    /// Calls the sender and sets its timer.
    #[inline]
    pub(super) fn with_sender(&mut self, conn: ConnSlot, now: Time, call: SenderCall) {
        let generation = self.connections.sender(conn).generation();
        if generation.is_special() {
            return cold_path(move || match generation.has_reverse() {
                true => self.call_two_way_sender(conn, now, call),
                false => self.call_sender::<Shimmed>(conn, now, call),
            });
        }
        self.call_sender::<Direct>(conn, now, call);
    }

    #[inline(always)]
    fn call_sender<W: EndpointPath>(&mut self, conn: ConnSlot, now: Time, call: SenderCall) {
        let node = self.connections.get(conn).src;
        let sender = self.connections.sender_mut(conn);
        let group = sender.group();
        let at = Endpoint { conn, side: Side::Sender, group, node };
        let c = &self.tcp[group];
        let mut out = W::wire(&mut self.endpoint_shims, at, || {
            Nic::of_sender((&mut self.fabric, &mut self.partition), &mut self.hosts[node], now, c)
        });
        call.make(sender, c, now, &mut out);
        drop(out);
        W::set_shim_timers(self, at, now);
        self.arm_sender(conn, node, matches!(call, SenderCall::Timer));
    }

    /// Notifies senders of their packets that have left the queue of the host.
    #[inline(never)]
    pub(super) fn note_departures(&mut self, now: Time) {
        let mut done = 0;
        while let Some(&departure) = self.partition.departures.get(done) {
            done += 1;
            let generation = self.connections.generation(departure.conn);
            let number = departure.generation;
            if generation.receives(number) || generation.receives_through_shim(number) || generation.receives_both_ways(number) {
                self.with_sender(departure.conn, now, SenderCall::Departure { seq: departure.seq, time: departure.time });
            }
        }
        self.partition.departures.clear();
    }

    /// Sets a timer no later than the sender's timer is due, and counts one that has entered a slot of the kernel's timer wheel. `in_order`: timers that
    /// are due together are in the order of these calls, because they start when others expire. Others that start together are those of an application
    /// that writes to one connection after the other.
    #[inline]
    pub(super) fn arm_sender(&mut self, conn: ConnSlot, host: NodeId, in_order: bool) {
        let sender = self.connections.sender_mut(conn);
        if sender.awaits_wheel_count() {
            let count = &mut self.hosts[host].timers_set;
            *count += 1;
            sender.count_in_wheel(*count);
        }
        if sender.needs_timer_entry() {
            sender.set_armed(sender.timer_due());
            let (due, generation) = (sender.timer_due(), sender.generation());
            let order = match sender.waits_for_wheel_slot() {
                true => {
                    let (level, count) = sender.wheel_order();
                    TimerOrder::Slot(level, count)
                }
                false if in_order || !self.tcp[sender.group()].is_linux() => TimerOrder::OldestFirst,
                false => TimerOrder::Number(conn.index() as u64),
            };
            self.hosts.set_own_timer(&mut self.partition, host, due.or_never(), TimerKind::Sender { conn, generation }, order);
        }
    }

    /// Prepares a source of datagrams. Between windows only, as [`SimState::connect`].
    pub(crate) fn source(&mut self, spec: OpenSpec, datagram: Datagram) -> ConnSlot {
        let conn = self.prepare(spec);
        let awaited = self.awaits_datagrams[spec.app];
        self.connections.sender_mut(conn).unresponsive(datagram, awaited);
        self.connections.get_mut(conn).datagrams = true;
        conn
    }

    /// Sends a datagram of source `conn` at `now`. Called at the sending host.
    pub(crate) fn datagram(&mut self, conn: ConnSlot, now: Time) {
        let out = self.connections.outgoing_mut(conn);
        if out.is_empty() {
            // The only row of this source: endless, from its first packet on.
            let message = Message {
                begin: 0,
                end_offset: None,
                start: now,
                delivered: TimeOrNever::NEVER,
                query: None,
                deadline: TimeOrNever::NEVER,
                first_window: 0,
            };
            out.push(message, &mut self.partition.spare);
            self.recorder.begin_message();
        }
        // The processing jitter of hosts applies to TCP; a source has its own.
        let src = self.connections.get(conn).src;
        let mut nic = Nic::at_once((&mut self.fabric, &mut self.partition), &mut self.hosts[src], now);
        self.connections.sender_mut(conn).datagram(now, &mut nic);
        if self.awaits_datagrams[self.connections.get(conn).app] {
            self.partition.open += 1;
        }
    }

    /// Payload of `conn` that has certainly arrived: acknowledged, or received where there are no acknowledgments.
    pub(super) fn confirmed_bytes(&self, conn: ConnSlot) -> u64 {
        if self.connections.get(conn).datagrams {
            return self.received(conn).in_order;
        }
        let sender = self.connections.sender(conn);
        sender.snd_una().min(sender.written())
    }
}
