//! Drop-tail: accepts every packet that fits.

use crate::{Arrival, Discipline, DropReason, Fifo, FifoDiscipline, Marking, PortState, Queue, QueueEntry, QueueState, Verdict};
use forebay_types::param::Entry;

/// First in, first out; a packet is lost only when the buffer is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropTail;

impl Discipline for DropTail {
    fn marks(&self) -> bool {
        false
    }
}

impl Fifo for DropTail {
    fn fast_path_limit(&self) -> QueueState {
        QueueState::UNLIMITED
    }

    fn is_step(&self) -> bool {
        true
    }

    fn on_arrival(&mut self, port: &PortState, packet: &Arrival) -> Verdict {
        if port.fits(packet.wire) { Verdict::Accept } else { Verdict::Drop(DropReason::Overflow) }
    }
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry { name: "drop-tail", summary: "first in, first out; drops packets that do not fit", params: &[] },
    marking: Marking::Never,
    thresholds: &[],
    example: "\"drop-tail\"",
    build: |_, _| Ok(Queue::Fifo(FifoDiscipline::DropTail(DropTail))),
};
