//! Data of all compared runs, for sentences and figures. Rows refer to subjects, runs and networks by index.

use forebay_experiment::rows::TimeoutKind;
use forebay_experiment::waits::Cause;
use forebay_store::KnownFigure;
use forebay_store::summary::{Dimension, GROUP_METRICS, LowerBound, NETWORK_METRICS, ValueRange};

/// All data read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Data {
    /// Compared subjects.
    pub subjects: Vec<Subject>,
    /// Variants of directories; the subjects of one share its links.
    pub networks: Vec<Network>,
    /// Networks with a seed.
    pub runs: Vec<Run>,
    /// Messages.
    pub flows: Vec<Flow>,
    /// Barrier rounds and exchanges.
    pub queries: Vec<Query>,
    /// Links, one direction each.
    pub ports: Vec<Port>,
    /// Time series of queues.
    pub queues: Vec<QueueSeries>,
    /// Time series of senders.
    pub senders: Vec<SenderSeries>,
    /// Goodput over time, per workload and transport.
    pub goodput: Vec<GoodputSeries>,
    /// Timeouts, by run and time.
    pub timeouts: Vec<Timeout>,
    /// Expired timers of senders that are no timeouts, by run and time: tail loss probes and RACK's reordering timer.
    pub probes: Vec<Timeout>,
    /// Paths of the directories.
    pub paths: Vec<String>,
    /// Names of hosts, to which flows refer.
    pub hosts: Vec<String>,
    /// Names of ports at which messages were delayed, to which flows refer.
    pub places: Vec<String>,
    /// Names of workloads, to which flows and queries refer.
    pub classes: Vec<String>,
    /// Workloads with a set number of messages, by network and name.
    pub fixed_work: Vec<(usize, String)>,
    /// True if the results have causes of delay; those of kernels do not.
    pub waits: bool,
    /// Deadlines of messages, by subject and workload.
    pub deadlines: Vec<Deadline>,
    /// Network events, one line each.
    pub events: Vec<String>,
    /// Links that lose packets, with their packets over all seeds, most first.
    pub losing_links: Vec<(String, u64)>,
    /// Hosts that dropped packets of handshakes because an accept queue was full, with these packets over all seeds, most first.
    pub listen_overflows: Vec<(String, u64)>,
    /// Figures that `[stop]` made known, or not.
    pub known: Vec<KnownFigure>,
    /// Notes on omitted data.
    pub notes: Vec<String>,
    /// Notes for the headline: one for each directory whose messages were not read.
    pub unread: Vec<String>,
}

/// A transport group of a network.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Subject {
    /// Name, unique.
    pub name: String,
    /// Name of the group alone.
    pub group: String,
    /// Index of its network.
    pub network: usize,
    /// Values of the seeds for each metric of [`metrics`].
    pub values: Vec<Vec<f64>>,
    /// Maximum pacing rate of its connections, bit/s.
    pub max_pacing_bps: Option<f64>,
    /// True if its ECN is that of DCTCP, which needs marks.
    pub dctcp_ecn: bool,
    /// Least idle time after which its windows restart at the initial one, s: the minimum RTO. `None` if they do not restart.
    pub idle_restart_s: Option<f64>,
    /// True if Nagle's algorithm holds the end of messages that its applications write by several calls.
    pub nagle_holds: bool,
}

/// Name of the port of queue metrics where each seed has its own.
pub const FULLEST_PORT: &str = "the fullest port";

/// A variant of a directory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Network {
    /// Name, unique; empty when there is only one.
    pub name: String,
    /// Index of the directory.
    pub dir: usize,
    /// Name of the variant.
    pub variant: String,
    /// Index of its first subject.
    pub first: usize,
    /// Number of its subjects.
    pub groups: usize,
    /// Port of its queue metrics.
    pub port: String,
    /// Backend that ran it, such as `sim`.
    pub world: String,
    /// Warm-up as in the scenario, such as `400ms`; empty without one.
    pub warmup: String,
}

/// One seed of a network.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// Index of the network.
    pub network: usize,
    /// Repetition, from 0.
    pub number: u32,
    /// Seed.
    pub seed: u64,
    /// Simulated time at its end, ns.
    pub end_ns: i64,
    /// End of its warm-up, ns.
    pub measured_from_ns: i64,
}

/// A message.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Flow {
    /// Index of the subject.
    pub subject: usize,
    /// Index of the run.
    pub run: usize,
    /// Its `flow_id`.
    pub id: u64,
    /// The `query_id` of its query.
    pub query: Option<u32>,
    /// Payload, bytes; 0 for an endless flow.
    pub size: u64,
    /// Number of its connection; `None` if unknown.
    pub conn: Option<u64>,
    /// Start, ns.
    pub start_ns: i64,
    /// Time at which everything was acknowledged, ns; `None` if never.
    pub acked_ns: Option<i64>,
    /// Completion time, s; `None` if unfinished.
    pub fct: Option<f64>,
    /// Completion time over the ideal one; `None` if unfinished.
    pub slowdown: Option<f64>,
    /// Ideal time over an unloaded path, s.
    pub ideal_s: f64,
    /// Bytes acknowledged after the warm-up.
    pub measured: u64,
    /// True if it belongs to a query.
    pub in_query: bool,
    /// True for a request.
    pub request: bool,
    /// Index of its workload; `None` if unknown.
    pub class: Option<u32>,
    /// Index of the sending host; `None` if unknown.
    pub from: Option<u32>,
    /// Index of the receiving host; `None` if unknown.
    pub to: Option<u32>,
    /// Bytes acknowledged in total.
    pub acked: u64,
    /// True for a message that the run is too short for, even on an unloaded network; it counts as endless.
    pub unreachable: bool,
    /// True for an endless flow with congestion control that was not stopped.
    pub greedy: bool,
    /// Part of its time in which the receive window limited the sender, s; `None` where it is unknown.
    pub rwnd_limited_s: Option<f64>,
    /// Part of its time in which the send buffer limited the sender, s; `None` where it is unknown.
    pub sndbuf_limited_s: Option<f64>,
    /// Smallest round-trip time of its sender, s; `None` without a sample.
    pub rtt_min_s: Option<f64>,
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// True if it missed its deadline, or, without a deadline, if one cause delayed it by more than its ideal time.
    pub late: bool,
    /// Main cause of its delay.
    pub waited: Option<Cause>,
    /// Index of the port of the delay; `None` for causes without a port.
    pub delay_port: Option<u32>,
    /// If earlier messages of the connection delayed it: their main cause of delay, with its port.
    pub blocked_by: Option<(Cause, Option<u32>)>,
}

impl Flow {
    /// Arrival of the last byte of a finite message, ns; `None` while in flight.
    pub(crate) fn end_ns(&self) -> Option<i64> {
        self.fct.filter(|_| self.size > 0).map(|fct| self.start_ns + (fct * 1e9).round() as i64)
    }

    /// True for a finite message that has arrived.
    pub fn complete(&self) -> bool {
        self.size > 0 && self.fct.is_some()
    }
}

/// A barrier round or an exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Query {
    /// Index of the run.
    pub run: usize,
    /// Its `query_id`.
    pub id: u64,
    /// Index of its workload; `None` if unknown.
    pub class: Option<u32>,
    /// Start, ns.
    pub start_ns: i64,
    /// Completion time, s; `None` if unfinished.
    pub qct: Option<f64>,
    /// Payload of all responses, bytes.
    pub bytes: u64,
    /// Subjects with messages in it: bit i for the i-th of the network.
    pub groups: u64,
    /// Index of the host that receives its messages; `None` for several receivers or without messages.
    pub receiver: Option<u32>,
    /// Main cause of delay of its slowest message.
    pub waited: Option<Cause>,
    /// Index of the port of the delay; `None` for causes without a port.
    pub delay_port: Option<u32>,
    /// As of messages.
    pub blocked_by: Option<(Cause, Option<u32>)>,
    /// Delay by that cause, s.
    pub delay_s: f64,
    /// Largest ideal time of its responses, plus that of its requests, s.
    pub ideal_s: f64,
}

/// A direction of a link, over all seeds of a network.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Port {
    /// Index of the network.
    pub network: usize,
    /// Number of the port in its network.
    pub id: u64,
    /// Name.
    pub name: String,
    /// Transmitting node.
    pub from: String,
    /// Receiving node.
    pub to: String,
    /// True for a switch.
    pub from_switch: bool,
    /// True for a switch.
    pub to_switch: bool,
    /// Rate, bit/s.
    pub rate_bps: f64,
    /// Changes of the rate: time, s, and rate from then on, bit/s.
    pub rate_changes: Vec<(f64, f64)>,
    /// Rate of its policer, bit/s.
    pub policed_bps: Option<f64>,
    /// Mean over the seeds of the fraction of time it transmitted.
    pub utilization: f64,
    /// Mean over the seeds of the packets dropped.
    pub drops: f64,
    /// Mean over the seeds of the marks set.
    pub marks: f64,
    /// Mean over the seeds of the mean queue, packets.
    pub queue_mean: f64,
    /// Mean over the seeds of the queue's 99th percentile, packets; `None` where its occupancy was not observed.
    pub queue_p99: Option<f64>,
    /// Mean over the seeds of the largest queue, packets.
    pub queue_max: f64,
    /// Number of seeds.
    pub seeds: u32,
    /// Thresholds and limits of the queue, in packets; byte limits are converted with the mean packet size.
    pub limits: Limits,
    /// Names and lengths of other thresholds, in packets: on the average queue, or on single queues.
    pub thresholds: Vec<(String, f64)>,
}

impl Port {
    /// Most that it carries, bit/s: the rate of the link, or of its policer.
    pub(crate) fn capacity_bps(&self) -> f64 {
        self.policed_bps.map_or(self.rate_bps, |policed| policed.min(self.rate_bps))
    }

    /// Used fraction of that.
    pub(crate) fn used(&self) -> f64 {
        let capacity = self.capacity_bps();
        if capacity < self.rate_bps { (self.utilization * self.rate_bps / capacity).min(1.0) } else { self.utilization }
    }
}

/// Deadlines of the messages of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deadline {
    /// Index of the subject.
    pub subject: usize,
    /// Index of the workload.
    pub class: u32,
    /// Longest deadline, from the start of its message, ns.
    pub longest_ns: i64,
    /// Number of messages with a known outcome.
    pub known: usize,
    /// Of those, late.
    pub missed: usize,
}

/// Thresholds and limits of a queue, packets; `None` where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Marking threshold K.
    pub mark: Option<f64>,
    /// The port's own buffer.
    pub buffer: Option<f64>,
    /// Maximum queue of the port in its switch's shared buffer while all other ports are empty.
    pub shared: Option<f64>,
}

/// Goodput of a workload by a transport over a port, over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GoodputSeries {
    /// Index of the run.
    pub run: usize,
    /// Index of the subject.
    pub subject: usize,
    /// Index of the workload.
    pub class: u32,
    /// Name of the port; `None` for all ports together.
    pub port: Option<String>,
    /// Starts and ends of the intervals, ns.
    pub intervals: Vec<(i64, i64)>,
    /// Goodput in each, bit/s.
    pub bps: Vec<f64>,
}

impl GoodputSeries {
    /// Payload of all intervals, bits.
    pub fn bits(&self) -> f64 {
        self.intervals.iter().zip(&self.bps).map(|((from, to), bps)| (to - from) as f64 * 1e-9 * bps).sum()
    }
}

/// The queue of a port in a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueueSeries {
    /// Index of the run.
    pub run: usize,
    /// Name of the port.
    pub port: String,
    /// Sample times, ns.
    pub times: Vec<i64>,
    /// Packets.
    pub pkts: Vec<f64>,
    /// Drops so far.
    pub drops: Vec<u64>,
    /// Marks so far.
    pub marks: Vec<u64>,
}

/// The state of a sender in a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SenderSeries {
    /// Index of the run.
    pub run: usize,
    /// Index of the subject.
    pub subject: usize,
    /// Connection.
    pub conn: i64,
    /// Sample times, ns.
    pub times: Vec<i64>,
    /// Congestion window, segments.
    pub cwnd: Vec<Option<f64>>,
    /// Marked fraction estimated by the congestion control.
    pub alpha: Vec<Option<f64>>,
    /// Smoothed RTT, s.
    pub srtt: Vec<Option<f64>>,
}

/// A retransmission timeout, or a tail loss probe.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Timeout {
    /// Index of the run.
    pub run: usize,
    /// Index of the subject.
    pub subject: usize,
    /// Connection.
    pub conn: i64,
    /// The `flow_id` of its message; `None` for a connection without one.
    pub flow: Option<u64>,
    /// Timer that expired.
    pub kind: TimeoutKind,
    /// When, ns.
    pub time_ns: i64,
    /// Timer value, s.
    pub rto: f64,
}

/// A metric of the summary, of a group or of the network.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Name of its column.
    pub name: &'static str,
    /// Label; `{first}` stands for the name of the first group.
    pub label: &'static str,
    /// Unit.
    pub unit: Dimension,
    /// One sentence.
    pub doc: &'static str,
    /// Omitted when all values are 0.
    pub if_any: bool,
    /// True for a metric of the network.
    pub shared: bool,
    /// Condition under which it is a lower bound.
    pub bound: Option<LowerBound>,
    /// Range of possible values.
    pub range: ValueRange,
}

/// All metrics, in the order of the printed table.
pub fn metrics() -> impl Iterator<Item = Metric> {
    let own = GROUP_METRICS.iter().map(|m| Metric {
        name: m.name,
        label: m.label,
        unit: m.unit,
        doc: m.doc,
        if_any: m.if_any,
        shared: false,
        bound: m.bound,
        range: m.range,
    });
    let shared = NETWORK_METRICS.iter().map(|m| Metric {
        name: m.name,
        label: m.label,
        unit: m.unit,
        doc: m.doc,
        if_any: m.if_any,
        shared: true,
        bound: m.bound,
        range: m.range,
    });
    own.chain(shared)
}

impl Data {
    /// Values of a metric over the seeds of a subject; empty for an unknown metric.
    pub fn values(&self, subject: usize, metric: &str) -> &[f64] {
        let index = metrics().position(|m| m.name == metric);
        index.and_then(|i| self.subjects[subject].values.get(i)).map_or(&[], Vec::as_slice)
    }

    /// Largest number of seeds of a network.
    pub fn seeds(&self) -> usize {
        (0..self.networks.len()).map(|n| self.runs.iter().filter(|r| r.network == n).count()).max().unwrap_or(0)
    }

    /// The name of a workload, if it is known.
    pub fn class(&self, class: Option<u32>) -> Option<&str> {
        self.classes.get(class? as usize).map(String::as_str)
    }

    /// The name of a host, if it is known.
    pub fn host(&self, host: Option<u32>) -> Option<&str> {
        self.hosts.get(host? as usize).map(String::as_str)
    }

    /// The names of the hosts of a message, if both are known.
    pub(crate) fn ends(&self, f: &Flow) -> Option<(&str, &str)> {
        self.host(f.from).zip(self.host(f.to))
    }

    /// The network of a subject.
    pub fn network_of(&self, subject: usize) -> &Network {
        &self.networks[self.subjects[subject].network]
    }

    /// True if some network has several subjects.
    pub fn shared(&self) -> bool {
        self.networks.iter().any(|n| n.groups > 1)
    }

    /// Label of data of a whole network.
    pub fn network_label(&self, network: usize) -> String {
        let n = &self.networks[network];
        match (n.groups, n.name.as_str()) {
            (1, _) => self.subjects[n.first].name.clone(),
            (_, "") => "all groups".into(),
            (_, name) => format!("{name}, all groups"),
        }
    }
}
