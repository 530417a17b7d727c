//! Drop-tail: accept whatever fits.

use crate::{Discipline, Marking, Queue, QueueEntry};
use forebay_param::Entry;

/// First in, first out; a packet is lost only when the buffer is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropTail;

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry { name: "drop-tail", summary: "first in, first out; drops what does not fit", params: &[] },
    marking: Marking::Never,
    thresholds: &[],
    example: "\"drop-tail\"",
    build: |_, _| Ok(Queue::Fifo(Discipline::DropTail(DropTail))),
};
