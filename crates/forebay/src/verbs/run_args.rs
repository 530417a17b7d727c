//! What `forebay run` and `forebay sweep` share: their arguments, the scenario that these describe, and how failures and reports are announced.

use crate::among;
use crate::failure::Failure;
use crate::input::Input;
use crate::interrupt;
use crate::limits::Limits;
use crate::output::warn;
use crate::progress::{Kind, announced, event};
use crate::report::Written;
use clap::builder::PossibleValuesParser;
use forebay_scenario::Scenario;
use forebay_store::summary_table::metric_columns;
use forebay_store::{StoreError, Target};
use serde_json::json;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Run a scenario, write its results and print a summary
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) input: Input,
    /// Run the scenario for each of these values (repeatable: every combination), as by a [sweep] in the file
    #[arg(long = "sweep", value_name = "KEY=[A, B]")]
    pub(super) sweep: Vec<String>,
    /// Directory for the results [default: out/NAME-N, the next free number; of a sweep out/NAME-sweep]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Replace results that are already in --out
    #[arg(long, requires = "out")]
    pub(super) force: bool,
    /// How to show progress on standard error [default: bar on a terminal, else lines]
    #[arg(long, value_enum)]
    pub(super) progress: Option<Kind>,
    /// File format of the result tables
    #[arg(long, value_enum, default_value_t = FormatArg::Parquet)]
    pub(super) format: FormatArg,
    /// Numbers in the printed table of a sweep, such as goodput_bps,drops [default: the most telling]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = PossibleValuesParser::new(metric_columns().map(|m| m.0)), hide_possible_values = true)]
    pub(super) metrics: Vec<String>,
    /// Threads, for runs at the same time and inside busy runs where there are fewer [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub(super) threads: Option<u16>,
    #[command(flatten)]
    pub(super) limits: Limits,
    /// Do not write a report beside the results
    #[arg(long)]
    pub(super) no_report: bool,
    /// Print only where the results are
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum FormatArg {
    /// Columns, for pandas and the like
    Parquet,
    /// Text
    Csv,
    /// Parquet, and instead of the printed table one JSON document with every number of every run
    Json,
}

/// The scenario with all that the command line changes in it, and its overrides.
pub(super) fn scenario(args: &Args) -> Result<(Scenario, Vec<String>), Failure> {
    let (mut scenario, overrides) = args.input.load()?;
    args.sweep.iter().try_for_each(|text| scenario.add_axis(text))?;
    Ok((scenario, overrides))
}

/// Does `work` with the kind of progress that is wanted, and reports its failure in that form.
pub(super) fn with_progress(args: &Args, work: impl FnOnce(Kind) -> Result<(), Failure>) -> Result<(), Failure> {
    let kind = args.progress.unwrap_or_else(|| match (args.quiet, std::io::stderr().is_terminal()) {
        (true, _) => Kind::None,
        (false, true) => Kind::Bar,
        (false, false) => Kind::Lines,
    });
    work(kind).map_err(|failure| announced(kind, failure))
}

/// Until it is dropped, ends the process when --max-time is over before the first run has begun. Reading a scenario, building its network and the
/// forecast do not check the time, and there are no results to keep.
pub(super) struct SetupGuard {
    /// Dropping it ends the waiting thread.
    _begun: Option<mpsc::Sender<()>>,
}

impl SetupGuard {
    /// For a command that began at `began`.
    pub(super) fn new(max_time: Option<Duration>, began: Instant, kind: Kind) -> SetupGuard {
        let Some(max) = max_time else { return SetupGuard { _begun: None } };
        let (sender, receiver) = mpsc::channel::<()>();
        let wait = move || {
            if receiver.recv_timeout(max.saturating_sub(began.elapsed())) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            interrupt::end();
            let seconds = max.as_secs_f64();
            let text = format!("ended after {seconds:.1} s by --max-time, before the first run had begun; there are no results");
            let failure = announced(kind, Failure::Machine(text));
            failure.report();
            among::failed(&failure);
            process::exit(1);
        };
        // If no thread can be created, --max-time ends the first run after it has begun.
        let _ = thread::Builder::new().spawn(wait);
        SetupGuard { _begun: Some(sender) }
    }
}

/// Warns about complete results for `target` under a temporary name, left by a process that was killed before it renamed them.
pub(super) fn mention_unnamed(target: &Target, kind: Kind) {
    for path in target.unnamed_results() {
        let path = path.display();
        let text = format!(
            "`{path}` holds complete results of a run that was killed before it renamed them; rename it to keep them (`mv {path} NAME`), or \
             remove it"
        );
        if kind == Kind::Json {
            event(&json!({"event": "warning", "text": text}));
        } else {
            warn(&text);
        }
    }
}

/// A report, or words about why there is none.
pub(super) fn written(report: Result<Written, StoreError>, kind: Kind) -> Option<Written> {
    match report {
        Ok(written) => Some(written),
        Err(e) => {
            let text = format!("no report was written: {e}");
            if kind == Kind::Json {
                event(&json!({"event": "warning", "text": text}));
            } else {
                warn(&text);
            }
            None
        }
    }
}
