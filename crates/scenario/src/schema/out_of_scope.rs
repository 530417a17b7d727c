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
