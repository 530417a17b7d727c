//! `forebay detach`: takes off what `forebay attach` put on.

/// Take off what `forebay attach` put on; connections go on with what they used before
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of an attachment (`forebay status`), or of its program
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) name: Option<String>,
    /// Everything, also what is only found in the kernel
    #[arg(long)]
    pub(crate) all: bool,
}
