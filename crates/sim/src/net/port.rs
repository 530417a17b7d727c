//! An egress port: a queue, a transmitter and the link behind it.
//!
//! Most queues are FIFOs; those of the others (`buffered.rs`) hold a backlog. A FIFO port knows at enqueue when a packet will have left and
//! when it will arrive, so a hop costs one event, its arrival.
//! Packets that have left the queue stay in the same ring until they arrive; `departed` separates the two.
//!
//! The queue's length is needed only where it decides something. `queue` therefore counts departures late and is an upper bound;
//! a port whose upper bound is below `alert` accepts without looking closer. Elsewhere the queue is settled first. So `departed` may
//! even lag behind the ring's head, and taking an arrived packet out costs nothing but moving the head.

use super::backlog::{Backlog, facts};
use super::bit_errors::BitErrors;
use super::levels::Levels;
use super::packet::{Codepoint, Packet};
use super::prefetch;
use super::ring::Ring;
use forebay_experiment::network::PortConfig;
use forebay_experiment::occupancy::{Counters, Occupancy};
use forebay_queues::{DropReason, FifoDiscipline, PortState, Queue, QueueState, Verdict};
use forebay_sampling::Rng;
use forebay_units::{NodeId, PortId, Time};

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
    /// Wire bytes of those.
    pub cut_bytes: u64,
    /// Packets that were on the wire when the link went down.
    pub cut_flying: u64,
    /// Packets damaged on the link.
    pub damaged: u64,
    /// Largest queue after an arrival, packets.
    pub max_pkts: u32,
}

/// From here on an arrival is looked at closely.
#[derive(Debug, Clone, Copy, Default)]
struct Alert {
    packets: u32,
    /// At most the limit in bytes: a closer look is never wrong.
    bytes: u32,
}

/// A port. The first cache line holds what taking packets out touches, and that with the second all that a packet touches.
#[repr(C, align(64))]
pub struct Port {
    /// Waiting and flying packets.
    pub(crate) ring: Ring,
    departed: u32,
    /// The receiving node.
    pub(crate) to: NodeId,
    /// When the last packet that the other end has taken arrived there. The other end's.
    pub(crate) served: Time,
    pub(super) busy_until: Time,
    pub(super) delay: Time,
    ps_per_byte: u64,
    /// Upper bound of the queue; exact after `settle`, and always where `levels` are counted.
    pub(super) queue: QueueState,
    /// An arrival that finds less than this in `queue` is accepted without a closer look.
    alert: Alert,
    /// Place among the inputs of all nodes.
    pub(crate) input: u32,
    /// How long the queue had which length, for `observer`, while the port is a FIFO without a series of samples.
    levels: Levels,
    /// Packets queued for transmission since the start or the end of the warm-up.
    pub(super) sent_pkts: u64,
    /// Wire bytes of those.
    pub(super) sent_bytes: u64,
    /// Lower half of their `sojourn`.
    waited: u64,
    /// Upper half of it.
    waited_high: u64,
    /// In which order packets leave, and who decides.
    order: Order,
    /// What waits at a port with a buffered discipline, whose order is [`Order::Buffered`]. Not there while the discipline runs.
    pub(super) backlog: Option<Box<Backlog>>,
    limit: QueueState,
    /// `quiet_below` of a FIFO's discipline.
    quiet: QueueState,
    /// `is_step` of a FIFO's discipline.
    step: bool,
    /// Counters of rare events.
    pub(crate) events: PortEvents,
    /// Packets queued before the end of the warm-up.
    pub(super) before: u64,
    /// Of a host's port: the latest arrival time so far.
    latest: Time,
    observer: Option<Box<Occupancy>>,
    errors: Option<Box<BitErrors>>,
    /// Whether [`Port::watch`] is in force.
    watched: bool,
    /// Whether it is a host's.
    host: bool,
}

const _: () = assert!(std::mem::offset_of!(Port, queue) == 64 && std::mem::offset_of!(Port, waited_high) == 128);

/// The two kinds of ports, and those whose link is down.
enum Order {
    /// Packets leave in order of arrival: they go to the ring at once.
    Fifo(FifoDiscipline),
    /// Packets wait in a backlog until their transmission starts.
    Buffered,
    /// A FIFO that refuses packets at first, so that whoever sends them does something with them.
    Watched(FifoDiscipline),
    /// The link is down, and has cost so many packets.
    Down(u64),
}

/// `quiet_below` and `is_step` of a FIFO's discipline, and the order of packets. Of the others the first two are of no interest: their `alert`
/// stays zero, so that every packet takes the way to `examine`.
fn order_of(queue: Queue) -> (QueueState, bool, Order, Option<Box<Backlog>>) {
    match queue {
        Queue::Fifo(discipline) => (discipline.quiet_below(), discipline.is_step(), Order::Fifo(discipline), None),
        Queue::Buffered(discipline) => (QueueState::default(), false, Order::Buffered, Some(Box::new(Backlog::new(discipline)))),
    }
}

/// Why [`Port::enqueue`] did not queue a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It was dropped, and counted.
    Dropped,
    /// It is for others to decide: this port's discipline is buffered ([`Port::admit`]), or the port is watched ([`Port::watch`]).
    Closely,
}

impl Port {
    /// What waits at it and what flies on its link.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The same, to take packets that have arrived.
    pub fn ring_mut(&mut self) -> &mut Ring {
        &mut self.ring
    }

    /// Sums over packets.
    pub fn stats(&self) -> PortStats {
        PortStats { sent_pkts: self.sent_pkts, sent_bytes: self.sent_bytes, sojourn: self.sojourn() }
    }

    fn sojourn(&self) -> u128 {
        u128::from(self.waited_high) << 64 | u128::from(self.waited)
    }

    fn set_sojourn(&mut self, sum: u128) {
        (self.waited, self.waited_high) = (sum as u64, (sum >> 64) as u64);
    }

    /// Adds to the time from arrival to departure of packets.
    #[inline(always)]
    pub(super) fn add_sojourn(&mut self, time: Time) {
        let (sum, over) = self.waited.overflowing_add(time.0);
        self.waited = sum;
        if over {
            self.waited_high += 1;
        }
    }

    /// What happened at it.
    pub fn events(&self) -> &PortEvents {
        &self.events
    }

    /// A port as configured, of a `host` or a switch; `input` is its place among the inputs of all nodes, `rng` is for its discipline.
    pub fn new(c: &PortConfig, host: bool, input: u32, rng: Rng) -> Port {
        let mut queue = c.queue.clone();
        queue.start(c.rate, rng);
        let (quiet, step, order, backlog) = order_of(queue);
        Port {
            ring: Ring::new(8),
            departed: 0,
            busy_until: Time::ZERO,
            ps_per_byte: c.rate.ps_per_byte_q16(),
            delay: c.delay,
            queue: QueueState::default(),
            alert: Alert::default(),
            levels: Levels::OFF,
            sent_pkts: 0,
            sent_bytes: 0,
            waited: 0,
            waited_high: 0,
            input,
            to: c.to,
            quiet,
            step,
            order,
            backlog,
            limit: c.buffer.map_or(QueueState::UNLIMITED, QueueState::limit),
            events: PortEvents::default(),
            before: 0,
            latest: Time::ZERO,
            served: Time::ZERO,
            observer: None,
            errors: None,
            watched: false,
            host,
        }
    }

    /// From now on packets are refused with [`Refusal::Closely`] until [`Port::unwatch`], unless the port is down.
    pub fn watch(&mut self) {
        self.watched = true;
        self.alert = Alert::default();
        debug_assert!(self.total_sent() == 0 || !self.levels.are_on(), "a port is watched from the start");
        self.levels = Levels::OFF;
        if let Order::Fifo(discipline) = &mut self.order {
            self.order = Order::Watched(std::mem::take(discipline));
        }
    }

    /// Packets are taken in until [`Port::watch`].
    pub fn unwatch(&mut self) {
        if let Order::Watched(discipline) = &mut self.order {
            self.order = Order::Fifo(std::mem::take(discipline));
        }
    }

    /// From now on the link damages packets.
    pub fn err(&mut self, errors: BitErrors) {
        self.errors = Some(Box::new(errors));
        // Every packet is looked at.
        (self.quiet, self.step, self.alert) = (QueueState::default(), false, Alert::default());
    }

    /// What damages packets, if anything.
    pub fn errors(&self) -> Option<&BitErrors> {
        self.errors.as_deref()
    }

    /// Starts recording the queue, with a sample every so often or the distribution only.
    pub fn observe(&mut self, port: PortId, every: Option<Time>) {
        self.observer = Some(Box::new(Occupancy::new(port, every)));
        self.alert = Alert::default();
        self.count_levels(Time::ZERO);
    }

    /// From `now` on, when the queue is settled, the time at each length is counted in `levels`, if there is a recorder and it needs no more.
    /// The queues of hosts are recorded where somebody asks for it, which few do: their packets do not look for `levels`.
    fn count_levels(&mut self, now: Time) {
        self.levels = Levels::OFF;
        let plain = !self.host && matches!(self.order, Order::Fifo(_) | Order::Buffered) && self.errors.is_none();
        if plain && self.observer.as_ref().is_some_and(|o| !o.has_series()) {
            // Times of changes are those of arrivals at the other end, which are in the ring: all later by the delay.
            self.levels = Levels::new(now + self.delay, self.queue.packets, self.events.max_pkts);
        }
    }

    /// Hands what was counted up to `now`, when the queue is settled, over to the recorder, which goes on from there.
    #[inline(never)]
    fn record_levels(&mut self, now: Time) {
        let times = self.levels.times(now + self.delay, self.queue.packets);
        if let Some(o) = &mut self.observer {
            o.add(now, &times);
        }
        self.levels = Levels::OFF;
    }

    /// The recorder, if any.
    pub fn observer(&self) -> Option<&Occupancy> {
        self.observer.as_deref()
    }

    /// The recorder of the queue, to take its samples from.
    pub fn observer_mut(&mut self) -> Option<&mut Occupancy> {
        self.observer.as_deref_mut()
    }

    /// Asks for the memory that [`Port::enqueue`] writes to, beside the first cache line.
    #[inline(always)]
    pub(crate) fn prefetch_queue(&self) {
        prefetch::prefetch(&self.queue);
        prefetch::line(self.ring.place(self.ring.tail()).cast());
    }

    /// The backlog, if this is not a FIFO.
    pub fn backlog(&self) -> Option<&Backlog> {
        self.backlog.as_deref()
    }

    /// Packets queued since the start of the simulation, except those thrown out of the queue.
    pub fn total_sent(&self) -> u64 {
        self.before + self.sent_pkts
    }

    /// Wire bytes waiting and in service, as of the last [`Port::settle`].
    pub fn queued_bytes(&self) -> u64 {
        self.queue.bytes
    }

    /// When the last packet queued so far will have left, if no other comes in the meantime that is served before it.
    pub fn drained(&self) -> Time {
        self.busy_until + self.backlog().map_or(Time::ZERO, |b| self.tx(b.bytes()))
    }

    /// Takes departures before `now` out of the queue.
    ///
    /// A packet whose last bit leaves at the very instant another one's arrives still holds its buffer: in a store-and-forward switch
    /// the arriving packet has been taking memory since its first bit. The other reading lets one sender at exactly the bottleneck's
    /// rate capture a full queue for good, since every one of its packets arrives as a place becomes free.
    #[inline]
    pub fn settle(&mut self, now: Time) {
        if self.levels.are_on() {
            return self.settle_counted(now);
        }
        if self.observer.is_some() {
            return self.settle_recorded(now);
        }
        let horizon = now + self.delay;
        while self.departed != self.ring.tail() && self.ring.packet(self.departed).arrival < horizon {
            self.depart();
        }
    }

    #[inline]
    fn depart(&mut self) {
        self.queue.packets -= 1;
        self.queue.bytes -= u64::from(self.ring.packet(self.departed).wire);
        self.departed = self.ring.next(self.departed);
    }

    /// As `settle`, for a port whose `levels` are counted.
    #[inline(always)]
    fn settle_counted(&mut self, now: Time) {
        let horizon = now + self.delay;
        while self.departed != self.ring.tail() {
            let arrival = self.ring.packet(self.departed).arrival;
            if arrival >= horizon {
                break;
            }
            self.depart();
            // SAFETY: the port counts; it has made room for its longest queue (`set_longest`).
            unsafe { self.levels.shrink(self.queue.packets, arrival) };
        }
    }

    /// As `settle`, for a port with a recorder that sees every change.
    #[cold]
    #[inline(never)]
    fn settle_recorded(&mut self, now: Time) {
        while self.departed != self.ring.tail() && self.ring.packet(self.departed).arrival < now + self.delay {
            self.record(self.ring.packet(self.departed).arrival - self.delay);
            self.depart();
        }
    }

    #[inline(always)]
    pub(super) fn record(&mut self, now: Time) {
        if self.observer.is_some() && !self.levels.are_on() {
            self.tell(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell(&mut self, now: Time) {
        if let Some(o) = &mut self.observer {
            let c = Counters {
                packets: self.queue.packets,
                bytes: self.queue.bytes,
                drops: self.events.dropped.iter().sum(),
                marks: self.events.marked,
            };
            o.until(now, c);
        }
    }

    /// Queues `packet`, in which `fill` completes the sequence number and the like, and which is at the port completely at `now`, or
    /// says why not. On success returns the arrival time at the other end; if the packet announces SACK blocks, they must be pushed to
    /// the ring next. A `HOST` sends the packet `late` ps after its turn.
    #[inline(always)]
    pub fn enqueue<const HOST: bool>(
        &mut self,
        now: Time,
        late: Time,
        packet: &Packet,
        fill: impl FnOnce(&mut Packet),
    ) -> Result<Time, Refusal> {
        let wire = u64::from(packet.wire);
        let mut mark = Codepoint::NotEct;
        if !HOST && self.levels.are_on() {
            self.settle_counted(now);
            if self.queue.packets >= self.alert.packets || self.queue.bytes + wire > u64::from(self.alert.bytes) {
                mark = self.examine(now, packet)?;
            }
            // SAFETY: as in `settle_counted`; a queue longer than ever before was examined.
            unsafe { self.levels.grow(self.queue.packets, now + self.delay) };
            self.queue.packets += 1;
            self.queue.bytes += wire;
        } else if self.busy_until < now && self.alert.packets > 0 {
            // Idle: everything has left, without counting one by one.
            self.departed = self.ring.tail();
            self.queue = QueueState { packets: 1, bytes: wire };
        } else {
            if self.queue.packets >= self.alert.packets || self.queue.bytes + wire > u64::from(self.alert.bytes) {
                mark = self.examine(now, packet)?;
            }
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
        if HOST {
            // Lateness does not reorder: what was sent later arrives later.
            arrival = (arrival + late).max(self.latest + Time(1));
            self.latest = arrival;
        }
        self.ring.push(packet, arrival, mark, fill);
        self.sent_pkts += 1;
        self.sent_bytes += wire;
        self.add_sojourn(departure - now);
        Ok(arrival)
    }

    /// Gives up the slots of packets that have left the queue and arrived.
    #[inline(never)]
    pub(super) fn make_room(&mut self, now: Time) {
        self.settle(now);
        let head = self.ring.head();
        let lags = (self.departed.wrapping_sub(head) as i32) < 0;
        self.ring.make_room(if lags { self.departed } else { head });
    }

    /// Time to put `wire` bytes on the wire.
    #[inline(always)]
    pub(super) fn tx(&self, wire: u64) -> Time {
        Time((wire * self.ps_per_byte) >> 16)
    }

    /// Looks closely at an arrival: what does the discipline say? Returns the ECN field to set, `NotEct` to leave it.
    #[inline(never)]
    fn examine(&mut self, now: Time, packet: &Packet) -> Result<Codepoint, Refusal> {
        match &mut self.order {
            Order::Fifo(_) => {}
            Order::Buffered | Order::Watched(_) => return Err(Refusal::Closely),
            Order::Down(lost) => {
                *lost += 1;
                self.events.cut_waiting += 1;
                self.events.cut_bytes += u64::from(packet.wire);
                return Err(Refusal::Dropped);
            }
        }
        self.settle(now);
        self.record(now);
        let (queue, quiet) = (self.queue, self.quiet);
        let mark = if !queue.fits(u32::from(packet.wire), self.limit) {
            self.ask(now, packet)?
        } else if queue.packets < quiet.packets && queue.bytes < quiet.bytes {
            Codepoint::NotEct
        } else if !self.step {
            self.ask(now, packet)?
        } else if packet.ecn().is_capable() {
            self.events.marked += u64::from(packet.ecn() != Codepoint::Ce);
            Codepoint::Ce
        } else {
            Codepoint::NotEct
        };
        if self.queue.packets >= self.events.max_pkts {
            self.set_longest(self.queue.packets + 1);
        }
        Ok(mark)
    }

    /// Puts the question to the discipline. Returns the ECN field to set, `NotEct` to leave it.
    #[inline(never)]
    fn ask(&mut self, now: Time, packet: &Packet) -> Result<Codepoint, Refusal> {
        let state = self.state(now, None);
        let Order::Fifo(discipline) = &mut self.order else { return Err(Refusal::Closely) };
        let mark = match discipline.on_arrival(&state, &facts(packet)) {
            Verdict::Accept => Codepoint::NotEct,
            Verdict::Mark => {
                self.events.marked += u64::from(packet.ecn() != Codepoint::Ce);
                Codepoint::Ce
            }
            Verdict::Drop(reason) => {
                self.drop(reason, u64::from(packet.wire));
                return Err(Refusal::Dropped);
            }
        };
        self.damage(u64::from(packet.wire));
        Ok(mark)
    }

    /// What the link does to a packet of `wire` bytes that is about to go into the ring.
    #[inline]
    pub(super) fn damage(&mut self, wire: u64) {
        if let Some(errors) = &mut self.errors
            && errors.damage(wire, self.ring.tail())
        {
            self.events.damaged += 1;
        }
    }

    /// Whether `packet`, which the other end has just taken out of the ring, was damaged on the link. Asked once for each of them, in order.
    pub fn is_damaged(&mut self, packet: *const Packet) -> bool {
        let ring = &self.ring;
        self.errors.as_mut().is_some_and(|errors| errors.take(|position| ring.place(position) == packet))
    }

    /// The state that a packet meets that arrives at `now`; the queue is settled.
    #[inline]
    pub(super) fn state(&self, now: Time, memory: Option<u64>) -> PortState {
        let serving = if self.departed == self.ring.tail() { 0 } else { u32::from(self.ring.packet(self.departed).wire) };
        PortState { now, queue: self.queue, limit: self.limit, memory, serving, idle_since: self.busy_until }
    }

    /// Drops a packet for which the shared memory has no space. The discipline of a settled FIFO is notified, as of a full buffer.
    pub fn refuse(&mut self, now: Time, packet: &Packet) {
        let state = self.state(now, Some(self.queue.bytes));
        if let Order::Fifo(discipline) = &mut self.order {
            let _ = discipline.on_arrival(&state, &facts(packet));
        }
        self.drop(DropReason::SharedBuffer, u64::from(packet.wire));
    }

    /// A packet of `wire` bytes joins the backlog at `now`, when the queue is settled.
    pub(super) fn count_in(&mut self, now: Time, wire: u64) {
        if self.queue.packets >= self.events.max_pkts {
            self.set_longest(self.queue.packets + 1);
        }
        if self.levels.are_on() {
            // SAFETY: as in `settle_counted`.
            unsafe { self.levels.grow(self.queue.packets, now + self.delay) };
        }
        self.queue.packets += 1;
        self.queue.bytes += wire;
        self.sent_pkts += 1;
        self.sent_bytes += wire;
    }

    /// A packet of `wire` bytes leaves the settled queue at `now` without having been sent.
    pub(super) fn shorten(&mut self, now: Time, wire: u64) {
        self.queue.packets -= 1;
        self.queue.bytes -= wire;
        if self.levels.are_on() {
            // SAFETY: as in `settle_counted`.
            unsafe { self.levels.shrink(self.queue.packets, now + self.delay) };
        }
    }

    /// The queue has never been so long.
    fn set_longest(&mut self, packets: u32) {
        self.events.max_pkts = packets;
        if self.levels.are_on() {
            self.levels.reserve(packets);
        }
        self.set_alert();
    }

    /// The largest queue so far is part of the alert, so that the maximum is exact too; a recorder that `levels` do not serve wants to see
    /// everything.
    fn set_alert(&mut self) {
        if !matches!(self.order, Order::Fifo(_)) {
            return;
        }
        let bytes = self.limit.bytes.min(self.quiet.bytes);
        // Where bytes are so few, even a single packet may be too large.
        let packets = if bytes < u64::from(u16::MAX) { 0 } else { self.limit.packets.min(self.quiet.packets) };
        if self.observer.is_none() || self.levels.are_on() {
            self.alert = Alert { packets: packets.min(self.events.max_pkts), bytes: u32::try_from(bytes).unwrap_or(u32::MAX) };
        }
    }

    /// Counts a packet that is not queued.
    #[cold]
    pub(super) fn drop(&mut self, reason: DropReason, wire: u64) {
        let index = match reason {
            DropReason::Overflow => 0,
            DropReason::SharedBuffer => 1,
            DropReason::Early => 2,
        };
        self.events.dropped[index] += 1;
        self.events.dropped_bytes += wire;
    }

    /// Brings the counters to `now`, which is not before any event at this port: queue settled, recorder up to date. Returns the
    /// part of the sojourn that lies in the future.
    pub fn close(&mut self, now: Time) -> u128 {
        self.settle(now);
        self.bring_up(now);
        if let Some(backlog) = &mut self.backlog {
            let waited = backlog.settle(now);
            self.set_sojourn(self.sojourn() + waited);
        }
        let mut future = 0;
        let mut position = self.departed;
        while position != self.ring.tail() {
            future += u128::from((self.ring.packet(position).arrival - self.delay - now).0);
            position = self.ring.next(position);
        }
        future
    }

    /// Brings the recorder to `now`, when the queue is settled; it sees every change from then on.
    fn bring_up(&mut self, now: Time) {
        if self.levels.are_on() {
            self.record_levels(now);
        } else {
            self.record(now);
        }
    }

    /// The link goes down at `at`, which is not before any event at this port: what waits and what is on the wire goes to `lost`, and what
    /// comes until [`Port::join`] is refused.
    pub fn cut(&mut self, at: Time, mut lost: impl FnMut(&Packet)) {
        self.settle(at);
        self.bring_up(at);
        let mut count = 0;
        let take = |port: &mut Port, p: &Packet, before: bool| {
            let wire = u64::from(p.wire);
            port.queue.packets -= 1;
            port.queue.bytes -= wire;
            port.events.cut_waiting += 1;
            port.events.cut_bytes += wire;
            if before || port.sent_pkts == 0 {
                port.before -= 1;
            } else {
                port.sent_pkts -= 1;
                port.sent_bytes -= wire;
            }
        };
        // The first that has not arrived by then. Those before `departed` are on the wire, the others wait, the newest of them since the end of
        // the warm-up.
        let (mut first, tail) = (self.ring.head(), self.ring.tail());
        while first != tail && self.ring.packet(first).arrival < at {
            first = self.ring.next(first);
        }
        let in_backlog = self.backlog().map_or(0, |b| b.packets().count() as u64);
        let mut before = (u64::from(self.queue.packets) - in_backlog).saturating_sub(self.sent_pkts);
        let (mut position, mut waits) = (first, false);
        while position != tail {
            let p = *self.ring.packet(position);
            waits |= position == self.departed;
            if waits {
                let future = u128::from((p.arrival - self.delay).saturating_sub(at).0);
                self.set_sojourn(self.sojourn().saturating_sub(future));
                take(self, &p, before > 0);
                before = before.saturating_sub(1);
            } else {
                self.events.cut_flying += 1;
            }
            count += 1;
            lost(&p);
            position = self.ring.next(position);
        }
        self.ring.cut(first);
        if let Some(errors) = &mut self.errors {
            errors.forget(first);
        }
        self.departed = first;
        if let Some(mut backlog) = self.backlog.take() {
            let waited = backlog.settle(at);
            self.set_sojourn(self.sojourn() + waited);
            for held in backlog.slab.live() {
                take(self, &held.packet, held.before);
                count += 1;
                lost(&held.packet);
            }
        }
        self.order = Order::Down(count);
        (self.busy_until, self.latest) = (self.busy_until.min(at), self.latest.min(at));
        self.alert = Alert::default();
        self.record(at);
    }

    /// The link is up again, with `queue`, which has been started, in its initial state. Returns how many packets the failure has cost.
    pub fn join(&mut self, queue: Queue) -> u64 {
        let lost = self.lost();
        (self.quiet, self.step, self.order, self.backlog) = order_of(queue);
        if self.errors.is_some() {
            (self.quiet, self.step) = (QueueState::default(), false);
        }
        self.set_alert();
        if self.watched {
            self.watch();
        }
        lost
    }

    /// Packets that the failure has cost so far that the link is down for.
    pub fn lost(&self) -> u64 {
        if let Order::Down(lost) = self.order { lost } else { 0 }
    }

    /// Checks that the queue's counts are those of its packets.
    ///
    /// # Panics
    /// When they are not.
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

    /// Forgets all counters: the end of the warm-up. What is queued now keeps counting from here.
    pub fn restart_stats(&mut self, now: Time) {
        let future = self.close(now);
        if let Some(backlog) = &mut self.backlog {
            backlog.restart();
        }
        self.before += self.sent_pkts;
        (self.sent_pkts, self.sent_bytes) = (0, 0);
        self.set_sojourn(future);
        self.events = PortEvents { max_pkts: self.queue.packets, ..PortEvents::default() };
        if let Some(o) = &mut self.observer {
            o.restart(now);
        }
        self.count_levels(now);
        self.set_alert();
    }
}
