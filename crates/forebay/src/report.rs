//! Report of finished results: made from their tables, written as one file.

use forebay_analysis::Grid;
use forebay_report::chapters::Overlay;
use forebay_store::sweep::SweepDir;
use forebay_store::{RunDir, StoreError, write_atomic_unsynced};
use std::path::{Path, PathBuf};

/// Name of the file beside the tables.
pub const FILE: &str = "report.html";

/// A report that was written.
#[derive(Debug)]
pub struct Written {
    /// Its path.
    pub path: PathBuf,
    /// Its first sentences; `**` encloses bold text.
    pub sentences: Vec<String>,
    /// Results of each workload, if there are several.
    pub workloads: Option<Grid>,
}

/// Writes the report of some directories to `path`, with measured series drawn over those of the runs.
///
/// # Errors
/// Tables that cannot be read, and a path that cannot be written.
pub fn write(dirs: &[RunDir], overlays: &[Overlay], path: &Path) -> Result<Written, StoreError> {
    let page = forebay_report::chapters::page(dirs, overlays)?;
    write_atomic_unsynced(path, forebay_report::render(&page).as_bytes())?;
    let workloads =
        page.sections.into_iter().find(|s| s.id == "workloads").and_then(|s| s.grids.into_iter().next()).map(|t| t.grid);
    Ok(Written { path: path.to_owned(), sentences: page.headline.sentences, workloads })
}

/// Writes the report of a sweep to `path`.
///
/// # Errors
/// As [`write`].
pub fn write_sweep(dir: &SweepDir, path: &Path) -> Result<Written, StoreError> {
    let page = forebay_report::chapters::sweep_read::page(dir)?;
    write_atomic_unsynced(path, forebay_report::render(&page).as_bytes())?;
    Ok(Written { path: path.to_owned(), sentences: page.headline.sentences, workloads: None })
}

/// The sentences about results, and the results of each workload, without a report.
///
/// # Errors
/// Tables that cannot be read.
pub fn answer(dirs: &[RunDir]) -> Result<(Vec<String>, Option<Grid>), StoreError> {
    let data = forebay_analysis::read(dirs)?;
    Ok((forebay_analysis::headline(&data).sentences, forebay_analysis::workloads(&data)))
}

/// The sentences about a sweep, without a report.
///
/// # Errors
/// A table that cannot be read.
pub fn sweep_answer(dir: &SweepDir) -> Result<Vec<String>, StoreError> {
    Ok(forebay_report::chapters::sweep_read::page(dir)?.headline.sentences)
}
