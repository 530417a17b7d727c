//! Port counters.

use super::Port;
use crate::net::backlog::Backlog;
use crate::net::packet::{Codepoint, Packet};
use forebay_types::Time;
use std::iter;

/// Counters of a port since the start or the end of the warm-up.
#[derive(Debug, Clone, Copy, Default)]
pub struct PortStats {
    /// Packets queued for transmission.
    pub sent_pkts: u64,
    /// Wire bytes of those.
    pub sent_bytes: u64,
    /// Sum over queued packets of the time from arrival to departure, ps. By Little's law this is the integral of the queue.
    pub sojourn: u128,
}

/// Counters of rare events.
#[derive(Debug, Clone, Copy, Default)]
pub struct PortEvents {
    /// Drops by reason: overflow, shared buffer, early.
    pub dropped: [u64; 3],
    /// Wire bytes dropped.
    pub dropped_bytes: u64,
    /// CE marks set.
    pub marked: u64,
    /// Packets that were not sent because the link was down, or went down while they waited.
    pub cut_waiting: u64,
    /// Wire bytes of those packets.
    pub cut_bytes: u64,
    /// Packets that were on the wire when the link went down.
    pub cut_flying: u64,
    /// Packets damaged or lost on the link.
    pub damaged: u64,
    /// Largest queue after an arrival, packets.
    pub max_pkts: u32,
}

impl Port {
    /// Sums over packets.
    pub fn stats(&self) -> PortStats {
        PortStats { sent_pkts: self.sent_pkts, sent_bytes: self.sent_bytes, sojourn: self.sojourn() }
    }

    pub(super) fn sojourn(&self) -> u128 {
        u128::from(self.sojourn_high) << 64 | u128::from(self.sojourn_low)
    }

    pub(super) fn set_sojourn(&mut self, sum: u128) {
        (self.sojourn_low, self.sojourn_high) = (sum as u64, (sum >> 64) as u64);
    }

    /// Adds the time from arrival to departure of packets.
    #[inline(always)]
    pub(in crate::net) fn add_sojourn(&mut self, time: Time) {
        let (sum, over) = self.sojourn_low.overflowing_add(time.0);
        self.sojourn_low = sum;
        if over {
            self.sojourn_high += 1;
        }
    }

    /// Counts a mark on a packet that had this codepoint before.
    #[inline(always)]
    pub(in crate::net) fn count_mark(&mut self, before: Codepoint) {
        self.events.marked += u64::from(before != Codepoint::Ce);
    }

    /// Packets queued since the start of the simulation, except evicted ones.
    pub fn total_sent(&self) -> u64 {
        self.before + self.sent_pkts
    }

    /// Brings counters and recorder to `now`, which is not before any event at this port. Returns the part of the sojourn that lies in the future.
    pub fn close(&mut self, now: Time) -> u128 {
        self.settle(now);
        self.flush_observer(now);
        if let Some(backlog) = &mut self.backlog {
            let waited = backlog.settle(now);
            self.set_sojourn(self.sojourn() + waited);
        }
        self.future(now)
    }

    /// Integral of the queue since the start of the statistics until `now`, which is not before any event at this port: packets times picoseconds.
    pub fn queue_integral(&self, now: Time) -> u128 {
        let waited = |p: &Packet| u128::from(now.saturating_sub(p.arrival).0);
        let in_backlog: u128 = self.backlog().into_iter().flat_map(Backlog::packets).map(waited).sum();
        (self.sojourn() + in_backlog).saturating_sub(self.future(now))
    }

    /// Part of the sojourn that lies after `now`. Packets that have left by then have none, counted as departed or not.
    fn future(&self, now: Time) -> u128 {
        let waiting = || {
            let first = Some(self.departed).filter(|first| *first != self.ring.tail());
            iter::successors(first, |position| Some(self.ring.next(*position)).filter(|next| *next != self.ring.tail()))
        };
        if !self.host {
            let departure = |at| self.ring.packet(at).arrival.saturating_sub(self.delay);
            return waiting().map(|at| u128::from(departure(at).saturating_sub(now).0)).sum();
        }
        // A host may delay packets behind its queue, so that their arrivals do not tell when they leave. They leave one after the other.
        let tx = |at| self.tx(u64::from(self.ring.packet(at).wire));
        let mut departure = self.busy_until.saturating_sub(waiting().map(tx).sum());
        let mut future = 0;
        for at in waiting() {
            departure += tx(at);
            future += u128::from(departure.saturating_sub(now).0);
        }
        future
    }

    /// Packets that wait here or are on the wire, except those that the link damages or loses.
    pub fn undelivered(&self) -> impl Iterator<Item = &Packet> {
        let first = Some(self.ring.head()).filter(|first| *first != self.ring.tail());
        let next = |position: &u32| Some(self.ring.next(*position)).filter(|next| *next != self.ring.tail());
        let intact = |position: &u32| self.errors().is_none_or(|errors| !errors.has_taken(*position));
        let sent = iter::successors(first, next).filter(intact).map(|position| self.ring.packet(position));
        sent.chain(self.backlog().into_iter().flat_map(Backlog::packets))
    }

    /// Checks that the count of the queue matches its packets.
    ///
    /// # Panics
    /// If it does not.
    pub fn audit(&self) {
        let (mut packets, mut bytes, mut position) = (0, 0, self.departed);
        while position != self.ring.tail() {
            packets += 1;
            bytes += u64::from(self.ring.packet(position).wire);
            position = self.ring.next(position);
        }
        for p in self.backlog().into_iter().flat_map(Backlog::packets) {
            packets += 1;
            bytes += u64::from(p.wire);
        }
        assert_eq!(
            (packets, bytes),
            (self.queue.packets, self.queue.bytes),
            "conservation: a port's queue does not match its packets"
        );
    }

    /// Resets all counters at the end of the warm-up. Queued packets count from here on.
    pub fn restart_stats(&mut self, now: Time) {
        let future = self.close(now);
        if let Some(backlog) = &mut self.backlog {
            backlog.restart();
        }
        self.before += self.sent_pkts;
        (self.sent_pkts, self.sent_bytes) = (0, 0);
        self.set_sojourn(future);
        if let Some(errors) = self.errors_mut() {
            errors.restart();
        }
        self.events = PortEvents { max_pkts: self.queue.packets, ..PortEvents::default() };
        if let Some(o) = &mut self.observer {
            o.restart(now);
        }
        self.start_occupancy(now);
        self.update_threshold();
    }
}
