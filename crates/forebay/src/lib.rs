//! The `forebay` command, as a library that the program and the Python package share. Each command has one file in `verbs/`; this file parses, dispatches
//! and maps outcomes to exit codes: 0 done, 1 the run failed, 2 bad input or usage, 130 interrupted.

mod closed_forms;

mod input;
mod interrupt;
mod limits;
mod mpi_run;
mod new_file;
mod python;
pub mod report;
mod sweep_progress;
mod terminal;
mod verbs;

use crate::terminal::{escape, style};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser, Subcommand};
use forebay_sim::exchange::Exchange;
use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

/// The version, and the commit of the sources, for `forebay --version`.
fn long_version() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| format!("{}\ncommit {BUILT}", forebay_runner::sweep::key::VERSION))
}

/// Commit from which the program was built, and its date; `unknown` without git.
pub const BUILT: &str = env!("FOREBAY_BUILT");

/// Predicts, simulates and explains TCP in data centers.
#[derive(Debug, Parser)]
#[command(name = "forebay", version, long_version = long_version(), arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    New(verbs::new::Args),
    Advise(verbs::advise::Args),
    Check(verbs::check::Args),
    Run(verbs::run::Args),
    Report(verbs::report::Args),
    Merge(verbs::merge::Args),
    Compare(verbs::compare::Args),
    Referee(verbs::referee::Args),
    Conform(verbs::conform::Args),
    Torture(verbs::torture::Args),
    Repro(verbs::repro::Args),
    Kernel(verbs::kernel::Args),
    Doctor(verbs::doctor::Args),
    List(verbs::list::Args),
    Explain(verbs::explain::Args),
    Schema(verbs::schema::Args),
    Trace(verbs::trace::Args),
    Attach(verbs::attach::Args),
    Status(verbs::status::Args),
    Tune(verbs::tune::Args),
    Watch(verbs::watch::Args),
    Detach(verbs::detach::Args),
    Record(verbs::record::Args),
    Trains(verbs::trains::Args),
    Import(verbs::import::Args),
    Export(verbs::export::Args),
    Completions(verbs::completions::Args),
    Man(verbs::man::Args),
    Licenses(verbs::licenses::Args),
}

/// As [`run`], as one of several processes that were started together. `forebay run` divides its runs among them, and the first one has the results.
pub fn run_among<I, T>(args: I, exchange: Arc<dyn Exchange>) -> u8
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    mpi_run::join(exchange);
    run(args)
}

/// Removed commands, and the command lines that replace them.
const REMOVED: [(&str, &str); 3] =
    [("model", "forebay run FILE --world model"), ("sweep", "forebay run FILE"), ("helper", "forebay attach --daemon NAME")];

/// Parses the arguments; the error for a removed command names its replacement.
fn parse<I, T>(args: I) -> Result<Cli, clap::Error>
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    Cli::try_parse_from(args).map_err(|error| {
        let unknown = match error.get(ContextKind::InvalidSubcommand) {
            Some(ContextValue::String(verb)) => verb.as_str(),
            _ => return error,
        };
        let Some((verb, new)) = REMOVED.iter().find(|(old, _)| *old == unknown) else { return error };
        Cli::command().error(ErrorKind::InvalidSubcommand, format!("there is no command `{verb}`; use `{new}`"))
    })
}

/// Runs the command with its arguments, the program's name first, and returns the exit code.
pub fn run<I, T>(args: I) -> u8
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    forebay_store::set_built(BUILT);
    let cli = match parse(args) {
        Ok(cli) => cli,
        // Help and version end up here too: they go to standard output, with code 0. A closed pipe is no error.
        Err(e) => {
            let (text, helps) = (e.render(), !e.use_stderr());
            // All processes have the same arguments.
            if mpi_run::is_follower() {
                return u8::try_from(e.exit_code()).unwrap_or(2);
            }
            let fancy = if helps { style::stdout() } else { style::stderr() };
            let text = escape::escape(&if fancy { text.ansi().to_string() } else { text.to_string() }, fancy);
            let _ = if helps { io::stdout().write_all(text.as_bytes()) } else { io::stderr().write_all(text.as_bytes()) };
            return u8::try_from(e.exit_code()).unwrap_or(2);
        }
    };
    let result = match cli.verb {
        Verb::Run(args) => verbs::run::execute(&args),
        _ if mpi_run::processes().is_some() => Err(mpi_run::refuse(mpi_run::single_process_only())),
        Verb::New(args) => verbs::new::execute(&args),
        Verb::Advise(args) => verbs::advise::execute(&args),
        Verb::Check(args) => verbs::check::execute(&args),
        Verb::Report(args) => verbs::report::execute(&args),
        Verb::Merge(args) => verbs::merge::execute(&args),
        Verb::Compare(args) => verbs::compare::execute(&args),
        Verb::Referee(args) => verbs::referee::execute(&args),
        Verb::Conform(args) => verbs::conform::execute(&args),
        Verb::Torture(args) => verbs::torture::execute(&args),
        Verb::Repro(args) => verbs::repro::execute(&args),
        Verb::Kernel(args) => verbs::kernel::execute(&args),
        Verb::Doctor(args) => verbs::doctor::execute(&args),
        Verb::List(args) => verbs::list::execute(&args),
        Verb::Explain(args) => verbs::explain::execute(&args),
        Verb::Schema(args) => verbs::schema::execute(&args),
        Verb::Trace(args) => verbs::trace::execute(&args),
        Verb::Attach(args) => verbs::hosts::attach(&args),
        Verb::Status(args) => verbs::hosts::status(&args),
        Verb::Tune(args) => verbs::hosts::tune(&args),
        Verb::Watch(args) => verbs::hosts::watch(&args),
        Verb::Detach(args) => verbs::hosts::detach(&args),
        Verb::Record(args) => verbs::hosts::record(&args),
        Verb::Trains(args) => verbs::trains::execute(&args),
        Verb::Import(args) => verbs::import::execute(&args),
        Verb::Export(args) => verbs::export::execute(&args),
        Verb::Man(args) => verbs::man::execute(&args),
        Verb::Completions(args) => verbs::completions::execute(&args),
        Verb::Licenses(args) => verbs::licenses::execute(&args),
    };
    match result {
        Ok(()) => 0,
        Err(failure) => {
            failure.report();
            mpi_run::abort(&failure);
            failure.number()
        }
    }
}
