//! Values of a summary, of each transport group and of the network.

use forebay_types::{GroupId, IndexVec};

/// Mean, quantiles and maximum of completion times. A message still running at the end counts with the time so far, so that its completion
/// time is at least that long. A value that would be larger if it never ended is a lower bound (`LowerBound`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile, of at least a thousand values.
    pub p999: Option<f64>,
    /// Largest value; `None` for a prediction.
    pub max: Option<f64>,
    /// Fraction of the values still running, or of their sum if that is larger.
    pub running: f64,
    /// Largest of the quantiles 0.5, 0.99 and 0.999 that does not depend on running values: 0 for neither, 1 when nothing was running.
    pub known: f64,
}

/// Results of one transport group in one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupSummary {
    /// Name of the group.
    pub name: String,
    /// Payload acknowledged after the warm-up, bits per second of simulated time.
    pub goodput_bps: Option<f64>,
    /// The same over the time from the start of its first message to the end of its last one, where this is shorter.
    pub active_goodput_bps: Option<f64>,
    /// Maximum goodput of the links between its hosts, bits per second.
    pub goodput_max_bps: Option<f64>,
    /// The run left no rows: its values are predictions, and counts are unknown.
    pub uncounted: bool,
    /// Endless flows that were active in the measured time.
    pub long_flows: u64,
    /// Mean goodput of its endless flows, each over the part of the measured time in which it was active, bits per second.
    pub long_goodput_bps: Option<f64>,
    /// Fraction of the time of its long flows in which the receive window limited them; `None` where it is unknown.
    pub rwnd_limited: Option<f64>,
    /// Fraction of the time of its long flows in which the send buffer limited them; `None` where it is unknown.
    pub sndbuf_limited: Option<f64>,
    /// Fraction of its datagrams that did not arrive; `None` without any.
    pub datagrams_lost: Option<f64>,
    /// Ratio to the first group, where there are several groups.
    pub long_goodput_ratio: Option<f64>,
    /// Jain's index of the goodputs of its endless flows, when there are at least two and all were active at one time.
    pub fairness: Option<f64>,
    /// Finite messages outside queries that started.
    pub flows: u64,
    /// Maximum number of them that the workloads of the group start; `None` where a workload sets no number.
    pub flows_max: Option<u64>,
    /// Of those, completed.
    pub flows_completed: u64,
    /// Messages with a deadline and a known outcome.
    pub deadlines: u64,
    /// Of those, late.
    pub deadlines_missed: u64,
    /// Queries (barrier rounds, exchanges) that started and in which the group has messages. Before its first message is written, a query counts
    /// for every group of its workload.
    pub queries: u64,
    /// Maximum number of queries, as for flows.
    pub queries_max: Option<u64>,
    /// Of those, completed.
    pub queries_completed: u64,
    /// Time from the start of the first message to the end of the last one, in seconds, where the workloads set the number of messages and there are
    /// several; and whether all had ended.
    pub makespan: Option<(f64, bool)>,
    /// Retransmission timeouts of all messages.
    pub rtos: u64,
    /// Tail loss probes.
    pub tlps: u64,
    /// Timeouts of SYNs.
    pub syn_rtos: u64,
    /// Mean over its queries of the largest number of timeouts of one message (PRIN, metric of section 4).
    pub query_timeouts: Option<f64>,
    /// Retransmitted segments.
    pub segs_retx: u64,
    /// Completion times in seconds, per size bin: finite messages outside queries.
    pub fct: [Option<Spread>; 3],
    /// Slowdowns of the same messages.
    pub slowdown: Option<Spread>,
    /// Completion times of its queries in seconds.
    pub qct: Option<Spread>,
    /// Completion times of its messages in queries, in seconds, where several groups share a query, which ends with the last message of any group.
    pub part: Option<Spread>,
}

/// Network metrics, which the groups of a run share.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NetworkSummary {
    /// Port of the queue metrics. It is the port named `bottleneck`, else the only one whose occupancy was observed. Else it is the observed port
    /// with the largest 99th percentile (then the most drops, the largest mean queue), else the port with the largest mean queue.
    pub port: String,
    /// Maximum number of packets that it can hold; `None` where it is unlimited.
    pub queue_limit: Option<f64>,
    /// Time average of its queue in packets.
    pub queue_mean: Option<f64>,
    /// Time-weighted 99th percentile of its queue in packets, where observed.
    pub queue_p99: Option<f64>,
    /// Its largest queue in packets.
    pub queue_max: Option<f64>,
    /// Fraction of time in which it transmitted.
    pub utilization: Option<f64>,
    /// The same over the time in which there was work, where this is shorter.
    pub active_utilization: Option<f64>,
    /// As [`GroupSummary::uncounted`].
    pub uncounted: bool,
    /// Packets dropped at all ports.
    pub drops: u64,
    /// Congestion marks set at all ports.
    pub marks: u64,
    /// Jain's index over the endless flows of all groups, where several groups have some, under the conditions of [`GroupSummary::fairness`].
    pub fairness: Option<f64>,
}

/// A workload of a group that carries several with messages or queries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClassSummary {
    /// The group.
    pub group: GroupId,
    /// Name of the workload.
    pub class: String,
    /// Its results alone.
    pub summary: GroupSummary,
}

/// Summary of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// Per transport group, in the order of the configuration.
    pub groups: IndexVec<GroupId, GroupSummary>,
    /// Workloads of the groups that carry several with messages or queries, in the order of groups and workloads.
    pub classes: Vec<ClassSummary>,
    /// The switches.
    pub network: NetworkSummary,
}
