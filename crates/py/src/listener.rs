//! Signals and callbacks of runs that have released Python's lock: Ctrl-C, and errors of the progress callback.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Stops the runs when Python raises an exception.
pub(crate) struct Listener<'a> {
    progress: Option<Py<PyAny>>,
    stop: &'a AtomicBool,
    raised: Option<PyErr>,
}

impl Listener<'_> {
    /// `stop` is set to end the runs.
    pub(crate) fn new(progress: Option<Py<PyAny>>, stop: &AtomicBool) -> Listener<'_> {
        Listener { progress, stop, raised: None }
    }

    /// Calls the callback with the number of finished runs and of all runs, the fraction done, seconds since the start, and packet transmissions.
    pub(crate) fn notify(
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

    /// Handles signals, then calls the callback. Called without Python's lock.
    pub(crate) fn tick(&mut self, done: usize, of: usize, fraction: Option<f64>, elapsed: Duration, hops: u64) {
        let report = |py: Python<'_>, me: &Self| me.notify(py, done, of, fraction, elapsed.as_secs_f64(), hops);
        self.attach(|py, me| py.check_signals().and_then(|()| report(py, me)));
    }

    /// Handles signals. Signal handlers run in the main thread only; other threads do nothing here.
    pub(crate) fn signals(&mut self) {
        self.attach(|py, _| py.check_signals());
    }

    /// The raised exception, including one of a signal that came with the last result.
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
