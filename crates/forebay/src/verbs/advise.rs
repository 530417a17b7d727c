//! `forebay advise`: changes to a network that improve an objective, their cost for other traffic, and the commands that install them.

use super::check::TextFormat;
use crate::input::resolve_path;
use crate::interrupt::{self, Forced};
use crate::report;
use crate::terminal::failure::Failure;
use crate::terminal::output::{print, print_data};
use crate::terminal::style::{self, BOLD, DIM, paint};
use forebay_advise::{Advice, AdviseError, Request, Watcher, advise, installation, json, networks, page, recommendation, table};
use forebay_runner::sweep::Counts;
use forebay_store::{Host, write_atomic};
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

/// Try the changes that an operator can make, and rank them by effect and by cost for other traffic
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The scenario file: the network as it is today
    file: PathBuf,
    /// The objective, such as "p99 of reads" or "p99 of reads at most 2ms" (the cheapest change that stays below it): mean, p50, p99, p99.9, deadline
    /// misses, completion or goodput of a class [default: that of [advise] in the file]
    #[arg(long, value_name = "TEXT")]
    objective: Option<String>,
    /// Change a value of the file, such as topology.senders=64 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Number of seeds for the best changes; the others run with two
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    seeds: u32,
    /// End the run of a change when the ratio of its objective to that of the present network is known to this accuracy; 0% for runs of the whole
    /// duration
    #[arg(long, value_name = "PERCENT", default_value = "12.5%", value_parser = accuracy)]
    within: f64,
    /// Directory for the results [default: out/NAME-advise]; the same command continues an interrupted search
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Number of parallel runs [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    threads: Option<u16>,
    /// Do not write a report beside the results
    #[arg(long)]
    no_report: bool,
    /// Print all changes with all columns, and the reasons for changes and networks that were not tried
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

/// Reads a percentage such as `12.5%`.
fn accuracy(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok()).map(|n| n / 100.0);
    number.filter(|n| *n == 0.0 || (0.001..=1.0).contains(n)).ok_or_else(|| "legal: a percentage from 0.1% to 100%, or 0%".into())
}

/// Tries the changes, prints the recommendation and the table, and writes the report.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    interrupt::listen_or_end(Forced { grace: interrupt::GRACE_OF_SWEEPS, json: false, continues: true })?;
    let request = Request {
        worlds: forebay_backends::all(),
        file: resolve_path(&args.file),
        sets: args.set.clone(),
        objective: args.objective.clone(),
        seeds: args.seeds,
        within: (args.within > 0.0).then_some(args.within),
        dir: args.out.clone(),
        threads: args.threads.map_or(Host::here().cpus, usize::from),
    };
    let mut display = Display { shown: std::io::stderr().is_terminal(), last: None };
    let result = advise(&request, interrupt::flag(), &mut display);
    display.clear();
    let advice = result.map_err(failure)?;
    let path = advice.dir.join(report::FILE);
    if !args.no_report {
        write_atomic(&path, forebay_report::render(&page(&advice)).as_bytes())?;
    }
    if args.format == TextFormat::Json {
        return print_data(&format!("{:#}\n", json(&advice)));
    }
    let report = if args.no_report { String::new() } else { format!("report: {}\n", path.display()) };
    print(&(answer(&advice, args.all) + &report))
}

fn failure(e: AdviseError) -> Failure {
    match e {
        AdviseError::Scenario(e) => Failure::Scenario(e),
        AdviseError::Usage(text) => Failure::Usage(text),
        AdviseError::Store(e) => Failure::Store(e),
        AdviseError::Interrupted { done, total } => Failure::Stopped { done, total },
        // The search, which shared the error among its runs, has ended.
        AdviseError::Sweep(e) => Arc::try_unwrap(e).map_or_else(|e| Failure::Machine(e.to_string()), Failure::from),
    }
}

/// The recommendation, the commands that install it, the changes, and the networks tried.
fn answer(a: &Advice, all: bool) -> String {
    let colour = style::stdout();
    let mut out = String::new();
    for (i, s) in recommendation(a).iter().enumerate() {
        let _ = writeln!(out, "{}", if i == 0 { paint(colour, BOLD, s) } else { s.clone() });
    }
    let install = installation(a);
    if !install.is_empty() {
        let _ = writeln!(out, "\nHow (replace SUBNET, DEVICE, PORT and CGROUP by your own):");
        install.iter().for_each(|step| _ = writeln!(out, "  {step}"));
    }
    let (rows, left_out) = table(a, all);
    let order = if a.recommended.is_some() { "Changes, the recommended one first" } else { "Changes, best first" };
    let ends = "in parentheses the 95 % interval, or the range over fewer than five seeds";
    let _ = writeln!(out, "\n{order} (stack {}; {ends}):\n\n{rows}", a.stack);
    let _ = writeln!(
        out,
        "The {} in each network tried (columns: numbers of the changes above; `!`: worse than today):\n",
        a.objective
    );
    let _ = writeln!(out, "{}", networks(a, all));
    let mut reasons: Vec<String> = a.fixed.iter().map(|(name, why)| format!("not tried: {name}: {why}")).collect();
    reasons.extend(a.dropped.iter().map(|(name, why)| format!("not simulated: {name}: {why}")));
    if !all && left_out + reasons.len() > 0 {
        let text = format!("{left_out} more changes and {} that could not be tried: --all prints them", reasons.len());
        reasons = vec![text];
    }
    for reason in reasons {
        let _ = writeln!(out, "{}", paint(colour, DIM, &reason));
    }
    let (runs, found) = a.runs;
    let early = match a.ended_early {
        0 => String::new(),
        n => format!("; {n} ended when the ratio to the present network was known"),
    };
    let _ = writeln!(out, "results: {} ({runs} runs, {found} of them already finished{early})", a.dir.display());
    out
}

/// The progress as one line of a terminal.
struct Display {
    shown: bool,
    last: Option<(String, usize)>,
}

impl Display {
    fn clear(&mut self) {
        if self.shown && self.last.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Watcher for Display {
    fn tick(&mut self, what: &str, counts: Counts) {
        interrupt::note_done(counts.done, counts.total);
        let now = (what.to_owned(), counts.done);
        if self.shown && self.last.as_ref() != Some(&now) {
            let _ = write!(std::io::stderr(), "\r\x1b[K{what}: {} of {} runs", counts.done, counts.total);
            self.last = Some(now);
        }
    }
}
