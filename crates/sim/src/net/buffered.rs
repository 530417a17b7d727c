//! Ports with a buffered discipline, whose order, or backlog, can change after an arrival: packets wait in a slab, and which one goes
//! next is decided when the transmitter becomes free. From then on it is a packet like those of other ports: in the ring, with its
//! arrival time.
//!
//! Decisions are made late, but not differently: before an arrival, all transmissions that start before it ([`Port::serve`]); at the end
//! of the node's window, all that start before its end. What starts at the instant of an arrival starts after it (`ARCHITECTURE.md`,
//! two decisions about time). A packet that starts in this window arrives after its end, as the window is not longer than the delay.

use super::backlog::{Backlog, Slab, facts};
use super::packet::{Extra, Packet};
use super::port::Port;
use forebay_queues::{Codepoint, DropReason, Effects, Handle, Queued, Verdict};
use forebay_units::Time;

/// Carries out what a discipline does to packets.
struct Sink<'a, L> {
    port: &'a mut Port,
    slab: &'a mut Slab,
    now: Time,
    /// The packet that is being pushed; it does not count as queued yet.
    arriving: Option<Handle>,
    /// It was dropped.
    refused: bool,
    /// Overflows are those of a shared memory.
    shared: bool,
    /// Receives every packet that is dropped.
    lost: L,
}

impl<L: FnMut(&Packet)> Effects for Sink<'_, L> {
    fn mark(&mut self, packet: Handle) {
        let p = self.slab.packet(packet);
        self.port.events.marked += u64::from(p.ecn() != Codepoint::Ce);
        p.meta.set_ecn(Codepoint::Ce);
    }

    fn drop(&mut self, packet: Handle, reason: DropReason) {
        let (held, before) = self.slab.remove(packet);
        let reason = if reason == DropReason::Overflow && self.shared { DropReason::SharedBuffer } else { reason };
        if self.arriving == Some(packet) {
            self.refused = true;
            self.port.drop(reason, u64::from(held.wire));
        } else {
            self.port.evict(self.now, &held, before, reason);
        }
        (self.lost)(&held);
    }
}

impl Port {
    /// The backlog, taken out of the port while its discipline runs, so that the port itself can carry out what the discipline does.
    /// [`Port::put_back`] must follow. `None`, and nothing changed, for others.
    fn take_backlog(&mut self) -> Option<Box<Backlog>> {
        self.backlog.take()
    }

    fn put_back(&mut self, backlog: Box<Backlog>) {
        self.backlog = Some(backlog);
    }

    /// Makes the transmissions that start before `until`; `lost` receives every packet that is dropped when it could have started. Returns
    /// when the first of them arrives at the other end, if nothing was on the way there.
    pub fn serve(&mut self, until: Time, mut lost: impl FnMut(&Packet)) -> Option<Time> {
        let mut backlog = self.take_backlog()?;
        let mut news = None;
        while self.busy_until < until && !backlog.is_empty() {
            news = news.or(self.start_next(self.busy_until, &mut backlog, &mut lost));
        }
        self.put_back(backlog);
        news
    }

    /// Whether a transmission can start before `until`.
    #[inline(always)]
    pub(crate) fn starts_before(&self, until: Time) -> bool {
        self.busy_until < until && self.backlog().is_some_and(|b| !b.is_empty())
    }

    /// When the next transmission starts; `None` while the backlog is empty.
    pub fn next_start(&self) -> Option<Time> {
        self.backlog().filter(|b| !b.is_empty()).map(|_| self.busy_until)
    }

    /// Starts the transmission at `start` of the packet that the discipline chooses, if it leaves one. Returns its arrival if nothing was
    /// on the way.
    fn start_next(&mut self, start: Time, backlog: &mut Backlog, lost: impl FnMut(&Packet)) -> Option<Time> {
        let Backlog { discipline, slab } = backlog;
        let mut sink = Sink { port: self, slab, now: start, arriving: None, refused: false, shared: false, lost };
        let next = discipline.pop(start, &mut sink)?;
        let (packet, _) = slab.remove(next.handle);
        self.transmit((packet.arrival, start), &packet, slab.extra(next.handle, &packet), Codepoint::NotEct)
    }

    /// Puts a packet that has counted in the statistics since `entered` on the wire at `start`, marked or not (`Ce` or `NotEct`). Returns its
    /// arrival if nothing was on the way.
    fn transmit(
        &mut self,
        (entered, start): (Time, Time),
        packet: &Packet,
        extra: Option<&Extra>,
        mark: Codepoint,
    ) -> Option<Time> {
        if !self.ring.has_room() {
            self.make_room(start);
        }
        let idle = self.ring.is_empty();
        let departure = start + self.tx(u64::from(packet.wire));
        self.busy_until = departure;
        let arrival = departure + self.delay;
        self.damage(u64::from(packet.wire));
        self.ring.push(packet, arrival, mark, |_| {});
        if let Some(extra) = extra {
            self.ring.push_extra(extra);
        }
        self.add_sojourn(departure - entered);
        idle.then_some(arrival)
    }

    /// Takes in or drops a packet that is at the port completely at `now`, after [`Port::serve`] up to then; `memory` is the most bytes
    /// the port may hold because of a shared memory. `lost` receives every packet that is dropped. Returns when the packet arrives at the
    /// other end, if it is sent at once and nothing was on the way.
    pub fn admit(
        &mut self,
        now: Time,
        packet: &Packet,
        extra: Option<&Extra>,
        memory: Option<u64>,
        mut lost: impl FnMut(&Packet),
    ) -> Option<Time> {
        self.settle(now);
        self.record(now);
        let mut backlog = self.take_backlog()?;
        let state = self.state(now, memory);
        if self.busy_until < now && memory.is_none() && backlog.is_empty() {
            let facts = facts(packet);
            if let Some(verdict) = backlog.discipline.pass(&state, &facts) {
                self.put_back(backlog);
                return self.pass(now, packet, extra, verdict, lost);
            }
        }
        let Backlog { discipline, slab } = &mut *backlog;
        let handle = slab.insert(packet, extra, now);
        let queued = Queued { handle, since: now, packet: facts(packet) };
        let shared = memory.is_some();
        let mut sink = Sink { port: self, slab, now, arriving: Some(handle), refused: false, shared, lost: &mut lost };
        discipline.push(&state, queued, &mut sink);
        let mut news = None;
        if !sink.refused {
            self.count_in(now, u64::from(packet.wire));
            if self.busy_until < now {
                // Idle, so the rest of the backlog is empty: it is in service at once.
                news = self.start_next(now, &mut backlog, lost);
            }
        }
        self.put_back(backlog);
        news
    }

    /// As the end of [`Port::admit`], of a packet that meets nobody and was decided about: it is in service at once, unless it is dropped.
    #[inline]
    fn pass(
        &mut self,
        now: Time,
        packet: &Packet,
        extra: Option<&Extra>,
        verdict: Verdict,
        mut lost: impl FnMut(&Packet),
    ) -> Option<Time> {
        let wire = u64::from(packet.wire);
        let mark = match verdict {
            Verdict::Accept => Codepoint::NotEct,
            Verdict::Mark => {
                self.events.marked += u64::from(packet.ecn() != Codepoint::Ce);
                Codepoint::Ce
            }
            Verdict::Drop(reason) => {
                self.drop(reason, wire);
                lost(packet);
                return None;
            }
        };
        self.count_in(now, wire);
        self.transmit((now, now), packet, extra, mark)
    }

    /// Counts a packet that was queued and will not be sent; `before`: it was counted as sent before the end of the warm-up.
    fn evict(&mut self, now: Time, held: &Packet, before: bool, reason: DropReason) {
        // What has left before is counted, and recorded, first.
        self.settle(now);
        self.record(now);
        let wire = u64::from(held.wire);
        self.shorten(now, wire);
        self.add_sojourn(now - held.arrival);
        if before {
            self.before -= 1;
        } else {
            self.sent_pkts -= 1;
            self.sent_bytes -= wire;
        }
        self.drop(reason, wire);
    }
}
