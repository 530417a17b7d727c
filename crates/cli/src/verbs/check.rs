//! `forebay check`: reads a scenario and says what it means, without running it.

use crate::failure::Failure;
use crate::output::print;
use std::path::PathBuf;

/// Check a scenario file and explain what it would run
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The scenario file
    file: PathBuf,
    /// Change a value of the file, such as topology.senders=64 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print the scenario of every variant with all defaults written out, as TOML
    #[arg(long)]
    resolved: bool,
}

/// Prints the explanation.
pub fn execute(args: &Args) -> Result<(), Failure> {
    let resolved = forebay_scenario::load(&args.file, &args.set, None)?.resolve()?;
    if !args.resolved {
        return print(&resolved.explain());
    }
    let texts: Vec<String> = resolved.variants.iter().map(|v| format!("# variant: {}\n{}", v.label, v.toml())).collect();
    print(&texts.join("\n"))
}
