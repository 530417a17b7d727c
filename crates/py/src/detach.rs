//! Work without the interpreter's lock, which a defect of forebay must not end.

use crate::errors;
use forebay_runner::caught;
use pyo3::prelude::*;

/// Calls `work` without the interpreter's lock. A panic in it, or in threads that it waits for, is an exception that says what happened.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| caught(work)).map_err(errors::internal)
}
