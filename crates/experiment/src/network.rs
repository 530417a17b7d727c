//! The network of an experiment: hosts, switches and the directed links between them.

use crate::faults::Faults;
use forebay_queues::{Queue, QueueConfig, SharedBuffer};
use forebay_types::{IndexVec, NodeId, PortId, QueueLen, Rate, Time};

/// Hosts, switches and the directed links between them.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// All nodes.
    pub nodes: IndexVec<NodeId, Node>,
    /// All egress ports, each one direction of a link.
    pub ports: IndexVec<PortId, PortConfig>,
    /// Named groups of hosts that workloads can refer to, such as `senders`. `all` is added by the scenario crate.
    pub host_groups: Vec<(String, Vec<NodeId>)>,
    /// Ports that carry a short name, such as `bottleneck`; reports and `[observe]` use it.
    pub named_ports: Vec<(String, PortId)>,
    /// Failures, bit errors and load balancing.
    pub faults: Faults,
    /// ECMP hash of the switches.
    pub hashing: Hashing,
    /// Order of packets that reach a switch at the same instant.
    pub ties: Ties,
}

/// Order of packets that reach a switch at the same instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ties {
    /// The link that has been idle for longest comes first; equal ones are ordered by a draw of the seed.
    #[default]
    Drawn,
    /// The connection that was opened first comes first, with its data before its ACKs.
    Index,
}

impl Ties {
    /// Names in scenarios.
    pub const NAMES: &[(&str, Ties)] = &[("drawn", Ties::Drawn), ("index", Ties::Index)];
}

/// ECMP hash of the switches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hashing {
    /// Seed of the port numbers of connections; `None`: the seed of the run.
    pub seed: Option<u64>,
    /// Hash functions of the switches.
    pub function: HashFunction,
}

/// Hash functions of the switches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HashFunction {
    /// Each switch has a function of its own.
    #[default]
    PerSwitch,
    /// All switches have the same function. Flows that reach a switch have then made equal choices before, and use a part of its ports only (hash
    /// polarization).
    SameEverywhere,
}

impl HashFunction {
    /// Names in scenarios.
    pub const NAMES: &[(&str, HashFunction)] =
        &[("per-switch", HashFunction::PerSwitch), ("same-everywhere", HashFunction::SameEverywhere)];
}

/// A host or a switch.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Unique name, such as `h3` or `leaf0`.
    pub name: String,
    /// True for a host, false for a switch.
    pub host: bool,
    /// Shared packet memory of a switch.
    pub shared_buffer: Option<SharedBuffer>,
}

/// An egress port and the link behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct PortConfig {
    /// Node that transmits.
    pub from: NodeId,
    /// Node that receives.
    pub to: NodeId,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
    /// Buffer of the queue, waiting and in service; `None`: unlimited.
    pub buffer: Option<QueueLen>,
    /// Discipline of the queue, in its initial state.
    pub queue: Queue,
    /// Configuration from which the queue was built, for kernels that build their own.
    pub queue_config: QueueConfig,
}

impl PortConfig {
    /// Longest propagation delay: 10 s is beyond every terrestrial path and far from overflowing simulated time.
    pub const MAX_DELAY: Time = Time::from_secs(10);

    /// Returns true if packets leave in the order of their arrival, and none is dropped after it was queued: the delay of a packet follows from the
    /// queue that it finds.
    pub fn serves_in_order(&self) -> bool {
        matches!(self.queue, Queue::Fifo(_))
    }

    /// Sets the defaults of the queue that depend on the network: `senders` hosts may send full packets of `packet` bytes.
    pub fn set_queue_defaults(&mut self, senders: u64, packet: u64) {
        self.queue.set_defaults(senders, packet);
        self.queue_config.set_defaults(senders, packet);
    }
}
