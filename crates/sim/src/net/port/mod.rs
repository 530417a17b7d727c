//! An egress port: a queue, a transmitter and the link behind it.
//!
//! Most queues are FIFOs; the others have a backlog (`buffered_queue.rs`). At enqueue a FIFO port computes when the packet will have left and when it
//! will arrive, so that a hop costs one event, the arrival. Packets that have left the queue stay in the same ring until they arrive; `departed`
//! separates the two.

mod buffered_queue;
mod change;
mod counters;
mod failure;
mod fifo;
mod link_hooks;
mod occupancy;
mod queue;
mod queue_limits;
mod transmit_ring;

pub use counters::{PortEvents, PortStats};
pub(crate) use transmit_ring::{Departure, TransmitRingConfig};

use super::backlog::Backlog;
use super::packet::{Codepoint, Extra, Packet};
use super::prefetch;
use super::ring::Ring;
use forebay_experiment::host_timing::Jitter;
use forebay_experiment::network::PortConfig;
use forebay_experiment::occupancy::Occupancy;
use forebay_queues::{FifoDiscipline, PortState, Queue, QueueState};
use forebay_types::{NodeId, Rate, Rng, Time};
use link_hooks::LinkHooks;
use occupancy::OccupancyTimes;
use transmit_ring::TransmitRing;

/// Queue length from which on arrivals take the slow path.
#[derive(Debug, Clone, Copy, Default)]
struct Threshold {
    packets: u32,
    /// At most the limit in bytes: the slow path is always correct.
    bytes: u32,
}

/// A port. Removing packets touches the first cache line, and enqueueing the second one.
#[repr(C, align(64))]
pub struct Port {
    /// Packets waiting and in flight.
    pub(crate) ring: Ring,
    departed: u32,
    /// The receiving node.
    pub(crate) to: NodeId,
    /// Arrival of the last packet that the far end has taken. Belongs to the far end.
    pub(crate) last_arrival: Time,
    pub(super) busy_until: Time,
    pub(super) delay: Time,
    ps_per_byte: u64,
    /// Upper bound of the queue; exact after `settle`, and always while `occupancy` is counted.
    pub(super) queue: QueueState,
    /// Arrivals that find a shorter queue than this are accepted on the fast path.
    threshold: Threshold,
    /// Place among the inputs of all nodes.
    pub(crate) input: u32,
    /// Time at each queue length, for `observer`, while the port is a FIFO without a series of samples.
    occupancy: OccupancyTimes,
    /// Packets queued for transmission since the start or the end of the warm-up.
    pub(super) sent_pkts: u64,
    /// Lower half of their `sojourn`. Between the two counters, which would otherwise be added as a vector, in six instructions instead of two.
    sojourn_low: u64,
    /// Wire bytes of those packets.
    pub(super) sent_bytes: u64,
    /// Upper half of their `sojourn`.
    sojourn_high: u64,
    /// Latest arrival time so far, at a host's port.
    latest: Time,
    /// Latency variation of a host's interface.
    jitter: Jitter,
    /// Order of packets, and the discipline of a FIFO.
    kind: QueueKind,
    /// Backlog of a port with a buffered discipline, whose kind is [`QueueKind::Buffered`]. Absent while the discipline runs.
    pub(super) backlog: Option<Box<Backlog>>,
    limit: QueueState,
    /// `fast_path_limit` of a FIFO's discipline; of a buffered discipline, one packet while packets may bypass it.
    fast_limit: QueueState,
    /// Idle time of a buffered port before packets that bypassed the discipline (`Buffered::add_idle`).
    pub(super) bypass_idle: Time,
    /// Counters of rare events.
    pub(crate) events: PortEvents,
    /// Packets queued before the end of the warm-up.
    pub(super) before: u64,
    observer: Option<Box<Occupancy>>,
    hooks: Option<Box<LinkHooks>>,
    /// `is_step` of a FIFO's discipline.
    step: bool,
    /// True if [`Port::intercept`] is in force.
    intercepted: bool,
    /// True if it is a host's port.
    host: bool,
    /// Place among all ports with buffered disciplines.
    pub(crate) place: u32,
    /// True if it has a transmit ring, which is absent while it works.
    has_ring: bool,
    /// Between the queue of a host and the wire, if the queue is buffered.
    transmit_ring: Option<Box<TransmitRing>>,
}

const _: () = assert!(std::mem::offset_of!(Port, queue) == 64 && std::mem::offset_of!(Port, sojourn_high) == 128);

/// Kinds of queues.
enum QueueKind {
    /// Packets leave in order of arrival: they enter the ring at once.
    Fifo(FifoDiscipline),
    /// Packets wait in a backlog until their transmission starts.
    Buffered,
    /// A FIFO that passes each packet to the slow path of the sending host first.
    Intercepted(FifoDiscipline),
    /// The link is down, and has cost this many packets.
    Down(u64),
}

/// `fast_limit`, `step`, kind and backlog of a queue.
fn kind_of(queue: Queue) -> (QueueState, bool, QueueKind, Option<Box<Backlog>>) {
    match queue {
        Queue::Fifo(discipline) => (discipline.fast_path_limit(), discipline.is_step(), QueueKind::Fifo(discipline), None),
        Queue::Buffered(discipline) => {
            (fast_limit_if(discipline.accepts_idle()), false, QueueKind::Buffered, Some(Box::new(Backlog::new(discipline))))
        }
    }
}

/// `fast_limit` of a port with a buffered discipline.
fn fast_limit_if(bypass: bool) -> QueueState {
    if bypass { QueueState { packets: 1, bytes: u64::MAX } } else { QueueState::default() }
}

/// Reason why [`Port::enqueue`] did not queue a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It was dropped, and counted.
    Dropped,
    /// The caller must handle it: the discipline is buffered ([`Port::admit`]), or the port is intercepted ([`Port::intercept`]).
    SlowPath,
}
impl Port {
    /// Packets waiting and in flight.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Packets waiting and in flight, to remove those that have arrived.
    pub fn ring_mut(&mut self) -> &mut Ring {
        &mut self.ring
    }

    /// Counters of rare events.
    pub fn events(&self) -> &PortEvents {
        &self.events
    }

    /// Creates a port of a `host` or a switch; `input` is its place among the inputs of all nodes, `rng` is for its discipline.
    pub fn new(c: &PortConfig, host: bool, input: u32, rng: Rng) -> Port {
        let mut queue = c.queue.clone();
        queue.start(c.rate, rng);
        let (fast_limit, step, kind, backlog) = kind_of(queue);
        Port {
            ring: Ring::new(8),
            departed: 0,
            busy_until: Time::ZERO,
            ps_per_byte: c.rate.ps_per_byte_q16(),
            delay: c.delay,
            queue: QueueState::default(),
            threshold: Threshold::default(),
            occupancy: OccupancyTimes::OFF,
            sent_pkts: 0,
            sent_bytes: 0,
            sojourn_low: 0,
            sojourn_high: 0,
            input,
            to: c.to,
            fast_limit,
            bypass_idle: Time::ZERO,
            step,
            kind,
            backlog,
            limit: c.buffer.map_or(QueueState::UNLIMITED, QueueState::limit),
            events: PortEvents::default(),
            before: 0,
            latest: Time::ZERO,
            jitter: Jitter::default(),
            last_arrival: Time::ZERO,
            observer: None,
            hooks: None,
            intercepted: false,
            place: 0,
            has_ring: false,
            transmit_ring: None,
            host,
        }
    }

    /// Splits the link: keeps the queue here, and returns a port that stands for the far end, with the packets in flight. Later packets are delivered
    /// to it by [`Port::deliver_to_half`]. Packets sent here go to `input` of `to`.
    pub(crate) fn split(&mut self, to: NodeId, input: u32) -> Port {
        let mut far = self.holding_input(self.input);
        far.last_arrival = self.last_arrival;
        while !self.ring.is_empty() {
            let head = self.ring.head();
            far.deliver_to_half(self.ring.packet(head), self.ring.extra(head));
            self.ring.advance(self.ring.next(head));
        }
        (self.to, self.input) = (to, input);
        far
    }

    /// A port without a queue at the far end of the link, whose packets come from [`Port::deliver_to_half`] and reach `input` of the node there.
    pub(crate) fn holding_input(&self, input: u32) -> Port {
        let queue = Queue::Fifo(FifoDiscipline::default());
        let plain = PortConfig {
            from: self.to,
            to: self.to,
            rate: Rate(1_000_000_000),
            delay: self.delay,
            buffer: None,
            queue,
            queue_config: Default::default(),
        };
        Port::new(&plain, false, input, Rng::stream(0, &[]))
    }

    /// Adds a packet that another port has sent. Returns true if the ring was empty.
    #[inline]
    pub(crate) fn deliver_to_half(&mut self, packet: &Packet, extra: Option<&Extra>) -> bool {
        if !self.ring.has_room() {
            self.ring.make_room(self.ring.head());
        }
        let idle = self.ring.is_empty();
        self.ring.push(packet, packet.arrival, Codepoint::NotEct, |_| {});
        if let Some(extra) = extra {
            self.ring.push_extra(extra);
        }
        // No packet waits here.
        self.departed = self.ring.tail();
        idle
    }

    /// Refuses packets with [`Refusal::SlowPath`] until [`Port::release`], unless the port is down.
    pub fn intercept(&mut self) {
        self.intercepted = true;
        self.threshold = Threshold::default();
        debug_assert!(self.total_sent() == 0 || !self.occupancy.is_on(), "a port is intercepted from the start");
        self.occupancy = OccupancyTimes::OFF;
        if let QueueKind::Fifo(discipline) = &mut self.kind {
            self.kind = QueueKind::Intercepted(std::mem::take(discipline));
        }
    }

    /// Accepts packets until [`Port::intercept`].
    pub fn release(&mut self) {
        if let QueueKind::Intercepted(discipline) = &mut self.kind {
            self.kind = QueueKind::Fifo(std::mem::take(discipline));
        }
    }

    /// Delays all packets of a host's interface by `phase`, and each by a further random time.
    pub fn set_timing(&mut self, phase: Time, jitter: Jitter) {
        self.delay += phase;
        self.jitter = jitter;
    }

    /// Sets the rate at which a host's interface sends.
    pub fn set_rate(&mut self, rate: Rate) {
        self.ps_per_byte = rate.ps_per_byte_q16();
    }

    /// Arrival of a packet that leaves `late` after its turn and would otherwise arrive at `arrival`. A packet that leaves later arrives later.
    #[inline(always)]
    fn delayed(&mut self, arrival: Time, late: Time) -> Time {
        self.latest = (arrival + late + self.jitter.draw()).max(self.latest + Time(1));
        self.latest
    }

    /// Prefetches the memory that [`Port::enqueue`] writes to, beside the first cache line.
    #[inline(always)]
    pub(crate) fn prefetch_queue(&self) {
        prefetch::prefetch(&self.queue);
        prefetch::line(self.ring.place(self.ring.tail()).cast());
    }

    /// The backlog, if this is not a FIFO.
    pub fn backlog(&self) -> Option<&Backlog> {
        self.backlog.as_deref()
    }

    /// Returns true if a packet that finds an idle port at `now` may bypass the discipline; [`Port::enqueue`] or [`Port::enqueue_idle`] must follow.
    /// For a port with an empty backlog.
    #[inline(always)]
    pub(crate) fn allows_bypass(&mut self, now: Time) -> bool {
        let allows_bypass = self.threshold.packets > 0;
        if allows_bypass {
            self.bypass_idle += now - self.busy_until;
        }
        allows_bypass
    }

    /// Sets whether packets may bypass the discipline.
    #[inline(always)]
    pub(in crate::net) fn set_bypass(&mut self, bypass: bool) {
        if (self.fast_limit.packets > 0) != bypass {
            self.change_bypass(bypass);
        }
    }

    #[cold]
    #[inline(never)]
    fn change_bypass(&mut self, bypass: bool) {
        if self.hooks.is_none() {
            self.fast_limit = fast_limit_if(bypass);
            self.update_threshold();
        }
    }

    /// Wire bytes waiting and in service, as of the last [`Port::settle`].
    pub fn queued_bytes(&self) -> u64 {
        self.queue.bytes
    }

    /// Time at which the last queued packet will have left, if no later packet is served before it.
    pub fn drain_time(&self) -> Time {
        self.busy_until
            + self.backlog().map_or(Time::ZERO, |_| self.tx(self.queue.bytes - u64::from(serving(&self.ring, self.departed))))
    }

    /// Time to put `wire` bytes on the wire.
    #[inline(always)]
    pub(super) fn tx(&self, wire: u64) -> Time {
        Time(((u128::from(wire) * u128::from(self.ps_per_byte)) >> 16) as u64)
    }

    /// State of the settled port for a packet that arrives at `now`.
    #[inline]
    pub(super) fn state(&self, now: Time, memory: Option<u64>) -> PortState {
        let serving = serving(&self.ring, self.departed);
        PortState { now, queue: self.queue, limit: self.limit, memory, serving, idle_since: self.busy_until }
    }
}

/// Wire bytes of the packet in service, or of the first in the queue of a FIFO that is not settled; 0 if there is none.
#[inline(always)]
fn serving(ring: &Ring, departed: u32) -> u32 {
    if departed == ring.tail() { 0 } else { u32::from(ring.packet(departed).wire) }
}
