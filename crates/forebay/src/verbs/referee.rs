//! `forebay referee`: judges a congestion control by published criteria.

use super::check::TextFormat;
use crate::interrupt::{self, Forced};
use crate::new_file::free;
use crate::terminal::failure::Failure;
use crate::terminal::output::{print, print_data};
use forebay_store::{Host, write_atomic};
use forebay_validate::referee::{RefereeError, Report, Request, Runs, Verdict, json, page, qlog, referee, table};
use std::collections::BTreeSet;
use std::fs;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};

/// Extensions of the files in the directories of `--out` and `--qlog`.
const SCENARIO: &str = "toml";
const LOG: &str = "sqlog";

/// Judge a congestion control by RFC 9743, the test cases of the BBR draft, RFC 9331, and tcpeval
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The congestion control: see `forebay list`
    cc: String,
    /// Directory for the scenarios of all rows, each of which runs with `forebay run`
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Backends of the runs, one column each [default: sim, and linux where its kernel is built and has the congestion control]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    world: Vec<String>,
    /// Number of rows that are judged in parallel [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    threads: Option<u16>,
    /// Also run the experiments of draft-irtf-iccrg-tcpeval-01, which take longer than all other rows
    #[arg(long)]
    tcpeval: bool,
    /// HTML page with the verdicts, and with goodput, queue and congestion window over time behind each row
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Directory for a qlog of each row: the packets of the first connection of its first scenario, which runs again
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

/// Judges it and prints the rows. A violated or unknown row makes the exit code 1.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    check_outputs(args)?;
    interrupt::listen_or_end(Forced { grace: interrupt::GRACE, json: false, continues: false })?;
    let request = Request {
        worlds: forebay_backends::all(),
        cc: args.cc.clone(),
        columns: args.world.clone(),
        threads: args.threads.map_or(Host::here().cpus, usize::from),
        tcpeval: args.tcpeval,
        pictures: args.page.is_some(),
    };
    let shown = std::io::stderr().is_terminal();
    let progress = |done: usize, all: usize| {
        if shown {
            // A closed standard error leaves no place to print.
            let _ = write!(std::io::stderr(), "\r{done} of {all} rows{}", if done == all { "\r\x1b[K" } else { "" });
        }
    };
    let report = referee(&request, &Runs::default(), interrupt::flag(), &progress).map_err(failure)?;
    if let Some(dir) = &args.out {
        write_scenarios(dir, args.force, &report)?;
    }
    if let Some(file) = &args.page {
        create(file, args.force, forebay_report::render(&page(&report)).as_bytes())?;
    }
    match args.format {
        TextFormat::Text => print(&table(&report))?,
        TextFormat::Json => print_data(&format!("{:#}\n", json(&report)))?,
    }
    if let Some(dir) = &args.qlog {
        write_qlogs(dir, args.force, &request, &report)?;
    }
    match report.findings.iter().flat_map(|f| &f.cells).any(|c| matches!(c.verdict, Verdict::Violated | Verdict::Unknown)) {
        true => Err(Failure::Reported(1)),
        false => Ok(()),
    }
}

/// Refuses existing files before the rows run, which takes minutes. Names of scenarios and logs are known afterwards only: their directories must
/// have no files of that kind.
fn check_outputs(args: &Args) -> Result<(), Failure> {
    if let Some(file) = &args.page {
        free(file, args.force)?;
    }
    for (dir, extension) in [(&args.out, SCENARIO), (&args.qlog, LOG)] {
        let Some(dir) = dir.as_ref().filter(|_| !args.force) else { continue };
        // A missing directory is created; another error is reported when it is written to.
        let mut names = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        if let Some(taken) = names.find(|path| path.extension().is_some_and(|e| e == extension)) {
            return Err(Failure::Taken(taken));
        }
    }
    Ok(())
}

/// Writes a file that must not exist, or with `force` replaces a plain one.
fn create(path: &Path, force: bool, contents: &[u8]) -> Result<(), Failure> {
    free(path, force)?;
    Ok(write_atomic(path, contents)?)
}

fn write_scenarios(dir: &Path, force: bool, report: &Report) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(|e| Failure::Machine(format!("{}: {e}", dir.display())))?;
    for (name, text) in &report.scenarios {
        create(&dir.join(format!("{name}.{SCENARIO}")), force, text.as_bytes())?;
    }
    Ok(())
}

/// Writes a qlog for the first scenario of each row in each backend that ran it. Rows share scenarios.
fn write_qlogs(dir: &Path, force: bool, request: &Request, report: &Report) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(|e| Failure::Machine(format!("{}: {e}", dir.display())))?;
    let ran = report.findings.iter().flat_map(|f| &f.cells).filter(|c| c.verdict != Verdict::Refused);
    let firsts: BTreeSet<&String> = ran.filter_map(|c| c.scenarios.first()).collect();
    for name in firsts {
        let Some(text) = report.scenarios.get(name) else { continue };
        if let Some(log) = qlog(request, text, interrupt::flag()).map_err(failure)? {
            create(&dir.join(format!("{name}.{LOG}")), force, &log)?;
        }
    }
    Ok(())
}

fn failure(e: RefereeError) -> Failure {
    match e {
        RefereeError::Interrupted => Failure::Interrupted,
        RefereeError::Scenario(_, errors) => Failure::Scenario(errors),
        RefereeError::Usage(text) => Failure::Usage(text),
        RefereeError::Run(..) => Failure::Engine(e.to_string()),
    }
}
