//! Packets that a link damages, loses or delivers late, and their places in the ring.

use super::packet::{Packet, flag};
use forebay_experiment::link_errors::{Effect, LinkErrors as Draws, OnLink};
use forebay_types::{ConnSlot, Time};
use std::collections::VecDeque;

/// Errors of a link.
#[derive(Debug, Clone)]
pub struct LinkErrors {
    draws: Draws,
    /// Packets that do not reach the end of the link, until they would arrive.
    taken: VecDeque<Taken>,
    /// Places of packets that are late, likewise.
    late: VecDeque<u32>,
}

/// A packet that does not reach the end of the link.
#[derive(Debug, Clone, Copy)]
struct Taken {
    /// Place in the ring.
    position: u32,
    effect: Effect,
    /// Queued since the end of the warm-up.
    measured: bool,
}

/// Number that the packets of a connection have in common, and no other packets at the same time.
fn key(slot: ConnSlot, generation: u8) -> u64 {
    u64::from(slot.get()) << 8 | u64::from(generation)
}

impl LinkErrors {
    /// A link with these errors.
    pub fn new(draws: Draws) -> LinkErrors {
        LinkErrors { draws, taken: VecDeque::new(), late: VecDeque::new() }
    }

    /// Sets the loss probability of the next packets.
    pub fn set_loss(&mut self, p: f64) {
        self.draws.set_loss(p);
    }

    /// Connection `number` opens, in this slot.
    pub fn open(&mut self, number: u64, slot: ConnSlot, generation: u8) {
        self.draws.open(number, key(slot, generation));
    }

    /// Decides whether a packet, the next on the link from `at` on, at `position` of its ring, is damaged or lost.
    pub fn takes(&mut self, at: Time, packet: &Packet, position: u32) -> bool {
        let data = !packet.has(flag::ACK) && (packet.has(flag::DATAGRAM) || (!packet.has(flag::SYN) && packet.len > 0));
        let data_of = data.then(|| key(packet.conn, packet.generation()));
        let effect = self.draws.draw(OnLink { at, wire: packet.wire.into(), data_of });
        if effect.takes() {
            self.taken.push_back(Taken { position, effect, measured: true });
        } else if self.draws.delays() {
            self.late.push_back(position);
        }
        effect.takes()
    }

    /// As [`LinkErrors::take`], of the packets that are late.
    pub fn take_late(&mut self, arrived: impl Fn(u32) -> bool) -> bool {
        let found = self.late.front().is_some_and(|p| arrived(*p));
        if found {
            self.late.pop_front();
        }
        found
    }

    /// Returns true if `arrived` is true for the position of the oldest of these packets, which is then removed.
    pub fn take(&mut self, arrived: impl Fn(u32) -> bool) -> bool {
        let found = self.taken.front().is_some_and(|t| arrived(t.position));
        if found {
            self.taken.pop_front();
        }
        found
    }

    /// Returns true if the packet at `position`, which has not arrived, is damaged or lost.
    pub fn has_taken(&self, position: u32) -> bool {
        self.taken.iter().any(|t| t.position == position)
    }

    /// Removes the packets from `position` on, which a failure of the link takes, also from the counts. Returns the number of damaged or lost packets
    /// among them that were queued since the end of the warm-up.
    pub fn forget(&mut self, position: u32) -> u64 {
        let fails = |p: u32| p.wrapping_sub(position) as i32 >= 0;
        while self.late.back().is_some_and(|p| fails(*p)) {
            self.late.pop_back();
        }
        let mut measured = 0;
        while let Some(taken) = self.taken.back().copied().filter(|t| fails(t.position)) {
            self.taken.pop_back();
            self.draws.uncount(taken.effect);
            measured += u64::from(taken.measured);
        }
        measured
    }

    /// The warm-up ends.
    pub fn restart(&mut self) {
        self.taken.iter_mut().for_each(|t| t.measured = false);
    }

    /// Packets damaged since the start; `None` on a link without bit errors.
    pub fn damaged(&self) -> Option<u64> {
        self.draws.damaged()
    }

    /// Packets lost since the start; `None` on a link without loss.
    pub fn lost(&self) -> Option<u64> {
        self.draws.lost()
    }
}
