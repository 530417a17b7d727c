//! A panic is a defect of forebay. It must not end the interpreter, and the exception must say what happened.

use crate::errors;
use pyo3::prelude::*;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

/// What the last panic said, on whichever thread.
static LAST: Mutex<Option<String>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// Calls `work` without the interpreter's lock. A panic in it, or in threads that it waits for, is an exception.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
            // Whoever waits for a thread that panicked panics too, and says less.
            if last.is_none() || !thread_of_another(info) {
                *last = Some(info.to_string());
            }
            drop(last);
            usual(info);
        }));
    });
    // Whatever `work` was changing is lost with it.
    let outcome = py.detach(|| panic::catch_unwind(AssertUnwindSafe(work)));
    outcome.map_err(|_| {
        let said = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
        errors::internal(said.unwrap_or_else(|| "a panic without a message".into()))
    })
}

/// Whether the panic is that of a `thread::scope` whose thread panicked.
fn thread_of_another(info: &PanicHookInfo<'_>) -> bool {
    info.payload().downcast_ref::<&str>() == Some(&"a scoped thread panicked")
}

/// Panics on another thread, as a violated assertion of the engine would: tests look at what becomes of it.
#[pyfunction]
pub(crate) fn provoke_defect(py: Python<'_>, message: String) -> PyResult<()> {
    detached(py, || {
        thread::scope(|scope| {
            scope.spawn(|| panic!("{message}"));
        });
    })
}
