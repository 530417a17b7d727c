//! Single scenario: all variants with all seeds.

use super::setup::{SetupGuard, report_or_warning, warn_of_unnamed};
use super::{Args, FormatArg};
use crate::closed_forms::ClosedForms;
use crate::interrupt::{self, Forced};
use crate::limits::{Files, Watch};
use crate::mpi_run;
use crate::report::{self, Written};
use crate::terminal::failure::Failure;
use crate::terminal::output::{print, print_data, remark, warn};
use crate::terminal::progress::{Display, ProgressFormat, as_event, event};
use crate::terminal::summary_table::{self, scaled};
use crate::terminal::wrap;
use crate::terminal::{grid, sentences, style};
use forebay_analysis::{Grid, Judged, Verdict, check_expectations, judge_expectations, list};
use forebay_runner::{Job, Outcome, Record, Watcher, capture_name, jobs, run_until, write_capture};
use forebay_scenario::{Resolved, Scenario};
use forebay_store::summary::{GROUP_METRICS, GroupSummary, NETWORK_METRICS, Summary};
use forebay_store::{Format, Host, Manifest, Pace, RunDir, RunWriter, Target, file_name};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Time to remove guests and namespaces of other backends than the simulator after a signal.
const TEARDOWN: Duration = Duration::from_secs(5);

/// Runs that are ready to begin, and the place of their results.
struct Ready {
    resolved: Resolved,
    /// `None` in processes that follow another one.
    writer: Option<RunWriter>,
    threads: usize,
}

/// Does all checks before the first run.
fn prepare(args: &Args, kind: ProgressFormat, scenario: &Scenario) -> Result<Ready, Failure> {
    let resolved = scenario.resolve()?;
    check_expectations(scenario, &resolved)?;
    let divided = mpi_run::processes().is_some();
    if divided && resolved.stop.is_some() {
        let text =
            "[stop] and --within end runs of one process, and mpirun divides them; start it without mpirun, or without [stop]";
        return Err(Failure::Usage(text.into()));
    }
    // Runs that are divided among processes run one after the other.
    let threads = if divided { 1 } else { args.threads.map_or(Host::here().cpus, usize::from) };
    let grace = if resolved.world.name() == "sim" { interrupt::GRACE } else { TEARDOWN };
    interrupt::listen_or_end(Forced { grace, json: kind == ProgressFormat::Json, continues: false })?;
    if mpi_run::is_follower() {
        return Ok(Ready { resolved, writer: None, threads });
    }
    let target = target(args, &resolved);
    warn_of_unnamed(&target, kind);
    args.limits.admit(&resolved, threads, &Files::Results(target.folder()))?;
    let format = if args.format == FormatArg::Csv { Format::Csv } else { Format::Parquet };
    let writer = RunWriter::create(target, format)?;
    interrupt::remove_on_exit(writer.staging().to_owned());
    announce(args, kind, &resolved, jobs(&resolved).len(), threads);
    Ok(Ready { resolved, writer: Some(writer), threads })
}

/// Runs the scenario of a command that began at `began`.
pub(super) fn run(
    args: &Args,
    (kind, began): (ProgressFormat, Instant),
    setup: SetupGuard,
    scenario: &Scenario,
    mut overrides: Vec<String>,
) -> Result<(), Failure> {
    let cores = args.threads.map_or(1, usize::from);
    let ready = prepare(args, kind, scenario).and_then(|mut ready| {
        mpi_run::divide(&mut ready.resolved, cores)?;
        Ok(ready)
    });
    let Ready { resolved, writer, threads } = mpi_run::agree(ready, |ready| mpi_run::digest(&ready.resolved))?;
    drop(setup);
    let Some(writer) = writer else { return mpi_run::follow(&resolved, &args.limits, cores) };
    overrides.extend(args.input.seed.map(|n| format!("seed={n}")));
    let jobs = jobs(&resolved);

    let labels: Vec<String> = resolved.variants.iter().map(|v| v.label.clone()).collect();
    let record = Record::new(args.input.file.display().to_string(), scenario.text(), overrides, &resolved);
    let cut = AtomicBool::new(false);
    let mut watch = args.limits.watch(began);
    watch.writes_to(writer.staging());
    let mut collector = Collector {
        args,
        kind,
        threads,
        clock: Instant::now(),
        writer: Some(writer),
        display: Display::new(kind, &labels),
        record: Some(record),
        variants: labels.into_iter().map(|label| summary_table::Variant { label, seeds: Vec::new() }).collect(),
        watch,
        cut: &cut,
        last: None,
        ended: 0,
        stuck: 0,
        unwritten: BTreeMap::new(),
        resolved: &resolved,
        captures: Vec::new(),
        closed_forms: (resolved.world.name() == "model").then(|| ClosedForms::of(&resolved)),
    };
    let result = run_until(&resolved, &jobs, threads, interrupt::flag(), &cut, &mut collector);
    collector.display.clear();
    result?;
    mpi_run::finish();
    collector.conclude(&jobs)
}

/// Warns that another process created the output directory during the runs, with the path of the results, and fails.
fn warn_of_other_name(wanted: &Path, dir: &Path, kind: ProgressFormat) -> Result<(), Failure> {
    let text = format!("`{}` was created by another process; the results are in `{}`", wanted.display(), dir.display());
    if kind == ProgressFormat::Json {
        event(&json!({"event": "warning", "text": text}));
    } else {
        warn(&text);
    }
    Err(Failure::Reported(1))
}

/// Runs `work` on a thread and waits for it as long as `left`. `None` if it has not ended by then, or if no thread can be created; the process ends
/// soon after.
fn with_timeout<T: Send + 'static>(left: Option<Duration>, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let Some(left) = left else { return Some(work()) };
    if left.is_zero() {
        return None;
    }
    let (sender, receiver) = mpsc::channel();
    // A late result is not received.
    thread::Builder::new().spawn(move || drop(sender.send(work()))).ok()?;
    receiver.recv_timeout(left).ok()
}

/// Writes the report of finished results within `left`. A report that cannot be written is a warning, not a failure of the run.
fn write_report(dir: &Path, left: Option<Duration>, kind: ProgressFormat) -> Option<Written> {
    let folder = dir.to_owned();
    let page = move || RunDir::open(&folder).and_then(|results| report::write(&[results], &[], &folder.join(report::FILE)));
    let Some(page) = with_timeout(left, page) else {
        let text = format!(
            "no report was written: --max-time expired, or no thread could be created; `forebay report {}` writes it",
            dir.display()
        );
        if kind == ProgressFormat::Json {
            event(&json!({"event": "warning", "text": text}));
        } else {
            warn(&text);
        }
        return None;
    };
    report_or_warning(page, kind)
}

fn target(args: &Args, resolved: &Resolved) -> Target {
    match &args.out {
        Some(path) => Target::Exact { path: path.clone(), force: args.force },
        None => Target::Numbered { parent: PathBuf::from("out"), name: file_name(&resolved.name) },
    }
}

/// Prints the coming runs, and the notes of the scenario reader.
fn announce(args: &Args, kind: ProgressFormat, resolved: &Resolved, runs: usize, threads: usize) {
    if kind == ProgressFormat::Json {
        event(&json!({"event": "start", "name": resolved.name, "runs": runs, "threads": threads.min(runs)}));
        for text in &resolved.notes {
            event(&json!({"event": "note", "text": text}));
        }
    } else if !args.quiet {
        remark(&resolved.notes);
    }
}

/// Numbers of all runs.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    variants: &'a [summary_table::Variant],
    /// Values of the closed forms, if these run the scenario.
    closed_forms: Option<&'a ClosedForms>,
    /// Judged expectations.
    judged: &'a [Judged],
}

/// An expectation for programs.
fn expectation(j: &Judged) -> Value {
    let bound = |v: f64| v.is_finite().then_some(v);
    json!({
        "metric": j.metric, "subject": j.subject, "value": j.value, "at_least": j.at_least, "low": bound(j.range.0),
        "high": bound(j.range.1), "source": j.source, "verdict": j.verdict.name(), "reason": j.reason,
    })
}

/// The results for programs: the numbers of the table `summary`, by variant, run and transport group.
fn document(
    sentences: &[String],
    &Numbers { variants, closed_forms, judged }: &Numbers<'_>,
    manifest: &Manifest,
    dir: &Path,
    report: Option<&Path>,
) -> Value {
    let number = |v: Option<f64>| v.filter(|v| v.is_finite());
    let summary = |s: &Summary| {
        let group = |g: &GroupSummary| {
            let numbers: Map<String, Value> =
                GROUP_METRICS.iter().map(|m| (m.name.to_owned(), number((m.get)(g)).into())).collect();
            json!({"transport": g.name, "numbers": numbers})
        };
        let network: Map<String, Value> =
            NETWORK_METRICS.iter().map(|m| (m.name.to_owned(), number((m.get)(&s.network)).into())).collect();
        json!({"groups": s.groups.iter().map(group).collect::<Vec<_>>(), "network": network})
    };
    let variant =
        |v: &summary_table::Variant| json!({"variant": v.label, "runs": v.seeds.iter().map(summary).collect::<Vec<_>>()});
    let mut variants: Vec<Value> = variants.iter().map(variant).collect();
    if let Some(closed_forms) = closed_forms {
        closed_forms.add_to(&mut variants);
    }
    json!({
        "name": manifest.name, "world": manifest.world, "dir": dir, "report": report, "fingerprint": manifest.fingerprint,
        "partial": manifest.partial, "answer": sentences.iter().map(|s| s.replace("**", "")).collect::<Vec<_>>(), "packet_transmissions": manifest.packet_hops, "wall_s": manifest.wall_s,
        "variants": variants, "expectations": judged.iter().map(expectation).collect::<Vec<_>>(),
    })
}

/// Prints the sentences, the table, the path of the results, and the speed.
fn conclude(
    args: &Args,
    (sentences, workloads): &(Vec<String>, Option<Grid>),
    numbers: &Numbers<'_>,
    manifest: &Manifest,
    (dir, report, captures): (&Path, Option<&Path>, &[String]),
) -> Result<(), Failure> {
    if args.format == FormatArg::Json {
        return print_data(&format!("{:#}\n", document(sentences, numbers, manifest, dir, report)));
    }
    let &Numbers { variants, closed_forms, judged } = numbers;
    let mut out = String::new();
    if !manifest.partial.is_empty() {
        let _ = writeln!(out, "{}", style::paint(style::stdout(), style::WARNING, &manifest.partial));
    }
    if !args.quiet {
        if !sentences.is_empty() {
            out.push_str(&sentences::render(sentences, style::stdout()));
            out.push('\n');
        }
        // Few workloads share the rows with the numbers; a longer list of them is in the report.
        let few = workloads.as_ref().filter(|w| args.all || w.rows.len() <= summary_table::ROWS / 3);
        let rows = (!args.all).then(|| summary_table::ROWS - few.map_or(0, |w| w.rows.len()));
        out.push_str(&summary_table::render(variants, rows, wrap::stdout(), style::stdout()));
        out.push('\n');
        if let Some(workloads) = few {
            out.push_str(&grid::render(workloads, wrap::stdout(), style::stdout()));
            out.push('\n');
        }
        for (number, variant) in variants.iter().enumerate() {
            let Some(closed_forms) = closed_forms else { break };
            let _ = writeln!(out, "{}", style::paint(style::stdout(), style::NAME, &variant.label));
            out.push_str(&closed_forms.table(number, false, style::stdout()));
        }
    }
    // Expectations that hold are left out of the shortest output.
    for j in judged.iter().filter(|j| !args.quiet || j.verdict != Verdict::Within) {
        let line = j.line();
        let _ = writeln!(
            out,
            "{}",
            if j.verdict == Verdict::Within { line } else { style::paint(style::stdout(), style::WARNING, &line) }
        );
    }
    out.push_str(&format!("results: {}\n", dir.display()));
    for name in captures {
        let _ = writeln!(out, "packets: {}", dir.join(name).display());
    }
    if !args.quiet {
        let (hops, rate) = (scaled(manifest.packet_hops as f64, "packet transmissions"), scaled(manifest.packet_hops_per_s, ""));
        let threads = if manifest.threads == 1 { "1 thread".into() } else { format!("{} threads", manifest.threads) };
        if let Some(path) = report {
            out.push_str(&format!("report: {}\n", path.display()));
        }
        let version = if manifest.world_version.is_empty() { String::new() } else { format!(" ({})", manifest.world_version) };
        out.push_str(&format!("world: {}{version}, stack: {}\n", manifest.world, manifest.stacks.join(", ")));
        for r in manifest.runs.iter().filter(|r| !r.remark.is_empty()) {
            out.push_str(&format!("{}, seed {}: {}\n", r.variant, r.seed, r.remark));
        }
        out.push_str(&format!("fingerprint: {}\n", manifest.fingerprint));
        out.push_str(&format!("speed: {hops} in {:.2} s, {} per second on {threads}\n", manifest.wall_s, rate.trim_end()));
    }
    print(&out)
}

/// Writes results as runs end, and keeps the data for the summary.
struct Collector<'a> {
    args: &'a Args,
    kind: ProgressFormat,
    threads: usize,
    clock: Instant,
    /// `None` once the results are being completed; `record` likewise.
    writer: Option<RunWriter>,
    display: Display,
    record: Option<Record>,
    variants: Vec<summary_table::Variant>,
    watch: Watch,
    /// Requests the runs to end.
    cut: &'a AtomicBool,
    /// Time of the request to end, or of the latest end of a run after it.
    last: Option<Instant>,
    /// Runs that ended before their end.
    ended: usize,
    /// Runs that did not end after `cut` was set.
    stuck: usize,
    /// For each incomplete table, rows written and rows in total.
    unwritten: BTreeMap<&'static str, (u64, u64)>,
    resolved: &'a Resolved,
    /// Files with captured packets.
    captures: Vec<String>,
    /// Values of the closed forms, where these run the scenario.
    closed_forms: Option<ClosedForms>,
}

impl Collector<'_> {
    fn runs_there(&self) -> usize {
        self.record.as_ref().map_or(0, Record::len)
    }

    /// The reason of partial results.
    fn partial(&self, runs: usize) -> Option<String> {
        let (there, ended) = (self.runs_there(), self.ended);
        let why = self.watch.why().filter(|_| there < runs || ended > 0 || !self.unwritten.is_empty())?;
        let missing: Vec<String> = self.variants.iter().filter(|v| v.seeds.is_empty()).map(|v| v.label.clone()).collect();
        let none = if missing.is_empty() { String::new() } else { format!("; there is nothing of {}", list(&missing)) };
        let stuck =
            if self.stuck > 0 { format!("; {} did not end by themselves and are left out", self.stuck) } else { String::new() };
        let table = |(name, (written, rows)): (&&str, &(u64, u64))| format!("the first {written} of {rows} rows of `{name}`");
        let tables: Vec<String> = self.unwritten.iter().map(table).collect();
        let tables = if tables.is_empty() { String::new() } else { format!("; incomplete tables: {}", list(&tables)) };
        Some(format!(
            "partial results: {why}; {} of {runs} runs are complete, {ended} ended early{stuck}{none}{tables}",
            there - ended
        ))
    }

    /// Completes the results of the runs that have ended, and prints them.
    fn conclude(&mut self, jobs: &[Job]) -> Result<(), Failure> {
        let (args, kind) = (self.args, self.kind);
        let partial = self.partial(jobs.len());
        // An error removes what was written.
        let (Some(writer), Some(mut record)) = (self.writer.take(), self.record.take()) else { return Err(Failure::Interrupted) };
        if interrupt::requested() || (record.len() < jobs.len() && partial.is_none()) || record.is_empty() {
            return Err(partial.map_or(Failure::Interrupted, |why| Failure::Machine(format!("{why}; there are no results"))));
        }
        if let Some(why) = &partial {
            record.set_partial(why.clone());
        }
        // Of several runs at the same time each has one.
        let used = jobs.iter().map(Job::cores).max().unwrap_or(1);
        let manifest = record.manifest(self.threads.min(jobs.len()).max(used), self.clock.elapsed());
        let dir = writer.finish_if(manifest.clone(), &interrupt::commit)?;
        // From here on the results are kept, even after a defect of the report.
        interrupt::kept(&dir);
        if let Some((bytes, by)) = self.watch.report_memory() {
            forebay_analysis::limit_memory(bytes, by);
        }
        let left = self.watch.left();
        let report = if args.no_report { None } else { write_report(&dir, left, kind) };
        let answer = match &report {
            Some(written) => (written.sentences.clone(), written.workloads.clone()),
            // No sentences if the results cannot be read back in time; the table of numbers does not need them.
            None if !args.quiet => {
                let folder = dir.clone();
                let answer = move || RunDir::open(&folder).and_then(|d| report::answer(&[d])).unwrap_or_default();
                with_timeout(self.watch.left(), answer).unwrap_or_default()
            }
            None => Default::default(),
        };
        let report = report.map(|w| w.path);
        if kind == ProgressFormat::Json {
            event(&json!({
                "event": "done", "dir": dir, "world": manifest.world, "fingerprint": manifest.fingerprint, "packet_hops": manifest.packet_hops,
                "packet_hops_per_s": manifest.packet_hops_per_s, "wall_s": manifest.wall_s, "report": report, "partial": manifest.partial,
            }));
        }
        let seeds: Vec<&[Summary]> = self.variants.iter().map(|v| v.seeds.as_slice()).collect();
        let judged = judge_expectations(self.resolved, &seeds, !manifest.partial.is_empty());
        let numbers = Numbers { variants: &self.variants, closed_forms: self.closed_forms.as_ref(), judged: &judged };
        let files = (dir.as_path(), report.as_deref(), self.captures.as_slice());
        conclude(args, &answer, &numbers, &manifest, files)?;
        match &args.out {
            Some(wanted) if *wanted != dir => warn_of_other_name(wanted, &dir, kind),
            _ if judged.iter().any(|j| j.verdict != Verdict::Within) => Err(Failure::Reported(1)),
            _ => Ok(()),
        }
    }

    /// Ends the process with the results of the finished runs if others exceed the time that they have to end.
    fn abandon_late_runs(&mut self, jobs: &[Job]) {
        let last = *self.last.get_or_insert_with(Instant::now);
        if !self.watch.must_abandon(last.elapsed()) {
            return;
        }
        self.stuck = jobs.iter().filter(|j| j.state().running).count();
        self.display.clear();
        let code = match self.conclude(jobs) {
            Ok(()) => 0,
            Err(failure) => {
                let failure = as_event(self.kind, failure);
                failure.report();
                mpi_run::abort(&failure);
                failure.number()
            }
        };
        process::exit(code.into());
    }
}

impl Watcher for Collector<'_> {
    type Error = Failure;

    fn tick(&mut self, jobs: &[Job], elapsed: Duration) {
        self.display.tick(jobs, elapsed);
        if self.watch.exceeded(jobs.iter().map(|j| j.state().to_report).sum()) {
            self.cut.store(true, Relaxed);
            self.abandon_late_runs(jobs);
        }
    }

    fn finished(&mut self, jobs: &[Job], outcome: Outcome) -> Result<(), Failure> {
        let (job, report) = (&jobs[outcome.job], &outcome.report);
        let (watch, cut) = (&mut self.watch, self.cut);
        let mut pace = || {
            if interrupt::requested() {
                return Pace::Abandon;
            }
            // Other runs go on meanwhile.
            if watch.time_is_over() {
                cut.store(true, Relaxed);
            }
            if watch.overdue() { Pace::Truncate } else { Pace::Continue }
        };
        let (Some(writer), Some(record)) = (&mut self.writer, &mut self.record) else { return Ok(()) };
        for table in writer.add_paced((&outcome.info, report, &outcome.summary), &mut pace)? {
            let sum = self.unwritten.entry(table.table.name()).or_default();
            *sum = (sum.0 + table.written, sum.1 + table.rows);
        }
        let config = &self.resolved.variants[job.variant()].config;
        if !config.observe.capture.is_off() {
            let name = capture_name(outcome.info.variant(), job.run(), config.observe.capture.format);
            writer.add_capture(&name, |file| write_capture(file, &outcome.info, config, report))?;
            self.captures.push(name);
        }
        self.display.run_done(job, &outcome);
        record.add(job, &outcome);
        self.ended += usize::from(outcome.report.cut);
        self.variants[job.variant()].seeds.push(outcome.summary);
        if self.cut.load(Relaxed) {
            self.last = Some(Instant::now());
        }
        Ok(())
    }
}
