//! `forebay sweep`: a scenario for many values, on all cores, into a directory that can be continued. `forebay run` of a scenario with a
//! `[sweep]` does the same.

use super::run::{self, FormatArg, scenario, told, written};
use crate::failure::Failure;
use crate::input::found;
use crate::output::print;
use crate::progress::{Kind, event};
use crate::report::{self, Written};
use crate::sweep_progress::Display;
use crate::table::scaled;
use crate::{interrupt, said, style, sweep_table};
use forebay_exec::sweep::{Finished, Plan, Request, SweepError, default_dir, execute as run_sweep};
use forebay_scenario::{Scenario, Sweep};
use forebay_store::Host;
use forebay_store::sweep::SweepScenario;
use forebay_store::unit::UnitStore;
use serde_json::json;
use std::fmt::Write as _;

/// Run a scenario for many values: those of its [sweep] and of --sweep
#[derive(Debug, clap::Args)]
#[group(id = "sweep-args")]
pub(crate) struct Args {
    #[command(flatten)]
    run: run::Args,
    /// Check all points, list them, and say what is left to run
    #[arg(long)]
    dry_run: bool,
}

/// Runs it.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    told(&args.run, |kind| {
        let (scenario, overrides) = scenario(&args.run)?;
        let Some(sweep) = scenario.sweep()? else {
            let text = "the scenario has no [sweep]; add one, or --sweep 'topology.senders=[8, 16]'";
            return Err(Failure::Usage(text.into()));
        };
        if args.dry_run {
            let scenario = with_seeds(&args.run, scenario, &sweep)?.0;
            return list(&args.run, &scenario);
        }
        run(&args.run, kind, scenario, &sweep, overrides)
    })
}

/// `--runs` holds for the seeds of a sweep, too: the scenario, and what that adds to the overrides.
fn with_seeds(args: &run::Args, scenario: Scenario, sweep: &Sweep) -> Result<(Scenario, Option<String>), Failure> {
    if let (Some(n), None) = (args.input.seed, args.input.runs)
        && sweep.lists_seeds()
    {
        let text =
            format!("--seed {n} and the list `seeds` of [sweep] exclude each other; add --runs for so many seeds from {n} on");
        return Err(Failure::Usage(text));
    }
    let Some(runs) = args.input.runs else { return Ok((scenario, None)) };
    let text = format!("sweep.seeds={runs}");
    let mut sets = args.input.overrides();
    sets.push(text.clone());
    let mut scenario = forebay_scenario::load(forebay_worlds::all(), &found(&args.input.file), &sets, args.input.seed)?;
    args.sweep.iter().try_for_each(|text| scenario.add_axis(text))?;
    Ok((scenario, Some(text)))
}

/// Runs the sweep of a scenario.
pub(super) fn run(
    args: &run::Args,
    kind: Kind,
    scenario: Scenario,
    sweep: &Sweep,
    mut overrides: Vec<String>,
) -> Result<(), Failure> {
    if args.force {
        let text = "--force is for single runs: a sweep goes on where it stopped; remove its directory to begin anew";
        return Err(Failure::Usage(text.into()));
    }
    let (scenario, seeds) = with_seeds(args, scenario, sweep)?;
    overrides.extend(seeds);
    overrides.extend(args.input.seed.map(|n| format!("seed={n}")));
    admit(args, &scenario)?;
    interrupt::listen()?;
    let request = Request {
        scenario: &scenario,
        source: SweepScenario {
            file: args.input.file.display().to_string(),
            text: scenario.text().to_owned(),
            overrides,
            sweeps: args.sweep.clone(),
        },
        dir: args.out.clone(),
        threads: args.threads.map_or(Host::here().cpus, usize::from),
        csv: args.format == FormatArg::Csv,
    };
    let mut display = Display::new(kind, args.quiet, args.limits.watch());
    let result = run_sweep(request, interrupt::flag(), &mut display);
    display.clear();
    let finished = match (result, display.why()) {
        (Ok(finished), _) => finished,
        (Err(SweepError::Interrupted { done, total }), Some(why)) => {
            let text = format!("{why}; {done} of {total} runs are done and kept: run the same command again to go on");
            return Err(Failure::Machine(text));
        }
        (Err(e), _) => return Err(e.into()),
    };
    // There is a sweep, or nobody would be here.
    let Some(finished) = finished else { return Ok(()) };
    let page = || report::write_sweep(&finished.dir, &finished.dir.path().join(report::FILE));
    let page = if args.no_report { None } else { written(page(), kind) };
    let m = &finished.manifest;
    if kind == Kind::Json {
        event(&json!({
            "event": "done", "dir": finished.dir.path(), "fingerprint": m.fingerprint, "packet_hops": m.packet_hops,
            "runs": finished.plan.distinct().len(), "found": m.found, "wall_s": m.wall_s, "report": page.as_ref().map(|w| &w.path),
        }));
    }
    conclude(args, &finished, display.hops(), page.as_ref())
}

/// Refuses a sweep that would not fit into memory, by its first and its last point: what is swept grows or shrinks on the way.
fn admit(args: &run::Args, scenario: &Scenario) -> Result<(), Failure> {
    let Some(sweep) = scenario.sweep()? else { return Ok(()) };
    let threads = args.threads.map_or(Host::here().cpus, usize::from);
    let ends = [0, sweep.len().saturating_sub(1)];
    for point in ends.iter().take(sweep.len().min(2)).filter_map(|i| sweep.point(*i)) {
        // What is wrong with a point is told with the others, when all are checked.
        if let Ok(resolved) = scenario.at(&point).and_then(|s| s.resolve()) {
            args.limits.admit(&resolved, threads)?;
        }
    }
    Ok(())
}

/// The last words: the table, where the results are, and how fast it went.
fn conclude(args: &run::Args, f: &Finished, hops: u64, page: Option<&Written>) -> Result<(), Failure> {
    let mut out = String::new();
    if !args.quiet {
        if let Some(written) = page.filter(|w| !w.sentences.is_empty()) {
            out.push_str(&said::lines(&written.sentences, style::stdout()));
            out.push('\n');
        }
        out.push_str(&sweep_table::render(&f.plan, &f.records, &args.metrics, style::stdout()));
        out.push('\n');
    }
    let _ = writeln!(out, "results: {}", f.dir.path().display());
    if !args.quiet {
        if let Some(written) = page {
            let _ = writeln!(out, "report: {}", written.path.display());
        }
        let m = &f.manifest;
        let distinct = f.plan.distinct().len() as u64;
        let _ = writeln!(out, "world: {}, stack: {}", m.worlds.join(", "), m.stacks.join(", "));
        let _ = writeln!(out, "fingerprint: {}", m.fingerprint);
        let found = if m.found > 0 { format!(", {} of them found finished", m.found) } else { String::new() };
        let _ = write!(out, "sweep: {} points, {} runs{found}", f.plan.sweep.len(), distinct);
        if hops > 0 {
            let (hops_text, rate) = (scaled(hops as f64, "packet transmissions"), scaled(hops as f64 / m.wall_s.max(1e-9), ""));
            let _ = write!(out, "; {hops_text} in {:.2} s, {} per second", m.wall_s, rate.trim_end());
        }
        out.push('\n');
    }
    print(&out)
}

/// `--dry-run`.
fn list(args: &run::Args, scenario: &Scenario) -> Result<(), Failure> {
    let Some(sweep) = scenario.sweep()? else { return Ok(()) };
    let plan = Plan::new(scenario, sweep, Host::here().cpus, interrupt::flag(), &mut |_| {})?;
    let dir = args.out.clone().unwrap_or_else(|| default_dir(&plan.name));
    let store = UnitStore::open(&dir.join("units"));
    let mut missing = vec![0usize; plan.sweep.len()];
    for unit in plan.units.iter().filter(|u| u.same_as.is_none() && store.get(&u.key, plan.sweep.keep()).is_none()) {
        missing[unit.point as usize] += 1;
    }
    let each = plan.units.len() / missing.len().max(1);
    let mut out = String::new();
    for (point, missing) in plan.sweep.points().zip(&missing) {
        let state = match missing {
            0 => "done".to_owned(),
            n if *n == each => String::new(),
            n => format!("{n} of {each} runs missing"),
        };
        let _ = writeln!(out, "{}\t{}\t{state}", point.index, point.label);
    }
    let (runs, left) = (plan.distinct().len(), missing.iter().sum::<usize>());
    let _ = writeln!(out, "{} points, {runs} runs, {left} to run into {}", missing.len(), dir.display());
    print(&out)
}
