//! Hosts: their network card and their timers.

use crate::net::generation::Generation;
use crate::net::packet::Packet;
use forebay_experiment::streams::Draws;
use forebay_sampling::{Rng, mix};
use forebay_units::{AppId, ConnSlot, GroupId, NodeId, PortId, Time, TimeOrNever};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bits of a timer's order that count what its origin has set.
const ISSUED: u32 = 40;

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wake {
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
    /// The receiver's delayed ACK (lazy: it may be early).
    Receiver {
        /// Connection slot.
        conn: ConnSlot,
        /// Its generation.
        generation: Generation,
    },
    /// The sender's law (lazy: it may be early).
    Law {
        /// Connection slot.
        conn: ConnSlot,
        /// Its generation.
        generation: Generation,
    },
    /// The endpoint shim of a transport (ticks).
    Shim {
        /// Index of the transport.
        group: GroupId,
    },
    /// An application.
    App {
        /// Index of the application.
        app: AppId,
        /// What the application asked to be reminded of.
        tag: u64,
    },
    /// The interface: what waits there can go on, where it is no FIFO.
    Interface,
}

/// One host.
#[derive(Debug, Clone)]
pub(super) struct Host {
    /// Its node number.
    pub(crate) node: NodeId,
    /// Egress port.
    pub(crate) nic: PortId,
    /// The port that feeds it: in a run on several cores it may be the half of a link.
    pub(crate) input: PortId,
    timers: BinaryHeap<Reverse<(Time, u64, Wake)>>,
    /// Time of the earliest timer.
    next: TimeOrNever,
    /// Timers this host has set anywhere, which orders timers of the same time.
    pub(crate) issued: u64,
    /// Whether somebody looks at packets before its endpoints do.
    pub(crate) looks: bool,
    /// Whether each packet takes a way of its own,
    pub(crate) sprays: bool,
    /// and what draws it.
    pub(crate) ways: Rng,
    /// Whether a timer of the interface is set.
    pub(crate) interface_armed: bool,
    /// The port that feeds it, as the network knows it.
    pub(crate) fed_by: PortId,
    /// Source of the jitter.
    pub(crate) rng: Rng,
    /// Decides between its timers and those of others at the same instant.
    lot: u64,
    /// Running hash of the packets that reached this host.
    pub(crate) fingerprint: u64,
}

impl Host {
    /// A host without timers, of the run with this seed.
    pub(super) fn new(node: NodeId, seed: u64) -> Host {
        let stream = |d: Draws| d.stream(seed, &[u64::from(node.get())]);
        let (rng, lot) = (stream(Draws::SendJitter), stream(Draws::Ties).next_u64());
        Host {
            node,
            nic: PortId::new(0),
            input: PortId::new(0),
            fed_by: PortId::new(0),
            timers: BinaryHeap::new(),
            next: TimeOrNever::NEVER,
            issued: 0,
            looks: false,
            sprays: false,
            ways: stream(Draws::Spraying),
            interface_armed: false,
            rng,
            lot,
            fingerprint: 0,
        }
    }

    /// Time of the earliest timer.
    #[inline]
    pub(super) fn next_timer(&self) -> TimeOrNever {
        self.next
    }

    /// The place of the next timer set on behalf of this host for `time` among timers of the same time: those of one host in the order
    /// in which it set them, the hosts in an order as good as drawn for each instant.
    pub(super) fn next_order(&mut self, time: Time) -> u64 {
        self.issued += 1;
        mix(self.lot ^ time.0) << ISSUED | self.issued
    }

    /// The same of a timer in a wheel's slot, where the newest expires first (Linux enqueue_timer puts it at the head of the slot's list).
    pub(super) fn order_in_slot(&mut self, time: Time) -> u64 {
        self.next_order(time) ^ ((1 << ISSUED) - 1)
    }

    /// Adds a timer. `order` is the same for every number of threads.
    pub(super) fn add(&mut self, time: Time, order: u64, wake: Wake) {
        if self.timers.len() == self.timers.capacity() {
            // Growing by doubling would leave nearly half of the memory unused.
            self.timers.reserve_exact(4 + self.timers.len() / 8);
        }
        self.timers.push(Reverse((time, order, wake)));
        self.next = self.next.min(time.into());
    }

    /// Takes the earliest timer.
    pub(super) fn pop(&mut self) -> Option<(Time, Wake)> {
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
