//! `forebay watch`: state of the connections of an attached program.

use std::path::PathBuf;

/// Watch the connections of an attached program, one line per second
///
/// A line ends in an alarm if retransmissions or the 99th percentile of the RTT exceed twice their value before attaching.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of an attachment (`forebay status`), or of its program
    pub(crate) name: String,
    /// End after this many seconds; the program stays attached
    #[arg(long, value_name = "SECONDS")]
    pub(crate) seconds: Option<u64>,
    /// Guard the attachment: roll back when this holds for three seconds: retransmissions>FACTOR, rtt-p99>FACTOR or throughput<FACTOR of
    /// the state before attaching; can be given more than once
    ///
    /// The guard behaves as that of `forebay attach --rollback-on`: however it ends, it rolls back, except after --seconds, or on Ctrl-C with
    /// --keep-on-interrupt. Conditions on throughput need the measurement of an earlier `forebay attach --rollback-on`
    #[arg(long, value_name = "CONDITION")]
    pub(crate) rollback_on: Vec<String>,
    /// With --rollback-on: on Ctrl-C, end the guard and leave the program attached
    #[arg(long, requires = "rollback_on")]
    pub(crate) keep_on_interrupt: bool,
    /// Write metrics for Prometheus into this file every second (textfile collector)
    #[arg(long, value_name = "FILE")]
    pub(crate) prometheus: Option<PathBuf>,
    /// Serve metrics for Prometheus at this port of 127.0.0.1
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) prometheus_port: Option<u16>,
}
