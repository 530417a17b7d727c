//! `forebay record`: the traffic of this host as a scenario.

use forebay_types::Rate;
use std::path::PathBuf;

/// Record the traffic of this host's connections as a scenario for `forebay run`
///
/// Sizes, times, round trips and retransmissions come from the kernel's counters of each connection; no payload is read. With CAP_BPF and
/// CAP_PERFMON, a BPF program reports the counters of connections when they close. Without them, connections that open and close between two samples
/// are missing.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The scenario to write; the list of messages is written beside it, with the extension csv. Other users cannot read these files
    #[arg(value_name = "FILE.toml")]
    pub(crate) out: PathBuf,
    /// Duration of the recording
    #[arg(long, value_name = "S", default_value_t = 10)]
    pub(crate) seconds: u64,
    /// Time between two samples of the connections
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) every: u64,
    /// Only connections to this prefix; can be given more than once
    #[arg(long, value_name = "PREFIX")]
    pub(crate) dst: Vec<String>,
    /// Leave addresses out
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Rate of the links of the scenario; a host cannot measure it
    #[arg(long, value_name = "RATE", default_value = "10Gbps", value_parser = rate)]
    pub(crate) rate: Rate,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
}

fn rate(text: &str) -> Result<Rate, String> {
    text.parse::<Rate>().map_err(|e| format!("{e}; write it as 10Gbps or 2.5Gbps"))
}
