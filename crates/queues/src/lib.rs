//! Queue disciplines, sans-IO: given the state of a port and the facts of an arriving packet they accept, mark or drop it, and those
//! that hold the backlog themselves choose which packet is next. The simulator uses them, and so can a software switch.
//!
//! To add a discipline: one file, its `mod` and its line in [`REGISTRY`] here, and its line in the list of [`FifoDiscipline`] or
//! [`BufferedDiscipline`] in `discipline.rs`.

mod choke;
mod class_queues;
mod codel;
mod dctcp_step;
mod discipline;
mod drop_tail;
mod dwrr;
mod fq_codel;
mod heap;
mod lossy;
mod pfabric;
mod pie;
mod port_state;
mod protect;
mod pushout;
mod raw_params;
mod red;
mod ring_buffer;
mod shared_buffer;
mod sorted_list;
mod strict_priority;
#[cfg(test)]
mod testing;
mod wfq;

pub use discipline::*;
pub use port_state::{Arrival, Codepoint, DropReason, Effects, Handle, PortState, QueueState, Queued, Verdict};
pub use raw_params::RawParams;
pub use shared_buffer::{SharedBuffer, SharedPolicy};

use discipline::Fifo;
use port_state::PacketRef;

use forebay_param::{Entry, Kind, Param, QueueValue, Values};
use forebay_units::QueueLen;

/// Whether a discipline sets CE; laws that need marks require such a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marking {
    /// Whatever its parameters.
    Always,
    /// When its parameters say so.
    IfSet,
    /// It does not know how.
    Never,
}

/// Why checked parameters do not make a queue: which key, and what would be legal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueError {
    /// The parameter to change.
    pub key: &'static str,
    /// What is wrong and what is legal.
    pub message: String,
}

impl QueueError {
    fn new(key: &'static str, message: impl Into<String>) -> QueueError {
        QueueError { key, message: message.into() }
    }
}

/// A discipline in the registry: its description and how to build it from checked parameters.
#[derive(Debug, Clone, Copy)]
pub struct QueueEntry {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// Whether it can set CE. What was built says it exactly: [`Queue::marks`].
    pub marking: Marking,
    /// Parameters that are compared with the queue, and so must not lie above the buffer.
    pub thresholds: &'static [&'static str],
    /// How a scenario writes it for a port with a buffer of 30 packets: for tests and for help texts.
    pub example: &'static str,
    /// Builds it for a port with this buffer (`None`: unlimited). The parameters have been checked one by one against `entry`; what
    /// does not make sense together is refused.
    pub build: fn(&Values, Option<QueueLen>) -> Result<Queue, QueueError>,
}

/// All disciplines, in the order `forebay list` shows them.
pub const REGISTRY: &[QueueEntry] = &[
    drop_tail::ENTRY,
    dctcp_step::ENTRY,
    red::ENTRY,
    choke::ENTRY,
    choke::MULTI,
    strict_priority::ENTRY,
    dwrr::ENTRY,
    wfq::ENTRY,
    protect::ENTRY,
    pushout::ENTRY,
    pfabric::ENTRY,
    codel::ENTRY,
    fq_codel::ENTRY,
    pie::ENTRY,
    lossy::ENTRY,
];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static QueueEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}

/// Builds the discipline a scenario named for a port with this buffer; drop-tail when it named none.
///
/// # Errors
/// When the parameters do not make sense together or with the buffer.
///
/// # Panics
/// When the value names no registered discipline; `QueueValue` is only made from the registry.
pub fn build(value: Option<&QueueValue>, buffer: Option<QueueLen>) -> Result<Queue, QueueError> {
    match value {
        None => Ok(Queue::Fifo(FifoDiscipline::DropTail(DropTail))),
        Some(q) => match find(q.kind) {
            Some(e) => (e.build)(&q.params, buffer),
            None => panic!("queue discipline `{}` is not in the registry", q.kind),
        },
    }
}

/// From this class on a packet is high, for disciplines that know two kinds. As in 802.1Q with two queues: 4 to 7 are.
pub(crate) const HIGH: Param = Param {
    key: "high",
    kind: Kind::Int(1, 7),
    default: Some("4"),
    doc: "packets of this class of service and above are high; the default divides the classes as IEEE 802.1Q does for two queues",
};

/// Step marking as an option of other disciplines.
pub(crate) const K: Param = Param {
    key: "k",
    kind: Kind::QueueLen,
    default: Some(""),
    doc: "marks CE from this length of the queue on, in service included, as `dctcp-step` does. Default: no marking",
};
