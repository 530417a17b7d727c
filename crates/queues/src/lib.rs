//! Queue disciplines without I/O and clock: from an arriving packet and the state of its port they decide to accept, mark or drop it. Buffered
//! disciplines also choose the next packet. The simulator, the testbed and guest kernels use them.
//!
//! To add a discipline, create a file with its implementation and `ENTRY`, add `mod` and a line of [`REGISTRY`] here, and add a line to
//! [`FifoDiscipline`] or [`BufferedDiscipline`] in `discipline.rs`.
//!
//! The crate is compiled for guest kernels too, which have no standard library.

#![cfg_attr(not(test), no_std)]

#[macro_use]
extern crate alloc;

mod choke;
mod class_queues;
mod codel;
mod config;
mod dctcp_step;
mod discipline;
mod drop_tail;
mod dualpi2;
mod dwrr;
mod fq;
mod fq_codel;
mod heap;
mod lossy;
mod pfabric;
mod pi;
mod pie;
mod policer;
mod port_state;
mod protect;
mod pushout;
mod red;
#[cfg(test)]
mod registry_tests;
mod ring_buffer;
mod shared_buffer;
mod sorted_list;
mod strict_priority;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod trace_tests;
mod wfq;

pub use config::{CONFIG_WORDS, QueueConfig};
pub use discipline::*;
pub use port_state::{Arrival, Codepoint, DropReason, Effects, Handle, PortState, QueueState, Queued, Verdict};
pub use shared_buffer::{SharedBuffer, SharedPolicy};

use discipline::Fifo;
use port_state::PacketRef;

use alloc::string::String;
use forebay_types::QueueLen;
use forebay_types::param::{Entry, Kind, Param, QueueValue, Values};

/// Conditions under which a discipline sets CE, which some congestion controls require.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marking {
    /// For any parameters.
    Always,
    /// If its parameters enable it.
    IfSet,
    /// It cannot.
    Never,
}

/// Error of a combination of parameters, each of which is legal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueError {
    /// The parameter to change.
    pub key: &'static str,
    /// The error and the legal values.
    pub message: String,
}

impl QueueError {
    fn new(key: &'static str, message: impl Into<String>) -> QueueError {
        QueueError { key, message: message.into() }
    }
}

/// Registry entry of a discipline.
#[derive(Debug, Clone, Copy)]
pub struct QueueEntry {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// True if it can set CE. For a built queue see [`Queue::marks`].
    pub marking: Marking,
    /// Parameters that are compared with the queue, and so must not exceed the buffer.
    pub thresholds: &'static [&'static str],
    /// Example for a port with a buffer of 30 packets, used by tests and help texts.
    pub example: &'static str,
    /// Builds it for a port with this buffer (`None`: unlimited). Each parameter has been checked against `entry`; combinations are checked here.
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
    fq::ENTRY,
    pie::ENTRY,
    dualpi2::ENTRY,
    lossy::ENTRY,
    policer::ENTRY,
];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static QueueEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}

/// Builds the discipline of a port with this buffer; drop-tail without `value`.
///
/// # Errors
/// If the parameters contradict each other or the buffer.
///
/// # Panics
/// If the discipline is not in the registry, from which every `QueueValue` is made.
pub fn build(value: Option<&QueueValue>, buffer: Option<QueueLen>) -> Result<Queue, QueueError> {
    match value {
        None => Ok(Queue::Fifo(FifoDiscipline::DropTail(DropTail))),
        Some(q) => match find(q.kind) {
            Some(e) => (e.build)(&q.params, buffer),
            None => panic!("queue discipline `{}` is not in the registry", q.kind),
        },
    }
}

/// Lowest class of high-priority packets, for disciplines with two priorities. The default is that of 802.1Q for two queues.
pub(crate) const HIGH: Param = Param {
    key: "high",
    kind: Kind::Int(1, 7),
    default: Some("4"),
    doc: "packets of this class of service and above have high priority; the default is that of IEEE 802.1Q for two queues",
};

/// Step marking as an option of other disciplines.
pub(crate) const K: Param = Param {
    key: "k",
    kind: Kind::QueueLen,
    default: Some(""),
    doc: "queue length from which on packets are marked with CE, including the packet in service, as in `dctcp-step`. Default: no marking",
};
