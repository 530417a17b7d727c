//! How long a port's queue is: counted late, or with every change for those who want to know.
//!
//! The queue's length is needed only where it decides something. `queue` therefore counts departures late and is an upper bound;
//! a port whose upper bound is below `threshold` accepts without looking closer. Elsewhere the queue is settled first. So `departed` may
//! even lag behind the ring's head, and taking an arrived packet out costs nothing but moving the head.

use super::occupancy::OccupancyTimes;
use super::{Port, QueueKind, Threshold};
use crate::net::ring::Ring;
use forebay_experiment::occupancy::{Counters, Occupancy};
use forebay_queues::QueueState;
use forebay_units::Time;

impl Port {
    /// Takes departures before `now` out of the queue.
    ///
    /// A packet whose last bit leaves at the very instant another one's arrives still holds its buffer: in a store-and-forward switch
    /// the arriving packet has been taking memory since its first bit. The other reading lets one sender at exactly the bottleneck's
    /// rate capture a full queue for good, since every one of its packets arrives as a place becomes free.
    pub fn settle(&mut self, now: Time) {
        self.settle_inline(now);
    }

    /// As `settle`.
    #[inline(always)]
    pub(super) fn settle_inline(&mut self, now: Time) {
        if self.observer.is_some() {
            return self.settle_observed(now);
        }
        let horizon = now + self.delay;
        while self.departed != self.ring.tail() && self.ring.packet(self.departed).arrival < horizon {
            self.depart();
        }
    }

    #[inline]
    pub(super) fn depart(&mut self) {
        self.queue.packets -= 1;
        self.queue.bytes -= u64::from(self.ring.packet(self.departed).wire);
        self.departed = self.ring.next(self.departed);
    }

    /// The packet in service, if there is one, leaves a port with a buffered discipline, at which at most one packet has been sent and has not
    /// left.
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

    /// As `settle`, for a port whose `occupancy` are counted.
    #[inline(never)]
    pub(super) fn settle_counted(&mut self, now: Time) {
        let horizon = now + self.delay;
        while self.departed != self.ring.tail() && self.ring.packet(self.departed).arrival < horizon {
            self.depart_counted();
        }
    }

    /// As `settle_counted`, where not all packets that have been sent have left.
    #[inline(always)]
    pub(super) fn settle_busy(&mut self, now: Time) {
        let horizon = now + self.delay;
        if self.departed != self.ring.tail() {
            while self.ring.packet(self.departed).arrival < horizon {
                self.depart_counted();
            }
        }
    }

    /// As `settle_counted`, of a FIFO where all have left.
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

    /// As `settle`, for a port with a recorder, which sees every change unless `occupancy` are counted.
    #[inline(never)]
    fn settle_observed(&mut self, now: Time) {
        if self.occupancy.is_on() {
            return self.settle_counted(now);
        }
        while self.departed != self.ring.tail() && self.ring.packet(self.departed).arrival < now + self.delay {
            self.record(self.ring.packet(self.departed).arrival - self.delay);
            self.depart();
        }
    }

    /// Starts recording the queue.
    pub fn observe(&mut self, observer: Occupancy) {
        self.observer = Some(Box::new(observer));
        self.threshold = Threshold::default();
        self.start_occupancy(Time::ZERO);
    }

    /// From `now` on, when the queue is settled, the time at each length is counted in `occupancy`, if there is a recorder and it needs no more.
    /// The queues of hosts are recorded where somebody asks for it, which few do: their packets do not look for `occupancy`.
    pub(super) fn start_occupancy(&mut self, now: Time) {
        self.occupancy = OccupancyTimes::OFF;
        let plain = !self.host && matches!(self.kind, QueueKind::Fifo(_) | QueueKind::Buffered) && self.errors.is_none();
        if plain && self.observer.as_ref().is_some_and(|o| !o.has_series()) {
            // Times of changes are those of arrivals at the other end, which are in the ring: all later by the delay.
            self.occupancy = OccupancyTimes::new(now + self.delay, self.queue.packets, self.events.max_pkts);
        }
    }

    /// Whether the time at each length is counted.
    #[inline(always)]
    pub(crate) fn counts(&self) -> bool {
        self.occupancy.is_on()
    }

    /// Hands what was counted up to `now`, when the queue is settled, over to the recorder, which goes on from there.
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

    /// Brings the recorder to `now`, when the queue is settled; it sees every change from then on.
    pub(super) fn flush_observer(&mut self, now: Time) {
        if self.occupancy.is_on() {
            self.flush_occupancy(now);
        } else {
            self.record(now);
        }
    }

    /// Whether one more packet would be for a recorder, or for the greatest length so far.
    #[inline(always)]
    pub(in crate::net) fn updates_records(&self) -> bool {
        self.observer.is_some() || self.occupancy.is_on() || self.queue.packets >= self.events.max_pkts
    }

    /// A packet of `wire` bytes joins the backlog at `now`, when the queue is settled.
    #[inline(always)]
    pub(in crate::net) fn count_arrival(&mut self, now: Time, wire: u64) {
        self.update_longest();
        if self.occupancy.is_on() {
            // SAFETY: as in `settle_counted`.
            unsafe { self.occupancy.grow(self.queue.packets, now + self.delay) };
        }
        self.count_arrival_fast(wire);
    }

    /// As [`Port::count_arrival`], unless the port [is closely kept](Port::is_closely_kept).
    #[inline(always)]
    pub(in crate::net) fn count_arrival_fast(&mut self, wire: u64) {
        self.queue.packets += 1;
        self.queue.bytes += wire;
        self.sent_pkts += 1;
        self.sent_bytes += wire;
    }

    /// A packet of `wire` bytes leaves the settled queue at `now` without having been sent.
    pub(in crate::net) fn count_removal(&mut self, now: Time, wire: u64) {
        self.queue.packets -= 1;
        self.queue.bytes -= wire;
        if self.occupancy.is_on() {
            // SAFETY: as in `settle_counted`.
            unsafe { self.occupancy.shrink(self.queue.packets, now + self.delay) };
        }
    }

    /// One more packet is to join the queue, which may never have been so long.
    #[inline(always)]
    pub(super) fn update_longest(&mut self) {
        if self.queue.packets >= self.events.max_pkts {
            self.set_longest(self.queue.packets + 1);
        }
    }

    /// The queue has never been so long.
    pub(super) fn set_longest(&mut self, packets: u32) {
        self.events.max_pkts = packets;
        if self.occupancy.is_on() {
            self.occupancy.reserve(packets);
        }
        self.update_threshold();
    }

    /// The largest queue so far is part of the alert, so that the maximum is exact too; a recorder that `occupancy` do not serve wants to see
    /// everything. What waits in a host's backlog is not looked after before every packet, as at switches.
    pub(super) fn update_threshold(&mut self) {
        if !matches!(self.kind, QueueKind::Fifo(_)) && (self.host || !matches!(self.kind, QueueKind::Buffered)) {
            return;
        }
        let bytes = self.limit.bytes.min(self.fast_limit.bytes);
        // Where bytes are so few, even a single packet may be too large.
        let packets = if bytes < u64::from(u16::MAX) { 0 } else { self.limit.packets.min(self.fast_limit.packets) };
        if self.observer.is_none() || self.occupancy.is_on() {
            self.threshold =
                Threshold { packets: packets.min(self.events.max_pkts), bytes: u32::try_from(bytes).unwrap_or(u32::MAX) };
        }
    }
}
