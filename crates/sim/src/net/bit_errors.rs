//! A link on which bits flip: which packets it damages, and where those are.

use forebay_experiment::bit_errors::BitErrors as Draws;
use forebay_types::Rng;
use std::collections::VecDeque;

/// Bit errors of a link with a ring.
#[derive(Debug, Clone)]
pub struct BitErrors {
    draws: Draws,
    /// Where damaged packets are in the ring that have not arrived.
    places: VecDeque<u32>,
}

impl BitErrors {
    /// Each bit is wrong with this probability.
    pub fn new(probability: f64, rng: Rng) -> BitErrors {
        BitErrors { draws: Draws::new(probability, rng), places: VecDeque::new() }
    }

    /// Whether a packet of `wire` bytes, the next on the link, at `position` of its ring, is damaged.
    pub fn damage(&mut self, wire: u64, position: u32) -> bool {
        let damaged = self.draws.damage(wire);
        if damaged {
            self.places.push_back(position);
        }
        damaged
    }

    /// Whether the oldest damaged packet is the one that `arrived` says of a position, which is then forgotten.
    pub fn take(&mut self, arrived: impl Fn(u32) -> bool) -> bool {
        let found = self.places.front().is_some_and(|p| arrived(*p));
        if found {
            self.places.pop_front();
        }
        found
    }

    /// The packets from `position` on will not arrive.
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
