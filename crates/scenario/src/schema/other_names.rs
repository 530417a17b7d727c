//! Names that other tools, the kernel and operators use for keys and registry entries.

/// Keys of other programs, and the corresponding place in a scenario.
const KEYS: &[(&[&str], &str)] = &[
    (
        &[
            "max-pacing-rate",
            "so-max-pacing-rate",
            "pacing-rate",
            "pacing",
            "fq-rate",
            "bandwidth",
            "bitrate",
            "rate-limit",
            "throttle",
            "rate",
        ],
        "the rate of connections is limited by `max-pacing-rate` of [transport] or of a [[transport.group]]",
    ),
    (
        &["backlog", "accept-queue", "somaxconn"],
        "the accept queue of listening sockets is `listen-backlog` of a workload, with the server's `accept-time`",
    ),
    (&["nodelay", "tcp-nodelay", "no-delay"], "TCP_NODELAY is `nagle = false` of [transport] or of a [[transport.group]]"),
    (&["write-size", "send-size", "sends", "write-count"], "`writes` of a workload is the number of `send` calls for a message"),
    (
        &["after", "depends-on", "dependencies", "wait-for"],
        "messages that wait for others are rows of the list of a `replay` workload, with the columns `id` and `after`",
    ),
    (
        &["bond", "bonding", "lag", "lacp", "teaming", "interfaces"],
        "a host has one interface; several links between switches are given in a `custom` topology",
    ),
];

/// Registry entries: kind of entry, other name, name here.
const ENTRIES: &[(&str, &str, &str)] = &[
    ("workload", "iperf", "long"),
    ("workload", "iperf3", "long"),
    ("workload", "bulk", "long"),
    ("workload", "ftp", "long"),
    ("workload", "shuffle", "long"),
    ("workload", "alltoall", "long"),
    ("workload", "all-to-all", "long"),
    ("workload", "permutation", "long"),
    ("workload", "rpc", "requests"),
    ("workload", "request-response", "requests"),
    ("workload", "websearch", "poisson"),
    ("workload", "datamining", "poisson"),
    ("workload", "open-loop", "poisson"),
    ("workload", "partition-aggregate", "queries"),
    ("workload", "trace", "replay"),
    ("workload", "allreduce", "replay"),
    ("workload", "all-reduce", "replay"),
    ("workload", "cbr", "udp"),
    ("queue", "fifo", "drop-tail"),
    ("queue", "pfifo", "drop-tail"),
    ("queue", "bfifo", "drop-tail"),
    ("queue", "droptail", "drop-tail"),
    ("queue", "tail-drop", "drop-tail"),
    ("queue", "pfifo-fast", "strict-priority"),
    ("queue", "drr", "dwrr"),
    ("queue", "prio", "strict-priority"),
    ("queue", "tbf", "policer"),
    ("queue", "netem", "lossy"),
    ("congestion control", "bbrv1", "bbr"),
    ("congestion control", "bbr1", "bbr"),
    ("congestion control", "bbrv3", "bbr3"),
];

/// Sentence about the key `key`, if it is one of another tool.
pub(crate) fn key(key: &str) -> Option<&'static str> {
    let plain = key.replace('_', "-").to_ascii_lowercase();
    KEYS.iter().find(|(names, _)| names.contains(&plain.as_str())).map(|(_, place)| *place)
}

/// Nearest entry to the name `name` of another tool for a `what`.
pub(crate) fn entry(what: &str, name: &str) -> Option<&'static str> {
    let plain = name.replace('_', "-").to_ascii_lowercase();
    ENTRIES.iter().find(|(kind, other, _)| *kind == what && *other == plain).map(|e| e.2)
}
