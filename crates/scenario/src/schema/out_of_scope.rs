//! Names of well-known mechanisms that forebay does not have, which an error explains instead of a similar name.

/// Names, in lower case without `-` and `_`, and the sentence about them.
const NAMES: &[(&[&str], &str)] = &[
    (
        &["pfc", "pause", "lossless", "prioflowcontrol", "priorityflowcontrol", "qbb"],
        "priority flow control (PFC, PAUSE) is not simulated: switches drop packets, and TCP repairs the losses",
    ),
    (
        &["roce", "rocev2", "rdma", "infiniband", "dcqcn"],
        "RoCE and its congestion control DCQCN are not simulated: forebay simulates TCP, and no lossless network below it",
    ),
    (
        &["timely", "swift", "powertcp", "hpcc", "ndp", "eqds", "homa"],
        "this transport is not part of Linux TCP and is not simulated; a congestion control of your own takes one file: \
         docs/how-to/add-a-congestion-control.md",
    ),
    (
        &["bbr2", "bbrv2"],
        "BBR version 2 (an alpha release that mainline Linux never had) is not simulated; the nearest are its successor `bbr3` (draft-ietf-ccwg-bbr), \
         and `bbr`, version 1 of mainline Linux",
    ),
    (
        &["vegas", "nv", "lp", "ledbat", "copa", "cdg"],
        "congestion controls that react to delay, such as Vegas and LEDBAT, are not simulated; the nearest is `trim`, which keeps a short queue \
         by the RTT",
    ),
    (
        &["bic", "htcp", "hybla", "highspeed", "hstcp", "illinois", "scalable", "veno", "westwood", "yeah", "compound", "ctcp"],
        "this variant of Reno for long or lossy paths is not simulated; the nearest is `cubic`, the default of Linux and Windows",
    ),
    (
        &["mptcp", "quic", "sctp"],
        "MPTCP, QUIC and SCTP are not simulated: each connection is one of TCP, with a congestion control such as `cubic` or `bbr`",
    ),
    (
        &["cake"],
        "CAKE (sch_cake: a shaper with queues for flows and hosts) is not simulated; the nearest is `fq-codel`, whose queues and AQM it \
         extends, at a link with the rate of the shaper",
    ),
    (
        &["fqpie", "sfq", "sfb", "blue"],
        "this queue discipline is not simulated; the nearest are `fq-codel` and `fq` with a queue for each flow, and `pie` with one queue",
    ),
    (
        &["htb", "hfsc", "cbq", "ets", "qfq"],
        "hierarchies of classes are not simulated; the nearest are `dwrr` and `wfq` with weights, `strict-priority`, and `policer` with a rate",
    ),
    (
        &["wred", "gred"],
        "RED with thresholds for each class is not simulated; the nearest are `red`, and `strict-priority` or `dwrr` with a limit for each class",
    ),
    (
        &["sample", "samplepairs", "rings"],
        "a run has all hosts and links of its network: parts of a network do not bracket the value of the whole \
         (docs/concepts/statistics.md); `--within 5%` ends the exact run when its answer is known",
    ),
];

/// Returns the sentence about `name`, if it is one of these.
pub(crate) fn reason(name: &str) -> Option<&'static str> {
    let plain: String = name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).collect::<String>().to_ascii_lowercase();
    NAMES.iter().find(|(names, _)| names.contains(&plain.as_str())).map(|(_, reason)| *reason)
}
