//! Bit errors of links: selection of damaged packets, and their places in the ring.

use forebay_experiment::bit_errors::BitErrors as Draws;
use forebay_types::Rng;
use std::collections::VecDeque;

/// Bit errors of a link.
#[derive(Debug, Clone)]
pub struct BitErrors {
    draws: Draws,
    /// Places in the ring of damaged packets that have not arrived.
    places: VecDeque<u32>,
}

impl BitErrors {
    /// Creates bit errors with this probability per bit.
    pub fn new(probability: f64, rng: Rng) -> BitErrors {
        BitErrors { draws: Draws::new(probability, rng), places: VecDeque::new() }
    }

    /// Decides whether a packet of `wire` bytes, the next on the link, at `position` of its ring, is damaged.
    pub fn damage(&mut self, wire: u64, position: u32) -> bool {
        let damaged = self.draws.damage(wire);
        if damaged {
            self.places.push_back(position);
        }
        damaged
    }

    /// Returns true if `arrived` is true for the position of the oldest damaged packet, which is then removed.
    pub fn take(&mut self, arrived: impl Fn(u32) -> bool) -> bool {
        let found = self.places.front().is_some_and(|p| arrived(*p));
        if found {
            self.places.pop_front();
        }
        found
    }

    /// Removes the packets from `position` on, which will not arrive.
    pub fn forget(&mut self, position: u32) {
        while self.places.back().is_some_and(|p| p.wrapping_sub(position) as i32 >= 0) {
            self.places.pop_back();
        }
    }

    /// Packets damaged since the start.
    pub fn damaged(&self) -> u64 {
        self.draws.damaged()
    }
}
