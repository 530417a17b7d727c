//! Queue disciplines, sans-IO: given the state of a queue and the facts of an arriving packet they say accept, mark or drop.
//! The simulator uses them, and so can a software switch.
//!
//! To add a discipline: one file, one line in [`REGISTRY`], one variant in [`Discipline`].

mod dctcp_step;
mod discipline;
mod drop_tail;
mod shared_buffer;

pub use dctcp_step::DctcpStep;
pub use discipline::{Arrival, Discipline, DropReason, QueueState, Verdict};
pub use drop_tail::DropTail;
pub use shared_buffer::{SharedBuffer, SharedPolicy};

use forebay_param::{Entry, QueueValue};

/// A discipline in the registry: its description and how to build it from checked parameters.
#[derive(Debug, Clone, Copy)]
pub struct QueueEntry {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// Whether it can set CE; laws that need marks require such a queue.
    pub marks: bool,
    /// Builds it; the parameters have been checked against `entry`.
    pub build: fn(&forebay_param::Values) -> Discipline,
}

/// All disciplines, in the order `forebay list` shows them.
pub const REGISTRY: &[QueueEntry] = &[drop_tail::ENTRY, dctcp_step::ENTRY];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static QueueEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}

/// Builds the discipline a scenario named; drop-tail when it named none.
///
/// # Panics
/// When the value names no registered discipline; `QueueValue` is only made from the registry.
pub fn build(value: Option<&QueueValue>) -> Discipline {
    match value {
        None => Discipline::DropTail(DropTail),
        Some(q) => match find(q.kind) {
            Some(e) => (e.build)(&q.params),
            None => panic!("queue discipline `{}` is not in the registry", q.kind),
        },
    }
}
