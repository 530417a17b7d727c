//! `forebay tune`: parameters of what is attached.

/// Show the parameters of what is attached, or change them while it runs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of an attachment (`forebay status`), or of its program
    pub(crate) name: String,
    /// What to change
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) values: Vec<String>,
}
