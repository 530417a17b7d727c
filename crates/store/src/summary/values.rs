//! What a run comes to: the numbers of each transport group and of the network, before they have names.

use forebay_types::{GroupId, IndexVec};

/// Mean, median and 99th percentile of completion times. What was still running at the end counts with the time that it had taken so far:
/// its completion time is at least that long. A number that would be larger if it had never ended is at least as large as shown (`LowerBound`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Part of the values that was still running.
    pub running: f64,
    /// Up to which of the quantiles 0.5 and 0.99 they stay as they are if what was still running never ends: 0 for neither, 1 when nothing
    /// was running.
    pub known: f64,
}

/// What the flows of one transport group achieved in one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupSummary {
    /// Name of the group.
    pub name: String,
    /// Payload acknowledged after the warm-up, bits per second of simulated time.
    pub goodput_bps: Option<f64>,
    /// The most that the links between its hosts carry of it, bits per second.
    pub goodput_max_bps: Option<f64>,
    /// The run left no rows: its numbers are predictions, and what is counted is unknown.
    pub uncounted: bool,
    /// Endless flows that were active in the measured time.
    pub long_flows: u64,
    /// Mean goodput of its endless flows, each over the part of the measured time in which it was active, bits per second.
    pub long_goodput_bps: Option<f64>,
    /// That over the first group's, where there are several groups.
    pub long_goodput_ratio: Option<f64>,
    /// Jain's index of the goodputs of its endless flows, when there are at least two and all were active at one time.
    pub fairness: Option<f64>,
    /// Finite messages outside queries that started.
    pub flows: u64,
    /// The most of them that the workloads that it may have a part in ask for; `None` where one asks for no number.
    pub flows_max: Option<u64>,
    /// Of those, completed.
    pub flows_completed: u64,
    /// Messages with a deadline of which is known whether they met it.
    pub deadlines: u64,
    /// Of those, late.
    pub deadlines_missed: u64,
    /// Queries (barrier rounds, exchanges) that started and that the group has messages in; before the first message of a query is
    /// written, it counts for every group that its workload uses.
    pub queries: u64,
    /// As of flows: the most of them.
    pub queries_max: Option<u64>,
    /// Of those, completed.
    pub queries_completed: u64,
    /// Retransmission timeouts of all messages.
    pub rtos: u64,
    /// Tail loss probes.
    pub tlps: u64,
    /// Timeouts of SYNs.
    pub syn_rtos: u64,
    /// For each of its queries the most timeouts of one of its messages, averaged (PRIN, metric of section 4).
    pub query_timeouts: Option<f64>,
    /// Retransmitted segments.
    pub segs_retx: u64,
    /// Completion times in seconds, per size bin: finite messages outside queries.
    pub fct: [Option<Spread>; 3],
    /// Slowdowns of the same messages.
    pub slowdown: Option<Spread>,
    /// Completion times of its queries in seconds.
    pub qct: Option<Spread>,
    /// Completion times of its messages in queries, in seconds, where groups meet in a query: the query ends with the last
    /// message of any group.
    pub part: Option<Spread>,
}

/// What the groups of a run share: the switches, and how fairly.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NetworkSummary {
    /// Name of the port the queue numbers are of: `bottleneck` if a port is called so, else the only one whose occupancy was observed,
    /// else of those the one with the largest 99th percentile (then the most drops, the largest mean queue), else the one with the largest
    /// mean queue.
    pub port: String,
    /// The most packets that it can hold; `None` where it is unlimited.
    pub queue_limit: Option<f64>,
    /// Time average of its queue in packets.
    pub queue_mean: Option<f64>,
    /// Time-weighted 99th percentile of its queue in packets, where observed.
    pub queue_p99: Option<f64>,
    /// Its largest queue in packets.
    pub queue_max: Option<f64>,
    /// Fraction of time it transmitted.
    pub utilization: Option<f64>,
    /// As [`GroupSummary::uncounted`].
    pub uncounted: bool,
    /// Packets dropped at all ports.
    pub drops: u64,
    /// Congestion marks set at all ports.
    pub marks: u64,
    /// Jain's index over the endless flows of all groups, where several groups have some; conditions as in [`GroupSummary::fairness`].
    pub fairness: Option<f64>,
}

/// One run in numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// Per transport group, in the order of the configuration.
    pub groups: IndexVec<GroupId, GroupSummary>,
    /// The switches.
    pub network: NetworkSummary,
}
