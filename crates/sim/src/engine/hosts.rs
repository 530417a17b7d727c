//! Hosts: their network card and their timers.

use forebay_units::PortId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wake {
    /// Opens a connection.
    Open {
        /// Connection slot.
        conn: u32,
    },
    /// The sender's timer (lazy: it may be early).
    Sender {
        /// Connection slot.
        conn: u32,
        /// Its generation.
        generation: u8,
    },
    /// The receiver's delayed ACK (lazy: it may be early).
    Receiver {
        /// Connection slot.
        conn: u32,
        /// Its generation.
        generation: u8,
    },
    /// An application.
    App {
        /// Index of the application.
        app: u32,
        /// What the application asked to be reminded of.
        tag: u64,
    },
}

/// One host.
#[derive(Debug, Default)]
pub struct Host {
    /// Egress port.
    pub nic: PortId,
    timers: BinaryHeap<Reverse<(u64, u64, Wake)>>,
    /// Timers this host has set anywhere, which orders timers of the same time.
    pub issued: u64,
    /// Running hash of the packets that reached this host.
    pub fingerprint: u64,
}

impl Host {
    /// Time of the earliest timer, `u64::MAX` for none.
    #[inline]
    pub fn next_timer(&self) -> u64 {
        self.timers.peek().map_or(u64::MAX, |Reverse((t, _, _))| *t)
    }

    /// Adds a timer. `order` is unique and the same for every number of threads.
    pub fn add(&mut self, time: u64, order: u64, wake: Wake) {
        self.timers.push(Reverse((time, order, wake)));
    }

    /// Takes the earliest timer.
    pub fn pop(&mut self) -> Option<(u64, Wake)> {
        self.timers.pop().map(|Reverse((t, _, w))| (t, w))
    }

    /// Mixes a packet's arrival into the fingerprint.
    #[inline]
    pub fn note(&mut self, time: u64, what: u64) {
        self.fingerprint = (self.fingerprint.rotate_left(5) ^ time ^ (what << 20)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
