//! Results of an experiment, and the progress of a run.

use crate::capture::CapturedPacket;
use crate::check::InvalidExperiment;
use crate::rows::{DeliveryRow, EventRow, FlowRow, PacketRow, PortRow, QueryRow, QueueRow, TcpRow, TimeoutRow};
use crate::series::Series;
use forebay_types::{GroupId, IndexVec, NodeId, PortId, Time};
use std::fmt;

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Simulated time so far.
    pub now: Time,
    /// End of simulated time, when the scenario sets one.
    pub end: Option<Time>,
    /// Packet transmissions so far.
    pub packet_hops: u64,
    /// Finished messages so far.
    pub done: u64,
    /// Finite messages known in advance, 0 when unknown.
    pub total: u64,
    /// Cores in use.
    pub cores: usize,
    /// Additional bytes that a report of the results so far would take.
    pub to_report: u64,
}

/// Early end of a run by its observer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyEnd {
    /// End without a report.
    Discard,
    /// End with a report of the results so far.
    WithReport,
}

/// All results of a run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// One row per message.
    pub flows: Vec<FlowRow>,
    /// One row per port.
    pub ports: Vec<PortRow>,
    /// Queue samples.
    pub queue: Series<QueueRow>,
    /// TCP samples.
    pub tcp: Series<TcpRow>,
    /// Barrier rounds and requests.
    pub queries: Vec<QueryRow>,
    /// Retransmission timeouts in order of time, if `[observe]` records them.
    pub timeouts: Series<TimeoutRow>,
    /// Payload delivered over time, per workload and transport that it can use, in order of time; some hundred intervals at the most.
    pub deliveries: Vec<DeliveryRow>,
    /// Network events, in order of time.
    pub events: Vec<EventRow>,
    /// Packets that are queued or on the wire at the end, from backends that know them; otherwise empty.
    pub undelivered: Undelivered,
    /// TCP packets that reached their hosts, in order of time, if recorded.
    pub packets: Series<PacketRow>,
    /// Captured packets, in order of time, then of interface.
    pub captured: Series<CapturedPacket>,
    /// Statistics of ports, and `acked`, count from here to `end`: the end of the warm-up, or 0 if the run ended before it.
    pub measured_from: Time,
    /// Payload bytes that reached receivers from `measured_from` on, in order or not, per transport group.
    pub acked: IndexVec<GroupId, u64>,
    /// Simulated time at the end.
    pub end: Time,
    /// True if the run was ended early by [`EarlyEnd::WithReport`]; the results are partial.
    pub cut: bool,
    /// Packet transmissions: every packet, data or ACK, on every link.
    pub packet_hops: u64,
    /// Hash of the trajectory: equal for equal runs, whatever the machine or the number of threads.
    pub fingerprint: u64,
    /// Largest number of connections open at the same time.
    pub peak_connections: u64,
    /// Remark about the quality of the run where it depends on the machine, in words; otherwise empty.
    pub remark: String,
    /// Results of a backend that computes instead of running, without rows.
    pub predicted: Option<Predicted>,
}

/// Packets that have been sent, and have neither arrived nor been damaged, when the counters of ports are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undelivered {
    /// Time of the counters. It may be after the end of a run without a duration.
    pub until: Time,
    /// Wire bytes in the queue of each port, with all bytes of the packet in service.
    pub queued_bytes: IndexVec<PortId, u64>,
    /// Packets on their way to each node, in the queue of a port or on its link.
    pub packets: IndexVec<NodeId, u64>,
    /// Their wire bytes.
    pub bytes: IndexVec<NodeId, u64>,
}

/// Numbers without rows; `None` if unknown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Predicted {
    /// Goodput, bit/s, per transport group.
    pub goodput_bps: IndexVec<GroupId, Option<f64>>,
    /// Duration of a query, s, per transport group.
    pub query_s: IndexVec<GroupId, Option<f64>>,
    /// Port of the queue.
    pub port: Option<PortId>,
    /// Its mean queue, packets.
    pub queue_mean_pkts: Option<f64>,
    /// Its largest queue, packets.
    pub queue_max_pkts: Option<f64>,
}

impl Predicted {
    /// Hash of the numbers (FNV-1a over their bits), used instead of the hash of a trajectory.
    pub fn fingerprint(&self) -> u64 {
        let queue = [self.queue_mean_pkts, self.queue_max_pkts];
        let all = self.goodput_bps.iter().chain(&self.query_s).chain(&queue);
        let bytes = all.flat_map(|v| v.map_or([0xFF; 8], |v| v.to_bits().to_le_bytes()));
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    }
}

/// Reason why a run ended without a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// The progress callback ended the run.
    Interrupted,
    /// A host cannot reach another; the message names both.
    Unroutable(String),
    /// The experiment is invalid.
    Invalid(InvalidExperiment),
    /// The experiment names a congestion control or shim that the backend does not have, or refuses its parameters.
    Unknown(String),
    /// The backend is not available or failed; the message names the remedy.
    World(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Interrupted => f.write_str("interrupted"),
            RunError::Invalid(mistake) => mistake.fmt(f),
            RunError::Unroutable(why) | RunError::Unknown(why) | RunError::World(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for RunError {}

impl From<InvalidExperiment> for RunError {
    fn from(mistake: InvalidExperiment) -> RunError {
        RunError::Invalid(mistake)
    }
}
