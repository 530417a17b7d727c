//! `forebay detach`: removes attachments.

/// Detach a program of `forebay attach`; connections continue with their previous congestion control
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of an attachment (`forebay status`), or of its program
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) name: Option<String>,
    /// Detach everything, including programs that are found only in the kernel
    #[arg(long)]
    pub(crate) all: bool,
}
