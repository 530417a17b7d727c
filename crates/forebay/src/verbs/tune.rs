//! `forebay tune`: parameters of attached programs.

/// Show the parameters of an attached program, or change them while it runs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of an attachment (`forebay status`), or of its program
    pub(crate) name: String,
    /// Parameters to change
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) values: Vec<String>,
}
