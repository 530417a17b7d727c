//! Compared metrics: of each transport group ([`GROUP_METRICS`]) and of the network ([`NETWORK_METRICS`]).

use super::metric::{Dimension, Metric, UpperLimit, extreme, if_any, largest, mean, median, metric, tail, time};
use super::values::{GroupSummary, NetworkSummary};

/// Value of a group metric by name; `None` where the group has no value or the metric does not exist.
pub fn group_value(group: &GroupSummary, name: &str) -> Option<f64> {
    GROUP_METRICS.iter().find(|m| m.name == name).and_then(|m| (m.get)(group))
}

/// Fraction of messages or queries still running at the end: a table column without a printed line.
const fn running(name: &'static str, get: fn(&GroupSummary) -> Option<f64>) -> Metric<GroupSummary> {
    if_any(name, "", Dimension::Fraction, get, "fraction of them still running when the run ended")
}

/// Fraction of messages still running at the end, or of their time: a table column without a printed line.
const fn running_part(name: &'static str, get: fn(&GroupSummary) -> Option<f64>) -> Metric<GroupSummary> {
    if_any(
        name,
        "",
        Dimension::Fraction,
        get,
        "fraction of them still running when the run ended, or of their total time if that is larger",
    )
}

/// Largest exact quantile: a table column without a printed line.
const fn known(name: &'static str, get: fn(&GroupSummary) -> Option<f64>) -> Metric<GroupSummary> {
    let doc = "largest of the quantiles 0.5, 0.99 and 0.999 that does not depend on messages still running at the end (0: neither, 1: none was \
               running); higher quantiles are lower bounds";
    metric(name, "", Dimension::Ratio, get, doc)
}

fn part(n: u64, of: u64) -> f64 {
    n as f64 / of.max(1) as f64
}

fn some(present: bool, value: f64) -> Option<f64> {
    present.then_some(value)
}

/// Printed lines of a transport group, in order.
pub const GROUP_METRICS: &[Metric<GroupSummary>] = &[
    metric(
        "goodput_bps",
        "goodput",
        Dimension::BitsPerSecond,
        |g: &GroupSummary| g.goodput_bps,
        "payload that reached the group's receivers after the warm-up, over simulated time",
    )
    .at_most(UpperLimit::Metric("goodput_max_bps")),
    metric(
        "active_goodput_bps",
        "goodput while active",
        Dimension::BitsPerSecond,
        |g: &GroupSummary| g.active_goodput_bps,
        "the same over the time from the start of its first message to the end of its last one; no value where this is the whole run",
    )
    .at_most(UpperLimit::Metric("goodput_max_bps")),
    metric(
        "goodput_max_bps",
        "",
        Dimension::BitsPerSecond,
        |g| g.goodput_max_bps,
        "largest goodput that the links between its active hosts carry: payload of full segments at the total rate of the senders' links, of \
         the receivers' links, or of the ports that all of it crosses. The smallest of the three applies. A burst queued at the end of the \
         warm-up can exceed it",
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
        |g: &GroupSummary| g.long_goodput_bps,
        "mean goodput of the group's endless flows while each was active, where several groups share the network",
    )
    .at_most(UpperLimit::Metric("goodput_max_bps")),
    metric(
        "long_goodput_ratio",
        "goodput per long flow / {first}",
        Dimension::Ratio,
        |g| g.long_goodput_ratio,
        "goodput per long flow over that of the first group (T_r of the coexistence literature)",
    ),
    metric(
        "long_fairness",
        "fairness of long flows (Jain)",
        Dimension::Ratio,
        |g: &GroupSummary| g.fairness,
        "Jain's index of the goodputs of the group's endless flows: 1 if all are equal, 1/n if one has everything",
    )
    .at_most(UpperLimit::One),
    if_any(
        "rwnd_limited",
        "limited by receive window",
        Dimension::Fraction,
        |g| g.rwnd_limited,
        "fraction of the time of its endless flows in which the receive window limited them, as `tcpi_rwnd_limited` of Linux",
    ),
    if_any(
        "sndbuf_limited",
        "limited by send buffer",
        Dimension::Fraction,
        |g| g.sndbuf_limited,
        "fraction of the time of its endless flows in which the send buffer limited them, as `tcpi_sndbuf_limited` of Linux",
    ),
    metric(
        "datagrams_lost",
        "datagrams lost",
        Dimension::Fraction,
        |g: &GroupSummary| g.datagrams_lost,
        "fraction of its datagrams that had not arrived when the run ended",
    ),
    metric(
        "flows",
        "flows started",
        Dimension::Count,
        |g: &GroupSummary| some(g.flows > 0, g.flows as f64),
        "finite messages outside queries that started",
    )
    .at_most(UpperLimit::Metric("flows_max")),
    if_any(
        "flows_max",
        "",
        Dimension::Count,
        |g| g.flows_max.map(|n| n as f64),
        "largest number of `flows` that its workloads configure, including those of other groups; no value where a workload sets no number",
    ),
    metric(
        "flows_completed",
        "flows completed",
        Dimension::Count,
        |g: &GroupSummary| some(g.flows > 0, g.flows_completed as f64),
        "of those, completed before the run ended",
    )
    .at_most(UpperLimit::Metric("flows")),
    metric(
        "deadlines_missed",
        "deadlines missed",
        Dimension::Fraction,
        |g| some(g.deadlines > 0, g.deadlines_missed as f64 / g.deadlines.max(1) as f64),
        "fraction of messages that missed their deadline, among those with a deadline and a known outcome; answers whose request was lost miss it",
    ),
    metric(
        "queries",
        "queries started",
        Dimension::Count,
        |g: &GroupSummary| some(g.queries > 0, g.queries as f64),
        "barrier rounds and exchanges of request and response",
    )
    .at_most(UpperLimit::Metric("queries_max")),
    if_any(
        "queries_max",
        "",
        Dimension::Count,
        |g| g.queries_max.map(|n| n as f64),
        "largest number of `queries` that its workloads configure, as `flows_max`",
    ),
    metric(
        "queries_completed",
        "queries completed",
        Dimension::Count,
        |g: &GroupSummary| some(g.queries > 0, g.queries_completed as f64),
        "of those, completed before the run ended",
    )
    .at_most(UpperLimit::Metric("queries")),
    time(
        "makespan_s",
        "completion of all (makespan)",
        |g| g.makespan.map(|(s, _)| s),
        "time from the start of the first message to the end of the last one, where its workloads set the number of messages and there are several",
        largest("makespan_exact_quantile"),
    ),
    metric(
        "makespan_exact_quantile",
        "",
        Dimension::Ratio,
        |g: &GroupSummary| g.makespan.map(|(_, all)| f64::from(u8::from(all))),
        "1 if all of these messages had ended, 0 if some were still running: the makespan is a lower bound then",
    ),
    metric(
        "rtos",
        "timeouts",
        Dimension::Count,
        |g| some(!g.uncounted, g.rtos as f64),
        "retransmission timeouts of all messages, without those of SYNs",
    ),
    metric(
        "rtos_per_query",
        "timeouts per query",
        Dimension::Ratio,
        |g| g.query_timeouts,
        "largest number of timeouts of one message of a query, averaged over the queries",
    ),
    if_any(
        "tlps",
        "tail loss probes",
        Dimension::Count,
        |g| some(!g.uncounted, g.tlps as f64),
        "tail loss probes (RFC 8985 section 7)",
    ),
    if_any("syn_rtos", "SYN timeouts", Dimension::Count, |g| some(!g.uncounted, g.syn_rtos as f64), "timeouts of SYNs"),
    metric(
        "segs_retx",
        "retransmitted segments",
        Dimension::Count,
        |g| some(!g.uncounted, g.segs_retx as f64),
        "retransmitted data segments",
    ),
    time(
        "fct_small_mean_s",
        "FCT small (<= 100 KB) mean",
        |g| g.fct[0].map(|f| f.mean),
        "mean completion time of messages up to 100 KB; messages still running count with the time so far",
        mean("fct_small_unfinished"),
    ),
    time(
        "fct_small_p50_s",
        "FCT small (<= 100 KB) p50",
        |g| g.fct[0].map(|f| f.p50),
        "their median",
        median("fct_small_exact_quantile"),
    ),
    time(
        "fct_small_p99_s",
        "FCT small (<= 100 KB) p99",
        |g| g.fct[0].map(|f| f.p99),
        "their 99th percentile",
        tail("fct_small_exact_quantile"),
    ),
    time(
        "fct_small_p999_s",
        "FCT small (<= 100 KB) p99.9",
        |g| g.fct[0].and_then(|f| f.p999),
        "their 99.9th percentile, of at least a thousand messages",
        extreme("fct_small_exact_quantile"),
    ),
    time(
        "fct_small_max_s",
        "FCT small (<= 100 KB) max",
        |g| g.fct[0].and_then(|f| f.max),
        "the longest of them",
        largest("fct_small_exact_quantile"),
    ),
    running_part("fct_small_unfinished", |g: &GroupSummary| g.fct[0].map(|f| f.running)),
    known("fct_small_exact_quantile", |g: &GroupSummary| g.fct[0].map(|f| f.known)),
    time(
        "fct_medium_mean_s",
        "FCT medium mean",
        |g| g.fct[1].map(|f| f.mean),
        "mean completion time of messages above 100 KB and below 10 MB, as for small ones",
        mean("fct_medium_unfinished"),
    ),
    time("fct_medium_p50_s", "FCT medium p50", |g| g.fct[1].map(|f| f.p50), "their median", median("fct_medium_exact_quantile")),
    time(
        "fct_medium_p99_s",
        "FCT medium p99",
        |g| g.fct[1].map(|f| f.p99),
        "their 99th percentile",
        tail("fct_medium_exact_quantile"),
    ),
    time(
        "fct_medium_p999_s",
        "FCT medium p99.9",
        |g| g.fct[1].and_then(|f| f.p999),
        "their 99.9th percentile, of at least a thousand messages",
        extreme("fct_medium_exact_quantile"),
    ),
    time(
        "fct_medium_max_s",
        "FCT medium max",
        |g| g.fct[1].and_then(|f| f.max),
        "the longest of them",
        largest("fct_medium_exact_quantile"),
    ),
    running_part("fct_medium_unfinished", |g| g.fct[1].map(|f| f.running)),
    known("fct_medium_exact_quantile", |g| g.fct[1].map(|f| f.known)),
    time(
        "fct_large_mean_s",
        "FCT large (>= 10 MB) mean",
        |g| g.fct[2].map(|f| f.mean),
        "mean completion time of messages of 10 MB and more, as for small ones",
        mean("fct_large_unfinished"),
    ),
    time(
        "fct_large_p50_s",
        "FCT large (>= 10 MB) p50",
        |g| g.fct[2].map(|f| f.p50),
        "their median",
        median("fct_large_exact_quantile"),
    ),
    time(
        "fct_large_p99_s",
        "FCT large (>= 10 MB) p99",
        |g| g.fct[2].map(|f| f.p99),
        "their 99th percentile",
        tail("fct_large_exact_quantile"),
    ),
    time(
        "fct_large_p999_s",
        "FCT large (>= 10 MB) p99.9",
        |g| g.fct[2].and_then(|f| f.p999),
        "their 99.9th percentile, of at least a thousand messages",
        extreme("fct_large_exact_quantile"),
    ),
    time(
        "fct_large_max_s",
        "FCT large (>= 10 MB) max",
        |g| g.fct[2].and_then(|f| f.max),
        "the longest of them",
        largest("fct_large_exact_quantile"),
    ),
    running_part("fct_large_unfinished", |g| g.fct[2].map(|f| f.running)),
    known("fct_large_exact_quantile", |g| g.fct[2].map(|f| f.known)),
    metric(
        "slowdown_p50",
        "slowdown p50",
        Dimension::Ratio,
        |g: &GroupSummary| g.slowdown.map(|s| s.p50),
        "median of the completion time over that of the same bytes on an unloaded path, for messages outside queries",
    )
    .at_least(median("messages_exact_quantile"))
    .from(1.0),
    metric("slowdown_p99", "slowdown p99", Dimension::Ratio, |g: &GroupSummary| g.slowdown.map(|s| s.p99), "its 99th percentile")
        .at_least(tail("messages_exact_quantile"))
        .from(1.0),
    running("messages_unfinished", |g| some(g.flows > 0, 1.0 - part(g.flows_completed, g.flows))),
    known("messages_exact_quantile", |g| g.slowdown.map(|s| s.known)),
    time(
        "qct_p50_s",
        "query completion p50",
        |g| g.qct.map(|q| q.p50),
        "median time from the first request to the last byte of the last response; queries still running count with the time so far",
        median("queries_exact_quantile"),
    ),
    time("qct_p99_s", "query completion p99", |g| g.qct.map(|q| q.p99), "its 99th percentile", tail("queries_exact_quantile")),
    time(
        "qct_p999_s",
        "query completion p99.9",
        |g| g.qct.and_then(|q| q.p999),
        "their 99.9th percentile, of at least a thousand queries",
        extreme("queries_exact_quantile"),
    ),
    time(
        "qct_max_s",
        "query completion max",
        |g| g.qct.and_then(|q| q.max),
        "the longest of them",
        largest("queries_exact_quantile"),
    ),
    running("queries_unfinished", |g| some(g.queries > 0, 1.0 - part(g.queries_completed, g.queries))),
    known("queries_exact_quantile", |g| g.qct.map(|q| q.known)),
    time(
        "query_message_mean_s",
        "message of a query, mean",
        |g| g.part.map(|p| p.mean),
        "mean completion time of the group's own messages, where several groups share a query; running ones as for queries",
        mean("query_messages_unfinished"),
    ),
    time(
        "query_message_p99_s",
        "message of a query, p99",
        |g| g.part.map(|p| p.p99),
        "their 99th percentile",
        tail("query_messages_exact_quantile"),
    ),
    running_part("query_messages_unfinished", |g| g.part.map(|p| p.running)),
    known("query_messages_exact_quantile", |g| g.part.map(|p| p.known)),
];

/// Printed lines of the network, in order.
pub const NETWORK_METRICS: &[Metric<NetworkSummary>] = &[
    metric(
        "fairness_all",
        "fairness of long flows, all groups",
        Dimension::Ratio,
        |n: &NetworkSummary| n.fairness,
        "Jain's index of the goodputs of all endless flows",
    )
    .at_most(UpperLimit::One),
    metric(
        "queue_mean_pkts",
        "queue mean",
        Dimension::Packets,
        |n: &NetworkSummary| n.queue_mean,
        "time average of the packets waiting and in service",
    )
    .at_most(UpperLimit::Metric("queue_limit_pkts")),
    metric(
        "queue_limit_pkts",
        "",
        Dimension::Packets,
        |n| n.queue_limit,
        "largest number of packets that the port can hold: its buffer, or its limit in the shared buffer of its switch while all other ports \
         are empty. A limit in bytes is converted with the mean packet size",
    ),
    metric(
        "queue_p99_pkts",
        "queue p99",
        Dimension::Packets,
        |n: &NetworkSummary| n.queue_p99,
        "99th percentile of the queue, weighted by time",
    )
    .at_most(UpperLimit::Metric("queue_limit_pkts")),
    metric("queue_max_pkts", "queue max", Dimension::Packets, |n: &NetworkSummary| n.queue_max, "largest queue")
        .at_most(UpperLimit::Metric("queue_limit_pkts")),
    metric(
        "utilization",
        "utilization",
        Dimension::Fraction,
        |n| n.utilization,
        "fraction of the measured time in which the port transmitted",
    ),
    metric(
        "active_utilization",
        "utilization while active",
        Dimension::Fraction,
        |n| n.active_utilization,
        "the same over the time from the start of the first message to the end of the last one; no value where this is the whole run",
    ),
    metric("drops", "drops, all ports", Dimension::Count, |n| some(!n.uncounted, n.drops as f64), "packets dropped anywhere"),
    if_any(
        "marks",
        "marks, all ports",
        Dimension::Count,
        |n| some(!n.uncounted, n.marks as f64),
        "congestion marks set anywhere",
    ),
];
