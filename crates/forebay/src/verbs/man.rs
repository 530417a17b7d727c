//! `forebay man`: manual pages, generated from the descriptions of `--help`.

use crate::Cli;
use crate::new_file::{failed, free, put};
use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Write the manual pages, one for the program and one for each command
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder for them, such as ~/.local/share/man/man1
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Replace existing pages
    #[arg(long)]
    force: bool,
}

/// Writes them and prints their number.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    render(&command, &mut pages).map_err(|e| failed(&args.dir, &e))?;
    let fail = |e: io::Error| Failure::Machine(format!("cannot write manual pages to `{}`: {e}", args.dir.display()));
    fs::create_dir_all(&args.dir).map_err(fail)?;
    pages.iter().try_for_each(|(name, _)| free(&args.dir.join(name), args.force))?;
    pages.iter().try_for_each(|(name, text)| put(&args.dir.join(name), text, None))?;
    print(&format!("{} manual pages in {}\n", pages.len(), args.dir.display()))
}

/// Renders the page of a command, and those of the commands below it: name of the file, and text.
fn render(command: &Command, pages: &mut Vec<(String, String)>) -> io::Result<()> {
    command.get_subcommands().filter(|below| !below.is_hide_set()).try_for_each(|below| render(below, pages))?;
    let (page, mut text) = (Man::new(command.clone()), Vec::new());
    page.render(&mut text)?;
    pages.push((page.get_filename(), String::from_utf8_lossy(&text).into_owned()));
    Ok(())
}
