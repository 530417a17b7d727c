//! `forebay completions`: a script for the shell.

use crate::Cli;
use crate::terminal::failure::Failure;
use crate::terminal::output::print_data;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell, such as bash: `forebay completions bash > /etc/bash_completion.d/forebay`
    shell: Shell,
}

/// Prints the script.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "forebay", &mut script);
    print_data(&String::from_utf8_lossy(&script))
}
