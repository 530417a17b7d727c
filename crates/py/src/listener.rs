//! What runs receive from Python while its lock is released: Ctrl-C, and errors of the callback for progress.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Stops the runs when Python raises something.
pub(crate) struct Listener<'a> {
    progress: Option<Py<PyAny>>,
    stop: &'a AtomicBool,
    raised: Option<PyErr>,
}

impl Listener<'_> {
    /// `stop` becomes true when the runs are to end.
    pub(crate) fn new(progress: Option<Py<PyAny>>, stop: &AtomicBool) -> Listener<'_> {
        Listener { progress, stop, raised: None }
    }

    /// Calls the callback: runs that are done, all of them, the part of the work that is done, seconds since the start, packet
    /// transmissions.
    pub(crate) fn tell(
        &self,
        py: Python<'_>,
        done: usize,
        of: usize,
        fraction: Option<f64>,
        elapsed_s: f64,
        hops: u64,
    ) -> PyResult<()> {
        if let Some(progress) = &self.progress {
            progress.call1(py, (done, of, fraction, elapsed_s, hops))?;
        }
        Ok(())
    }

    /// Handles signals, then calls the callback. Without Python's lock.
    pub(crate) fn tick(&mut self, done: usize, of: usize, fraction: Option<f64>, elapsed: Duration, hops: u64) {
        let report = |py: Python<'_>, me: &Self| me.tell(py, done, of, fraction, elapsed.as_secs_f64(), hops);
        self.attach(|py, me| py.check_signals().and_then(|()| report(py, me)));
    }

    /// Handles signals. Their handlers run in the main thread alone: in others this does nothing.
    pub(crate) fn signals(&mut self) {
        self.attach(|py, _| py.check_signals());
    }

    /// What was raised, also by a signal that came with the last result.
    pub(crate) fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        match self.raised.take() {
            Some(raised) => Err(raised),
            None => py.check_signals(),
        }
    }

    fn attach(&mut self, f: impl FnOnce(Python<'_>, &Self) -> PyResult<()>) {
        if self.raised.is_some() {
            return;
        }
        if let Err(raised) = Python::attach(|py| f(py, self)) {
            self.stop.store(true, Relaxed);
            self.raised = Some(raised);
        }
    }
}
