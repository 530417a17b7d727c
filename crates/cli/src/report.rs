//! The report of finished results: made from their tables, written as one file.

use forebay_store::sweep::SweepDir;
use forebay_store::{RunDir, StoreError, write_whole};
use std::path::{Path, PathBuf};

/// Name of the file beside the tables.
pub const FILE: &str = "report.html";

/// Writes the report of some directories to `path`, which is returned.
///
/// # Errors
/// Tables that cannot be read, and a path that cannot be written.
pub fn write(dirs: &[RunDir], path: &Path) -> Result<PathBuf, StoreError> {
    let page = forebay_report::chapters::page(dirs)?;
    write_whole(path, forebay_report::render(&page).as_bytes())?;
    Ok(path.to_owned())
}

/// Writes the report of a sweep to `path`, which is returned.
///
/// # Errors
/// As [`write`].
pub fn write_sweep(dir: &SweepDir, path: &Path) -> Result<PathBuf, StoreError> {
    let page = forebay_report::chapters::sweep_read::page(dir)?;
    write_whole(path, forebay_report::render(&page).as_bytes())?;
    Ok(path.to_owned())
}
