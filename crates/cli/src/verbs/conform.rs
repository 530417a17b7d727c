//! `forebay conform`: packet scripts against the simulated endpoints.

use crate::failure::Failure;
use crate::output::print;
use forebay_conform::{Outcome, RunOptions, run_file, scripts};
use forebay_experiment::profile::PROFILES;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Run packet scripts (packetdrill's language) against the simulated TCP endpoints, in virtual time
///
/// docs/conformance.md says which part of the language is known. A script that uses what the simulator does not have is not applicable, and
/// says why. Exit code 0: at least one passed and none failed; 1: some failed; 2: some is no script, or none was applicable.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Scripts, or folders of scripts (*.pkt)
    #[arg(required = true, value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,
    /// The stack that the endpoint is of, unless a script says it itself [default: linux]
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(PROFILES))]
    stack: Option<String>,
    /// By how many microseconds a packet may miss its time, whatever the scripts say [default: 4000]
    #[arg(long, value_name = "US")]
    tolerance: Option<u32>,
    /// Fail when a packet is sent that the script does not expect
    #[arg(long)]
    strict: bool,
    /// Only the summary
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the scripts and prints what came of each.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let options = RunOptions { stack: args.stack.clone(), tolerance: args.tolerance, strict: args.strict };
    let mut out = String::new();
    let (mut passed, mut failed, mut invalid, mut other) = (0, 0, 0, 0);
    let mut missing: BTreeMap<String, usize> = BTreeMap::new();
    let files = scripts(&args.scripts).map_err(Failure::Usage)?;
    for file in &files {
        let name = file.display();
        match run_file(file, &options) {
            Outcome::Passed => {
                passed += 1;
                let _ = writeln!(out, "passed          {name}");
            }
            Outcome::Failed { line, expected, got } => {
                failed += 1;
                let _ = writeln!(out, "FAILED          {name}:{line}\n    expected {expected}\n    got      {got}");
            }
            Outcome::Invalid(problem) => {
                invalid += 1;
                let _ = writeln!(out, "NOT A SCRIPT    {name}:{}: {}", problem.line, problem.message);
            }
            Outcome::NotApplicable(features) => {
                other += 1;
                let _ = writeln!(out, "not applicable  {name}: uses {}", features.join("; "));
                features.into_iter().for_each(|f| *missing.entry(f).or_default() += 1);
            }
        }
    }
    if args.quiet {
        out.clear();
    }
    if !missing.is_empty() {
        let mut list: Vec<_> = missing.into_iter().collect();
        list.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let _ = writeln!(out, "not applicable, by feature:");
        for (feature, n) in list {
            let _ = writeln!(out, "{n:>6}  {feature}");
        }
    }
    let not_scripts = if invalid > 0 { format!(", {invalid} not a script") } else { String::new() };
    let _ = writeln!(out, "{passed} passed, {failed} failed, {other} not applicable{not_scripts}");
    print(&out)?;
    match (failed, invalid, passed) {
        (0, 0, 1..) => Ok(()),
        (1.., ..) => Err(Failure::Reported(1)),
        _ => Err(Failure::Reported(2)),
    }
}
