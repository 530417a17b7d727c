//! What is compared: numbers of each transport group ([`GROUP_METRICS`]) and of the network ([`NETWORK_METRICS`]).

use super::values::{GroupSummary, NetworkSummary};
pub use forebay_experiment::dimension::Dimension;

/// One number of a summary `S`.
#[derive(Debug)]
pub struct Metric<S> {
    /// Name of its column in the `summary` table; ends with the unit where there is one.
    pub name: &'static str,
    /// Label of its line; `{first}` stands for the name of the first transport group. Empty for a column of the tables that has no line.
    pub label: &'static str,
    /// Dimension.
    pub unit: Dimension,
    /// The value; `None` when the run has no such thing, such as queries.
    pub get: fn(&S) -> Option<f64>,
    /// The line is left out when every value is 0.
    pub if_any: bool,
    /// One sentence: what it is.
    pub doc: &'static str,
    /// When it is only a lower bound; `None` for what is always known.
    pub bound: Option<Bound>,
    /// What it can be.
    pub possible: Possible,
}

/// What a number can be at all: no interval around its mean reaches beyond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Possible {
    /// It is never less.
    pub least: f64,
    /// It is never more.
    pub most: Most,
}

/// How large a number can be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Most {
    /// Nobody knows.
    Open,
    /// One, as parts of something and Jain's index.
    One,
    /// The metric of this name, where it has a value.
    Metric(&'static str),
}

impl Possible {
    /// The smallest and the largest value that it can have, given the values of other metrics in its runs.
    pub fn range(self, of_runs: impl FnOnce(&'static str) -> Vec<f64>) -> (f64, f64) {
        let most = match self.most {
            Most::Open => None,
            Most::One => Some(1.0),
            Most::Metric(name) => of_runs(name).into_iter().reduce(f64::max),
        };
        (self.least, most.unwrap_or(f64::INFINITY))
    }
}

/// What a number in this unit can be, if nothing else is known.
const fn possible(unit: Dimension) -> Possible {
    Possible { least: 0.0, most: if matches!(unit, Dimension::Fraction) { Most::One } else { Most::Open } }
}

/// When a number is only known to be at least as large as shown, because a part of what it was made of was still running.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// A quantile: it would change if what was running never ended.
    Quantile {
        /// Metric that says up to which quantile they would not ([`super::Spread::known`]).
        known: &'static str,
        /// The quantile that the number is.
        quantile: f64,
    },
    /// A mean: what was running is a part of its values that matters, more than `TELLING`.
    Mean {
        /// Metric that gives the part.
        running: &'static str,
    },
}

/// The part of its values that must have been running for a mean to be called a bound. Any part is one, strictly; but every run that ends at
/// a given time ends in the midst of something. Our choice.
const TELLING: f64 = 0.01;

const fn metric<S>(
    name: &'static str,
    label: &'static str,
    unit: Dimension,
    get: fn(&S) -> Option<f64>,
    doc: &'static str,
) -> Metric<S> {
    Metric { name, label, unit, get, if_any: false, doc, bound: None, possible: possible(unit) }
}

/// A number of completion times.
const fn time<S>(
    name: &'static str,
    label: &'static str,
    get: fn(&S) -> Option<f64>,
    doc: &'static str,
    bound: Bound,
) -> Metric<S> {
    Metric {
        name,
        label,
        unit: Dimension::Seconds,
        get,
        if_any: false,
        doc,
        bound: Some(bound),
        possible: possible(Dimension::Seconds),
    }
}

const fn mean(running: &'static str) -> Bound {
    Bound::Mean { running }
}

const fn median(known: &'static str) -> Bound {
    Bound::Quantile { known, quantile: 0.5 }
}

const fn tail(known: &'static str) -> Bound {
    Bound::Quantile { known, quantile: 0.99 }
}

/// A line that is left out where it says nothing but 0.
const fn if_any<S>(
    name: &'static str,
    label: &'static str,
    unit: Dimension,
    get: fn(&S) -> Option<f64>,
    doc: &'static str,
) -> Metric<S> {
    Metric { name, label, unit, get, if_any: true, doc, bound: None, possible: possible(unit) }
}

impl Bound {
    /// The metric that decides.
    pub fn metric(self) -> &'static str {
        match self {
            Bound::Quantile { known, .. } => known,
            Bound::Mean { running } => running,
        }
    }

    /// Whether the number is a bound, given the values of that metric in its runs.
    pub fn holds(self, of_runs: impl IntoIterator<Item = Option<f64>>) -> bool {
        of_runs.into_iter().flatten().any(|v| match self {
            Bound::Quantile { quantile, .. } => v < quantile,
            Bound::Mean { .. } => v > TELLING,
        })
    }
}

/// The value of a metric of groups by its name; `None` where the group has none, or there is no such metric.
pub fn group_value(group: &GroupSummary, name: &str) -> Option<f64> {
    GROUP_METRICS.iter().find(|m| m.name == name).and_then(|m| (m.get)(group))
}

impl<S> Metric<S> {
    /// The same number, which may be a bound.
    const fn at_least(mut self, bound: Bound) -> Metric<S> {
        self.bound = Some(bound);
        self
    }

    /// The same number, which is never more than this.
    const fn at_most(mut self, most: Most) -> Metric<S> {
        self.possible.most = most;
        self
    }

    /// The same number, which is never less than this.
    const fn from(mut self, least: f64) -> Metric<S> {
        self.possible.least = least;
        self
    }
}

/// The part of messages or queries that was still running at the end: a column of the tables, without a line of its own in print.
const fn running(name: &'static str, get: fn(&GroupSummary) -> Option<f64>) -> Metric<GroupSummary> {
    if_any(name, "", Dimension::Fraction, get, "part of them that was still running when the run ended")
}

/// How far their distribution is known: a column of the tables, without a line of its own in print.
const fn known(name: &'static str, get: fn(&GroupSummary) -> Option<f64>) -> Metric<GroupSummary> {
    let doc = "up to which of the quantiles 0.5 and 0.99 they stay as they are if what was still running never ends (0: neither, 1: nothing \
               was running); what is above it is a lower bound";
    metric(name, "", Dimension::Ratio, get, doc)
}

fn part(n: u64, of: u64) -> f64 {
    n as f64 / of.max(1) as f64
}

fn some(present: bool, value: f64) -> Option<f64> {
    present.then_some(value)
}

/// The lines of a transport group, in order.
pub const GROUP_METRICS: &[Metric<GroupSummary>] = &[
    metric(
        "goodput_bps",
        "goodput",
        Dimension::BitsPerSecond,
        |g: &GroupSummary| g.goodput_bps,
        "payload that reached the group's receivers after the warm-up, over simulated time",
    )
    .at_most(Most::Metric("goodput_most_bps")),
    metric(
        "goodput_most_bps",
        "",
        Dimension::BitsPerSecond,
        |g| g.goodput_most_bps,
        "the most goodput that the links carry between those of its hosts that had messages: payload in full segments at the rates of the \
         senders' links, of the receivers', or of the ports that all of it came over, whichever is least; a burst that waited when the \
         warm-up ended can exceed it",
    ),
    if_any(
        "long_flows",
        "long flows",
        Dimension::Count,
        |g| some(!g.uncounted, g.long_flows as f64),
        "endless flows active after the warm-up",
    ),
    metric(
        "long_goodput_bps",
        "goodput per long flow",
        Dimension::BitsPerSecond,
        |g: &GroupSummary| g.long_ratio.and(g.long_goodput_bps),
        "mean goodput of the group's endless flows while each was active, where several groups share the network",
    )
    .at_most(Most::Metric("goodput_most_bps")),
    metric(
        "long_ratio",
        "goodput per long flow / {first}",
        Dimension::Ratio,
        |g| g.long_ratio,
        "goodput per long flow over that of the first group (T_r of the coexistence literature)",
    ),
    metric(
        "long_fairness",
        "fairness of long flows (Jain)",
        Dimension::Ratio,
        |g: &GroupSummary| g.fairness,
        "Jain's index of the goodputs of the group's endless flows: 1 when all are equal, 1/n when one has everything",
    )
    .at_most(Most::One),
    metric(
        "flows",
        "flows started",
        Dimension::Count,
        |g| some(g.flows > 0, g.flows as f64),
        "finite messages outside queries that started",
    ),
    metric(
        "flows_completed",
        "flows completed",
        Dimension::Count,
        |g: &GroupSummary| some(g.flows > 0, g.flows_completed as f64),
        "of those, completed before the run ended",
    )
    .at_most(Most::Metric("flows")),
    metric(
        "deadlines_missed",
        "deadlines missed",
        Dimension::Fraction,
        |g| some(g.deadlines > 0, g.deadlines_missed as f64 / g.deadlines.max(1) as f64),
        "messages that were late, of those with a deadline whose outcome is known",
    ),
    metric(
        "queries",
        "queries started",
        Dimension::Count,
        |g| some(g.queries > 0, g.queries as f64),
        "barrier rounds and exchanges of request and response",
    ),
    metric(
        "queries_completed",
        "queries completed",
        Dimension::Count,
        |g: &GroupSummary| some(g.queries > 0, g.queries_completed as f64),
        "of those, completed before the run ended",
    )
    .at_most(Most::Metric("queries")),
    metric(
        "rtos",
        "timeouts",
        Dimension::Count,
        |g| some(!g.uncounted, g.rtos as f64),
        "retransmission timeouts of all messages, those of SYNs not counted",
    ),
    metric(
        "rtos_per_query",
        "timeouts per query",
        Dimension::Ratio,
        |g| g.query_timeouts,
        "for each query the most timeouts of one message, averaged over the queries",
    ),
    if_any(
        "tlps",
        "tail loss probes",
        Dimension::Count,
        |g| some(!g.uncounted, g.tlps as f64),
        "probes instead of timeouts (RFC 8985 section 7)",
    ),
    if_any(
        "syn_rtos",
        "SYN timeouts",
        Dimension::Count,
        |g| some(!g.uncounted, g.syn_rtos as f64),
        "timeouts of connection requests",
    ),
    metric(
        "segs_retx",
        "retransmitted segments",
        Dimension::Count,
        |g| some(!g.uncounted, g.segs_retx as f64),
        "data segments sent again",
    ),
    time(
        "fct_small_mean_s",
        "FCT small (<= 100 KB) mean",
        |g| g.fct[0].map(|f| f.mean),
        "mean completion time of messages up to 100 KB; what was still running counts as at least the time so far",
        mean("fct_small_running"),
    ),
    time("fct_small_p50_s", "FCT small (<= 100 KB) p50", |g| g.fct[0].map(|f| f.p50), "their median", median("fct_small_known")),
    time(
        "fct_small_p99_s",
        "FCT small (<= 100 KB) p99",
        |g| g.fct[0].map(|f| f.p99),
        "their 99th percentile",
        tail("fct_small_known"),
    ),
    running("fct_small_running", |g: &GroupSummary| g.fct[0].map(|f| f.running)),
    known("fct_small_known", |g: &GroupSummary| g.fct[0].map(|f| f.known)),
    time(
        "fct_medium_mean_s",
        "FCT medium mean",
        |g| g.fct[1].map(|f| f.mean),
        "mean completion time of messages above 100 KB and below 10 MB, as of the small ones",
        mean("fct_medium_running"),
    ),
    time("fct_medium_p50_s", "FCT medium p50", |g| g.fct[1].map(|f| f.p50), "their median", median("fct_medium_known")),
    time("fct_medium_p99_s", "FCT medium p99", |g| g.fct[1].map(|f| f.p99), "their 99th percentile", tail("fct_medium_known")),
    running("fct_medium_running", |g| g.fct[1].map(|f| f.running)),
    known("fct_medium_known", |g| g.fct[1].map(|f| f.known)),
    time(
        "fct_large_mean_s",
        "FCT large (>= 10 MB) mean",
        |g| g.fct[2].map(|f| f.mean),
        "mean completion time of messages of 10 MB and more, as of the small ones",
        mean("fct_large_running"),
    ),
    time("fct_large_p50_s", "FCT large (>= 10 MB) p50", |g| g.fct[2].map(|f| f.p50), "their median", median("fct_large_known")),
    time(
        "fct_large_p99_s",
        "FCT large (>= 10 MB) p99",
        |g| g.fct[2].map(|f| f.p99),
        "their 99th percentile",
        tail("fct_large_known"),
    ),
    running("fct_large_running", |g| g.fct[2].map(|f| f.running)),
    known("fct_large_known", |g| g.fct[2].map(|f| f.known)),
    metric(
        "slowdown_p50",
        "slowdown p50",
        Dimension::Ratio,
        |g: &GroupSummary| g.slowdown.map(|s| s.p50),
        "median of completion time over that of the same bytes on an empty path, of messages outside queries",
    )
    .at_least(median("messages_known"))
    .from(1.0),
    metric("slowdown_p99", "slowdown p99", Dimension::Ratio, |g: &GroupSummary| g.slowdown.map(|s| s.p99), "its 99th percentile")
        .at_least(tail("messages_known"))
        .from(1.0),
    running("messages_running", |g| some(g.flows > 0, 1.0 - part(g.flows_completed, g.flows))),
    known("messages_known", |g| g.slowdown.map(|s| s.known)),
    time(
        "qct_p50_s",
        "query completion p50",
        |g| g.qct.map(|q| q.p50),
        "median time from the first request to the last byte of the last response; what was still running counts as at least the time so \
         far",
        median("queries_known"),
    ),
    time("qct_p99_s", "query completion p99", |g| g.qct.map(|q| q.p99), "its 99th percentile", tail("queries_known")),
    running("queries_running", |g| g.qct.map(|q| q.running)),
    known("queries_known", |g| g.qct.map(|q| q.known)),
    time(
        "query_part_mean_s",
        "message of a query, mean",
        |g| g.part.map(|p| p.mean),
        "mean completion time of the group's own messages, where groups meet in a query, as of queries",
        mean("query_parts_running"),
    ),
    time(
        "query_part_p99_s",
        "message of a query, p99",
        |g| g.part.map(|p| p.p99),
        "their 99th percentile",
        tail("query_parts_known"),
    ),
    running("query_parts_running", |g| g.part.map(|p| p.running)),
    known("query_parts_known", |g| g.part.map(|p| p.known)),
];

/// The lines of the network, in order.
pub const NETWORK_METRICS: &[Metric<NetworkSummary>] = &[
    metric(
        "fairness_all",
        "fairness of long flows, all groups",
        Dimension::Ratio,
        |n: &NetworkSummary| n.fairness,
        "Jain's index of the goodputs of all endless flows",
    )
    .at_most(Most::One),
    metric(
        "queue_mean_pkts",
        "queue mean",
        Dimension::Packets,
        |n: &NetworkSummary| n.queue_mean,
        "time average of the packets waiting and in service",
    )
    .at_most(Most::Metric("queue_most_pkts")),
    metric(
        "queue_most_pkts",
        "",
        Dimension::Packets,
        |n| n.queue_most,
        "the most packets that the port can hold: its buffer, or what it can get of its switch's shared buffer while all others are empty; \
         of a buffer in bytes as many as are in it on average",
    ),
    metric(
        "queue_p99_pkts",
        "queue p99",
        Dimension::Packets,
        |n: &NetworkSummary| n.queue_p99,
        "99th percentile of the queue, weighted by time",
    )
    .at_most(Most::Metric("queue_most_pkts")),
    metric("queue_max_pkts", "queue max", Dimension::Packets, |n: &NetworkSummary| n.queue_max, "largest queue")
        .at_most(Most::Metric("queue_most_pkts")),
    metric("busy", "link busy", Dimension::Fraction, |n| n.busy, "part of the measured time in which the port transmitted"),
    metric("drops", "drops, all ports", Dimension::Count, |n| some(!n.uncounted, n.drops as f64), "packets dropped anywhere"),
    if_any(
        "marks",
        "marks, all ports",
        Dimension::Count,
        |n| some(!n.uncounted, n.marks as f64),
        "congestion marks set anywhere",
    ),
];
