//! `forebay report`: the report of finished results, or a comparison of several.

mod overlay;

use crate::report::{self, Written};
use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use crate::terminal::wrap;
use crate::terminal::{grid, sentences, style};
use forebay_store::sweep::SweepDir;
use forebay_store::{RunDir, StoreError, replaceable};
use std::path::PathBuf;

/// Write the report of finished results, or compare several
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directories that `forebay run` wrote
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// The file to write [default: DIR/report.html of a single DIR, else report.html]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw the series of a result file of Flent (.flent, .flent.gz) over those of the runs: rates over goodputs, delays over RTTs
    #[arg(long, value_name = "FILE")]
    overlay: Vec<PathBuf>,
    /// Draw only this series of the overlays, such as "TCP download"
    #[arg(long, value_name = "NAME", requires = "overlay")]
    overlay_series: Vec<String>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// Writes the report and prints its path.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let overlays = overlay::read(&args.overlay, &args.overlay_series)?;
    for dir in &args.dirs {
        match SweepDir::with_tables(dir) {
            Ok(_) if !overlays.is_empty() => {
                let text = format!("`{}` is a sweep, which has no series over time; overlay the results of a run", dir.display());
                return Err(Failure::Usage(text));
            }
            Ok(sweep) if args.dirs.len() == 1 => {
                let path = target(args)?;
                sweep.check_tables()?;
                return done(&report::write_sweep(&sweep, &path)?);
            }
            Ok(_) => {
                let text = format!("`{}` is a sweep; sweeps cannot be compared: report it alone", dir.display());
                return Err(Failure::Usage(text));
            }
            // Of a run, or of nothing, which opening it as a run shows.
            Err(StoreError::NoResults(_)) => {}
            Err(e) => return Err(e.into()),
        }
    }
    let dirs = args.dirs.iter().map(|d| RunDir::open(d)).collect::<Result<Vec<_>, _>>()?;
    dirs.iter().try_for_each(RunDir::check_files)?;
    done(&report::write(&dirs, &overlays, &target(args)?)?)
}

fn done(written: &Written) -> Result<(), Failure> {
    let text = sentences::render(&written.sentences, style::stdout());
    let workloads = written
        .workloads
        .as_ref()
        .map_or_else(String::new, |g| format!("\n{}\n", grid::render(g, wrap::stdout(), style::stdout())));
    print(&format!("{text}{workloads}report: {}\n", written.path.display()))
}

/// Path of the report, which must not exist yet.
fn target(args: &Args) -> Result<PathBuf, Failure> {
    let path = match (&args.out, args.dirs.as_slice()) {
        (Some(path), _) => path.clone(),
        (None, [one]) => one.join(report::FILE),
        (None, _) => PathBuf::from(report::FILE),
    };
    // Reported before the tables are read; the writer checks again.
    replaceable(&path)?;
    if path.exists() && !args.force {
        return Err(Failure::Taken(path));
    }
    Ok(path)
}
