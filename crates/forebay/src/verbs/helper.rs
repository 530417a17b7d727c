//! `forebay helper`: the timers of a shim.

/// Keep the timers of an attached shim, until interrupted or the shim is taken off
///
/// For `proboscis`: unanswered probes and SYNs are sent again, and SYN-ACKs wait until enough probes have arrived. To be started beside
/// it at both ends, by what starts services here. When it ends, or is killed, the shim goes on without timers within 50 ms.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of an attachment (`forebay status`), or of its program
    #[arg(default_value = "proboscis")]
    pub(crate) name: String,
}
