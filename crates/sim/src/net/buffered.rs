//! Ports with a buffered discipline, whose order, or backlog, can change after an arrival: packets wait in a slab, and which one goes
//! next is decided when the transmitter becomes free. From then on it is a packet like those of other ports: in the ring, with its
//! arrival time.
//!
//! Decisions are made late, but not differently: before an arrival, all transmissions that start before it ([`Port::serve`]); at the end
//! of the node's window, all that start before its end. What starts at the instant of an arrival starts after it (`ARCHITECTURE.md`,
//! simultaneous events). A packet that starts in this window arrives after its end, as the window is not longer than the delay.
//!
//! All that an arrival does is compiled for each discipline by itself (`forebay_queues::Work`), so that what one of them does not look at
//! is not put together for it.

mod transmit;

use super::backlog::{Backlog, Slab, facts};
use super::packet::{Extra, Packet, flag};
use super::port::Port;
use forebay_queues::{Buffered, Codepoint, DropReason, Effects, Handle, Queued, Verdict, Work};
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
    #[inline]
    fn mark(&mut self, packet: Handle) {
        self.port.mark_held(self.slab, packet);
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

/// [`Port::serve`], with a discipline.
struct Serve<'a, L> {
    port: &'a mut Port,
    slab: &'a mut Slab,
    until: Time,
    lost: L,
}

impl<L: FnMut(&Packet)> Work for Serve<'_, L> {
    type Output = Option<Time>;

    #[inline(always)]
    fn with(self, discipline: &mut impl Buffered) -> Option<Time> {
        self.port.serve_by(discipline, self.slab, self.until, self.lost)
    }
}

/// An arrival.
struct Arriving<'a, L> {
    port: &'a mut Port,
    slab: &'a mut Slab,
    now: Time,
    packet: &'a Packet,
    extra: Option<&'a Extra>,
    lost: L,
}

/// [`Port::line_up`], with a discipline.
struct LineUp<'a, L>(Arriving<'a, L>);

impl<L: FnMut(&Packet)> Work for LineUp<'_, L> {
    type Output = ();

    #[inline(always)]
    fn with(self, discipline: &mut impl Buffered) {
        let Arriving { port, slab, now, packet, extra, lost } = self.0;
        port.line_up_by(discipline, slab, now, packet, extra, lost);
    }
}

/// [`Port::pass`], with a discipline.
struct Pass<'a, L>(Arriving<'a, L>);

impl<L: FnMut(&Packet)> Work for Pass<'_, L> {
    type Output = Option<Time>;

    #[inline(always)]
    fn with(self, discipline: &mut impl Buffered) -> Option<Time> {
        let Arriving { port, slab, now, packet, extra, lost } = self.0;
        port.pass_by(discipline, slab, now, packet, extra, lost)
    }
}

/// [`Port::admit`] where a shared memory is short, with a discipline.
struct Push<'a, L>(Arriving<'a, L>, u64);

impl<L: FnMut(&Packet)> Work for Push<'_, L> {
    type Output = Option<Time>;

    #[inline(always)]
    fn with(self, discipline: &mut impl Buffered) -> Option<Time> {
        self.0.push(discipline, Some(self.1))
    }
}

impl<L: FnMut(&Packet)> Arriving<'_, L> {
    /// Takes in or drops the packet where this may concern packets that wait, and where the port may hold no more bytes than `memory`, after
    /// [`Port::serve`].
    #[inline(never)]
    fn push(mut self, discipline: &mut impl Buffered, memory: Option<u64>) -> Option<Time> {
        let Arriving { port, slab, now, packet, extra, lost } = &mut self;
        let now = *now;
        port.settle(now);
        port.record(now);
        port.tell_passed(discipline);
        let (state, handle) = (port.state(now, memory), slab.next());
        slab.insert(packet, *extra, now);
        let shared = memory.is_some();
        let mut sink = Sink { port, slab, now, arriving: Some(handle), refused: false, shared, lost: &mut *lost };
        discipline.push(&state, Queued { handle, since: now, packet: facts(packet) }, &mut sink);
        let refused = sink.refused;
        port.ask_passing(discipline);
        if refused {
            return None;
        }
        port.count_in(now, u64::from(packet.wire));
        if port.busy_until < now {
            // Idle, so the rest of the backlog is empty: it is in service at once.
            let idle = port.ring.is_empty();
            port.start_next(now, discipline, slab, lost);
            return port.news(idle);
        }
        None
    }
}

impl Port {
    /// The backlog, taken out of the port while its discipline runs, so that the port itself can carry out what the discipline does.
    /// [`Port::put_back`] must follow. `None`, and nothing changed, for others.
    #[inline]
    fn take_backlog(&mut self) -> Option<Box<Backlog>> {
        self.backlog.take()
    }

    #[inline]
    fn put_back(&mut self, backlog: Box<Backlog>) {
        // There is none, so nothing has to be let go.
        std::mem::forget(self.backlog.replace(backlog));
    }

    /// Makes the transmissions that start before `until`; `lost` receives every packet that is dropped when it could have started. Returns
    /// when the first of them arrives at the other end, if nothing was on the way there.
    #[inline(always)]
    pub fn serve(&mut self, until: Time, lost: impl FnMut(&Packet)) -> Option<Time> {
        let mut backlog = self.take_backlog()?;
        let Backlog { discipline, slab } = &mut *backlog;
        let news = discipline.work(Serve { port: self, slab, until, lost });
        self.put_back(backlog);
        news
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
        self.news(idle)
    }

    /// When what was sent arrives, if the link was `idle` before.
    #[inline(always)]
    fn news(&self, idle: bool) -> Option<Time> {
        (idle && !self.ring.is_empty()).then(|| self.ring.packet(self.ring.head()).arrival)
    }

    /// As [`Port::line_up`]. What is usual calls nobody, so that no register has to be kept for later.
    #[inline(never)]
    fn line_up_by<D: Buffered>(
        &mut self,
        discipline: &mut D,
        slab: &mut Slab,
        now: Time,
        packet: &Packet,
        extra: Option<&Extra>,
        lost: impl FnMut(&Packet),
    ) {
        if D::QUICK && !self.is_closely_kept() && !packet.has(flag::EXT) {
            self.tell_passed(discipline);
            let (state, queued) = (self.state(now, None), Queued { handle: slab.next(), since: now, packet: facts(packet) });
            if discipline.is_ready(&state, &queued) && slab.insert_plain(packet, now) {
                let verdict = discipline.offer(&state, &queued);
                debug_assert!(matches!(verdict, Some(Verdict::Accept | Verdict::Mark)));
                if verdict == Some(Verdict::Mark) {
                    self.mark_held(slab, queued.handle);
                }
                self.count_plainly(u64::from(queued.packet.wire));
                return self.ask_passing(discipline);
            }
        }
        self.line_up_closely(discipline, slab, now, packet, extra, lost);
    }

    /// As [`Port::line_up_by`], whatever the discipline, the packet, and the port.
    #[inline(never)]
    fn line_up_closely<D: Buffered>(
        &mut self,
        discipline: &mut D,
        slab: &mut Slab,
        now: Time,
        packet: &Packet,
        extra: Option<&Extra>,
        lost: impl FnMut(&Packet),
    ) {
        self.record(now);
        self.tell_passed(discipline);
        let handle = slab.next();
        match discipline.offer(&self.state(now, None), &Queued { handle, since: now, packet: facts(packet) }) {
            Some(verdict @ (Verdict::Accept | Verdict::Mark)) => {
                self.count_in(now, u64::from(packet.wire));
                slab.insert(packet, extra, now);
                if verdict == Verdict::Mark {
                    self.mark_held(slab, handle);
                }
            }
            Some(Verdict::Drop(reason)) => self.drop_arriving(reason, packet, lost),
            None => {
                Arriving { port: self, slab, now, packet, extra, lost }.push(discipline, None);
                return;
            }
        }
        self.ask_passing(discipline);
    }

    /// Marks a packet that is held.
    #[inline(always)]
    fn mark_held(&mut self, slab: &mut Slab, handle: Handle) {
        let p = slab.packet_mut(handle);
        self.count_mark(p.ecn());
        p.meta.set_ecn(Codepoint::Ce);
    }

    /// Tells a discipline of the packets that have passed.
    #[inline(always)]
    fn tell_passed<D: Buffered>(&mut self, discipline: &mut D) {
        if D::VARIES {
            discipline.passed(std::mem::take(&mut self.passed));
        }
    }

    /// Asks a discipline whether packets may pass from now on.
    #[inline(always)]
    fn ask_passing<D: Buffered>(&mut self, discipline: &D) {
        if D::VARIES {
            self.set_passing(discipline.lets_pass());
        }
    }

    /// As [`Port::pass`].
    #[inline(never)]
    fn pass_by<D: Buffered>(
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
        self.tell_passed(discipline);
        let mark = match discipline.pass(&self.state(now, None), &facts(packet)) {
            Some(Verdict::Accept) => Codepoint::NotEct,
            Some(Verdict::Mark) => {
                self.count_mark(packet.ecn());
                Codepoint::Ce
            }
            Some(Verdict::Drop(reason)) => {
                self.drop_arriving(reason, packet, lost);
                return None;
            }
            None => return Arriving { port: self, slab, now, packet, extra, lost }.push(discipline, None),
        };
        self.ask_passing(discipline);
        self.count_in(now, u64::from(packet.wire));
        let idle = self.ring.is_empty();
        self.transmit((now, now), packet, || extra, mark);
        self.news(idle)
    }

    #[cold]
    #[inline(never)]
    fn drop_arriving(&mut self, reason: DropReason, packet: &Packet, mut lost: impl FnMut(&Packet)) {
        self.drop(reason, u64::from(packet.wire));
        lost(packet);
    }

    /// Whether a transmission can start before `until`.
    #[inline(always)]
    pub(crate) fn starts_before(&self, until: Time) -> bool {
        self.busy_until < until && self.backlog().is_some_and(|b| !b.is_empty())
    }

    /// When the next transmission starts; `None` while the backlog is empty.
    #[inline]
    pub fn next_start(&self) -> Option<Time> {
        self.backlog().filter(|b| !b.is_empty()).map(|_| self.busy_until)
    }

    /// Takes in or drops a packet that is at the port completely at `now`, after the transmissions that start before; `memory` is the most bytes
    /// the port may hold because of a shared memory. `lost` receives every packet that is dropped. Returns when the first packet that is sent
    /// arrives at the other end, if nothing was on the way.
    pub fn admit(
        &mut self,
        now: Time,
        packet: &Packet,
        extra: Option<&Extra>,
        memory: Option<u64>,
        mut lost: impl FnMut(&Packet),
    ) -> Option<Time> {
        let news = self.serve(now, &mut lost);
        if let Some(memory) = memory {
            let mut backlog = self.take_backlog()?;
            let Backlog { discipline, slab } = &mut *backlog;
            let sent = discipline.work(Push(Arriving { port: self, slab, now, packet, extra, lost }, memory));
            self.put_back(backlog);
            return news.or(sent);
        }
        if self.is_busy(now) {
            self.line_up(now, packet, extra, lost);
            return news;
        }
        news.or(self.pass(now, packet, extra, lost))
    }

    /// Whether the transmitter is busy at `now`, up to which it has been served.
    #[inline(always)]
    pub(crate) fn is_busy(&self, now: Time) -> bool {
        self.busy_until >= now
    }

    /// As [`Port::admit`], of a port that has been served, is busy, and is not short of memory.
    #[inline(always)]
    pub(crate) fn line_up(&mut self, now: Time, packet: &Packet, extra: Option<&Extra>, lost: impl FnMut(&Packet)) {
        let Some(mut backlog) = self.take_backlog() else { return };
        let Backlog { discipline, slab } = &mut *backlog;
        discipline.work(LineUp(Arriving { port: self, slab, now, packet, extra, lost }));
        self.put_back(backlog);
    }

    /// As [`Port::admit`], of a port that has been served, is idle, and is not short of memory.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Time, packet: &Packet, extra: Option<&Extra>, lost: impl FnMut(&Packet)) -> Option<Time> {
        let mut backlog = self.take_backlog()?;
        let Backlog { discipline, slab } = &mut *backlog;
        let news = discipline.work(Pass(Arriving { port: self, slab, now, packet, extra, lost }));
        self.put_back(backlog);
        news
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
