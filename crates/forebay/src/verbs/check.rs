//! `forebay check`: reads a scenario and explains it, without running it.

use super::diagnostics;
use crate::input::resolve_path;
use crate::interrupt;
use crate::limits;
use crate::terminal::failure::Failure;
use crate::terminal::output::{print, print_data};
use crate::terminal::style;
use forebay_analysis::check_expectations;
use forebay_runner::sweep::explain;
use forebay_runner::{Forecast, Outlook, RealTime, outlook};
use forebay_scenario::{Resolved, Scenario};
use forebay_store::Host;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Check a scenario file and explain its runs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The scenario file
    file: PathBuf,
    /// Change a value of the file, such as topology.senders=64 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Backend of the runs, instead of the file's: see `forebay list worlds`
    #[arg(long, value_name = "NAME")]
    world: Option<String>,
    /// Check the scenario for each of these values, as `run` does (repeatable)
    #[arg(long = "sweep", value_name = "KEY=[A, B]")]
    sweep: Vec<String>,
    /// Print the scenario of every variant with all defaults, as TOML; of a sweep that of its first point
    #[arg(long)]
    resolved: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = TextFormat::Text, conflicts_with = "resolved")]
    format: TextFormat,
    /// Print no forecast of the cost; the forecast runs a part of the scenario
    #[arg(long)]
    no_forecast: bool,
}

/// Output formats of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TextFormat {
    /// Text for reading
    Text,
    /// One JSON document
    Json,
}

/// Expected cost; of a sweep, from its first, middle and last points.
fn cost(scenario: &Scenario, resolved: &Resolved, threads: usize) -> Result<Outlook, Failure> {
    let Some(sweep) = scenario.sweep()? else { return Ok(outlook(resolved, threads)?) };
    let last = sweep.len().saturating_sub(1);
    let mut seen = Vec::new();
    for index in [0, last / 2, last] {
        let Some(point) = sweep.point(index) else { continue };
        let mut one = scenario.at(&point)?.resolve()?;
        one.runs = sweep.seeds(one.seed, one.runs).len() as u32;
        seen.push(outlook(&one, threads)?);
    }
    let mut costs = Vec::new();
    for outlook in &seen {
        match outlook {
            Outlook::Cost(f) => costs.push(f),
            Outlook::RealTime(_) => return Ok(in_real_time(&seen, sweep.len())),
            Outlook::Unknown(reason) => return Ok(Outlook::Unknown(reason.clone())),
        }
    }
    Ok(Outlook::Cost(all_points(&costs, sweep.len())))
}

/// Forecast of a sweep of `points` points that runs in real time, from those in `seen`. There is none if some of them do not run in real time.
fn in_real_time(seen: &[Outlook], points: usize) -> Outlook {
    let all: Option<Vec<RealTime>> = seen.iter().map(|o| if let Outlook::RealTime(r) = o { Some(*r) } else { None }).collect();
    let Some(all) = all.filter(|all| !all.is_empty()) else {
        return Outlook::Unknown("some points run in real time, and others do not".into());
    };
    let times = points as f64 / all.len() as f64;
    let seconds = all.iter().map(|r| r.seconds).sum::<Option<f64>>().map(|sum| sum * times);
    Outlook::RealTime(RealTime { runs: (all.iter().map(|r| r.runs).sum::<u64>() as f64 * times).round() as u64, seconds })
}

/// Cost of a sweep of `points` points, extrapolated from those in `seen`.
fn all_points(seen: &[&Forecast], points: usize) -> Forecast {
    let mut sum = Forecast { share: f64::INFINITY, ..Forecast::default() };
    for f in seen {
        // Memory is that of the largest, everything else that of all.
        if f.memory > sum.memory {
            (sum.memory, sum.costliest) = (f.memory, f.costliest.clone());
        }
        (sum.runs, sum.messages, sum.samples) = (f.runs, sum.messages + f.messages, sum.samples + f.samples);
        (sum.transmissions, sum.seconds) = (sum.transmissions + f.transmissions, sum.seconds + f.seconds - f.writing);
        (sum.busy, sum.share) = (sum.busy + f.busy - f.writing_busy, sum.share.min(f.share));
    }
    let times = points as f64 / f64::max(seen.len() as f64, 1.0);
    // The numbers of each run are kept, and a line of the table.
    let runs = sum.runs * points as u64;
    Forecast {
        runs,
        messages: sum.messages * times,
        samples: sum.samples * times,
        transmissions: sum.transmissions * times,
        memory: sum.memory + runs * 1_000,
        disk: runs as f64 * 6_000.0,
        busy: sum.busy * times,
        seconds: sum.seconds * times,
        exact: false,
        ..sum
    }
}

/// The explanation for programs.
fn document(scenario: &Scenario, resolved: &Resolved, cost: Option<&Outlook>) -> Result<Value, Failure> {
    let variant = |v: &forebay_scenario::Variant| json!({"variant": v.label, "resolved": v.echo});
    let points = scenario.sweep()?.map(|s| s.len());
    Ok(json!({
        "name": resolved.name, "world": resolved.world.name(), "seed": resolved.seed, "runs": resolved.runs, "points": points,
        "variants": resolved.variants.iter().map(variant).collect::<Vec<_>>(), "notes": resolved.notes,
        "forecast": cost.map(limits::fields),
    }))
}

/// Prints the explanation, or with `--format json` the errors as a document.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let result = check(args);
    let (Err(Failure::Scenario(errors)), TextFormat::Json) = (&result, args.format) else { return result };
    print_data(&format!("{:#}\n", diagnostics::document(errors)))?;
    Err(Failure::Reported(Failure::Scenario(errors.clone()).number()))
}

fn check(args: &Args) -> Result<(), Failure> {
    let mut overrides = args.set.clone();
    overrides.extend(args.world.as_ref().map(|name| format!("world={name}")));
    let mut scenario = forebay_scenario::load(forebay_backends::all(), &resolve_path(&args.file), &overrides, None)?;
    args.sweep.iter().try_for_each(|text| scenario.add_axis(text))?;
    let threads = Host::here().cpus;
    let (resolved, text) = explain(&scenario, threads, interrupt::flag())?;
    check_expectations(&scenario, &resolved)?;
    if !args.resolved {
        let cost = if args.no_forecast { None } else { Some(cost(&scenario, &resolved, threads)?) };
        if args.format == TextFormat::Json {
            return print_data(&format!("{:#}\n", document(&scenario, &resolved, cost.as_ref())?));
        }
        let cost = cost.map_or(String::new(), |f| limits::text(&f, threads, style::stdout()));
        return print(&format!("{text}{cost}"));
    }
    let texts: Vec<String> = resolved.variants.iter().map(|v| format!("# variant: {}\n{}", v.label, v.toml())).collect();
    print_data(&texts.join("\n"))
}
