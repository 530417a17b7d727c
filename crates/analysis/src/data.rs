//! What the tables of all compared runs say, in the form that figures are made from: rows name subjects, runs and networks by index.

use forebay_experiment::waits::Cause;
use forebay_store::summary::{Dimension, GROUP_METRICS, LowerBound, NETWORK_METRICS, ValueRange};

/// Everything that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Data {
    /// What is compared.
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
    /// Goodput over time, of each workload by transport.
    pub goodput: Vec<GoodputSeries>,
    /// Timeouts, by run and time.
    pub timeouts: Vec<Timeout>,
    /// Names of hosts, to which flows refer.
    pub hosts: Vec<String>,
    /// Names of ports at which messages waited, to which flows refer.
    pub places: Vec<String>,
    /// Names of workloads, to which flows and queries refer.
    pub classes: Vec<String>,
    /// Whether the results say what messages waited for: those of older versions and of kernels do not.
    pub waits: bool,
    /// What messages with a deadline have time for, by subject and workload.
    pub deadlines: Vec<Deadline>,
    /// What happened to the networks, a line each.
    pub events: Vec<String>,
    /// What was left out.
    pub notes: Vec<String>,
    /// Of those, what the answer lacks for it: a sentence for each directory whose messages were not read.
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
    /// Per metric of [`metrics`] the values of the seeds that have one.
    pub values: Vec<Vec<f64>>,
}

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
    /// Port that its queue metrics are of.
    pub port: String,
    /// What ran it, such as `sim`; empty in results of versions that had one world.
    pub world: String,
    /// Its warm-up as the scenario says it, such as `400ms`; empty without one.
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
    /// Payload, bytes; 0 for an endless flow.
    pub size: u64,
    /// Start, ns.
    pub start_ns: i64,
    /// When everything was acknowledged, ns; `None` if never.
    pub acked_ns: Option<i64>,
    /// Completion time, s; `None` if unfinished.
    pub fct: Option<f64>,
    /// Completion time over the ideal one; `None` if unfinished.
    pub slowdown: Option<f64>,
    /// Time that it needs over an empty path, s.
    pub ideal_s: f64,
    /// Bytes acknowledged after the warm-up.
    pub measured: u64,
    /// Whether it belongs to a query.
    pub in_query: bool,
    /// Index of its workload; `None` in results of versions that did not name workloads.
    pub class: Option<u32>,
    /// Index of the host that it comes from; `None` in results that do not say it.
    pub from: Option<u32>,
    /// Index of the host that it goes to; `None` in results that do not say it.
    pub to: Option<u32>,
    /// Bytes acknowledged in all.
    pub acked: u64,
    /// An endless flow that takes all it can get to the end: no datagrams, whose rate is their own, and none that was stopped.
    pub greedy: bool,
    /// It missed its deadline, or has none and lost more time to one cause than an empty path needs for it.
    pub late: bool,
    /// What it waited for longest.
    pub waited: Option<Cause>,
    /// Index of the port at which it did; `None` for what is not waited for at a port.
    pub delay_port: Option<u32>,
    /// Where that was a message before it on its connection, what held that one up longest, and at which port.
    pub blocked_by: Option<(Cause, Option<u32>)>,
}

impl Flow {
    /// When the last byte of a finite message arrived, ns; `None` while it was on its way.
    pub(crate) fn end_ns(&self) -> Option<i64> {
        self.fct.filter(|_| self.size > 0).map(|fct| self.start_ns + (fct * 1e9).round() as i64)
    }

    /// Whether it is a finite message that arrived.
    pub fn complete(&self) -> bool {
        self.size > 0 && self.fct.is_some()
    }
}

/// A barrier round or an exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Query {
    /// Index of the run.
    pub run: usize,
    /// Index of its workload; `None` in results of versions that did not name workloads.
    pub class: Option<u32>,
    /// Start, ns.
    pub start_ns: i64,
    /// Completion time, s; `None` if unfinished.
    pub qct: Option<f64>,
    /// Payload of all responses, bytes.
    pub bytes: u64,
    /// Subjects that have messages in it: bit i for the i-th of the network.
    pub groups: u64,
    /// Index of the host that receives its messages; `None` if they go to several, or there are none.
    pub receiver: Option<u32>,
    /// What its slowest message waited for longest.
    pub waited: Option<Cause>,
    /// Index of the port at which it did; `None` for what is not waited for at a port.
    pub delay_port: Option<u32>,
    /// As of messages.
    pub blocked_by: Option<(Cause, Option<u32>)>,
    /// How long, s.
    pub delay_s: f64,
    /// Time that the largest of its messages needs over an empty path, s.
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
    /// Whether that is a switch.
    pub from_switch: bool,
    /// Whether that is a switch.
    pub to_switch: bool,
    /// Rate, bit/s.
    pub rate_bps: f64,
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
    /// Lengths of the queue at which something begins to happen, in packets; of one that counts bytes as many as are in them on average.
    pub limits: Limits,
    /// Names and lengths, as those, of what else the queue marks or drops by: thresholds on its average, or of single queues in it.
    pub thresholds: Vec<(String, f64)>,
}

/// What the messages of a workload of a network have time for, ns: the longest of their deadlines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deadline {
    /// Index of the subject.
    pub subject: usize,
    /// Index of the workload.
    pub class: u32,
    /// Longest deadline, from the start of its message.
    pub longest_ns: i64,
}

/// Lengths of a queue, packets; `None` where there is none, or results do not say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// It marks from here on: K.
    pub mark: Option<f64>,
    /// The port's own buffer.
    pub buffer: Option<f64>,
    /// What the port can hold of its switch's shared buffer while all others are empty.
    pub shared: Option<f64>,
}

/// Goodput of a workload by a transport over a port, over the time of a run.
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
    /// The congestion control's marked fraction.
    pub alpha: Vec<Option<f64>>,
    /// Smoothed RTT, s.
    pub srtt: Vec<Option<f64>>,
}

/// A retransmission timeout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timeout {
    /// Index of the run.
    pub run: usize,
    /// Index of the subject.
    pub subject: usize,
    /// Connection.
    pub conn: i64,
    /// When, ns.
    pub time_ns: i64,
    /// How long the timer had run, s.
    pub rto: f64,
}

/// A metric of the summary, whether of a group or of the network that groups share.
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
    /// Left out when all values are 0.
    pub if_any: bool,
    /// Whether it is of the network.
    pub shared: bool,
    /// When it is only a lower bound.
    pub bound: Option<LowerBound>,
    /// What it can be.
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
    /// Values of a metric over the seeds of a subject; empty for a metric that does not exist.
    pub fn values(&self, subject: usize, metric: &str) -> &[f64] {
        let index = metrics().position(|m| m.name == metric);
        index.and_then(|i| self.subjects[subject].values.get(i)).map_or(&[], Vec::as_slice)
    }

    /// Most seeds that a network has.
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

    /// The names of the hosts between which a message goes, if both are known.
    pub(crate) fn ends(&self, f: &Flow) -> Option<(&str, &str)> {
        self.host(f.from).zip(self.host(f.to))
    }

    /// The network of a subject.
    pub fn network_of(&self, subject: usize) -> &Network {
        &self.networks[self.subjects[subject].network]
    }

    /// Whether some network has several subjects.
    pub fn shared(&self) -> bool {
        self.networks.iter().any(|n| n.groups > 1)
    }

    /// Label of what belongs to a whole network.
    pub fn network_label(&self, network: usize) -> String {
        let n = &self.networks[network];
        match (n.groups, n.name.as_str()) {
            (1, _) => self.subjects[n.first].name.clone(),
            (_, "") => "all groups".into(),
            (_, name) => format!("{name}, all groups"),
        }
    }
}
