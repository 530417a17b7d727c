//! Length of a port's queue, and its recording.
//!
//! The exact length is needed only where a decision depends on it. `queue` counts departures late and is an upper bound; a port whose upper bound is
//! below `threshold` accepts packets on the fast path. Otherwise the queue is settled first. `departed` may lag behind the ring's head, so that
//! removing an arrived packet only moves the head.

use super::occupancy::OccupancyTimes;
use super::{Port, QueueKind, Threshold};
use crate::net::ring::Ring;
use forebay_experiment::occupancy::{Counters, Occupancy};
use forebay_queues::QueueState;
use forebay_types::Time;

impl Port {
    /// Counts the departures before `now`.
    ///
    /// A packet whose last bit leaves at the instant of an arrival still holds its buffer: in a store-and-forward switch the arriving packet has been
    /// taking memory since its first bit. With the opposite rule a sender at exactly the bottleneck's rate would hold a full queue forever, because
    /// every one of its packets would arrive as a place becomes free.
    pub fn settle(&mut self, now: Time) {
        self.settle_inline(now);
    }

    /// As `settle`.
    #[inline(always)]
    pub(super) fn settle_inline(&mut self, now: Time) {
        if self.observer.is_some() {
            return self.settle_observed(now);
        }
        // A host may delay packets behind its queue. From an idle interface all packets have left.
        let (idle, horizon) = (self.busy_until < now, now + self.delay);
        while self.departed != self.ring.tail() && (idle || self.ring.packet(self.departed).arrival < horizon) {
            self.depart();
        }
    }

    #[inline]
    pub(super) fn depart(&mut self) {
        self.queue.packets -= 1;
        self.queue.bytes -= u64::from(self.ring.packet(self.departed).wire);
        self.departed = self.ring.next(self.departed);
    }

    /// Counts the departure of the packet in service, if there is one, at a port with a buffered discipline, where at most one transmitted packet has
    /// not left.
    #[inline(always)]
    pub(in crate::net) fn leave(&mut self) {
        if self.departed == self.ring.tail() {
            return;
        }
        if self.observer.is_some() {
            self.observe_departure();
        }
        self.queue.packets -= 1;
        self.queue.bytes -= u64::from(self.ring.packet(self.departed).wire);
        debug_assert_eq!(self.ring.next(self.departed), self.ring.tail());
        self.departed = self.ring.tail();
    }

    #[inline(never)]
    fn observe_departure(&mut self) {
        if self.occupancy.is_on() {
            // SAFETY: as in `settle_counted`.
            unsafe { self.occupancy.shrink(self.queue.packets - 1, self.ring.packet(self.departed).arrival) };
        } else {
            self.notify_observer(self.busy_until);
        }
    }

    /// As `settle`, for a port whose `occupancy` is counted.
    #[inline(never)]
    pub(super) fn settle_counted(&mut self, now: Time) {
        let horizon = now + self.delay;
        while self.departed != self.ring.tail() && self.ring.packet(self.departed).arrival < horizon {
            self.depart_counted();
        }
    }

    /// As `settle_counted`, where not all transmitted packets have left.
    #[inline(always)]
    pub(super) fn settle_busy(&mut self, now: Time) {
        let horizon = now + self.delay;
        if self.departed != self.ring.tail() {
            while self.ring.packet(self.departed).arrival < horizon {
                self.depart_counted();
            }
        }
    }

    /// As `settle_counted`, for a FIFO from which all packets have left.
    #[inline(never)]
    pub(super) fn settle_idle(&mut self) {
        let (tail, mut position, mut packets) = (self.ring.tail(), self.departed, self.queue.packets);
        while position != tail {
            let packet = self.ring.packet(position);
            packets -= 1;
            // SAFETY: as in `depart_counted`.
            unsafe { self.occupancy.shrink(packets, packet.arrival) };
            position = Ring::behind(position, packet);
        }
        debug_assert_eq!(packets, 0);
        (self.departed, self.queue) = (tail, QueueState::default());
    }

    #[inline(always)]
    fn depart_counted(&mut self) {
        let arrival = self.ring.packet(self.departed).arrival;
        self.depart();
        // SAFETY: the port counts; it has made room for its longest queue (`set_longest`).
        unsafe { self.occupancy.shrink(self.queue.packets, arrival) };
    }

    /// As `settle`, for a port with a recorder, which is notified of every change unless `occupancy` is counted.
    #[inline(never)]
    fn settle_observed(&mut self, now: Time) {
        if self.occupancy.is_on() {
            return self.settle_counted(now);
        }
        // As in `settle_inline`.
        let idle = self.busy_until < now;
        while self.departed != self.ring.tail() && (idle || self.ring.packet(self.departed).arrival < now + self.delay) {
            self.record((self.ring.packet(self.departed).arrival - self.delay).min(self.busy_until));
            self.depart();
        }
    }

    /// Starts recording the queue.
    pub fn observe(&mut self, observer: Occupancy) {
        self.observer = Some(Box::new(observer));
        self.threshold = Threshold::default();
        self.start_occupancy(Time::ZERO);
    }

    /// Counts `occupancy` from `now` on, when the queue is settled, if there is a recorder without a series of samples. Few queues of hosts are
    /// recorded; their packets do not check `occupancy`.
    pub(super) fn start_occupancy(&mut self, now: Time) {
        self.occupancy = OccupancyTimes::OFF;
        let plain = !self.host && matches!(self.kind, QueueKind::Fifo(_) | QueueKind::Buffered) && self.hooks.is_none();
        if plain && self.observer.as_ref().is_some_and(|o| !o.has_series()) {
            // Times of changes are those of arrivals at the far end, which are in the ring: all later by the delay.
            self.occupancy = OccupancyTimes::new(now + self.delay, self.queue.packets, self.events.max_pkts);
        }
    }

    /// Returns true if the time at each length is counted.
    #[inline(always)]
    pub(crate) fn counts(&self) -> bool {
        self.occupancy.is_on()
    }

    /// Adds the counted times up to `now`, when the queue is settled, to the recorder, which continues from there.
    #[inline(never)]
    pub(super) fn flush_occupancy(&mut self, now: Time) {
        let times = self.occupancy.times(now + self.delay, self.queue.packets);
        if let Some(o) = &mut self.observer {
            o.add(now, &times);
        }
        self.occupancy = OccupancyTimes::OFF;
    }

    /// The recorder, if any.
    pub fn observer(&self) -> Option<&Occupancy> {
        self.observer.as_deref()
    }

    /// The recorder of the queue, to take its samples from.
    pub fn observer_mut(&mut self) -> Option<&mut Occupancy> {
        self.observer.as_deref_mut()
    }

    #[inline(always)]
    pub(in crate::net) fn record(&mut self, now: Time) {
        if self.observer.is_some() {
            self.notify_observer(now);
        }
    }

    #[inline(never)]
    pub(super) fn notify_observer(&mut self, now: Time) {
        if !self.occupancy.is_on()
            && let Some(o) = &mut self.observer
        {
            let c = Counters {
                packets: self.queue.packets,
                bytes: self.queue.bytes,
                drops: self.events.dropped.iter().sum(),
                marks: self.events.marked,
            };
            o.until(now, c);
        }
    }

    /// Brings the recorder to `now`, when the queue is settled; it is notified of every change from then on.
    pub(super) fn flush_observer(&mut self, now: Time) {
        if self.occupancy.is_on() {
            self.flush_occupancy(now);
        } else {
            self.record(now);
        }
    }

    /// Returns true if one more packet concerns a recorder, or the maximum length.
    #[inline(always)]
    pub(in crate::net) fn updates_records(&self) -> bool {
        self.observer.is_some() || self.occupancy.is_on() || self.queue.packets >= self.events.max_pkts
    }

    /// Counts a packet of `wire` bytes that joins the backlog at `now`, when the queue is settled.
    #[inline(always)]
    pub(in crate::net) fn count_arrival(&mut self, now: Time, wire: u64) {
        self.update_longest();
        if self.occupancy.is_on() {
            // SAFETY: as in `settle_counted`.
            unsafe { self.occupancy.grow(self.queue.packets, now + self.delay) };
        }
        self.count_arrival_fast(wire);
    }

    /// As [`Port::count_arrival`], unless [`Port::updates_records`].
    #[inline(always)]
    pub(in crate::net) fn count_arrival_fast(&mut self, wire: u64) {
        self.queue.packets += 1;
        self.queue.bytes += wire;
        self.sent_pkts += 1;
        self.sent_bytes += wire;
    }

    /// Counts a packet of `wire` bytes that leaves the settled queue at `now` without having been sent.
    pub(in crate::net) fn count_removal(&mut self, now: Time, wire: u64) {
        self.queue.packets -= 1;
        self.queue.bytes -= wire;
        if self.occupancy.is_on() {
            // SAFETY: as in `settle_counted`.
            unsafe { self.occupancy.shrink(self.queue.packets, now + self.delay) };
        }
    }

    /// Updates the maximum length before one more packet joins the queue.
    #[inline(always)]
    pub(super) fn update_longest(&mut self) {
        if self.queue.packets >= self.events.max_pkts {
            self.set_longest(self.queue.packets + 1);
        }
    }

    /// Sets a new maximum length.
    pub(super) fn set_longest(&mut self, packets: u32) {
        self.events.max_pkts = packets;
        if self.occupancy.is_on() {
            self.occupancy.reserve(packets);
        }
        self.update_threshold();
    }

    /// Updates the threshold of the slow path. It includes the maximum length so far, so that the maximum is exact too; a recorder without
    /// `occupancy` is notified of everything. The backlog of a host is not served before every packet, as it is at switches.
    pub(super) fn update_threshold(&mut self) {
        if !matches!(self.kind, QueueKind::Fifo(_)) && (self.host || !matches!(self.kind, QueueKind::Buffered)) {
            return;
        }
        let bytes = self.limit.bytes.min(self.fast_limit.bytes);
        // Where the limit in bytes is so small, even a single packet may be too large.
        let packets = if bytes < u64::from(u16::MAX) { 0 } else { self.limit.packets.min(self.fast_limit.packets) };
        if self.observer.is_none() || self.occupancy.is_on() {
            self.threshold =
                Threshold { packets: packets.min(self.events.max_pkts), bytes: u32::try_from(bytes).unwrap_or(u32::MAX) };
        }
    }
}
