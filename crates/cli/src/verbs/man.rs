//! `forebay man`: the manual pages, made from the same descriptions as `--help`.

use crate::Cli;
use crate::failure::Failure;
use crate::output::print;
use clap::CommandFactory;
use std::fs;
use std::path::PathBuf;

/// Write the manual pages, one for the program and one for each verb
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder for them, such as ~/.local/share/man/man1
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Writes them and says how many.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let fail = |e: std::io::Error| Failure::Machine(format!("cannot write manual pages to `{}`: {e}", args.dir.display()));
    fs::create_dir_all(&args.dir).map_err(fail)?;
    clap_mangen::generate_to(Cli::command(), &args.dir).map_err(fail)?;
    let pages = Cli::command().get_subcommands().count() + 1;
    print(&format!("{pages} manual pages in {}\n", args.dir.display()))
}
