//! An egress port: a queue, a transmitter and the link behind it.
//!
//! Most queues are FIFOs; those of the others (`buffered.rs`) hold a backlog. A FIFO port knows at enqueue when a packet will have left and
//! when it will arrive, so a hop costs one event, its arrival.
//! Packets that have left the queue stay in the same ring until they arrive; `departed` separates the two.

mod buffered_queue;
mod counters;
mod failure;
mod fifo;
mod occupancy;
mod queue;

pub use counters::{PortEvents, PortStats};

use super::backlog::Backlog;
use super::bit_errors::BitErrors;
use super::packet::{Codepoint, Extra, Packet};
use super::prefetch;
use super::ring::Ring;
use forebay_experiment::network::PortConfig;
use forebay_experiment::occupancy::Occupancy;
use forebay_queues::{FifoDiscipline, PortState, Queue, QueueState};
use forebay_sampling::Rng;
use forebay_units::{NodeId, Rate, Time};
use occupancy::OccupancyTimes;

/// From here on an arrival is looked at closely.
#[derive(Debug, Clone, Copy, Default)]
struct Threshold {
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
    pub(crate) last_arrival: Time,
    pub(super) busy_until: Time,
    pub(super) delay: Time,
    ps_per_byte: u64,
    /// Upper bound of the queue; exact after `settle`, and always where `occupancy` are counted.
    pub(super) queue: QueueState,
    /// An arrival that finds less than this in `queue` is accepted without a closer look.
    threshold: Threshold,
    /// Place among the inputs of all nodes.
    pub(crate) input: u32,
    /// How long the queue had which length, for `observer`, while the port is a FIFO without a series of samples.
    occupancy: OccupancyTimes,
    /// Packets queued for transmission since the start or the end of the warm-up.
    pub(super) sent_pkts: u64,
    /// Lower half of their `sojourn`. Between two sums that would be added to as one vector, in six instructions instead of two.
    sojourn_low: u64,
    /// Wire bytes of those packets.
    pub(super) sent_bytes: u64,
    /// Upper half of it.
    sojourn_high: u64,
    /// In which order packets leave, and who decides.
    kind: QueueKind,
    /// What waits at a port with a buffered discipline, whose order is [`QueueKind::Buffered`]. Not there while the discipline runs.
    pub(super) backlog: Option<Box<Backlog>>,
    limit: QueueState,
    /// `fast_path_limit` of a FIFO's discipline; of others, one packet where they let a packet pass that meets nobody.
    fast_limit: QueueState,
    /// How long a port with a buffered discipline was idle before packets that passed without the discipline's knowledge (`Buffered::add_idle`).
    pub(super) passed: Time,
    /// Counters of rare events.
    pub(crate) events: PortEvents,
    /// Packets queued before the end of the warm-up.
    pub(super) before: u64,
    /// Of a host's port: the latest arrival time so far.
    latest: Time,
    observer: Option<Box<Occupancy>>,
    errors: Option<Box<BitErrors>>,
    /// `is_step` of a FIFO's discipline.
    step: bool,
    /// Whether [`Port::intercept`] is in force.
    intercepted: bool,
    /// Whether it is a host's.
    host: bool,
    /// Of a port with a buffered discipline: its place among all of them.
    pub(crate) place: u32,
}

const _: () = assert!(std::mem::offset_of!(Port, queue) == 64 && std::mem::offset_of!(Port, sojourn_high) == 128);

/// The two kinds of ports, and those whose link is down.
enum QueueKind {
    /// Packets leave in order of arrival: they go to the ring at once.
    Fifo(FifoDiscipline),
    /// Packets wait in a backlog until their transmission starts.
    Buffered,
    /// A FIFO that refuses packets at first, so that whoever sends them does something with them.
    Intercepted(FifoDiscipline),
    /// The link is down, and has cost so many packets.
    Down(u64),
}

/// `fast_limit` and `step` of a port, its order of packets, and its backlog.
fn kind_of(queue: Queue) -> (QueueState, bool, QueueKind, Option<Box<Backlog>>) {
    match queue {
        Queue::Fifo(discipline) => (discipline.fast_path_limit(), discipline.is_step(), QueueKind::Fifo(discipline), None),
        Queue::Buffered(discipline) => {
            (fast_limit_if(discipline.accepts_idle()), false, QueueKind::Buffered, Some(Box::new(Backlog::new(discipline))))
        }
    }
}

/// `fast_limit` of a port with a buffered discipline.
fn fast_limit_if(passing: bool) -> QueueState {
    if passing { QueueState { packets: 1, bytes: u64::MAX } } else { QueueState::default() }
}

/// Why [`Port::enqueue`] did not queue a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It was dropped, and counted.
    Dropped,
    /// It is for others to decide: this port's discipline is buffered ([`Port::admit`]), or the port is watched ([`Port::intercept`]).
    SlowPath,
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

    /// What happened at it.
    pub fn events(&self) -> &PortEvents {
        &self.events
    }

    /// A port as configured, of a `host` or a switch; `input` is its place among the inputs of all nodes, `rng` is for its discipline.
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
            passed: Time::ZERO,
            step,
            kind,
            backlog,
            limit: c.buffer.map_or(QueueState::UNLIMITED, QueueState::limit),
            events: PortEvents::default(),
            before: 0,
            latest: Time::ZERO,
            last_arrival: Time::ZERO,
            observer: None,
            errors: None,
            intercepted: false,
            place: 0,
            host,
        }
    }

    /// Keeps what waits here, and returns a port that stands for the other end of its link: with what flies or will fly there, which is brought
    /// to it from now on ([`Port::deliver_to_half`]). What is sent here goes to `input` of `to`.
    pub(crate) fn split(&mut self, to: NodeId, input: u32) -> Port {
        let queue = Queue::Fifo(FifoDiscipline::default());
        let plain = PortConfig { from: self.to, to: self.to, rate: Rate(1_000_000_000), delay: self.delay, buffer: None, queue };
        let mut far = Port::new(&plain, false, self.input, Rng::stream(0, &[]));
        far.last_arrival = self.last_arrival;
        while !self.ring.is_empty() {
            let head = self.ring.head();
            far.deliver_to_half(self.ring.packet(head), self.ring.extra(head));
            self.ring.advance(self.ring.next(head));
        }
        (self.to, self.input) = (to, input);
        far
    }

    /// A packet that another port has sent reaches its ring. Whether there was none.
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
        // None of them waits here.
        self.departed = self.ring.tail();
        idle
    }

    /// From now on packets are refused with [`Refusal::SlowPath`] until [`Port::release`], unless the port is down.
    pub fn intercept(&mut self) {
        self.intercepted = true;
        self.threshold = Threshold::default();
        debug_assert!(self.total_sent() == 0 || !self.occupancy.is_on(), "a port is watched from the start");
        self.occupancy = OccupancyTimes::OFF;
        if let QueueKind::Fifo(discipline) = &mut self.kind {
            self.kind = QueueKind::Intercepted(std::mem::take(discipline));
        }
    }

    /// Packets are taken in until [`Port::intercept`].
    pub fn release(&mut self) {
        if let QueueKind::Intercepted(discipline) = &mut self.kind {
            self.kind = QueueKind::Fifo(std::mem::take(discipline));
        }
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

    /// Whether a packet that meets nobody at `now` passes as at a FIFO; [`Port::enqueue`] or [`Port::enqueue_idle`] must follow. For a port with
    /// a backlog, which is empty.
    #[inline(always)]
    pub(crate) fn passes(&mut self, now: Time) -> bool {
        let passes = self.threshold.packets > 0;
        if passes {
            self.passed += now - self.busy_until;
        }
        passes
    }

    /// From now on it is so, or not.
    #[inline(always)]
    pub(in crate::net) fn set_passing(&mut self, passing: bool) {
        if (self.fast_limit.packets > 0) != passing {
            self.change_passing(passing);
        }
    }

    #[cold]
    #[inline(never)]
    fn change_passing(&mut self, passing: bool) {
        if self.errors.is_none() {
            self.fast_limit = fast_limit_if(passing);
            self.update_threshold();
        }
    }

    /// Wire bytes waiting and in service, as of the last [`Port::settle`].
    pub fn queued_bytes(&self) -> u64 {
        self.queue.bytes
    }

    /// When the last packet queued so far will have left, if no other comes in the meantime that is served before it.
    pub fn drained(&self) -> Time {
        self.busy_until
            + self.backlog().map_or(Time::ZERO, |_| self.tx(self.queue.bytes - u64::from(serving(&self.ring, self.departed))))
    }

    /// Time to put `wire` bytes on the wire.
    #[inline(always)]
    pub(super) fn tx(&self, wire: u64) -> Time {
        Time((wire * self.ps_per_byte) >> 16)
    }

    /// The state that a packet meets that arrives at `now`; the queue is settled.
    #[inline]
    pub(super) fn state(&self, now: Time, memory: Option<u64>) -> PortState {
        let serving = serving(&self.ring, self.departed);
        PortState { now, queue: self.queue, limit: self.limit, memory, serving, idle_since: self.busy_until }
    }
}

/// Wire bytes of the packet in service, of the first in the queue of a FIFO that is not settled; 0 when there is none.
#[inline(always)]
fn serving(ring: &Ring, departed: u32) -> u32 {
    if departed == ring.tail() { 0 } else { u32::from(ring.packet(departed).wire) }
}
