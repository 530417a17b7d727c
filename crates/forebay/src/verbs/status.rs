//! `forebay status`: attached programs.

use super::check::TextFormat;
use std::path::PathBuf;

/// Show attached programs, the connections that use them, and their counters
///
/// Needs no privileges, but prints counters and parameters only with the privileges to read them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Output format
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    pub(crate) format: TextFormat,
    /// Write metrics for Prometheus into this file instead (textfile collector)
    #[arg(long, value_name = "FILE")]
    pub(crate) prometheus: Option<PathBuf>,
}
