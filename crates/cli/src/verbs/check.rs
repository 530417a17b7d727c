//! `forebay check`: reads a scenario and says what it means, without running it.

use crate::failure::Failure;
use crate::input::found;
use crate::interrupt;
use crate::output::print;
use forebay_exec::sweep::explain;
use forebay_store::Host;
use std::path::PathBuf;

/// Check a scenario file and explain what it would run
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The scenario file
    file: PathBuf,
    /// Change a value of the file, such as topology.senders=64 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// World that is to run it, instead of the file's: see `forebay list worlds`
    #[arg(long, value_name = "NAME")]
    world: Option<String>,
    /// Check the scenario for each of these values, as `run` does (repeatable)
    #[arg(long = "sweep", value_name = "KEY=[A, B]")]
    sweep: Vec<String>,
    /// Print the scenario of every variant with all defaults written out, as TOML; of a sweep that of its first point
    #[arg(long)]
    resolved: bool,
}

/// Prints the explanation.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let mut overrides = args.set.clone();
    overrides.extend(args.world.as_ref().map(|name| format!("world={name}")));
    let mut scenario = forebay_scenario::load(forebay_worlds::all(), &found(&args.file), &overrides, None)?;
    args.sweep.iter().try_for_each(|text| scenario.add_axis(text))?;
    let (resolved, text) = explain(&scenario, Host::here().cpus, interrupt::flag())?;
    if !args.resolved {
        return print(&text);
    }
    let texts: Vec<String> = resolved.variants.iter().map(|v| format!("# variant: {}\n{}", v.label, v.toml())).collect();
    print(&texts.join("\n"))
}
