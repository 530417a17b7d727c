//! Metrics of the headline, with their names in a sentence.

use crate::ranking::Better;

/// A metric of the headline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadlineMetric {
    /// Column of the summary.
    pub metric: &'static str,
    /// Direction of improvement.
    pub better: Better,
    /// Name in a sentence.
    pub phrase: &'static str,
}

const fn metric(metric: &'static str, better: Better, phrase: &'static str) -> HeadlineMetric {
    HeadlineMetric { metric, better, phrase }
}

/// Metrics for each kind of traffic, in order of importance. The first metric of each list with a value is used.
pub(crate) const BY_TRAFFIC: &[&[HeadlineMetric]] = &[
    // A query of several groups ends for all of them at once: their own messages are more informative.
    &[
        metric("query_message_p99_s", Better::Less, "99th percentile of the completion times of messages in queries"),
        metric("qct_p99_s", Better::Less, "99th percentile of query completion times"),
    ],
    &[metric(MISSED, Better::Less, "fraction of missed deadlines")],
    &[metric(MAKESPAN, Better::Less, "time until all messages are complete (makespan)")],
    &[
        metric("fct_small_p99_s", Better::Less, "99th percentile of completion times of messages up to 100 KB"),
        metric("fct_medium_p99_s", Better::Less, "99th percentile of completion times of messages from 100 KB to 10 MB"),
        metric("fct_large_mean_s", Better::Less, "mean completion time of messages from 10 MB"),
    ],
];
/// Medians that replace 99th percentiles if all of these are lower bounds.
pub(crate) const MEDIANS: &[(&str, HeadlineMetric)] = &[
    ("query_message_p99_s", metric("qct_p50_s", Better::Less, "median of query completion times")),
    ("qct_p99_s", metric("qct_p50_s", Better::Less, "median of query completion times")),
    ("fct_small_p99_s", metric("fct_small_p50_s", Better::Less, "median of completion times of messages up to 100 KB")),
    ("fct_medium_p99_s", metric("fct_medium_p50_s", Better::Less, "median of completion times of messages from 100 KB to 10 MB")),
];

/// Headline metrics, most important first, with true if less is better.
pub fn headline_metrics() -> impl Iterator<Item = (&'static str, bool)> {
    // Points of a sweep have no messages, which tell jobs from arrivals.
    let all = BY_TRAFFIC.iter().copied().flatten().filter(|t| t.metric != MAKESPAN);
    all.chain([&GOODPUT]).map(|t| (t.metric, t.better == Better::Less))
}

/// Time from the first start to the last end of a fixed number of messages: a shuffle, a ring, an exchange between all hosts.
pub(crate) const MAKESPAN: &str = "makespan_s";
/// Fraction of messages that missed their deadline.
pub(crate) const MISSED: &str = "deadlines_missed";
/// Shown beside the time of queries.
pub(crate) const TIMEOUTS: HeadlineMetric = metric("rtos_per_query", Better::Less, "timeouts per query");
/// Beside the tail of small messages.
pub(crate) const SMALL_MEAN: HeadlineMetric =
    metric("fct_small_mean_s", Better::Less, "mean completion time of messages up to 100 KB");
/// Goodput of long flows that share a network with others.
pub(crate) const SHARE: HeadlineMetric = metric("long_goodput_bps", Better::Neither, "goodput of a long flow");
/// Fairness among long flows.
pub(crate) const FAIRNESS: HeadlineMetric = metric("long_fairness", Better::More, "fairness among long flows");
/// Total goodput, for traffic without other metrics.
pub(crate) const GOODPUT: HeadlineMetric = metric("goodput_bps", Better::More, "goodput");
/// The queue.
pub(crate) const QUEUE: HeadlineMetric = metric("queue_p99_pkts", Better::Less, "99th percentile of the queue");
