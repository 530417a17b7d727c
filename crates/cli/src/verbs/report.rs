//! `forebay report`: the page of finished results, or a comparison of several.

use crate::failure::Failure;
use crate::output::print;
use crate::report;
use forebay_store::sweep::SweepDir;
use forebay_store::{RunDir, StoreError};
use std::path::{Path, PathBuf};

/// Write the report of finished results, or one that compares several
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directories that `forebay run` wrote, or one of a sweep
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// The file to write [default: DIR/report.html of a single DIR, else report.html]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

/// Writes it and says where.
pub fn execute(args: &Args) -> Result<(), Failure> {
    let path = match (&args.out, args.dirs.as_slice()) {
        (Some(path), _) => path.clone(),
        (None, [one]) => one.join(report::FILE),
        (None, _) => PathBuf::from(report::FILE),
    };
    if path.exists() && !args.force {
        return Err(Failure::Taken(path));
    }
    let path = match (args.dirs.as_slice(), sweep(&args.dirs[0])) {
        ([_], true) => report::write_sweep(&SweepDir::open(&args.dirs[0])?, &path)?,
        (dirs, _) => {
            if let Some(dir) = dirs.iter().find(|d| sweep(d)) {
                let text =
                    format!("`{}` is a sweep, which has a report of its own; compare runs, or report it alone", dir.display());
                return Err(Failure::Usage(text));
            }
            let dirs = dirs.iter().map(|d| RunDir::open(d)).collect::<Result<Vec<_>, _>>()?;
            report::write(&dirs, &path)?
        }
    };
    print(&format!("report: {}\n", path.display()))
}

/// Whether the results in a directory are those of a sweep.
fn sweep(dir: &Path) -> bool {
    SweepDir::open(dir).is_ok() || matches!(SweepDir::open(dir), Err(StoreError::Unfinished(_)))
}
