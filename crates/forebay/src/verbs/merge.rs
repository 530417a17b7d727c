//! `forebay merge`: joins the shards of a sweep.

use super::run::{FormatArg, Summary, conclude};
use crate::interrupt::{self, Forced};
use crate::limits::Limits;
use crate::sweep_progress::Display;
use crate::terminal::failure::Failure;
use crate::terminal::progress::ProgressFormat;
use forebay_runner::sweep::{Request, merge};
use forebay_scenario::Scenario;
use forebay_store::Host;
use forebay_store::sweep::SweepDir;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Join the shards of a sweep that `forebay run --shard` wrote
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directories of the shards
    #[arg(value_name = "DIR", required = true)]
    parts: Vec<PathBuf>,
    /// Directory for the whole sweep [default: that of the first shard]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// File format of the result table
    #[arg(long, value_enum, default_value_t = FormatArg::Parquet)]
    format: FormatArg,
    /// Do not write a report beside the results
    #[arg(long)]
    no_report: bool,
    /// Print only the path of the results
    #[arg(long, short)]
    quiet: bool,
}

/// Joins them. Nothing is simulated.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let source = SweepDir::begun(&args.parts[0])?.manifest()?.scenario;
    // The stored text counts, even if the file has changed since. Files that it names are found from there.
    let (folder, name) = (Path::new(""), &source.file);
    let mut scenario = Scenario::from_text(forebay_backends::all(), &source.text, name, folder, &source.overrides, None)?;
    source.sweeps.iter().try_for_each(|text| scenario.add_axis(text))?;
    interrupt::listen_or_end(Forced { grace: interrupt::GRACE_OF_SWEEPS, json: false, continues: true })?;
    let request = Request {
        scenario: &scenario,
        source,
        dir: Some(args.out.as_ref().unwrap_or(&args.parts[0]).clone()),
        threads: Host::here().cpus,
        csv: args.format == FormatArg::Csv,
    };
    let mut display = Display::new(ProgressFormat::None, args.quiet, Limits::default().watch(Instant::now()));
    let merged = merge(request, &args.parts, interrupt::flag(), &mut display);
    display.clear();
    let Some(finished) = merged? else { return Ok(()) };
    conclude(
        &finished,
        0,
        &Summary { kind: ProgressFormat::None, quiet: args.quiet, report: !args.no_report, metrics: &[], all: false },
    )
}
