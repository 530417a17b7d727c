//! `forebay watch`: how connections are doing under what is attached.

use std::path::PathBuf;

/// Watch the connections that something is attached for, a line a second
///
/// A line ends in an alarm where retransmissions or the 99th percentile of the RTT are more than twice what they were before attaching.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of an attachment (`forebay status`), or of its program
    pub(crate) name: String,
    /// End after so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) seconds: Option<u64>,
    /// Detach when this holds for three seconds: retransmissions>FACTOR, rtt-p99>FACTOR or throughput<FACTOR of what was before attaching
    #[arg(long, value_name = "CONDITION")]
    pub(crate) rollback_on: Vec<String>,
    /// Write metrics for Prometheus into this file every second (textfile collector)
    #[arg(long, value_name = "FILE")]
    pub(crate) prometheus: Option<PathBuf>,
    /// Answer Prometheus with metrics at this port of 127.0.0.1
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) prometheus_port: Option<u16>,
}
