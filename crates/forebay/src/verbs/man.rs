//! `forebay man`: manual pages, generated from the descriptions of `--help`.

use crate::Cli;
use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use clap::CommandFactory;
use std::fs;
use std::path::PathBuf;

/// Write the manual pages, one for the program and one for each command
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder for them, such as ~/.local/share/man/man1
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Writes them and prints their number.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let fail = |e: std::io::Error| Failure::Machine(format!("cannot write manual pages to `{}`: {e}", args.dir.display()));
    fs::create_dir_all(&args.dir).map_err(fail)?;
    clap_mangen::generate_to(Cli::command(), &args.dir).map_err(fail)?;
    print(&format!("{} manual pages in {}\n", pages(&Cli::command()), args.dir.display()))
}

/// The page of a command, and those of the commands below it.
fn pages(command: &clap::Command) -> usize {
    1 + command.get_subcommands().map(pages).sum::<usize>()
}
