//! `forebay repro`: published evaluations, repeated and judged claim by claim.
//!
//! Claims are measured and figures drawn in Python (`python/forebay/repro`), because the measurements of each paper are short programs. This command
//! checks the arguments and passes them on. The package runs its own simulator, and refuses to if that was not built from the sources of this
//! program.

use crate::python::Python;
use crate::terminal::failure::Failure;
use std::ffi::OsString;
use std::path::PathBuf;

/// Reproduce published evaluations: run them, draw their figures, judge their claims
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A name under papers/, a folder with paper.py, or all [default: all]
    #[arg(value_name = "PAPER")]
    papers: Vec<OsString>,
    /// Few seeds and short runs, judged in wider bands
    #[arg(long)]
    quick: bool,
    /// Scale of the runs; document: all runs of the specifications, which take hours [default: full]
    #[arg(long, value_name = "SCALE", value_parser = ["quick", "full", "document"], conflicts_with = "quick")]
    scale: Option<String>,
    /// Run the quick scale for an artifact evaluation: write DIR/ARTIFACT.md with claims, experiments, expected results and costs; exit code 1 if a
    /// verdict is not the expected one
    #[arg(long, conflicts_with_all = ["quick", "scale", "world", "claim", "figure", "scorecard", "keep", "cache", "dask"])]
    artifact: bool,
    /// Also judge the claims on this backend, in a separate column: linux is the TCP of a real kernel [default: sim]
    #[arg(long, value_name = "WORLD", value_parser = ["sim", "linux"])]
    world: Option<String>,
    /// Only this claim (repeatable)
    #[arg(long, value_name = "ID")]
    claim: Vec<String>,
    /// Only this figure (repeatable)
    #[arg(long, value_name = "N")]
    figure: Vec<String>,
    /// Folder for figures and pages [default: out/repro]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also write the scorecard here [always: DIR/SCORECARD.md]
    #[arg(long, value_name = "FILE")]
    scorecard: Option<PathBuf>,
    /// Also write the verdicts of the other backend and their page into the folder of the paper, and update their column in the file of --scorecard
    #[arg(long, requires = "world")]
    keep: bool,
    /// Folder of finished runs [default: DIR/units]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Number of parallel runs [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    threads: Option<u16>,
    /// Make the runs on the workers of the Dask scheduler at this address: tcp://HOST:PORT
    #[arg(long, value_name = "ADDRESS", conflicts_with = "threads")]
    dask: Option<String>,
    /// Print published and measured values of every claim
    #[arg(short, long)]
    verbose: bool,
}

impl Args {
    /// Arguments of `python -m forebay.repro`.
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut option = |name: &str, value: OsString| words.extend([name.into(), value]);
        self.claim.iter().for_each(|id| option("--claim", id.into()));
        self.figure.iter().for_each(|n| option("--figure", n.into()));
        for (name, path) in [("--out", &self.out), ("--scorecard", &self.scorecard), ("--cache", &self.cache)] {
            path.iter().for_each(|p| option(name, p.into()));
        }
        self.world.iter().for_each(|w| option("--world", w.into()));
        self.scale.iter().for_each(|s| option("--scale", s.into()));
        self.threads.iter().for_each(|n| option("--threads", n.to_string().into()));
        self.dask.iter().for_each(|a| option("--dask", a.into()));
        let flags = [(self.quick, "--quick"), (self.artifact, "--artifact"), (self.keep, "--keep"), (self.verbose, "--verbose")];
        words.extend(flags.iter().filter(|(on, _)| *on).map(|(_, w)| w.into()));
        if !self.papers.is_empty() {
            words.push("--".into());
            words.extend(self.papers.iter().cloned());
        }
        words
    }
}

/// Runs it, and ends with its exit code.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let python = Python::with("reproductions", &["forebay", "matplotlib", "pyarrow"], "repro")?;
    let mut command = python.module("forebay.repro");
    command.args(args.words());
    python.wait(&mut command, None)
}
