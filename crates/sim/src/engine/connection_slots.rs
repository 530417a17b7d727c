//! Allocation of connection slots.

use forebay_experiment::streams::RngStream;
use forebay_types::{ConnSlot, Rng};

/// Free slots, and counters of connections.
pub(super) struct ConnectionSlots {
    free: Vec<ConnSlot>,
    /// Connections opened so far.
    opened: u64,
    /// Connections that are open now, and the maximum so far.
    live: u64,
    peak: u64,
    /// Random numbers for initial sequence numbers.
    rng: Rng,
}

impl ConnectionSlots {
    /// Creates an allocator without connections.
    pub(super) fn new(seed: u64) -> ConnectionSlots {
        ConnectionSlots { free: Vec::new(), opened: 0, live: 0, peak: 0, rng: RngStream::SequenceNumbers.stream(seed, &[]) }
    }

    /// Allocates a free slot, or `fresh`, the first unused one, if there is none. Returns it with the number of the new connection.
    pub(super) fn allocate(&mut self, fresh: ConnSlot) -> (ConnSlot, u64) {
        self.opened += 1;
        self.live += 1;
        self.peak = self.peak.max(self.live);
        (self.free.pop().unwrap_or(fresh), self.opened - 1)
    }

    /// Draws an initial sequence number.
    pub(super) fn sequence_number(&mut self) -> u32 {
        self.rng.next_u64() as u32
    }

    /// Releases the slot of a closed connection.
    pub(super) fn release(&mut self, slot: ConnSlot) {
        self.live -= 1;
        self.free.push(slot);
    }

    /// Maximum number of connections that were open at the same time.
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }
}
