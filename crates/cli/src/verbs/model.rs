//! `forebay model`: what the analytic models say about a scenario, beside what its simulation measures.

use crate::failure::Failure;
use crate::input::Input;
use crate::interrupt::{self, Forced};
use crate::model_table;
use crate::output::{Format, print, print_data};
use crate::progress::{Display, Kind};
use crate::style;
use forebay_exec::{Job, Outcome, Watcher, jobs, run_all};
use forebay_predict::{Applicability, Header, Measured, applicability, no_samples, to_json};
use forebay_scenario::Resolved;
use forebay_store::Host;
use std::io::IsTerminal;
use std::time::Duration;

/// Evaluate the models that a scenario implies, beside its simulation
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,
    /// Only the models, without the simulation
    #[arg(long)]
    no_sim: bool,
    /// How to print the values
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Runs at the same time [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    threads: Option<u16>,
}

/// Asks the models, simulates, and prints both.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let resolved = args.input.load()?.0.resolve()?;
    let verdicts: Vec<Vec<Applicability>> = resolved.variants.iter().map(|v| applicability(&v.config)).collect();
    let measured = no_samples(&verdicts);
    let mut all = Comparison { resolved: &resolved, verdicts, measured, display: Display::new(Kind::None, &[]) };
    if !args.no_sim {
        all.simulate(args)?;
    }
    if args.format == Format::Json { print_data(&all.json(!args.no_sim)) } else { print(&all.text(!args.no_sim)) }
}

/// Models of all variants, and measurements.
struct Comparison<'a> {
    resolved: &'a Resolved,
    verdicts: Vec<Vec<Applicability>>,
    measured: Measured,
    display: Display,
}

impl Comparison<'_> {
    fn simulate(&mut self, args: &Args) -> Result<(), Failure> {
        let resolved = self.resolved;
        let labels: Vec<String> = resolved.variants.iter().map(|v| v.label.clone()).collect();
        let kind = if std::io::stderr().is_terminal() && args.format == Format::Table { Kind::Bar } else { Kind::None };
        self.display = Display::new(kind, &labels);
        interrupt::listen_or_end(Forced { grace: interrupt::GRACE, json: false, continues: false })?;
        let jobs = jobs(resolved);
        let threads = args.threads.map_or(Host::here().cpus, usize::from);
        let result = run_all(resolved, &jobs, threads, interrupt::flag(), self);
        self.display.clear();
        result?;
        if interrupt::asked() { Err(Failure::Interrupted) } else { Ok(()) }
    }

    fn text(&self, simulated: bool) -> String {
        let mut out: String = self.resolved.notes.iter().map(|n| format!("{n}\n\n")).collect();
        let parts: Vec<String> = (0..self.verdicts.len())
            .map(|v| {
                let label = &self.resolved.variants[v].label;
                model_table::render(label, &self.verdicts[v], &self.measured[v], simulated, style::stdout())
            })
            .collect();
        out.push_str(&parts.join("\n"));
        out
    }

    fn json(&self, simulated: bool) -> String {
        let runs = if simulated { self.resolved.runs } else { 0 };
        let r = self.resolved;
        let labels: Vec<&str> = r.variants.iter().map(|v| v.label.as_str()).collect();
        let head = Header { name: &r.name, seed: r.seed, runs, notes: &r.notes, labels: &labels };
        format!("{:#}\n", to_json(head, &self.verdicts, &self.measured))
    }
}

impl Watcher for Comparison<'_> {
    type Error = Failure;

    fn tick(&mut self, jobs: &[Job], elapsed: Duration) {
        self.display.tick(jobs, elapsed);
    }

    fn finished(&mut self, jobs: &[Job], outcome: Outcome) -> Result<(), Failure> {
        let job = &jobs[outcome.job];
        self.display.run_done(job, &outcome);
        for (verdict, columns) in self.verdicts[job.variant()].iter().zip(&mut self.measured[job.variant()]) {
            verdict.lines().iter().zip(columns).for_each(|(line, c)| c.add(line, &outcome.report));
        }
        Ok(())
    }
}
