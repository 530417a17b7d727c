//! Which metrics tell how well traffic was served, and how each is named within a sentence.

use crate::ranking::Better;

/// A metric that can stand in the headline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadlineMetric {
    /// Column of the summary.
    pub metric: &'static str,
    /// Which way it is better.
    pub better: Better,
    /// What it is, within a sentence.
    pub phrase: &'static str,
}

const fn metric(metric: &'static str, better: Better, phrase: &'static str) -> HeadlineMetric {
    HeadlineMetric { metric, better, phrase }
}

/// What each kind of traffic is judged by. Of each list the first metric that some subject has counts; the lists are in the order of
/// importance.
pub(crate) const BY_TRAFFIC: &[&[HeadlineMetric]] = &[
    // Where groups meet in a query it ends for all at once: their own messages tell more.
    &[
        metric("query_message_p99_s", Better::Less, "99th percentile of the completion times of messages in queries"),
        metric("qct_p99_s", Better::Less, "99th percentile of query completion times"),
    ],
    &[metric(MISSED, Better::Less, "fraction of late messages")],
    &[
        metric("fct_small_p99_s", Better::Less, "99th percentile of completion times of messages up to 100 KB"),
        metric("fct_medium_p99_s", Better::Less, "99th percentile of completion times of messages from 100 KB to 10 MB"),
        metric("fct_large_mean_s", Better::Less, "mean completion time of messages from 10 MB"),
    ],
];
/// What is compared where everybody's 99th percentile hangs on what was still running: the medians, with what they are.
pub(crate) const MEDIANS: &[(&str, HeadlineMetric)] = &[
    ("query_message_p99_s", metric("qct_p50_s", Better::Less, "median of query completion times")),
    ("qct_p99_s", metric("qct_p50_s", Better::Less, "median of query completion times")),
    ("fct_small_p99_s", metric("fct_small_p50_s", Better::Less, "median of completion times of messages up to 100 KB")),
    ("fct_medium_p99_s", metric("fct_medium_p50_s", Better::Less, "median of completion times of messages from 100 KB to 10 MB")),
];

/// Metrics that results are judged by, most important first, and whether less is better.
pub fn headline_metrics() -> impl Iterator<Item = (&'static str, bool)> {
    BY_TRAFFIC.iter().copied().flatten().chain([&GOODPUT]).map(|t| (t.metric, t.better == Better::Less))
}

/// The part of messages that missed their deadline.
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
/// Goodput of everything, where nothing else tells.
pub(crate) const GOODPUT: HeadlineMetric = metric("goodput_bps", Better::More, "goodput");
/// The queue.
pub(crate) const QUEUE: HeadlineMetric = metric("queue_p99_pkts", Better::Less, "99th percentile of the queue");
