//! `forebay run`: simulates a scenario, writes the results and prints the table.

use crate::failure::Failure;
use crate::input::Input;
use crate::output::{print, warn};
use crate::progress::{Display, Kind, event};
use crate::table::{self, scaled};
use crate::{interrupt, report, style};
use clap::builder::PossibleValuesParser;
use forebay_exec::{Job, Outcome, Record, Watcher, jobs, run_all};
use forebay_scenario::{Resolved, Scenario};
use forebay_store::summary_table::metric_columns;
use forebay_store::{Format, Host, Manifest, RunDir, RunWriter, StoreError, Target, file_name};
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
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
    /// How to show progress on standard error [default: bar on a terminal, else none]
    #[arg(long, value_enum)]
    pub(super) progress: Option<Kind>,
    /// File format of the result tables
    #[arg(long, value_enum, default_value_t = FormatArg::Parquet)]
    pub(super) format: FormatArg,
    /// Numbers in the printed table of a sweep, such as goodput_bps,drops [default: the most telling]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = PossibleValuesParser::new(metric_columns().map(|m| m.0)), hide_possible_values = true)]
    pub(super) metrics: Vec<String>,
    /// Runs at the same time [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub(super) threads: Option<u16>,
    /// Do not write a report beside the results
    #[arg(long)]
    pub(super) no_report: bool,
    /// Print only where the results are
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum FormatArg {
    Parquet,
    Csv,
}

/// Runs it. With `--progress json` a failure is told as an event too, so that standard error stays a stream of JSON.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    told(args, |kind| {
        let (scenario, overrides) = scenario(args)?;
        match scenario.sweep()? {
            Some(sweep) => super::sweep::run(args, kind, scenario, &sweep, overrides),
            None if !args.metrics.is_empty() => {
                Err(Failure::Usage("--metrics chooses columns of a sweep's table, and the scenario has no [sweep]".into()))
            }
            None => simulate(args, kind, &scenario, overrides),
        }
    })
}

/// The scenario with all that the command line changes in it, and its overrides.
pub(super) fn scenario(args: &Args) -> Result<(Scenario, Vec<String>), Failure> {
    let (mut scenario, overrides) = args.input.load()?;
    args.sweep.iter().try_for_each(|text| scenario.add_axis(text))?;
    Ok((scenario, overrides))
}

/// Does `work` with the kind of progress that is wanted, and tells of its failure in that form.
pub(super) fn told(args: &Args, work: impl FnOnce(Kind) -> Result<(), Failure>) -> Result<(), Failure> {
    let kind =
        args.progress.unwrap_or_else(|| if std::io::stderr().is_terminal() && !args.quiet { Kind::Bar } else { Kind::None });
    work(kind).map_err(|failure| {
        if kind != Kind::Json {
            return failure;
        }
        match &failure {
            Failure::Interrupted => event(&json!({"event": "interrupted"})),
            Failure::Stopped { done, total } => event(&json!({"event": "interrupted", "done": done, "total": total})),
            other => event(&json!({"event": "error", "message": other.text(false)})),
        }
        Failure::Reported(failure.number())
    })
}

fn simulate(args: &Args, kind: Kind, scenario: &Scenario, mut overrides: Vec<String>) -> Result<(), Failure> {
    let resolved = scenario.resolve()?;
    overrides.extend(args.input.seed.map(|n| format!("seed={n}")));
    let jobs = jobs(&resolved);
    let threads = args.threads.map_or(Host::here().cpus, usize::from);

    interrupt::listen()?;
    let format = if args.format == FormatArg::Csv { Format::Csv } else { Format::Parquet };
    let writer = RunWriter::create(target(args, &resolved), format)?;
    interrupt::clean_up_on_panic(writer.staging().to_owned());
    announce(args, kind, &resolved, jobs.len(), threads)?;

    let labels: Vec<String> = resolved.variants.iter().map(|v| v.label.clone()).collect();
    let (record, clock) =
        (Record::new(args.input.file.display().to_string(), scenario.text(), overrides, &resolved), Instant::now());
    let mut collector = Collector {
        writer,
        display: Display::new(kind, &labels),
        record,
        variants: labels.into_iter().map(|label| table::Variant { label, seeds: Vec::new() }).collect(),
    };
    let result = run_all(&resolved, &jobs, threads, interrupt::flag(), &mut collector);
    collector.display.clear();
    result?;
    if interrupt::asked() || collector.record.len() < jobs.len() {
        return Err(Failure::Interrupted);
    }

    let manifest = collector.record.manifest(threads.min(jobs.len()), clock.elapsed());
    let dir = collector.writer.finish(manifest.clone())?;
    // From here on nothing takes the results away again, not even a defect of the report.
    interrupt::kept(&dir);
    let report = if args.no_report { None } else { beside_results(&dir, kind) };
    if kind == Kind::Json {
        event(&json!({
            "event": "done", "dir": dir, "world": manifest.world, "fingerprint": manifest.fingerprint, "packet_hops": manifest.packet_hops,
            "packet_hops_per_s": manifest.packet_hops_per_s, "wall_s": manifest.wall_s, "report": report,
        }));
    }
    conclude(args, &collector.variants, &manifest, &dir, report.as_deref())?;
    match &args.out {
        Some(wanted) if *wanted != dir => elsewhere(wanted, &dir, kind),
        _ => Ok(()),
    }
}

/// The name that was asked for was taken while the runs went on: says where the results are instead, and fails.
fn elsewhere(wanted: &Path, dir: &Path, kind: Kind) -> Result<(), Failure> {
    let text = format!("`{}` was taken while the runs went on; the results are in `{}`", wanted.display(), dir.display());
    if kind == Kind::Json {
        event(&json!({"event": "warning", "text": text}));
    } else {
        warn(&text);
    }
    Err(Failure::Reported(1))
}

/// Writes the report of finished results. That it could not be written is said, and is no failure of the run.
fn beside_results(dir: &Path, kind: Kind) -> Option<PathBuf> {
    written(RunDir::open(dir).and_then(|results| report::write(&[results], &dir.join(report::FILE))), kind)
}

/// The path of a report, or words about why there is none.
pub(super) fn written(report: Result<PathBuf, StoreError>, kind: Kind) -> Option<PathBuf> {
    match report {
        Ok(path) => Some(path),
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

fn target(args: &Args, resolved: &Resolved) -> Target {
    match &args.out {
        Some(path) => Target::Exact { path: path.clone(), force: args.force },
        None => Target::Numbered { parent: PathBuf::from("out"), name: file_name(&resolved.name) },
    }
}

/// Says what is about to run, and what the scenario reader remarked.
fn announce(args: &Args, kind: Kind, resolved: &Resolved, runs: usize, threads: usize) -> Result<(), Failure> {
    if kind == Kind::Json {
        event(&json!({"event": "start", "name": resolved.name, "runs": runs, "threads": threads.min(runs)}));
        for text in &resolved.notes {
            event(&json!({"event": "note", "text": text}));
        }
    }
    if args.quiet || resolved.notes.is_empty() {
        return Ok(());
    }
    print(&format!("{}\n\n", resolved.notes.join("\n")))
}

/// The last words: the table, where the results are, and how fast it went.
fn conclude(
    args: &Args,
    variants: &[table::Variant],
    manifest: &Manifest,
    dir: &Path,
    report: Option<&Path>,
) -> Result<(), Failure> {
    let mut out = String::new();
    if !args.quiet {
        out.push_str(&table::render(variants, style::stdout()));
        out.push('\n');
    }
    out.push_str(&format!("results: {}\n", dir.display()));
    if !args.quiet {
        let (hops, rate) = (scaled(manifest.packet_hops as f64, "packet transmissions"), scaled(manifest.packet_hops_per_s, ""));
        let threads = if manifest.threads == 1 { "1 thread".into() } else { format!("{} threads", manifest.threads) };
        if let Some(path) = report {
            out.push_str(&format!("report: {}\n", path.display()));
        }
        out.push_str(&format!("world: {}\n", manifest.world));
        out.push_str(&format!("fingerprint: {}\n", manifest.fingerprint));
        out.push_str(&format!("speed: {hops} in {:.2} s, {} per second on {threads}\n", manifest.wall_s, rate.trim_end()));
    }
    print(&out)
}

/// Writes results as they come and keeps what the end needs.
struct Collector {
    writer: RunWriter,
    display: Display,
    record: Record,
    variants: Vec<table::Variant>,
}

impl Watcher for Collector {
    type Error = Failure;

    fn tick(&mut self, jobs: &[Job], elapsed: Duration) {
        self.display.tick(jobs, elapsed);
    }

    fn finished(&mut self, jobs: &[Job], outcome: Outcome) -> Result<(), Failure> {
        let (job, report) = (&jobs[outcome.job], &outcome.report);
        self.writer.add(&outcome.info, report, &outcome.summary)?;
        self.display.run_done(job, &outcome);
        self.record.add(job, &outcome);
        self.variants[job.variant].seeds.push(outcome.summary);
        Ok(())
    }
}
