//! Hosts: their interface and their timers.

use crate::net::generation::Generation;
use crate::net::packet::Packet;
use forebay_experiment::streams::RngStream;
use forebay_types::{AppId, ConnSlot, GroupId, NodeId, PortId, Rng, Time, TimeOrNever, mix};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Unit of the clocks of hosts (ktime_get).
const NS: Time = Time::from_ns(1);

/// Bits of a timer's order that hold the count of its origin.
const COUNT_BITS: u32 = 40;

/// Position of the level of a timer wheel's slot in that order.
const LEVEL_SHIFT: u32 = 36;

/// Order of timers of one host that expire at the same time.
#[derive(Debug, Clone, Copy)]
pub(super) enum TimerOrder {
    /// In the order in which they were set.
    OldestFirst,
    /// In a slot of the kernel's timer wheel (Linux enqueue_timer puts a timer at the head of the slot's list).
    NewestFirst,
    /// The same with the level of the slot, and the number of the timer from the time at which it entered the slot. Higher levels expire first
    /// (__run_timers).
    Slot(u32, u64),
    /// By a number, behind those in the order in which they were set.
    Number(u64),
}

/// Purpose of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimerKind {
    /// Opens a connection.
    Open {
        /// Connection slot.
        conn: ConnSlot,
    },
    /// The sender's timer (lazy: it may be early).
    Sender {
        /// Connection slot.
        conn: ConnSlot,
        /// Its generation.
        generation: Generation,
    },
    /// The receiver's delayed-ACK timer (lazy: it may be early).
    Receiver {
        /// Connection slot.
        conn: ConnSlot,
        /// Its generation.
        generation: Generation,
    },
    /// The timer of the sender's congestion control (lazy: it may be early).
    CongestionControl {
        /// Connection slot.
        conn: ConnSlot,
        /// Its generation.
        generation: Generation,
    },
    /// The timer of an endpoint shim (ticks).
    Shim {
        /// Index of the transport.
        group: GroupId,
    },
    /// A timer of an application.
    App {
        /// Index of the application.
        app: AppId,
        /// The application's identifier of the timer.
        tag: u64,
    },
    /// The interface can start its next transmission, where it has a buffered discipline.
    Interface,
}

/// One host.
#[derive(Debug, Clone)]
pub(super) struct Host {
    /// Its node number.
    pub(crate) node: NodeId,
    /// Egress port.
    pub(crate) nic: PortId,
    /// The ingress port. In a run with several partitions it may be half of a link.
    pub(crate) input: PortId,
    timers: BinaryHeap<Reverse<(Time, u64, TimerKind)>>,
    /// Time of the earliest timer.
    next: TimeOrNever,
    /// Number of timers that this host has set anywhere; orders timers of the same time.
    pub(crate) timers_set: u64,
    /// True if packets are inspected before they reach their endpoints.
    pub(crate) inspects_packets: bool,
    /// Time from the first frame that the card holds to its interrupt; zero without interrupt moderation.
    pub(crate) interrupt_delay: Time,
    /// True if the host acts at whole nanoseconds (`ktime_t`).
    pub(crate) whole_ns: bool,
    /// True if each packet takes a random path.
    pub(crate) sprays: bool,
    /// True if packets arrive without the hash of their connection, because something else stands in its place.
    pub(crate) loses_hash: bool,
    /// Random numbers for those paths.
    pub(crate) spray_rng: Rng,
    /// True if a timer of the interface is set.
    pub(crate) interface_armed: bool,
    /// The ingress port, as the network numbers it.
    pub(crate) network_input: PortId,
    /// Random numbers for the jitter.
    pub(crate) rng: Rng,
    /// Orders its timers among those of other hosts at the same instant.
    tie_key: u64,
    /// Running hash of the packets that reached this host.
    pub(crate) fingerprint: u64,
}

impl Host {
    /// Creates a host without timers, for a run with this seed.
    pub(super) fn new(node: NodeId, seed: u64) -> Host {
        let stream = |d: RngStream| d.stream(seed, &[u64::from(node.get())]);
        let (rng, tie_key) = (stream(RngStream::SendJitter), stream(RngStream::Ties).next_u64());
        Host {
            node,
            nic: PortId::new(0),
            input: PortId::new(0),
            network_input: PortId::new(0),
            timers: BinaryHeap::new(),
            next: TimeOrNever::NEVER,
            timers_set: 0,
            inspects_packets: false,
            interrupt_delay: Time::ZERO,
            whole_ns: false,
            sprays: false,
            loses_hash: false,
            spray_rng: stream(RngStream::Spraying),
            interface_armed: false,
            rng,
            tie_key,
            fingerprint: 0,
        }
    }

    /// Time of the interrupt at which the host takes the first frame that its card holds, which arrived at `arrival`, and all others that have
    /// arrived by then. Such hosts count whole nanoseconds. Without interrupts: the time at which the host takes that frame.
    #[inline(always)]
    pub(super) fn interrupt_time(&self, arrival: Time) -> Time {
        arrival.round_up(NS) + self.interrupt_delay
    }

    /// Time at which the host handles an event of its interface, or a timer of an application, at `time`.
    #[inline(always)]
    pub(super) fn event_time(&self, time: Time) -> Time {
        if !self.whole_ns {
            return time;
        }
        // The last times stand for never.
        time.0.checked_next_multiple_of(NS.0).map_or(time, Time)
    }

    /// Hash of the flow of `p` by the card (RSS): that of its path, unless each packet has a path of its own or brings the fields of CONGA.
    pub(super) fn rss_hash(&self, p: &Packet) -> u16 {
        if self.loses_hash { p.conn.get() as u16 } else { p.hash }
    }

    /// Time of the earliest timer.
    #[inline]
    pub(super) fn next_timer(&self) -> TimeOrNever {
        self.next
    }

    /// Sort key, among timers of the same time, of the next timer that this host sets for `time`. Timers of one host keep the order in which it set
    /// them; the order of hosts is random for each instant.
    pub(super) fn next_order(&mut self, time: Time) -> u64 {
        self.timers_set += 1;
        mix(self.tie_key ^ time.0) << COUNT_BITS | self.timers_set
    }

    /// As [`Host::next_order`], with another order of the timers of this host.
    pub(super) fn order_of(&mut self, time: Time, order: TimerOrder) -> u64 {
        const COUNT: u64 = (1 << COUNT_BITS) - 1;
        let key = self.next_order(time);
        match order {
            TimerOrder::OldestFirst => key,
            TimerOrder::NewestFirst => key ^ COUNT,
            TimerOrder::Slot(level, count) => key & !COUNT | (COUNT ^ (u64::from(level) << LEVEL_SHIFT | count)),
            TimerOrder::Number(number) => key & !COUNT | (COUNT / 2 + number) & COUNT,
        }
    }

    /// Adds a timer. `order` is the same for every number of threads.
    pub(super) fn add(&mut self, time: Time, order: u64, wake: TimerKind) {
        if self.timers.len() == self.timers.capacity() {
            // Growing by doubling would leave nearly half of the memory unused.
            self.timers.reserve_exact(4 + self.timers.len() / 8);
        }
        self.timers.push(Reverse((time, order, wake)));
        self.next = self.next.min(time.into());
    }

    /// Removes the earliest timer.
    pub(super) fn pop(&mut self) -> Option<(Time, TimerKind)> {
        let Reverse((time, _, wake)) = self.timers.pop()?;
        self.next = self.timers.peek().map(|Reverse((t, _, _))| *t).into();
        Some((time, wake))
    }

    /// Mixes a packet's arrival into the fingerprint.
    #[inline]
    pub(super) fn note(&mut self, time: Time, p: &Packet) {
        self.mix(time, u64::from(p.seq) << 8 | u64::from(p.flags) << 2 | p.ecn() as u64);
    }

    /// Mixes an event into the fingerprint.
    #[inline]
    pub(super) fn mix(&mut self, time: Time, what: u64) {
        self.fingerprint = (self.fingerprint.rotate_left(5) ^ time.0 ^ (what << 20)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
