//! What running an experiment leaves behind, and how far it is on the way.

use crate::check::InvalidExperiment;
use crate::rows::{DeliveryRow, EventRow, FlowRow, PacketRow, PortRow, QueryRow, QueueRow, TcpRow, TimeoutRow};
use crate::series::Series;
use forebay_types::{GroupId, IndexVec, PortId, Time};
use std::fmt;

/// How far a run is.
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
    /// Cores that the run uses by now.
    pub cores: usize,
    /// Bytes that a report of what has run so far would take beside what is there now.
    pub to_report: u64,
}

/// How whoever watches a run ends it before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// There is no report.
    Abandon,
    /// The report is of what has run by now.
    Keep,
}

/// Everything a run produced.
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
    /// Retransmission timeouts in order of time, where `[observe]` asks for them.
    pub timeouts: Series<TimeoutRow>,
    /// Payload delivered over time, per workload and transport that it can use, in order of time; some hundred intervals at the most.
    pub deliveries: Vec<DeliveryRow>,
    /// What happened to the network, in order of time.
    pub events: Vec<EventRow>,
    /// Packets of TCP that reached their hosts, in order of time, where they are asked for.
    pub packets: Series<PacketRow>,
    /// Statistics of ports, and `acked`, count from here to `end`: the end of the warm-up, or 0 if the run ended before it.
    pub measured_from: Time,
    /// Payload bytes that reached receivers from `measured_from` on, in order or not, per transport group.
    pub acked: IndexVec<GroupId, u64>,
    /// Simulated time at the end.
    pub end: Time,
    /// True if the run was ended before its end, with what it had by then: [`Cut::Keep`].
    pub cut: bool,
    /// Packet transmissions: every packet, data or ACK, on every link.
    pub packet_hops: u64,
    /// Hash of the trajectory: equal for equal runs, whatever the machine or the number of threads.
    pub fingerprint: u64,
    /// Largest number of connections open at the same time.
    pub peak_connections: u64,
    /// How well the world could run it, in words, where that depends on the machine, or what of it was skipped; empty otherwise.
    pub remark: String,
    /// What a world knows that computes instead of running; it leaves no rows, and nothing is counted.
    pub predicted: Option<Predicted>,
}

/// Numbers without rows behind them; `None` where nothing is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Predicted {
    /// Goodput, bit/s, per transport group.
    pub goodput_bps: IndexVec<GroupId, Option<f64>>,
    /// Duration of a query, s, per transport group.
    pub query_s: IndexVec<GroupId, Option<f64>>,
    /// The port that the queue is of.
    pub port: Option<PortId>,
    /// Its mean queue, packets.
    pub queue_mean_pkts: Option<f64>,
    /// Its largest queue, packets.
    pub queue_max_pkts: Option<f64>,
}

impl Predicted {
    /// A hash of the numbers (FNV-1a over their bits), in the place of that of a trajectory.
    pub fn fingerprint(&self) -> u64 {
        let queue = [self.queue_mean_pkts, self.queue_max_pkts];
        let all = self.goodput_bps.iter().chain(&self.query_s).chain(&queue);
        let bytes = all.flat_map(|v| v.map_or([0xFF; 8], |v| v.to_bits().to_le_bytes()));
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    }
}

/// Why a run ended without a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// The progress callback asked to stop.
    Interrupted,
    /// Some host cannot reach another; the message names them.
    Unroutable(String),
    /// The experiment is not correct.
    InvalidExperiment(InvalidExperiment),
    /// The experiment names a congestion control or a shim that the world does not have, or gives it parameters that it refuses.
    Unknown(String),
    /// The world itself is not there, or broke down; in words, with what to do.
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
