//! The `forebay` command. One file a verb in `verbs/`; this one only parses, dispatches and turns outcomes into exit codes:
//! 0 done, 1 the run failed, 2 bad input or usage, 130 interrupted.

mod exec;
mod failure;
mod input;
mod interrupt;
mod model;
mod output;
mod progress;
mod style;
mod table;
mod verbs;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Predicts, simulates and explains TCP in data centres.
#[derive(Debug, Parser)]
#[command(name = "forebay", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Check(verbs::check::Args),
    Run(verbs::run::Args),
    Model(verbs::model::Args),
    List(verbs::list::Args),
    Completions(verbs::completions::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().verb {
        Verb::Check(args) => verbs::check::execute(&args),
        Verb::Run(args) => verbs::run::execute(&args),
        Verb::Model(args) => verbs::model::execute(&args),
        Verb::List(args) => verbs::list::execute(&args),
        Verb::Completions(args) => verbs::completions::execute(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            failure.code()
        }
    }
}
