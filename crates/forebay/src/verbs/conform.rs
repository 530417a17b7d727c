//! `forebay conform`: packet scripts against the simulated endpoints, and against those of a Linux kernel.

use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use forebay_experiment::profile::PROFILES;
use forebay_validate::{Case, Outcome, RunOptions, Stack, as_linux, cases, difference, watch_text};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Run packet scripts (packetdrill's language) against TCP endpoints, in virtual time
///
/// The endpoints are those of the simulator, or of a Linux kernel (--world linux; both: --world sim,linux). docs/internals/conformance.md describes the
/// supported part of the language. A script that needs unsupported features is not applicable; the output names them. Exit code 0: at least one
/// passed and none failed; 1: some failed; 2: a file is not a script, or no script was applicable.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Scripts, or folders of scripts (*.pkt)
    #[arg(required = true, value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,
    /// Backend of the endpoints
    #[arg(long, value_name = "WORLD", value_delimiter = ',', default_value = "sim", value_parser = ["sim", "linux"])]
    world: Vec<String>,
    /// Stack of the endpoint, unless a script names one [default: linux]
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(PROFILES))]
    stack: Option<String>,
    /// Tolerance for the time of a packet, in microseconds, whatever the scripts say [default: 4000]
    #[arg(long, value_name = "US")]
    tolerance: Option<u32>,
    /// Fail if the endpoint sends a packet that the script does not expect
    #[arg(long)]
    strict: bool,
    /// Use the scripts as input only, and print the first difference between the simulator's stack `linux` and a Linux kernel
    #[arg(long, conflicts_with_all = ["world", "stack", "strict", "tolerance"])]
    compare: bool,
    /// Print only the summary
    #[arg(long, short)]
    quiet: bool,
}

/// Outcomes of all scripts so far.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    invalid: usize,
    other: usize,
    missing: BTreeMap<String, usize>,
}

impl Tally {
    /// Adds an outcome, and prints it to `out`.
    fn add(&mut self, name: &str, outcome: Outcome, out: &mut String) {
        match outcome {
            Outcome::Passed => {
                self.passed += 1;
                let _ = writeln!(out, "passed          {name}");
            }
            Outcome::Failed { line, expected, got } => {
                self.failed += 1;
                let _ = writeln!(out, "FAILED          {name}:{line}\n    expected {expected}\n    got      {got}");
            }
            Outcome::Invalid(problem) => {
                self.invalid += 1;
                let _ = writeln!(out, "NOT A SCRIPT    {name}:{}: {}", problem.line, problem.message);
            }
            Outcome::NotApplicable(features) => {
                self.other += 1;
                let _ = writeln!(out, "not applicable  {name}: uses {}", features.join("; "));
                features.into_iter().for_each(|f| *self.missing.entry(f).or_default() += 1);
            }
        }
    }

    /// The missing features, most frequent first, and the totals.
    fn summary(self, out: &mut String) {
        if !self.missing.is_empty() {
            let mut list: Vec<_> = self.missing.into_iter().collect();
            list.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            let _ = writeln!(out, "not applicable, by feature:");
            for (feature, n) in list {
                let _ = writeln!(out, "{n:>6}  {feature}");
            }
        }
        let not_scripts = if self.invalid > 0 { format!(", {} not a script", self.invalid) } else { String::new() };
        let _ = writeln!(out, "{} passed, {} failed, {} not applicable{not_scripts}", self.passed, self.failed, self.other);
    }
}

/// Number of common events shown before a difference.
const COMMON: usize = 6;

/// Gives each script to the simulator's stack `linux` and to a kernel, and prints the first difference.
fn compare(all: &[Case], quiet: bool) -> Result<(), Failure> {
    forebay_validate::kernel().map_err(Failure::Usage)?;
    let (mut same, mut out) = (0, String::new());
    let (mut differ, mut other) = (0, 0);
    for case in all {
        let name = case.name();
        let text = case.text().map_err(|outcome| Failure::Usage(format!("{name}: {outcome:?}")))?;
        let watch = |of| watch_text(&as_linux(text), &RunOptions { of, ..RunOptions::default() });
        let (ours, theirs) = match (watch(Stack::Simulator), watch(Stack::Linux)) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (Err(Outcome::NotApplicable(why)), _) | (_, Err(Outcome::NotApplicable(why))) => {
                other += 1;
                let _ = writeln!(out, "not applicable  {name}: uses {}", why.join("; "));
                continue;
            }
            (Err(outcome), _) | (_, Err(outcome)) => return Err(Failure::Usage(format!("{name}: {outcome:?}"))),
        };
        let Some((a, b)) = difference(&ours, &theirs) else {
            same += 1;
            let _ = writeln!(out, "the same        {name}");
            continue;
        };
        differ += 1;
        let _ = writeln!(out, "DIFFER          {name}");
        let common = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
        for seen in &ours[common.saturating_sub(COMMON)..common] {
            let _ = writeln!(out, "    both       {seen}");
        }
        for (world, seen) in [("simulator", a), ("kernel   ", b)] {
            let _ = writeln!(out, "    {world}  {}", seen.map_or_else(|| "nothing more".into(), ToString::to_string));
        }
    }
    if quiet {
        out.clear();
    }
    let _ = writeln!(out, "{same} the same, {differ} differ, {other} not applicable");
    print(&out)?;
    if differ == 0 { Ok(()) } else { Err(Failure::Reported(1)) }
}

/// Runs the scripts and prints their outcomes.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let scripts = cases(&args.scripts).map_err(Failure::Usage)?;
    if args.compare {
        return compare(&scripts, args.quiet);
    }
    let mut all = Vec::new();
    for world in &args.world {
        let of = if world == "linux" { Stack::Linux } else { Stack::Simulator };
        if of == Stack::Linux {
            forebay_validate::kernel().map_err(Failure::Usage)?;
        }
        let options = RunOptions { of, stack: args.stack.clone(), tolerance: args.tolerance, strict: args.strict };
        let (mut tally, mut out) = (Tally::default(), String::new());
        for case in &scripts {
            tally.add(case.name(), case.run(&options), &mut out);
        }
        if args.quiet {
            out.clear();
        }
        let code = match (tally.failed, tally.invalid, tally.passed) {
            (0, 0, 1..) => 0,
            (1.., ..) => 1,
            _ => 2,
        };
        all.push(code);
        if args.world.len() > 1 {
            out.insert_str(0, &format!("world {world}\n"));
        }
        tally.summary(&mut out);
        print(&out)?;
    }
    match all.into_iter().max() {
        Some(0) => Ok(()),
        code => Err(Failure::Reported(code.unwrap_or(2))),
    }
}
