//! What senders are called for beside packets: applications that write and stop, and their own timers.

use super::Core;
use super::elsewhere::ENDLESS;
use super::shims::{Direct, Shimmed, Way, rarely};
use crate::engine::endpoint_shim::Endpoint;
use crate::engine::hosts::Wake;
use crate::engine::lane::Handover;
use crate::engine::nic::Nic;
use crate::engine::stream::Message;
use crate::net::packet::Wire;
use crate::shim::endpoint::Side;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::Sender;
use forebay_traffic::Job;
use forebay_units::{ConnSlot, NodeId, Time, TimeOrNever};
use std::num::NonZeroU64;

/// What a sender is called for, beside packets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    /// Open the connection.
    Open,
    /// The application writes.
    Write { bytes: u64, deadline: Option<Time>, last: bool },
    /// The application of an endless flow stops.
    Stop,
    /// Its timer came due.
    Timer,
    /// The law's timer came due.
    Alarm,
}

impl Call {
    /// Calls it, on the way `out` to the network.
    #[inline(always)]
    pub(super) fn make(self, sender: &mut Sender, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        match self {
            Call::Open => sender.open(c, now, out),
            Call::Write { bytes, deadline, last } => sender.write(c, now, bytes, deadline, last, out),
            Call::Stop => sender.stop(c, now, out),
            Call::Timer => sender.on_timer(c, now, out),
            Call::Alarm => sender.on_alarm(c, now, out),
        }
    }
}

impl Core {
    /// The application hands a message to connection `conn` at `now`. Call it at the sending host.
    pub(crate) fn write_message(&mut self, conn: ConnSlot, now: Time, job: Job) {
        let Job { bytes, query, deadline } = job;
        let (out, sender) = (&mut self.outgoing[conn], &mut self.senders[conn]);
        let begin = sender.written();
        let length = bytes.unwrap_or(ENDLESS);
        let end = bytes.map(|b| begin + b);
        let deadline = TimeOrNever::at(deadline);
        let first_window = (sender.window().cwnd * f64::from(self.tcp[sender.group()].mss)) as u64;
        let behind = end.and_then(NonZeroU64::new);
        let alone = out.is_empty();
        let message = Message { begin, behind, start: now, delivered: TimeOrNever::NEVER, query, deadline, first_window };
        out.push(message, &mut self.lane.spare);
        if alone {
            sender.start_message((begin, begin.saturating_add(first_window), end.unwrap_or(u64::MAX)));
        }
        let s = &self.streams[conn];
        if let Some(end) = end {
            self.lane.open += 1;
            // No byte of it arrives in this window.
            self.lane.hand_over(s.src, Handover::Expect { conn, end, query, start: now });
        }
        let last = s.only;
        self.with_sender(conn, now, Call::Write { bytes: length, deadline: deadline.get(), last });
    }

    /// The application of an endless flow stops writing.
    pub(crate) fn stop_writing(&mut self, conn: ConnSlot, now: Time) {
        self.with_sender(conn, now, Call::Stop);
        // Its row is due when what it has written is acknowledged, which may be now.
        let sender = &mut self.senders[conn];
        sender.end_message();
        self.lane.open += 1;
        self.lane.hand_over(self.streams[conn].src, Handover::Stopped { conn, written: sender.written() });
        if sender.snd_una() >= sender.written() {
            self.message_acked(conn, now);
        }
    }

    /// Calls the sender with its configuration and its way to the network, then sees to its timer.
    #[inline]
    pub(super) fn with_sender(&mut self, conn: ConnSlot, now: Time, call: Call) {
        if self.senders[conn].generation().has_shim() {
            return rarely(move || self.call_sender::<Shimmed>(conn, now, call));
        }
        self.call_sender::<Direct>(conn, now, call);
    }

    #[inline(always)]
    fn call_sender<W: Way>(&mut self, conn: ConnSlot, now: Time, call: Call) {
        let node = self.streams[conn].src;
        let sender = &mut self.senders[conn];
        let group = sender.group();
        let at = Endpoint { conn, side: Side::Sender, group, node };
        let c = &self.tcp[group];
        let mut out = W::wire(&mut self.endpoint_shims, at, || {
            Nic::of_sender((&mut self.fabric, &mut self.lane), &mut self.hosts[node], now, c)
        });
        call.make(sender, c, now, &mut out);
        drop(out);
        W::settle(self, at, now);
        self.arm_sender(conn, node);
    }

    /// Makes sure a timer entry exists no later than the sender's timer is due.
    #[inline]
    pub(super) fn arm_sender(&mut self, conn: ConnSlot, host: NodeId) {
        let sender = &mut self.senders[conn];
        if sender.needs_timer_entry() {
            sender.set_armed(sender.timer_due());
            let (due, generation) = (sender.timer_due(), sender.generation());
            let slots = sender.put_off();
            self.set_own_timer(host, due.or_never(), Wake::Sender { conn, generation }, slots);
        }
    }
}
