//! Enqueueing at FIFO ports: the fast path, and the slow path through the discipline. Drops and damage.

use super::{Port, QueueKind, Refusal, serving};
use crate::net::backlog::facts;
use crate::net::packet::{Codepoint, Extra, Packet};
use forebay_queues::{Arrival, ArrivalContext, DropReason, PortState, QueueState, Verdict};
use forebay_types::Time;

/// An arriving packet, and the state of the port.
struct ArrivalAtPort<'a> {
    state: PortState,
    packet: &'a Packet,
}

impl ArrivalContext for ArrivalAtPort<'_> {
    #[inline(always)]
    fn port(&self) -> PortState {
        self.state
    }

    #[inline(always)]
    fn packet(&self) -> Arrival {
        facts(self.packet)
    }
}

impl Port {
    /// Queues `packet`, in which `fill` completes the sequence number, timestamp and flags. The packet is completely at the port at `now`. Returns
    /// the arrival time at the far end; SACK blocks, if the packet has the flag, must be pushed to the ring next. A `HOST` may send packets `late`
    /// after their turn, if it does so with all of them.
    #[inline(always)]
    pub fn enqueue<const HOST: bool>(
        &mut self,
        now: Time,
        late: Option<Time>,
        packet: &Packet,
        fill: impl FnOnce(&mut Packet),
    ) -> Result<Time, Refusal> {
        let wire = u64::from(packet.wire);
        let mut mark = Codepoint::NotEct;
        if !HOST && self.occupancy.is_on() {
            if self.busy_until < now && self.queue.packets == 1 && self.threshold.packets > 0 {
                // SAFETY: as in `settle_counted`.
                unsafe { self.occupancy.renew(self.busy_until, now) };
                self.departed = self.ring.tail();
                self.queue.bytes = wire;
            } else {
                if self.busy_until < now {
                    self.settle_idle();
                } else {
                    self.settle_busy(now);
                }
                if self.queue.packets >= self.threshold.packets || self.queue.bytes + wire > u64::from(self.threshold.bytes) {
                    mark = self.examine(now, packet)?;
                }
                // SAFETY: as in `settle_counted`; a queue of a new maximum length takes the slow path.
                unsafe { self.occupancy.grow(self.queue.packets, now + self.delay) };
                self.queue.packets += 1;
                self.queue.bytes += wire;
            }
        } else if self.busy_until >= now {
            if self.queue.packets >= self.threshold.packets || self.queue.bytes + wire > u64::from(self.threshold.bytes) {
                mark = self.examine(now, packet)?;
            }
            self.queue.packets += 1;
            self.queue.bytes += wire;
        } else if self.threshold.packets > 0 {
            // Idle: all packets have left, without counting them one by one.
            self.departed = self.ring.tail();
            self.queue = QueueState { packets: 1, bytes: wire };
        } else {
            mark = self.examine(now, packet)?;
            self.queue.packets += 1;
            self.queue.bytes += wire;
        }
        if !self.ring.has_room() {
            self.make_room(now);
        }
        let start = self.busy_until.max(now);
        let departure = start + self.tx(wire);
        self.busy_until = departure;
        let mut arrival = departure + self.delay;
        if HOST && (late.is_some() || self.jitter.is_on()) {
            arrival = self.delayed(arrival, late.unwrap_or_default());
        }
        self.ring.push(packet, arrival, mark, fill);
        self.sent_pkts += 1;
        self.sent_bytes += wire;
        self.add_sojourn(departure - now);
        Ok(arrival)
    }

    /// As [`Port::enqueue`], for a packet that may bypass the discipline ([`Port::allows_bypass`]) at a port without a recorder.
    #[inline(always)]
    pub(crate) fn enqueue_idle<'a>(&mut self, now: Time, packet: &Packet, extra: impl FnOnce() -> Option<&'a Extra>) -> Time {
        debug_assert!(self.busy_until < now && self.threshold.packets > 0 && !self.counts() && !self.host);
        self.departed = self.ring.tail();
        self.queue = QueueState::default();
        self.count_arrival_fast(u64::from(packet.wire));
        self.transmit((now, now), packet, extra, Codepoint::NotEct);
        self.busy_until + self.delay
    }

    /// Puts a packet that counts in the statistics since `entered` on the wire at `start`, when none is in service, marked or not (`Ce` or `NotEct`).
    #[inline(always)]
    pub(in crate::net) fn transmit<'a>(
        &mut self,
        (entered, start): (Time, Time),
        packet: &Packet,
        extra: impl FnOnce() -> Option<&'a Extra>,
        mark: Codepoint,
    ) {
        if !self.ring.has_room() {
            self.make_room(start);
        }
        let departure = start + self.tx(u64::from(packet.wire));
        self.busy_until = departure;
        self.add_sojourn(departure - entered);
        self.enter_link(start, packet, mark);
        let mut arrival = departure + self.delay;
        if self.jitter.is_on() {
            arrival = self.delayed(arrival, Time::ZERO);
        }
        self.ring.push(packet, arrival, mark, |_| {});
        if let Some(extra) = extra() {
            self.ring.push_extra(extra);
        }
    }

    /// Frees the ring slots of packets that have left the queue and arrived.
    #[inline(never)]
    pub(in crate::net) fn make_room(&mut self, now: Time) {
        self.settle(now);
        let head = self.ring.head();
        let lags = (self.departed.wrapping_sub(head) as i32) < 0;
        self.ring.make_room(if lags { self.departed } else { head });
    }

    /// Slow path of an arrival: calls the discipline. Returns the ECN field to set, `NotEct` to leave it.
    #[inline(never)]
    pub(super) fn examine(&mut self, now: Time, packet: &Packet) -> Result<Codepoint, Refusal> {
        if !matches!(self.kind, QueueKind::Fifo(_)) {
            return Err(self.refuse_at_down(packet));
        }
        if self.fast_limit.packets == 0 { self.examine_each(now, packet) } else { self.examine_some(now, packet) }
    }

    /// Handles a packet at a port that is no FIFO now.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse_at_down(&mut self, packet: &Packet) -> Refusal {
        let QueueKind::Down(lost) = &mut self.kind else { return Refusal::SlowPath };
        *lost += 1;
        self.note_refused_at_down();
        self.events.cut_waiting += 1;
        self.events.cut_bytes += u64::from(packet.wire);
        Refusal::Dropped
    }

    /// As [`Port::examine`], where the discipline decides only about packets above its fast-path limit.
    #[inline(never)]
    fn examine_some(&mut self, now: Time, packet: &Packet) -> Result<Codepoint, Refusal> {
        self.settle_inline(now);
        self.record(now);
        let (queue, fast_limit) = (self.queue, self.fast_limit);
        let fits = queue.fits(u32::from(packet.wire), self.limit);
        let mark = if fits && queue.packets < fast_limit.packets && queue.bytes < fast_limit.bytes {
            Codepoint::NotEct
        } else if !fits || !self.step {
            self.call_discipline(now, packet)?
        } else if packet.ecn().is_capable() {
            self.count_mark(packet.ecn());
            Codepoint::Ce
        } else {
            Codepoint::NotEct
        };
        self.update_longest();
        Ok(mark)
    }

    /// As [`Port::examine`], where the discipline decides about every packet.
    #[inline(never)]
    fn examine_each(&mut self, now: Time, packet: &Packet) -> Result<Codepoint, Refusal> {
        if self.busy_until < now && !self.host && self.observer.is_none() {
            // As in `enqueue`.
            self.departed = self.ring.tail();
            self.queue = QueueState::default();
        } else {
            self.settle_inline(now);
            self.record(now);
        }
        let mark = self.call_discipline(now, packet)?;
        self.update_longest();
        Ok(mark)
    }

    /// Calls the discipline. Returns the ECN field to set, `NotEct` to leave it.
    #[inline(always)]
    pub(super) fn call_discipline(&mut self, now: Time, packet: &Packet) -> Result<Codepoint, Refusal> {
        let QueueKind::Fifo(discipline) = &mut self.kind else { return Err(Refusal::SlowPath) };
        let (serving, idle_since) = (serving(&self.ring, self.departed), self.busy_until);
        let state = PortState { now, queue: self.queue, limit: self.limit, memory: None, serving, idle_since };
        let mark = match discipline.decide(&ArrivalAtPort { state, packet }) {
            Verdict::Accept => Codepoint::NotEct,
            Verdict::Mark => {
                self.count_mark(packet.ecn());
                Codepoint::Ce
            }
            Verdict::Drop(reason) => {
                self.drop(reason, u64::from(packet.wire));
                self.note_refused(reason);
                return Err(Refusal::Dropped);
            }
        };
        self.enter_link(now, packet, mark);
        Ok(mark)
    }

    /// Drops a packet for which the shared memory has no space. The discipline of a settled FIFO is notified, as of a full buffer.
    pub fn drop_for_memory(&mut self, now: Time, packet: &Packet) {
        let state = self.state(now, Some(self.queue.bytes));
        if let QueueKind::Fifo(discipline) = &mut self.kind {
            let _ = discipline.on_arrival(&state, &facts(packet));
        }
        self.drop(DropReason::SharedBuffer, u64::from(packet.wire));
        self.note_refused(DropReason::SharedBuffer);
    }

    /// Counts a packet that is not queued.
    #[cold]
    pub(in crate::net) fn drop(&mut self, reason: DropReason, wire: u64) {
        let index = match reason {
            DropReason::Overflow => 0,
            DropReason::SharedBuffer => 1,
            DropReason::Early => 2,
        };
        self.events.dropped[index] += 1;
        self.events.dropped_bytes += wire;
    }

    /// Returns true if the next packet can be sent without a recorder, errors or capture of the link, and growth of the ring.
    #[inline(always)]
    pub(in crate::net) fn sends_fast(&self) -> bool {
        self.observer.is_none() && self.hooks.is_none() && self.ring.has_room()
    }
}
