//! The report, of results wherever they are.

use crate::errors;
use crate::guard::detached;
use crate::results::Results;
use forebay_store::{Format, RunDir, Target, file_name};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::{env, fs, process};

/// Writes the report of some results, which it compares if there are several.
#[pyfunction]
pub(crate) fn report(py: Python<'_>, results: Vec<Py<Results>>, path: PathBuf) -> PyResult<()> {
    let results: Vec<&Results> = results.iter().map(Py::get).collect();
    detached(py, || {
        let scratch = Scratch::new();
        let dirs = results.iter().map(|r| dir_of(r, &scratch.0)).collect::<PyResult<Vec<_>>>()?;
        forebay_cli::report::write(&dirs, &path).map(|_| ()).map_err(|e| errors::store(&e))
    })?
}

/// A report is made from a directory: that of the results, else one made for the purpose.
fn dir_of(results: &Results, scratch: &Path) -> PyResult<RunDir> {
    if let Some(dir) = results.dir() {
        return Ok(dir.clone());
    }
    let target = Target::Numbered { parent: scratch.to_owned(), name: file_name(&results.manifest().name) };
    let path = results.write(target, Format::Parquet)?;
    RunDir::open(&path).map_err(|e| errors::store(&e))
}

/// A folder that goes away with this value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("forebay-report-{}-{}", process::id(), NUMBER.fetch_add(1, Relaxed));
        Scratch(env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been made; and what cannot be removed from there is the system's to clean.
        let _ = fs::remove_dir_all(&self.0);
    }
}
