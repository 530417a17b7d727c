//! `forebay torture`: random legal scenarios and connections, checked against invariants.

mod campaign;
mod worker;

use crate::interrupt;
use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use campaign::{Campaign, Tally};
use clap::value_parser;
use forebay_platform::files::read_text;
use forebay_torture::{Case, Kind};
use std::path::PathBuf;
use std::time::Duration;
use worker::Outcome;

/// Run random legal scenarios and connections, and check that every invariant holds
///
/// A case is a whole scenario drawn from the registries, a set of single connections over a path with losses, delays and reordering, or a crowd of short
/// connections. Seed and number determine it. Cases run in another process, with limits on packets, time and memory. A failing case is minimized
/// and written to a file that repeats the failure. Exit code 0: no case failed; 1: some did, or were refused. docs/internals/torture.md lists the invariants.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  forebay torture --seconds 60\n  forebay torture --seed 7 --hours 8 --jobs 2\n  forebay torture --seed 7 --case 4711\n  forebay torture torture-7-4711.toml"
)]
pub(crate) struct Args {
    /// Cases as files, instead of random ones
    #[arg(value_name = "FILE", conflicts_with_all = ["case", "cases", "hours", "seconds", "kind", "seed"])]
    files: Vec<PathBuf>,
    /// Seed of all cases
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Run this case only
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(..=LAST), conflicts_with_all = ["cases", "hours", "seconds", "kind", "first"])]
    case: Option<u64>,
    /// Number of the first case
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u64).range(..=LAST))]
    first: u64,
    /// End after this many cases; with --kind, cases of other kinds count but do not run
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=LAST))]
    cases: Option<u64>,
    /// End after this many hours
    #[arg(long, value_name = "HOURS", conflicts_with = "seconds")]
    hours: Option<f64>,
    /// End after this many seconds [default: 60, unless --cases or --hours is given]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// Run cases of this kind only
    #[arg(long, value_name = "KIND", value_parser = Kind::NAMES.map(|(name, _)| name))]
    kind: Option<String>,
    /// Number of parallel cases
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u64).range(1..=1024))]
    jobs: u64,
    /// Folder for the files of failing cases
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    out: PathBuf,
    /// Print the file of a case instead of running it
    #[arg(long, requires = "case")]
    show: bool,
    /// Answer the requests of another process
    #[arg(long, hide = true)]
    worker: bool,
}

/// Largest number of a case, and of cases: the sum of both fits in 64 bits.
const LAST: u64 = (1 << 63) - 1;

/// Longest campaign, hours.
const MOST_HOURS: f64 = 10_000.0;

impl Args {
    /// Time after which no further case begins.
    fn limit(&self) -> Result<Option<Duration>, Failure> {
        let (option, seconds) = match (self.hours, self.seconds) {
            (Some(hours), _) => ("--hours", hours * 3600.0),
            (None, Some(seconds)) => ("--seconds", seconds),
            (None, None) => return Ok(self.cases.is_none().then_some(Duration::from_secs(60))),
        };
        if !(seconds > 0.0 && seconds <= MOST_HOURS * 3600.0) {
            return Err(Failure::Usage(format!("{option}: expected a time above 0 and of at most {MOST_HOURS} hours")));
        }
        Ok(Some(Duration::from_secs_f64(seconds)))
    }
}

/// Runs cases and prints those that fail, with the totals.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    if args.worker {
        return worker::serve();
    }
    if !args.files.is_empty() {
        interrupt::listen()?;
        return files(args);
    }
    if args.show {
        let number = args.case.unwrap_or_default();
        let case = Case::of(args.seed, number);
        let case = case.ok_or_else(|| Failure::Usage(format!("no draft of case {number} of seed {} is legal", args.seed)))?;
        return crate::terminal::output::print_data(&case.text());
    }
    interrupt::listen()?;
    let campaign = Campaign {
        seed: args.seed,
        first: args.case.unwrap_or(args.first),
        count: if args.case.is_some() { Some(1) } else { args.cases },
        limit: args.limit()?,
        kind: args.kind.as_deref().and_then(|name| Kind::NAMES.iter().find(|(n, _)| *n == name)).map(|(_, kind)| *kind),
        out: args.out.clone(),
    };
    let tally = campaign.run(args.jobs)?;
    print(&tally.summary())?;
    if tally.has_failed() { Err(Failure::Reported(1)) } else { Ok(()) }
}

/// Runs the cases in files.
fn files(args: &Args) -> Result<(), Failure> {
    let mut worker = worker::Worker::new();
    let mut tally = Tally::default();
    for file in &args.files {
        let shown = file.display();
        let text = read_text(file).map_err(|e| Failure::Usage(format!("{shown}: the file cannot be read: {e}")))?;
        let case = Case::read(&text).map_err(|why| Failure::Usage(format!("{shown}: {why}")))?;
        let Some(outcome) = worker.check(&case)? else { break };
        match &outcome {
            Outcome::Refused(why) => return Err(Failure::Usage(format!("{shown}: {why}"))),
            Outcome::Failed(why) => print(&format!("{shown} fails: {why}\n"))?,
            Outcome::Passed(_) | Outcome::Cut(_) => {}
        }
        tally.add(case.kind(), &outcome);
    }
    print(&tally.summary())?;
    if tally.has_failed() { Err(Failure::Reported(1)) } else { Ok(()) }
}
