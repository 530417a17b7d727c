//! Reports of results in memory or in a directory.

use crate::detach::detached;
use crate::errors;
use crate::results::Results;
use forebay_platform::files::TempDir;
use forebay_runner::{ExplainError, MessageSelector};
use forebay_store::{Format, RunDir, Target, file_name};
use forebay_types::QueryId;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use std::env;
use std::path::{Path, PathBuf};

/// Writes the report of some results, which compares them if there are several.
#[pyfunction]
pub(crate) fn report(py: Python<'_>, results: Vec<Py<Results>>, path: PathBuf) -> PyResult<()> {
    let results: Vec<&Results> = results.iter().map(Py::get).collect();
    detached(py, || {
        let mut scratch = Scratch::default();
        let dirs = results.iter().map(|r| dir_of(r, &mut scratch)).collect::<PyResult<Vec<_>>>()?;
        forebay_cli::report::write(&dirs, &[], &path).map(|_| ()).map_err(|e| errors::store(&e))
    })?
}

/// Sentences and workload shares of some results, as JSON.
#[pyfunction]
pub(crate) fn answer(py: Python<'_>, results: Vec<Py<Results>>) -> PyResult<String> {
    let results: Vec<&Results> = results.iter().map(Py::get).collect();
    detached(py, || {
        let mut scratch = Scratch::default();
        let dirs = results.iter().map(|r| dir_of(r, &mut scratch)).collect::<PyResult<Vec<_>>>()?;
        let data = forebay_analysis::read(&dirs).map_err(|e| errors::store(&e))?;
        let headline = forebay_analysis::headline(&data);
        let workloads = forebay_analysis::workloads(&data).unwrap_or_default();
        Ok(json!({"sentences": headline.sentences, "workloads": workloads}).to_string())
    })?
}

/// Explains the completion times of messages of a result.
#[pyfunction]
pub(crate) fn explain(
    py: Python<'_>,
    results: Py<Results>,
    flow: Option<u64>,
    query: Option<u64>,
    variant: Option<String>,
    run: u32,
) -> PyResult<String> {
    let results = results.get();
    detached(py, || {
        let mut scratch = Scratch::default();
        let dir = dir_of(results, &mut scratch)?;
        let which = MessageSelector { flow, query: query.map(QueryId::new), variant, run };
        forebay_runner::explain(forebay_backends::all(), &dir, &which).map_err(|e| match e {
            ExplainError::Store(e) => errors::store(&e),
            ExplainError::Scenario(e) => errors::scenario(&e),
            ExplainError::Run(e) => errors::engine(&e.to_string()),
            ExplainError::Other(text) => PyValueError::new_err(text),
        })
    })?
}

/// A report needs a directory: that of the results, or a temporary one.
fn dir_of(results: &Results, scratch: &mut Scratch) -> PyResult<RunDir> {
    if let Some(dir) = results.dir() {
        return Ok(dir.clone());
    }
    let target = Target::Numbered { parent: scratch.path()?.to_owned(), name: file_name(&results.manifest().name) };
    let path = results.write_tables(target, Format::Parquet)?;
    RunDir::open(&path).map_err(|e| errors::store(&e))
}

/// A temporary directory, created for the first result that needs it.
#[derive(Default)]
struct Scratch(Option<TempDir>);

impl Scratch {
    fn path(&mut self) -> PyResult<&Path> {
        if self.0.is_none() {
            self.0 = Some(TempDir::create(&env::temp_dir(), "forebay-report")?);
        }
        Ok(self.0.as_ref().map_or(Path::new(""), TempDir::path))
    }
}
