//! The transmit ring of a host's interface, between a buffered queue and the wire: a FIFO that takes packets from the queue as long as byte queue
//! limits allow (`queue_limits.rs`), or one at a time. A packet in it is no longer sorted or dropped, so that its arrival at the far end is computed
//! when it enters, as at a FIFO port.
//!
//! A burst of segmentation offload is one packet for the queue and for the ring. Its segments arrive one by one, at the same instant: the first one
//! decides about all of them.

mod ring;

pub(super) use ring::TransmitRing;
pub(crate) use ring::{Departure, TransmitRingConfig};

use super::Port;
use super::buffered_queue::Sink;
use crate::net::backlog::{Backlog, Slab, facts};
use crate::net::packet::{CONTINUES, Codepoint, Extra, Packet, RELEASED, flag};
use forebay_queues::{Arrival, Buffered, DropReason, Operation, Queued};
use forebay_types::Time;
use ring::Place;

/// The departure of a packet, if it has data or a FIN: small queues count it (tcp_wfree).
#[inline(always)]
pub(super) fn departure(packet: &Packet, time: Time) -> Option<Departure> {
    let counts = (packet.len > 0 || packet.has(flag::FIN)) && !packet.has(flag::ACK);
    counts.then(|| Departure { conn: packet.conn, generation: packet.generation(), seq: packet.seq, time })
}

/// Returns true if a packet may bypass the empty discipline to an open ring.
#[inline(always)]
fn can_bypass(discipline: &impl Buffered) -> bool {
    discipline.can_bypass() || discipline.accepts_idle()
}

/// A packet that a host sends.
struct Outgoing<'a> {
    now: Time,
    late: Time,
    packet: &'a Packet,
    extra: Option<&'a Extra>,
}

/// Arguments of [`Port::offer`].
struct Offer<'a, L> {
    port: &'a mut Port,
    ring: &'a mut TransmitRing,
    slab: &'a mut Slab,
    outgoing: Outgoing<'a>,
    lost: L,
}

impl<L: FnMut(&Packet)> Operation for Offer<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, discipline: &mut impl Buffered) {
        let Offer { port, ring, slab, outgoing, lost } = self;
        port.offer_by(discipline, ring, slab, &outgoing, lost);
        ring.bypass = !ring.interrupted && can_bypass(discipline);
    }
}

/// Arguments of [`Port::drain`].
struct Drain<'a, L> {
    port: &'a mut Port,
    ring: &'a mut TransmitRing,
    slab: &'a mut Slab,
    until: Time,
    lost: L,
}

impl<L: FnMut(&Packet)> Operation for Drain<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, discipline: &mut impl Buffered) {
        let Drain { port, ring, slab, until, mut lost } = self;
        port.drain_by(discipline, ring, slab, until, &mut lost);
        ring.bypass = !ring.interrupted && can_bypass(discipline);
    }
}

/// Arguments of [`Port::hold`].
struct Hold<'a, L> {
    port: &'a mut Port,
    ring: &'a mut TransmitRing,
    slab: &'a mut Slab,
    now: Time,
    flow: u64,
    lost: L,
}

impl<L: FnMut(&Packet)> Operation for Hold<'_, L> {
    type Output = ();

    fn run(self, discipline: &mut impl Buffered) {
        let Hold { port, ring, slab, now, flow, mut lost } = self;
        port.drain_by(discipline, ring, slab, now, &mut lost);
        discipline.hold(flow, now);
        match ring.is_open() {
            true => port.fill_ring(discipline, ring, slab, now, &mut lost),
            // The queue runs when the ring opens (netdev_tx_completed_queue).
            false => ring.interrupted = true,
        }
        ring.bypass = !ring.interrupted && can_bypass(discipline);
    }
}

impl Port {
    /// Puts a transmit ring behind the queue of a host, if it is a buffered one.
    pub(crate) fn set_transmit_ring(&mut self, c: TransmitRingConfig) {
        if self.backlog.is_some() {
            self.transmit_ring = Some(Box::new(TransmitRing::new(c, Time::ZERO)));
            self.has_ring = true;
            self.set_bypass(false);
        }
    }

    /// Returns true if the port has a transmit ring.
    #[inline(always)]
    pub(crate) fn has_transmit_ring(&self) -> bool {
        self.has_ring
    }

    /// Empties the ring, after the link has failed. `freed`: the packets that waited in front of it, whose memory their senders get back (tcp_wfree).
    pub(super) fn reset_transmit_ring(&mut self, now: Time, freed: Vec<Departure>) {
        if let Some(ring) = &mut self.transmit_ring {
            let c = ring.config();
            **ring = TransmitRing {
                #[cfg(debug_assertions)]
                by_segment: ring.by_segment,
                left: freed,
                ..TransmitRing::new(c, now)
            };
        }
    }

    /// Queues or drops a packet that a host sends at `now`, and which leaves `late` after its turn. `lost` receives every dropped packet. Returns the
    /// arrival time of the first transmitted packet at the far end, if no packet was on the link.
    pub(crate) fn offer(
        &mut self,
        (now, late): (Time, Time),
        packet: &Packet,
        extra: Option<&Extra>,
        mut lost: impl FnMut(&Packet),
    ) -> Option<Time> {
        let idle = self.ring.is_empty();
        let mut ring = self.transmit_ring.take()?;
        let outgoing = Outgoing { now, late, packet, extra };
        if !self.offer_past_queue(&mut ring, &outgoing) {
            if let Some(mut backlog) = self.backlog.take() {
                let Backlog { discipline, slab } = &mut *backlog;
                discipline.apply(Offer { port: self, ring: &mut ring, slab, outgoing, lost });
                self.backlog = Some(backlog);
            } else {
                self.refuse_at_down(packet);
                lost(packet);
            }
        }
        // The place is empty, so that nothing has to be dropped.
        std::mem::forget(self.transmit_ring.replace(ring));
        self.first_arrival(idle)
    }

    /// Notes that the sender of `packet` holds a burst until its departure time (fq_enqueue with `skb->tstamp`). Returns as [`Port::offer`].
    pub(crate) fn hold(&mut self, now: Time, packet: &Packet, lost: impl FnMut(&Packet)) -> Option<Time> {
        let idle = self.ring.is_empty();
        // A failed link has no queue.
        let mut backlog = self.backlog.take()?;
        if let Some(mut ring) = self.transmit_ring.take() {
            let Backlog { discipline, slab } = &mut *backlog;
            let flow = facts(packet).flow;
            discipline.apply(Hold { port: self, ring: &mut ring, slab, now, flow, lost });
            self.transmit_ring = Some(ring);
        }
        self.backlog = Some(backlog);
        self.first_arrival(idle)
    }

    /// Handles each segment of a burst by itself, with the same result; tests compare the two. Debug builds only.
    #[cfg(debug_assertions)]
    pub(crate) fn offer_by_segment(&mut self) {
        if let Some(ring) = &mut self.transmit_ring {
            ring.by_segment = true;
        }
    }

    /// Returns true if the burst that was offered last, at `now`, is in the ring: then [`Port::pass_segment`] may replace [`Port::offer`] for its
    /// further segments, and [`Port::extend_burst`] must follow. Nothing leaves the port in between, so that byte queue limits count them together.
    #[inline(always)]
    pub(crate) fn burst_is_in_ring(&self, now: Time) -> bool {
        self.transmit_ring.as_ref().is_some_and(|ring| ring.extends(now))
    }

    /// Passes a segment to the ring, behind the others of its burst. Returns the bytes that count.
    #[inline(always)]
    pub(crate) fn pass_segment(&mut self, (now, late): (Time, Time), packet: &Packet) -> u32 {
        self.record(now);
        self.count_arrival(now, u64::from(packet.wire));
        self.transmit_late((now, now), late, packet, None);
        self.transmit_ring.as_ref().map_or(0, |ring| ring.counted(packet))
    }

    /// Counts the segments, of `bytes` in all, that [`Port::pass_segment`] has added to the last burst.
    #[inline(always)]
    pub(crate) fn extend_burst(&mut self, bytes: u32) {
        if bytes > 0
            && let Some(ring) = &mut self.transmit_ring
        {
            ring.extend(self.busy_until, bytes);
        }
    }

    /// Passes packets from the queue to the ring, as far as it opens before `until`. Returns as [`Port::offer`].
    fn drain(&mut self, until: Time, lost: impl FnMut(&Packet)) -> Option<Time> {
        let idle = self.ring.is_empty();
        // A failed link has no queue.
        let mut backlog = self.backlog.take()?;
        let mut ring = self.transmit_ring.take()?;
        let Backlog { discipline, slab } = &mut *backlog;
        discipline.apply(Drain { port: self, ring: &mut ring, slab, until, lost });
        (self.transmit_ring, self.backlog) = (Some(ring), Some(backlog));
        self.first_arrival(idle)
    }

    /// Time at which the ring may open next, while packets wait in the queue.
    fn ring_opens(&self) -> Option<Time> {
        let ring = self.transmit_ring.as_ref()?;
        ring.sent.front().filter(|_| ring.held > 0).map(|first| first.0)
    }

    /// Start of the next transmission from the queue of a host; `None` while it is empty. With a ring that is the next time at which it may open.
    #[inline(always)]
    pub(crate) fn next_host_start(&self) -> Option<Time> {
        if self.transmit_ring.is_some() { self.ring_opens() } else { self.next_start() }
    }

    /// Passes the packets with data or a FIN that have left the queue to `to`.
    #[inline(always)]
    pub(crate) fn take_departures(&mut self, to: &mut Vec<Departure>) {
        if let Some(ring) = &mut self.transmit_ring
            && !ring.left.is_empty()
        {
            to.append(&mut ring.left);
        }
    }

    /// Returns true if the queue of a host holds packets until their departure times ([`forebay_queues::Queue::holds_departures`]).
    pub(crate) fn holds_departures(&self) -> bool {
        self.backlog.as_ref().is_some_and(|b| b.discipline.holds_departures())
    }

    /// Time at which the packet that a host sent last will have left; 2^64 - 1 in a queue whose order is not known yet, and the past if the packet was
    /// dropped.
    #[inline(always)]
    pub(crate) fn host_drain_time(&self) -> Time {
        match &self.transmit_ring {
            None => self.drain_time(),
            Some(ring) => match ring.open.1 {
                Place::Ring | Place::Requeued => self.busy_until,
                Place::Queue(..) => Time(u64::MAX),
                Place::Dropped => Time::ZERO,
            },
        }
    }

    /// Performs the transmissions of a host that start before `until`. Returns as [`Port::offer`].
    pub(crate) fn serve_host(&mut self, until: Time, lost: impl FnMut(&Packet)) -> Option<Time> {
        if self.transmit_ring.is_some() { self.drain(until, lost) } else { self.serve(until, lost) }
    }

    #[inline(always)]
    fn drain_by(
        &mut self,
        discipline: &mut impl Buffered,
        ring: &mut TransmitRing,
        slab: &mut Slab,
        until: Time,
        lost: &mut impl FnMut(&Packet),
    ) {
        while let Some(now) = ring.complete(until) {
            if ring.held > 0 || ring.interrupted {
                self.fill_ring(discipline, ring, slab, now.round_up(ring.clock), lost);
            }
        }
    }

    /// Passes packets from the queue to the ring at `now`, until the ring is full or the queue empty (__qdisc_run). Several packets leave the queue at once
    /// as long as the ring has space (try_bulk_dequeue_skb). There a burst counts with one header, and in the ring with those of all its segments: the
    /// packet behind a burst enters a ring that the burst has filled.
    #[inline(never)]
    fn fill_ring(
        &mut self,
        discipline: &mut impl Buffered,
        ring: &mut TransmitRing,
        slab: &mut Slab,
        now: Time,
        lost: &mut impl FnMut(&Packet),
    ) {
        self.settle(now);
        let mut bulk = 0;
        while bulk > 0 || ring.is_open() {
            if bulk <= 0 {
                bulk = ring.bulk_limit();
            }
            let mut dropped = 0;
            let left = &mut ring.left;
            let lost = |packet: &Packet| {
                dropped += u64::from(packet.wire);
                left.extend(departure(packet, now));
                lost(packet);
            };
            let mut sink = Sink { port: self, slab: &mut *slab, now, arriving: None, refused: false, shared: false, lost };
            let next = discipline.pop(now, &mut sink);
            ring.held -= dropped;
            ring.interrupted = next.is_some();
            let Some(first) = next else { return };
            let (mut segment, mut held, mut bytes, mut segments) = (Some(first), 0, 0, 0);
            let burst = *slab.packet(first);
            while let Some(handle) = segment {
                let packet = slab.packet(handle);
                let late = slab.late(handle);
                self.note_release(handle);
                self.transmit_late((packet.arrival, now), late, packet, slab.extra(handle, packet));
                held += u64::from(packet.wire);
                bytes += ring.counted(packet);
                segments += 1;
                segment = slab.release_segment(handle, handle == first).1;
            }
            ring.held -= held;
            if matches!(ring.open.1, Place::Queue(burst, _) if burst == first) {
                ring.open.1 = Place::Ring;
            }
            bulk -= i64::from(bytes);
            if segments > 1 {
                bulk += i64::from((segments - 1) * ring.counted(&burst).saturating_sub(burst.len.into()));
            }
            ring.queue(self.busy_until, bytes);
            ring.left.extend(departure(&burst, self.busy_until));
        }
    }

    /// As [`Port::offer_by`] for the first packet of a burst that finds an empty queue and an open ring. Otherwise it returns false: the packet must be
    /// offered.
    #[inline(always)]
    fn offer_past_queue(&mut self, ring: &mut TransmitRing, outgoing: &Outgoing<'_>) -> bool {
        let &Outgoing { now, packet, .. } = outgoing;
        if ring.held > 0 || !ring.bypass || matches!(packet.arrival, CONTINUES | RELEASED) {
            return false;
        }
        #[cfg(debug_assertions)]
        if ring.by_segment {
            return false;
        }
        while ring.complete(now).is_some() {}
        if ring.requeued.is_some() || !ring.is_open() {
            return false;
        }
        self.enter(ring, outgoing);
        true
    }

    /// Passes the first packet of a burst to the ring past the empty queue.
    #[inline(always)]
    fn enter(&mut self, ring: &mut TransmitRing, outgoing: &Outgoing<'_>) {
        self.pass(outgoing);
        ring.queue(self.busy_until, ring.counted(outgoing.packet));
        ring.open = (outgoing.now, Place::Ring);
    }

    #[inline(always)]
    fn offer_by(
        &mut self,
        discipline: &mut impl Buffered,
        ring: &mut TransmitRing,
        slab: &mut Slab,
        outgoing: &Outgoing<'_>,
        mut lost: impl FnMut(&Packet),
    ) {
        let &Outgoing { now, packet, .. } = outgoing;
        self.drain_by(discipline, ring, slab, now, &mut lost);
        if packet.arrival == CONTINUES && ring.open.0 == now {
            return self.continue_burst(discipline, ring, slab, outgoing, lost);
        }
        // A packet that was held never takes the short path of fq (fq_fastpath_check).
        let bypasses = ring.held == 0 && ring.requeued.is_none() && can_bypass(discipline) && packet.arrival != RELEASED;
        if bypasses && ring.is_open() {
            self.enter(ring, outgoing);
        } else if bypasses && discipline.can_bypass() {
            if ring.opens_empty() {
                // The host passes it to the idle wire at a time of its clock (net_tx_action).
                self.busy_until = self.busy_until.round_up(ring.clock);
            }
            self.pass(outgoing);
            ring.requeued = Some((self.busy_until, ring.counted(packet)));
            ring.open = (now, Place::Requeued);
        } else {
            self.push_packet(discipline, ring, slab, outgoing, &mut lost);
            if ring.is_open() && ring.open.1 != Place::Dropped {
                // The queue was empty, or the discipline holds all of its packets back.
                self.fill_ring(discipline, ring, slab, now, &mut lost);
            }
        }
    }

    /// Passes a packet to the ring past the queue.
    #[inline(always)]
    fn pass(&mut self, outgoing: &Outgoing<'_>) {
        let &Outgoing { now, late, packet, extra } = outgoing;
        self.settle_inline(now);
        self.record(now);
        self.count_arrival(now, u64::from(packet.wire));
        self.transmit_late((now, now), late, packet, extra);
    }

    /// Passes a packet to the discipline.
    #[inline(never)]
    fn push_packet(
        &mut self,
        discipline: &mut impl Buffered,
        ring: &mut TransmitRing,
        slab: &mut Slab,
        outgoing: &Outgoing<'_>,
        lost: &mut impl FnMut(&Packet),
    ) {
        let &Outgoing { now, late, packet, extra } = outgoing;
        self.settle(now);
        self.record(now);
        let (state, handle) = (self.state(now, None), slab.next());
        slab.insert(packet, extra, now);
        slab.set_late(handle, late);
        let (mut dropped, wire, counted) = (0, u64::from(packet.wire), ring.counted(packet));
        let left = &mut ring.left;
        let lost = |packet: &Packet| {
            dropped += u64::from(packet.wire);
            left.extend(departure(packet, now));
            lost(packet);
        };
        let mut sink = Sink { port: self, slab, now, arriving: Some(handle), refused: false, shared: false, lost };
        let mut facts = Arrival { wire: counted, ..facts(packet) };
        if packet.arrival == RELEASED {
            facts.flow |= Arrival::RELEASED;
        }
        if packet.has(flag::SYN) && packet.has(flag::ACK) && discipline.holds_departures() {
            facts.flow |= Arrival::ORPHAN;
        }
        discipline.push(&state, Queued { handle, since: now, packet: facts }, &mut sink);
        let refused = sink.refused;
        ring.held = ring.held + wire - dropped;
        ring.open = (now, if refused { Place::Dropped } else { Place::Queue(handle, handle) });
        if !refused {
            self.count_arrival(now, wire);
        }
    }

    /// Adds a segment to the burst that arrived last.
    #[inline(never)]
    fn continue_burst(
        &mut self,
        discipline: &mut impl Buffered,
        ring: &mut TransmitRing,
        slab: &mut Slab,
        outgoing: &Outgoing<'_>,
        mut lost: impl FnMut(&Packet),
    ) {
        let &Outgoing { now, late, packet, extra } = outgoing;
        let (wire, counted) = (u32::from(packet.wire), ring.counted(packet));
        match ring.open.1 {
            Place::Ring => {
                self.pass(outgoing);
                ring.extend(self.busy_until, counted);
            }
            Place::Requeued => {
                self.pass(outgoing);
                if let Some(last) = &mut ring.requeued {
                    *last = (self.busy_until, last.1 + counted);
                }
            }
            Place::Queue(burst, last) => {
                if !discipline.extend(burst, counted) {
                    return self.push_packet(discipline, ring, slab, outgoing, &mut lost);
                }
                let handle = slab.append(last, packet, extra, now);
                slab.set_late(handle, late);
                // CoDel marks a burst as it leaves, so none of its segments is marked yet.
                self.count_arrival(now, wire.into());
                ring.held += u64::from(wire);
                ring.open.1 = Place::Queue(burst, handle);
            }
            Place::Dropped => {
                self.drop(DropReason::Overflow, wire.into());
                self.capture_arriving_drop(now, packet, extra, DropReason::Overflow);
                lost(packet);
            }
        }
    }

    /// Puts a packet that counts in the statistics since `entered` on the wire behind the others, `late` after its turn, from `now` on.
    #[inline(always)]
    fn transmit_late(&mut self, (entered, now): (Time, Time), late: Time, packet: &Packet, extra: Option<&Extra>) {
        if !self.ring.has_room() {
            self.make_room(now);
        }
        let departure = self.busy_until.max(now) + self.tx(u64::from(packet.wire));
        self.busy_until = departure;
        let late = if self.jitter.is_on() { late + self.jitter.draw() } else { late };
        // Late packets are not reordered: a packet sent later arrives later.
        let arrival = (departure + self.delay + late).max(self.latest + Time(1));
        self.latest = arrival;
        self.add_sojourn(departure - entered);
        self.enter_link(now, packet, Codepoint::NotEct);
        self.ring.push(packet, arrival, Codepoint::NotEct, |_| {});
        if let Some(extra) = extra {
            self.ring.push_extra(extra);
        }
    }
}

#[cfg(test)]
#[path = "transmit_ring_tests.rs"]
mod tests;
