//! `forebay run`: simulates a scenario, writes the results and prints the table.

use crate::failure::Failure;
use crate::input::Input;
use crate::output::{print, warn};
use crate::progress::{Display, Kind, event};
use crate::table::{self, scaled};
use crate::{interrupt, report, style};
use forebay_exec::{Job, Outcome, Watcher, jobs, run_all};
use forebay_scenario::Resolved;
use forebay_store::{
    Format, Host, Manifest, RunDir, RunRecord, RunWriter, ScenarioRecord, Target, VariantRecord, combined_fingerprint, file_name,
    utc,
};
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Run a scenario, write its results and print a summary
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: Input,
    /// Directory for the results [default: out/NAME-N, the next free number]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace results that are already in --out
    #[arg(long, requires = "out")]
    force: bool,
    /// How to show progress on standard error [default: bar on a terminal, else none]
    #[arg(long, value_enum)]
    progress: Option<Kind>,
    /// File format of the result tables
    #[arg(long, value_enum, default_value_t = FormatArg::Parquet)]
    format: FormatArg,
    /// Runs at the same time [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    threads: Option<u16>,
    /// Do not write a report beside the results
    #[arg(long)]
    no_report: bool,
    /// Print only where the results are
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormatArg {
    Parquet,
    Csv,
}

/// Runs it. With `--progress json` a failure is told as an event too, so that standard error stays a stream of JSON.
pub fn execute(args: &Args) -> Result<(), Failure> {
    let kind =
        args.progress.unwrap_or_else(|| if std::io::stderr().is_terminal() && !args.quiet { Kind::Bar } else { Kind::None });
    simulate(args, kind).map_err(|failure| {
        if kind != Kind::Json {
            return failure;
        }
        match &failure {
            Failure::Interrupted => event(&json!({"event": "interrupted"})),
            other => event(&json!({"event": "error", "message": other.text(false)})),
        }
        Failure::Reported(failure.number())
    })
}

fn simulate(args: &Args, kind: Kind) -> Result<(), Failure> {
    let (scenario, mut overrides) = args.input.load()?;
    let resolved = scenario.resolve()?;
    overrides.extend(args.input.seed.map(|n| format!("seed={n}")));
    let jobs = jobs(&resolved);
    let host = Host::here();
    let threads = args.threads.map_or(host.cpus, usize::from);

    interrupt::listen()?;
    let format = if args.format == FormatArg::Csv { Format::Csv } else { Format::Parquet };
    let writer = RunWriter::create(target(args, &resolved), format)?;
    interrupt::clean_up_on_panic(writer.staging().to_owned());
    announce(args, kind, &resolved, jobs.len(), threads)?;

    let labels: Vec<String> = resolved.variants.iter().map(|v| v.label.clone()).collect();
    let (started, clock) = (utc(SystemTime::now()), Instant::now());
    let mut collector = Collector {
        writer,
        display: Display::new(kind, &labels),
        records: Vec::new(),
        fingerprints: Vec::new(),
        variants: labels.into_iter().map(|label| table::Variant { label, seeds: Vec::new() }).collect(),
    };
    let result = run_all(&resolved, &jobs, threads, interrupt::flag(), &mut collector);
    collector.display.clear();
    result?;
    if interrupt::asked() || collector.records.len() < jobs.len() {
        return Err(Failure::Interrupted);
    }

    let wall_s = clock.elapsed().as_secs_f64();
    let packet_hops: u64 = collector.records.iter().map(|r| r.packet_hops).sum();
    let manifest = Manifest {
        forebay: env!("CARGO_PKG_VERSION").into(),
        name: resolved.name.clone(),
        started,
        scenario: scenario_record(&args.input.file, scenario.text(), overrides, &resolved),
        fingerprint: format!("{:016x}", combined_fingerprint(&collector.fingerprints)),
        runs: collector.records,
        host,
        threads: threads.min(jobs.len()),
        wall_s,
        packet_hops,
        packet_hops_per_s: packet_hops as f64 / wall_s.max(1e-9),
        ..Manifest::default()
    };
    let dir = collector.writer.finish(manifest.clone())?;
    // From here on nothing takes the results away again, not even a defect of the report.
    interrupt::kept(&dir);
    let report = if args.no_report { None } else { beside_results(&dir, kind) };
    if kind == Kind::Json {
        event(&json!({
            "event": "done", "dir": dir, "fingerprint": manifest.fingerprint, "packet_hops": packet_hops,
            "packet_hops_per_s": manifest.packet_hops_per_s, "wall_s": wall_s, "report": report,
        }));
    }
    conclude(args, &collector.variants, &manifest, &dir, report.as_deref())
}

/// Writes the report of finished results. That it could not be written is said, and is no failure of the run.
fn beside_results(dir: &Path, kind: Kind) -> Option<PathBuf> {
    let written = RunDir::open(dir).and_then(|results| report::write(&[results], &dir.join(report::FILE)));
    match written {
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
        out.push_str(&format!("fingerprint: {}\n", manifest.fingerprint));
        out.push_str(&format!("speed: {hops} in {:.2} s, {} per second on {threads}\n", manifest.wall_s, rate.trim_end()));
    }
    print(&out)
}

fn scenario_record(file: &Path, text: &str, overrides: Vec<String>, resolved: &Resolved) -> ScenarioRecord {
    let variants = resolved.variants.iter().map(|v| VariantRecord { variant: v.label.clone(), resolved: v.echo.clone() });
    ScenarioRecord {
        file: file.display().to_string(),
        text: text.to_owned(),
        overrides,
        variants: variants.collect(),
        notes: resolved.notes.clone(),
    }
}

/// Writes results as they come and keeps what the end needs.
struct Collector {
    writer: RunWriter,
    display: Display,
    records: Vec<RunRecord>,
    fingerprints: Vec<u64>,
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
        self.records.push(RunRecord {
            variant: outcome.info.variant.clone(),
            run: job.run,
            seed: job.seed,
            fingerprint: format!("{:016x}", report.fingerprint),
            end_ns: report.end.as_ns(),
            measured_from_ns: report.measured_from.as_ns(),
            packet_hops: report.packet_hops,
            peak_connections: report.peak_connections,
            wall_s: outcome.wall.as_secs_f64(),
        });
        self.fingerprints.push(report.fingerprint);
        self.variants[job.variant].seeds.push(outcome.summary);
        Ok(())
    }
}
