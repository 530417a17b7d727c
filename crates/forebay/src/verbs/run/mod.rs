//! `forebay run`: runs a scenario, or each point of its sweep, writes the results and prints a summary.

mod setup;
mod single;
mod sweep;

pub(super) use sweep::{Summary, conclude};

use crate::input::Input;
use crate::limits::Limits;
use crate::mpi_run;
use crate::terminal::failure::Failure;
use crate::terminal::progress::ProgressFormat;
use crate::terminal::sweep_table;
use clap::builder::{PossibleValue, PossibleValuesParser};
use forebay_analysis::metrics;
use forebay_runner::sweep::Shard;
use forebay_store::summary_table::metric_columns;
use setup::SetupGuard;
use std::path::PathBuf;
use std::time::Instant;

/// Columns of the summary. Names that the tables print are accepted, too.
fn metric_names() -> Vec<PossibleValue> {
    let printed = |name: &str| metrics().find(|m| m.name == name).map_or_else(Vec::new, |m| sweep_table::printed(&m));
    metric_columns().map(|(name, ..)| PossibleValue::new(name).aliases(printed(name))).collect()
}

/// Run a scenario or a sweep, write the results and print a summary
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,
    /// Run the scenario for each of these values (repeatable: every combination), as by a [sweep] in the file
    #[arg(long = "sweep", value_name = "KEY=[A, B]")]
    sweep: Vec<String>,
    /// Capture the packets of these ports and hosts in pcapng files, such as bottleneck,h0, or all, hosts, switches; as capture of [observe]
    #[arg(long, value_name = "PORT,...", value_delimiter = ',')]
    capture: Vec<String>,
    /// Directory for the results [default: out/NAME-N, the next free number; of a sweep out/NAME-sweep]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace existing results in --out; refused if the directory has other files
    #[arg(long, requires = "out")]
    force: bool,
    /// Progress on standard error [default: bar on a terminal, else lines]
    #[arg(long, value_enum)]
    progress: Option<ProgressFormat>,
    /// File format of the result tables
    #[arg(long, value_enum, default_value_t = FormatArg::Parquet)]
    format: FormatArg,
    /// Columns in the printed table of a sweep, such as goodput_bps,drops [default: depends on the traffic]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = PossibleValuesParser::new(metric_names()), hide_possible_values = true)]
    metrics: Vec<String>,
    /// Number of threads, for parallel runs, or inside a run if there are fewer runs than threads [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    threads: Option<u16>,
    /// Of a sweep: check all points, list them with the missing runs, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Of a sweep: run only this part, such as 3/8, the third of eight; `forebay merge` joins the parts
    #[arg(long, value_name = "I/N", conflicts_with = "dry_run")]
    shard: Option<Shard>,
    /// Of a sweep: run on the workers of this Dask scheduler, such as tcp://head:8786, which have the Python package installed
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["dry_run", "shard"])]
    dask: Option<String>,
    /// End the runs when the requested figures are known to this accuracy, such as 5%. It applies to the figures of [stop] that set no accuracy;
    /// without [stop], to the figure in the first line of the output
    #[arg(long, value_name = "PERCENT")]
    within: Option<String>,
    /// With --within or [stop]: end the runs after this much wall time in any case, such as 60s
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    #[command(flatten)]
    limits: Limits,
    /// Do not write a report beside the results
    #[arg(long)]
    no_report: bool,
    /// Print every number instead of the twelve most important rows
    #[arg(long, conflicts_with = "quiet")]
    all: bool,
    /// Print only the path of the results
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum FormatArg {
    /// Parquet, for pandas and similar tools
    Parquet,
    /// Text
    Csv,
    /// Parquet, and one JSON document with every number of every run instead of the printed table
    Json,
}

/// Runs it. With `--progress json` a failure is an event too, so that standard error stays a stream of JSON.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let began = Instant::now();
    setup::with_progress(args, |kind| {
        let guard = SetupGuard::new(args.limits.max_time, began, kind);
        let chosen = setup::scenario(args).and_then(|(scenario, overrides)| {
            let sweep = scenario.sweep()?;
            let refused = match &sweep {
                Some(_) if mpi_run::processes().is_some() => {
                    "mpirun divides single runs among its processes; divide a sweep with `forebay run FILE --shard I/N`, or with Dask"
                }
                Some(_) if scenario.document().get("expect").is_some() => {
                    "[[expect]] judges single scenarios, and this one is a sweep; remove [sweep] and --sweep, or [[expect]]"
                }
                Some(_) if !args.capture.is_empty() => {
                    "a sweep keeps numbers of its runs and no packets; run one of its points with `forebay run FILE --set KEY=VALUE --capture PORT`"
                }
                None if args.dry_run || args.shard.is_some() || args.dask.is_some() || !args.metrics.is_empty() => {
                    "--metrics, --dry-run, --shard and --dask are for sweeps, and the scenario has no [sweep]; add one, or --sweep \
                     'topology.senders=[8, 16]'"
                }
                _ => return Ok((scenario, overrides, sweep)),
            };
            Err(Failure::Usage(refused.into()))
        });
        match chosen {
            Ok((scenario, overrides, Some(sweep))) => sweep::run(args, (kind, began), guard, scenario, &sweep, overrides),
            Ok((scenario, overrides, None)) => single::run(args, (kind, began), guard, &scenario, overrides),
            Err(failure) => Err(mpi_run::refuse(failure)),
        }
    })
}
