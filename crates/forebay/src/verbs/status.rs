//! `forebay status`: what is attached.

use super::check::Printed;
use std::path::PathBuf;

/// Say what is attached, who uses it, and what it has counted
///
/// Anybody may ask; counters and parameters are shown to those who may read them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How to print it
    #[arg(long, value_enum, default_value_t = Printed::Text)]
    pub(crate) format: Printed,
    /// Write metrics for Prometheus into this file instead (textfile collector)
    #[arg(long, value_name = "FILE")]
    pub(crate) prometheus: Option<PathBuf>,
}
