//! Connection slots: which are free, and how many connections there are and were.

use forebay_experiment::streams::Draws;
use forebay_sampling::Rng;
use forebay_units::ConnSlot;

/// Which slots are free, and how many connections there are and were.
pub(super) struct ConnectionSlots {
    free: Vec<ConnSlot>,
    /// Connections so far.
    opened: u64,
    /// Open now, and the most there ever were.
    live: u64,
    peak: u64,
    /// Draws initial sequence numbers.
    rng: Rng,
}

impl ConnectionSlots {
    /// No connections yet.
    pub(super) fn new(seed: u64) -> ConnectionSlots {
        ConnectionSlots { free: Vec::new(), opened: 0, live: 0, peak: 0, rng: Draws::SequenceNumbers.stream(seed, &[]) }
    }

    /// A free slot, or `fresh`, the first that was never used, if there is none; and the number of the connection that gets it.
    pub(super) fn take(&mut self, fresh: ConnSlot) -> (ConnSlot, u64) {
        self.opened += 1;
        self.live += 1;
        self.peak = self.peak.max(self.live);
        (self.free.pop().unwrap_or(fresh), self.opened - 1)
    }

    /// Draws an initial sequence number.
    pub(super) fn sequence_number(&mut self) -> u32 {
        self.rng.next_u64() as u32
    }

    /// The connection in `slot` has ended.
    pub(super) fn give_back(&mut self, slot: ConnSlot) {
        self.live -= 1;
        self.free.push(slot);
    }

    /// The most connections that were open at the same time.
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }
}
