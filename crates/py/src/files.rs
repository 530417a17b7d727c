//! Files that the Python code of the package writes.

use crate::detach::detached;
use crate::errors;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Writes a file and, once it is complete, replaces the plain file at `path`, if there is one.
#[pyfunction]
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, contents: &[u8]) -> PyResult<()> {
    detached(py, || forebay_store::write_atomic_unsynced(&path, contents))?.map_err(|e| errors::store(&e))
}
