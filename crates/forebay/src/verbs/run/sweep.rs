//! Sweep: the scenario for many values, on all cores, into a directory that can be continued.

use super::setup::{SetupGuard, report_or_warning, warn_of_unnamed};
use super::{Args, FormatArg};
use crate::input::resolve_path;
use crate::interrupt;
use crate::interrupt::Forced;
use crate::limits::Files;
use crate::python::Python;
use crate::report::{self, Written};
use crate::sweep_progress::Display;
use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use crate::terminal::progress::{ProgressFormat, event};
use crate::terminal::summary_table::{self, scaled};
use crate::terminal::wrap;
use crate::terminal::{sentences, style, sweep_table};
use forebay_runner::sweep::{Finished, Plan, Request, Shard, SweepError, default_dir, execute as run_sweep, execute_shard};
use forebay_scenario::{Scenario, Sweep};
use forebay_store::sweep::SweepScenario;
use forebay_store::unit::UnitStore;
use forebay_store::{Host, Target};
use serde_json::json;
use std::fmt::Write as _;
use std::time::Instant;

/// Runs the sweep of a scenario, or a part of it, for a command that began at `began`.
pub(super) fn run(
    args: &Args,
    clock: (ProgressFormat, Instant),
    guard: SetupGuard,
    scenario: Scenario,
    sweep: &Sweep,
    overrides: Vec<String>,
) -> Result<(), Failure> {
    if args.dry_run {
        return list(args, &with_seeds(args, scenario, sweep)?.0);
    }
    if let Some(address) = &args.dask {
        drop(guard);
        on_workers(address, args, &scenario, sweep, clock.0)?;
        return run_all(args, clock, SetupGuard::new(None, clock.1, clock.0), scenario, sweep, overrides);
    }
    match args.shard {
        Some(shard) => run_shard(args, clock, guard, scenario, sweep, overrides, shard),
        None => run_all(args, clock, guard, scenario, sweep, overrides),
    }
}

/// Lets the workers of a Dask scheduler make the runs of a sweep; their results are in the sweep's directory afterwards.
fn on_workers(address: &str, args: &Args, scenario: &Scenario, sweep: &Sweep, kind: ProgressFormat) -> Result<(), Failure> {
    let python = Python::with("sweeps on Dask", &["forebay", "distributed"], "dask")?;
    let (_, seeds) = with_seeds(args, scenario.clone(), sweep)?;
    let file = resolve_path(&args.input.file);
    let mut sets = args.input.overrides();
    sets.extend(args.input.runs.filter(|_| seeds.is_none()).map(|n| format!("runs={n}")));
    sets.extend(seeds);
    let job = json!({
        "address": address, "file": file, "text": scenario.text(), "sets": sets, "seed": args.input.seed, "axes": args.sweep,
        "out": args.out, "progress": kind == ProgressFormat::Bar,
    });
    python.wait(&mut python.module("forebay._dask_command"), Some(&job.to_string()))
}

/// Runs a shard of a sweep.
fn run_shard(
    args: &Args,
    (kind, began): (ProgressFormat, Instant),
    guard: SetupGuard,
    scenario: Scenario,
    sweep: &Sweep,
    overrides: Vec<String>,
    shard: Shard,
) -> Result<(), Failure> {
    let (scenario, overrides) = ready(args, kind, scenario, sweep, overrides)?;
    drop(guard);
    let mut display = Display::new(kind, args.quiet, args.limits.watch(began));
    let result = execute_shard(request(args, &scenario, overrides), shard, interrupt::flag(), &mut display);
    display.clear();
    let Some(done) = ended(result, &display)? else { return Ok(()) };
    let mut out = format!("results: {}\n", done.dir.display());
    if !args.quiet {
        let _ = writeln!(out, "shard {shard}: {} of {} runs are done; forebay merge joins shards", done.units, done.total);
    }
    print(&out)
}

/// Applies `--runs` to the seeds of a sweep: the scenario, and the override for the seeds.
fn with_seeds(args: &Args, scenario: Scenario, sweep: &Sweep) -> Result<(Scenario, Option<String>), Failure> {
    if let (Some(n), None) = (args.input.seed, args.input.runs)
        && sweep.lists_seeds()
    {
        let text = format!(
            "--seed {n} and the list `seeds` of [sweep] exclude each other; with --runs M, the seeds are {n} to {n} + M - 1"
        );
        return Err(Failure::Usage(text));
    }
    let Some(runs) = args.input.runs else { return Ok((scenario, None)) };
    let text = format!("sweep.seeds={runs}");
    let mut sets = args.input.overrides();
    sets.push(text.clone());
    let mut scenario = forebay_scenario::load(forebay_backends::all(), &resolve_path(&args.input.file), &sets, args.input.seed)?;
    args.sweep.iter().try_for_each(|text| scenario.add_axis(text))?;
    Ok((scenario, Some(text)))
}

/// Runs all points.
fn run_all(
    args: &Args,
    (kind, began): (ProgressFormat, Instant),
    guard: SetupGuard,
    scenario: Scenario,
    sweep: &Sweep,
    overrides: Vec<String>,
) -> Result<(), Failure> {
    let (scenario, overrides) = ready(args, kind, scenario, sweep, overrides)?;
    drop(guard);
    let mut display = Display::new(kind, args.quiet, args.limits.watch(began));
    let result = run_sweep(request(args, &scenario, overrides), interrupt::flag(), &mut display);
    display.clear();
    // The caller has checked that there is a sweep.
    let Some(finished) = ended(result, &display)? else { return Ok(()) };
    conclude(
        &finished,
        display.hops(),
        &Summary { kind, quiet: args.quiet, report: !args.no_report, metrics: &args.metrics, all: args.all },
    )
}

/// The scenario with the seeds of the command line, after the checks of the other arguments.
fn ready(
    args: &Args,
    kind: ProgressFormat,
    scenario: Scenario,
    sweep: &Sweep,
    mut overrides: Vec<String>,
) -> Result<(Scenario, Vec<String>), Failure> {
    if args.force {
        let text = "--force is for single runs: a sweep continues where it stopped; remove its directory to begin again";
        return Err(Failure::Usage(text.into()));
    }
    let (scenario, seeds) = with_seeds(args, scenario, sweep)?;
    overrides.extend(seeds);
    overrides.extend(args.input.seed.map(|n| format!("seed={n}")));
    admit(args, &scenario)?;
    if let Some(path) = &args.out {
        warn_of_unnamed(&Target::Exact { path: path.clone(), force: false }, kind);
    }
    interrupt::listen_or_end(Forced { grace: interrupt::GRACE_OF_SWEEPS, json: kind == ProgressFormat::Json, continues: true })?;
    Ok((scenario, overrides))
}

fn request<'a>(args: &Args, scenario: &'a Scenario, overrides: Vec<String>) -> Request<'a> {
    Request {
        scenario,
        source: SweepScenario {
            file: args.input.file.display().to_string(),
            text: scenario.text().to_owned(),
            overrides,
            sweeps: args.sweep.clone(),
        },
        dir: args.out.clone(),
        threads: args.threads.map_or(Host::here().cpus, usize::from),
        csv: args.format == FormatArg::Csv,
    }
}

/// The result, or the failure; a limit that ended the sweep is printed with the command that continues it.
fn ended<T>(result: Result<T, SweepError>, display: &Display) -> Result<T, Failure> {
    match (result, display.why()) {
        (Ok(finished), _) => Ok(finished),
        (Err(SweepError::Interrupted { done, total }), Some(why)) => {
            let text = format!("{why}; {done} of {total} runs are done and kept: run the same command again to continue");
            Err(Failure::Machine(text))
        }
        (Err(e), _) => Err(e.into()),
    }
}

/// Choices for the summary of a finished sweep.
pub(crate) struct Summary<'a> {
    pub(crate) kind: ProgressFormat,
    pub(crate) quiet: bool,
    /// Write the report.
    pub(crate) report: bool,
    /// Columns of the printed table; a default choice if there are none.
    pub(crate) metrics: &'a [String],
    /// Print all rows.
    pub(crate) all: bool,
}

/// Writes the report of a finished sweep, and prints its summary.
pub(crate) fn conclude(finished: &Finished, hops: u64, summary: &Summary<'_>) -> Result<(), Failure> {
    let page = || report::write_sweep(&finished.dir, &finished.dir.path().join(report::FILE));
    let page = if summary.report { report_or_warning(page(), summary.kind) } else { None };
    let m = &finished.manifest;
    if summary.kind == ProgressFormat::Json {
        event(&json!({
            "event": "done", "dir": finished.dir.path(), "fingerprint": m.fingerprint, "packet_hops": m.packet_hops,
            "runs": finished.plan.distinct().len(), "found": m.found, "wall_s": m.wall_s, "report": page.as_ref().map(|w| &w.path),
            "partial": m.partial,
        }));
    }
    print_summary(summary, finished, hops, page.as_ref())
}

/// Refuses a sweep that would not fit into memory, by its first and its last point, which are the extremes of an ordered axis.
fn admit(args: &Args, scenario: &Scenario) -> Result<(), Failure> {
    let Some(sweep) = scenario.sweep()? else { return Ok(()) };
    let threads = args.threads.map_or(Host::here().cpus, usize::from);
    let ends = [0, sweep.len().saturating_sub(1)];
    for point in ends.iter().take(sweep.len().min(2)).filter_map(|i| sweep.point(*i)) {
        // Errors of a point are reported with those of the others, when all are checked.
        if let Ok(resolved) = scenario.at(&point).and_then(|s| s.resolve()) {
            args.limits.admit(&resolved, threads, &Files::Samples(std::env::temp_dir()))?;
        }
    }
    Ok(())
}

/// Prints the table, the path of the results, and the speed.
fn print_summary(summary: &Summary<'_>, f: &Finished, hops: u64, page: Option<&Written>) -> Result<(), Failure> {
    let mut out = String::new();
    let m = &f.manifest;
    if !m.partial.is_empty() {
        let _ = writeln!(out, "{}", style::paint(style::stdout(), style::WARNING, &m.partial));
    }
    if !summary.quiet {
        // Without sentences if the results cannot be read back; the table of numbers does not depend on them.
        let sentences = page.map_or_else(|| report::sweep_answer(&f.dir).unwrap_or_default(), |w| w.sentences.clone());
        if !sentences.is_empty() {
            out.push_str(&sentences::render(&sentences, style::stdout()));
            out.push('\n');
        }
        let rows = (!summary.all).then_some(summary_table::ROWS);
        out.push_str(&sweep_table::render(&f.plan, &f.records, (summary.metrics, rows), wrap::stdout(), style::stdout()));
        out.push('\n');
    }
    let _ = writeln!(out, "results: {}", f.dir.path().display());
    if !summary.quiet {
        if let Some(written) = page {
            let _ = writeln!(out, "report: {}", written.path.display());
        }
        let distinct = f.plan.distinct().len() as u64;
        let _ = writeln!(out, "world: {}, stack: {}", m.worlds.join(", "), m.stacks.join(", "));
        if m.partial.is_empty() {
            let _ = writeln!(out, "fingerprint: {}", m.fingerprint);
        }
        let found = if m.found > 0 { format!(", {} of them already finished", m.found) } else { String::new() };
        let done = if m.partial.is_empty() { String::new() } else { format!("{} of ", f.records.done()) };
        let runs = if m.partial.is_empty() { "runs" } else { "runs done" };
        let _ = write!(out, "sweep: {} points, {done}{distinct} {runs}{found}", f.plan.sweep().len());
        if hops > 0 {
            let (hops_text, rate) = (scaled(hops as f64, "packet transmissions"), scaled(hops as f64 / m.wall_s.max(1e-9), ""));
            let _ = write!(out, "; {hops_text} in {:.2} s, {} per second", m.wall_s, rate.trim_end());
        }
        out.push('\n');
    }
    print(&out)
}

/// Prints the points and the missing runs (`--dry-run`).
fn list(args: &Args, scenario: &Scenario) -> Result<(), Failure> {
    let Some(sweep) = scenario.sweep()? else { return Ok(()) };
    let plan = Plan::new(scenario, sweep, Host::here().cpus, interrupt::flag(), &mut |_| {})?;
    let dir = args.out.clone().unwrap_or_else(|| default_dir(plan.name()));
    let store = UnitStore::open(&dir.join("units"));
    let mut missing = vec![0usize; plan.sweep().len()];
    for unit in plan.units().iter().filter(|u| u.same_as().is_none() && store.get(u.key(), plan.sweep().keep()).is_none()) {
        missing[unit.point() as usize] += 1;
    }
    let each = plan.units().len() / missing.len().max(1);
    let mut out = String::new();
    for (point, missing) in plan.sweep().points().zip(&missing) {
        let state = match missing {
            0 => "done".to_owned(),
            n if *n == each => String::new(),
            n => format!("{n} of {each} runs missing"),
        };
        let _ = writeln!(out, "{}\t{}\t{state}", point.index, point.label);
    }
    let (runs, left) = (plan.distinct().len(), missing.iter().sum::<usize>());
    let _ = writeln!(out, "{} points, {runs} runs, {left} missing; results: {}", missing.len(), dir.display());
    print(&out)
}
