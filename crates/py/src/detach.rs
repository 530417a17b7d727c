//! Work without the interpreter's lock. A panic becomes an exception.

use crate::errors;
use forebay_runner::catch_panic;
use pyo3::prelude::*;

/// Calls `work` without the interpreter's lock. A panic in it, or in threads that it waits for, becomes an exception with its message.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_panic(work)).map_err(errors::internal)
}
