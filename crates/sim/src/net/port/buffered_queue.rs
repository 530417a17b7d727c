//! Ports with a buffered discipline, whose order or backlog can change after an arrival. Packets wait in a slab, and the discipline chooses the next
//! one when the transmitter becomes free. From then on the packet is in the ring with its arrival time, as at other ports.
//!
//! Decisions are made late, with the same result: before an arrival, all transmissions that start earlier ([`Port::serve`]); at the end of the node's
//! window, all that start before its end. A transmission that starts at the instant of an arrival starts after it (`ARCHITECTURE.md`,
//! decision 4). A packet that starts in a window arrives after its end, because the window is not longer than the delay.
//!
//! The code of an arrival is compiled for each discipline separately (`forebay_queues::Operation`), so that facts that a discipline does not use are
//! not computed.

mod transmit;

use super::Port;
use crate::net::backlog::{Backlog, Slab, facts};
use crate::net::packet::{Extra, Packet, flag};
use forebay_queues::{Buffered, Codepoint, DropReason, Effects, Handle, Operation, Queued, Verdict};
use forebay_types::Time;

/// Applies the effects of a discipline to packets.
pub(super) struct Sink<'a, L> {
    pub(super) port: &'a mut Port,
    pub(super) slab: &'a mut Slab,
    pub(super) now: Time,
    /// The packet that is being pushed; it does not count as queued yet.
    pub(super) arriving: Option<Handle>,
    /// True if it was dropped.
    pub(super) refused: bool,
    /// True if overflows are those of a shared memory.
    pub(super) shared: bool,
    /// Receives every dropped packet.
    pub(super) lost: L,
}

impl<L: FnMut(&Packet)> Effects for Sink<'_, L> {
    #[inline]
    fn mark(&mut self, packet: Handle) {
        self.port.mark_held(self.slab, packet);
        let mut segment = self.slab.following(packet);
        while let Some(handle) = segment {
            self.port.mark_held(self.slab, handle);
            segment = self.slab.following(handle);
        }
    }

    fn drop(&mut self, packet: Handle, reason: DropReason) {
        let reason = if reason == DropReason::Overflow && self.shared { DropReason::SharedBuffer } else { reason };
        let mut segment = Some(packet);
        while let Some(handle) = segment {
            let stored = *self.slab.packet(handle);
            self.port.capture_drop(self.now, handle, (&stored, self.slab.extra(handle, &stored)), reason);
            let before;
            (before, segment) = self.slab.release_segment(handle, handle == packet);
            if self.arriving == Some(handle) {
                self.refused = true;
                self.port.drop(reason, u64::from(stored.wire));
            } else {
                self.port.evict(self.now, &stored, before, reason);
            }
            (self.lost)(&stored);
        }
    }
}

/// Arguments of [`Port::serve`].
struct Serve<'a, L> {
    port: &'a mut Port,
    slab: &'a mut Slab,
    until: Time,
    lost: L,
}

impl<L: FnMut(&Packet)> Operation for Serve<'_, L> {
    type Output = Option<Time>;

    #[inline(always)]
    fn run(self, discipline: &mut impl Buffered) -> Option<Time> {
        self.port.serve_by(discipline, self.slab, self.until, self.lost)
    }
}

/// Arguments of an arrival.
struct ArrivingPacket<'a, L> {
    port: &'a mut Port,
    slab: &'a mut Slab,
    now: Time,
    packet: &'a Packet,
    extra: Option<&'a Extra>,
    lost: L,
}

/// Arguments of [`Port::enqueue_busy`].
struct EnqueueBusy<'a, L>(ArrivingPacket<'a, L>);

impl<L: FnMut(&Packet)> Operation for EnqueueBusy<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, discipline: &mut impl Buffered) {
        let ArrivingPacket { port, slab, now, packet, extra, lost } = self.0;
        port.enqueue_busy_by(discipline, slab, now, packet, extra, lost);
    }
}

/// Arguments of [`Port::enqueue_idle_slow`].
struct EnqueueIdleSlow<'a, L>(ArrivingPacket<'a, L>);

impl<L: FnMut(&Packet)> Operation for EnqueueIdleSlow<'_, L> {
    type Output = Option<Time>;

    #[inline(always)]
    fn run(self, discipline: &mut impl Buffered) -> Option<Time> {
        let ArrivingPacket { port, slab, now, packet, extra, lost } = self.0;
        port.enqueue_idle_slow_by(discipline, slab, now, packet, extra, lost)
    }
}

/// Arguments of [`Port::admit`] where a shared memory is short.
struct Push<'a, L>(ArrivingPacket<'a, L>, u64);

impl<L: FnMut(&Packet)> Operation for Push<'_, L> {
    type Output = Option<Time>;

    #[inline(always)]
    fn run(self, discipline: &mut impl Buffered) -> Option<Time> {
        self.0.push(discipline, Some(self.1))
    }
}

impl<L: FnMut(&Packet)> ArrivingPacket<'_, L> {
    /// Queues or drops the packet where this may affect waiting packets, and where the port may hold no more bytes than `memory`, after
    /// [`Port::serve`].
    #[inline(never)]
    fn push(mut self, discipline: &mut impl Buffered, memory: Option<u64>) -> Option<Time> {
        let ArrivingPacket { port, slab, now, packet, extra, lost } = &mut self;
        let now = *now;
        port.settle(now);
        port.record(now);
        port.report_bypassed(discipline);
        let (state, handle) = (port.state(now, memory), slab.next());
        slab.insert(packet, *extra, now);
        let shared = memory.is_some();
        let mut sink = Sink { port, slab, now, arriving: Some(handle), refused: false, shared, lost: &mut *lost };
        discipline.push(&state, Queued { handle, since: now, packet: facts(packet) }, &mut sink);
        let refused = sink.refused;
        port.update_bypass(discipline);
        if refused {
            return None;
        }
        port.count_arrival(now, u64::from(packet.wire));
        if port.busy_until < now {
            // Idle, so the rest of the backlog is empty: the packet is in service at once.
            let idle = port.ring.is_empty();
            port.start_next(now, discipline, slab, lost);
            return port.first_arrival(idle);
        }
        None
    }
}

impl Port {
    /// Takes the backlog out of the port while its discipline runs, so that the port can apply the effects of the discipline. [`Port::put_back`] must
    /// follow. `None`, with no change, for other ports.
    #[inline]
    fn take_backlog(&mut self) -> Option<Box<Backlog>> {
        self.backlog.take()
    }

    #[inline]
    fn put_back(&mut self, backlog: Box<Backlog>) {
        // The place is empty, so that nothing has to be dropped.
        std::mem::forget(self.backlog.replace(backlog));
    }

    /// Performs the transmissions that start before `until`; `lost` receives every packet that is dropped when it could have started. Returns the
    /// arrival time of the first one at the far end, if no packet was on the link.
    #[inline(always)]
    pub fn serve(&mut self, until: Time, lost: impl FnMut(&Packet)) -> Option<Time> {
        let mut backlog = self.take_backlog()?;
        let Backlog { discipline, slab } = &mut *backlog;
        let first_arrival = discipline.apply(Serve { port: self, slab, until, lost });
        self.put_back(backlog);
        first_arrival
    }

    /// As [`Port::serve`].
    #[inline(always)]
    fn serve_by<D: Buffered>(
        &mut self,
        discipline: &mut D,
        slab: &mut Slab,
        until: Time,
        mut lost: impl FnMut(&Packet),
    ) -> Option<Time> {
        let idle = self.ring.is_empty();
        while self.busy_until < until && !slab.is_empty() {
            self.start_next(self.busy_until, discipline, slab, &mut lost);
        }
        self.first_arrival(idle)
    }

    /// Arrival of the first packet at the far end, if the link was `idle` before.
    #[inline(always)]
    pub(super) fn first_arrival(&self, idle: bool) -> Option<Time> {
        (idle && !self.ring.is_empty()).then(|| self.ring.packet(self.ring.head()).arrival)
    }

    /// As [`Port::enqueue_busy`]. The fast path calls no function, so that it saves no registers.
    #[inline(never)]
    fn enqueue_busy_by<D: Buffered>(
        &mut self,
        discipline: &mut D,
        slab: &mut Slab,
        now: Time,
        packet: &Packet,
        extra: Option<&Extra>,
        lost: impl FnMut(&Packet),
    ) {
        if D::HAS_FAST_PUSH && !self.updates_records() && !packet.has(flag::EXT) {
            self.report_bypassed(discipline);
            let (state, queued) = (self.state(now, None), Queued { handle: slab.next(), since: now, packet: facts(packet) });
            if discipline.takes_fast_push(&state, &queued) && slab.insert_fast(packet, now) {
                let verdict = discipline.try_push(&state, &queued);
                debug_assert!(matches!(verdict, Some(Verdict::Accept | Verdict::Mark)));
                if verdict == Some(Verdict::Mark) {
                    self.mark_held(slab, queued.handle);
                }
                self.count_arrival_fast(u64::from(queued.packet.wire));
                return self.update_bypass(discipline);
            }
        }
        self.enqueue_busy_slow(discipline, slab, now, packet, extra, lost);
    }

    /// As [`Port::enqueue_busy_by`], for any discipline, packet and port.
    #[inline(never)]
    fn enqueue_busy_slow<D: Buffered>(
        &mut self,
        discipline: &mut D,
        slab: &mut Slab,
        now: Time,
        packet: &Packet,
        extra: Option<&Extra>,
        lost: impl FnMut(&Packet),
    ) {
        self.record(now);
        self.report_bypassed(discipline);
        let handle = slab.next();
        match discipline.try_push(&self.state(now, None), &Queued { handle, since: now, packet: facts(packet) }) {
            Some(verdict @ (Verdict::Accept | Verdict::Mark)) => {
                self.count_arrival(now, u64::from(packet.wire));
                slab.insert(packet, extra, now);
                if verdict == Verdict::Mark {
                    self.mark_held(slab, handle);
                }
            }
            Some(Verdict::Drop(reason)) => self.drop_arriving(reason, now, (packet, extra), lost),
            None => {
                ArrivingPacket { port: self, slab, now, packet, extra, lost }.push(discipline, None);
                return;
            }
        }
        self.update_bypass(discipline);
    }

    /// Marks a stored packet.
    #[inline(always)]
    fn mark_held(&mut self, slab: &mut Slab, handle: Handle) {
        let p = slab.packet_mut(handle);
        if p.ecn() != Codepoint::Ce {
            self.note_marked(handle);
        }
        self.count_mark(p.ecn());
        p.meta.set_ecn(Codepoint::Ce);
    }

    /// Reports packets that bypassed the discipline.
    #[inline(always)]
    fn report_bypassed<D: Buffered>(&mut self, discipline: &mut D) {
        if D::IDLE_VARIES {
            discipline.add_idle(std::mem::take(&mut self.bypass_idle));
        }
    }

    /// Updates whether packets may bypass the discipline.
    #[inline(always)]
    fn update_bypass<D: Buffered>(&mut self, discipline: &D) {
        if D::IDLE_VARIES {
            self.set_bypass(discipline.accepts_idle());
        }
    }

    /// As [`Port::enqueue_idle_slow`].
    #[inline(never)]
    fn enqueue_idle_slow_by<D: Buffered>(
        &mut self,
        discipline: &mut D,
        slab: &mut Slab,
        now: Time,
        packet: &Packet,
        extra: Option<&Extra>,
        lost: impl FnMut(&Packet),
    ) -> Option<Time> {
        self.leave();
        self.record(now);
        self.report_bypassed(discipline);
        let mark = match discipline.push_idle(&self.state(now, None), &facts(packet)) {
            Some(Verdict::Accept) => Codepoint::NotEct,
            Some(Verdict::Mark) => {
                self.count_mark(packet.ecn());
                Codepoint::Ce
            }
            Some(Verdict::Drop(reason)) => {
                self.drop_arriving(reason, now, (packet, extra), lost);
                return None;
            }
            None => return ArrivingPacket { port: self, slab, now, packet, extra, lost }.push(discipline, None),
        };
        self.update_bypass(discipline);
        self.count_arrival(now, u64::from(packet.wire));
        let idle = self.ring.is_empty();
        self.transmit((now, now), packet, || extra, mark);
        self.first_arrival(idle)
    }

    #[cold]
    #[inline(never)]
    fn drop_arriving(
        &mut self,
        reason: DropReason,
        now: Time,
        (packet, extra): (&Packet, Option<&Extra>),
        mut lost: impl FnMut(&Packet),
    ) {
        self.drop(reason, u64::from(packet.wire));
        self.capture_arriving_drop(now, packet, extra, reason);
        lost(packet);
    }

    /// Returns true if a transmission can start before `until`.
    #[inline(always)]
    pub(crate) fn starts_before(&self, until: Time) -> bool {
        self.busy_until < until && self.backlog().is_some_and(|b| !b.is_empty())
    }

    /// Start of the next transmission; `None` while the backlog is empty.
    #[inline]
    pub fn next_start(&self) -> Option<Time> {
        self.backlog().filter(|b| !b.is_empty()).map(|_| self.busy_until)
    }

    /// Queues or drops a packet whose last bit reaches the port at `now`, after the transmissions that start earlier. `memory` limits the bytes that
    /// the port may hold because of a shared memory. `lost` receives every dropped packet. Returns the arrival time of the first transmitted packet
    /// at the far end, if no packet was on the link.
    pub fn admit(
        &mut self,
        now: Time,
        packet: &Packet,
        extra: Option<&Extra>,
        memory: Option<u64>,
        mut lost: impl FnMut(&Packet),
    ) -> Option<Time> {
        let first_arrival = self.serve(now, &mut lost);
        if let Some(memory) = memory {
            let mut backlog = self.take_backlog()?;
            let Backlog { discipline, slab } = &mut *backlog;
            let sent = discipline.apply(Push(ArrivingPacket { port: self, slab, now, packet, extra, lost }, memory));
            self.put_back(backlog);
            return first_arrival.or(sent);
        }
        if self.is_busy(now) {
            self.enqueue_busy(now, packet, extra, lost);
            return first_arrival;
        }
        first_arrival.or(self.enqueue_idle_slow(now, packet, extra, lost))
    }

    /// Returns true if the transmitter is busy at `now`, up to which it has been served.
    #[inline(always)]
    pub(crate) fn is_busy(&self, now: Time) -> bool {
        self.busy_until >= now
    }

    /// As [`Port::admit`], for a port that has been served, is busy, and is not short of memory.
    #[inline(always)]
    pub(crate) fn enqueue_busy(&mut self, now: Time, packet: &Packet, extra: Option<&Extra>, lost: impl FnMut(&Packet)) {
        let Some(mut backlog) = self.take_backlog() else { return };
        let Backlog { discipline, slab } = &mut *backlog;
        discipline.apply(EnqueueBusy(ArrivingPacket { port: self, slab, now, packet, extra, lost }));
        self.put_back(backlog);
    }

    /// As [`Port::admit`], for a port that has been served, is idle, and is not short of memory.
    #[inline(always)]
    pub(crate) fn enqueue_idle_slow(
        &mut self,
        now: Time,
        packet: &Packet,
        extra: Option<&Extra>,
        lost: impl FnMut(&Packet),
    ) -> Option<Time> {
        let mut backlog = self.take_backlog()?;
        let Backlog { discipline, slab } = &mut *backlog;
        let first_arrival = discipline.apply(EnqueueIdleSlow(ArrivingPacket { port: self, slab, now, packet, extra, lost }));
        self.put_back(backlog);
        first_arrival
    }

    /// Counts a queued packet that will not be sent; `before`: it was counted as sent before the end of the warm-up.
    fn evict(&mut self, now: Time, stored: &Packet, before: bool, reason: DropReason) {
        // Earlier departures are counted and recorded first.
        self.settle(now);
        self.record(now);
        let wire = u64::from(stored.wire);
        self.count_removal(now, wire);
        self.add_sojourn(now - stored.arrival);
        if before {
            self.before -= 1;
        } else {
            self.sent_pkts -= 1;
            self.sent_bytes -= wire;
        }
        self.drop(reason, wire);
    }
}
