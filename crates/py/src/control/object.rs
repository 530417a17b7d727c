//! A Python object as the congestion control of a connection.

use super::arguments::{Ack, Event, Reduction, Window, segments};
use forebay_sim::cc::external_control::{Control, Factory};
use forebay_sim::cc::{self, Threshold};
use forebay_types::Rate;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception of a hook. After it no hook is called.
#[derive(Debug, Default)]
pub(crate) struct Raised {
    failed: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Raised {
    /// True after an exception.
    pub(crate) fn failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// The exception.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep<T>(&self, result: PyResult<T>) -> Option<T> {
        result
            .map_err(|error| {
                self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                self.failed.store(true, Relaxed);
            })
            .ok()
    }
}

/// Starts the object of each connection.
pub(super) struct PyFactory {
    pub(super) make: Py<PyAny>,
    pub(super) paces: bool,
    pub(super) raised: Arc<Raised>,
}

impl Factory for PyFactory {
    fn start(&self) -> Box<dyn Control> {
        let object = Python::attach(|py| PyControl::new(py, self.make.call0(py)?, self.raised.clone()));
        self.raised.keep(object).map_or_else(|| Box::new(Failed) as Box<dyn Control>, |object| Box::new(object))
    }

    fn paces(&self) -> bool {
        self.paces
    }
}

/// Congestion control of a connection whose object could not be made: the run ends.
#[derive(Debug)]
struct Failed;

impl Control for Failed {
    fn in_ack_event(&mut self, _: &mut cc::Window, _: &cc::Ack) {}
    fn pkts_acked(&mut self, _: &mut cc::Window, _: &cc::Ack) {}
    fn cong_avoid(&mut self, _: &mut cc::Window, _: &cc::Ack) {}
    fn ssthresh(&mut self, _: &cc::Window, cut: cc::Reduction) -> Threshold {
        halve(cut)
    }
    fn window_after_marks(&self, _: f64, threshold: Threshold) -> Threshold {
        threshold
    }
    fn reduces_on_loss_after_ecn(&self) -> bool {
        false
    }
    fn cwnd_event(&mut self, _: &mut cc::Window, _: cc::Event) {}
    fn undo_cwnd(&mut self, w: &cc::Window, _: f64) -> f64 {
        w.cwnd
    }
    fn alpha(&self) -> Option<f64> {
        None
    }
    fn pacing_rate(&self, _: u32) -> Rate {
        Rate::MAX
    }
    fn copy(&self) -> Box<dyn Control> {
        Box::new(Failed)
    }
}

/// The threshold while a run ends after an exception.
fn halve(cut: cc::Reduction) -> Threshold {
    (cut.from / 2.0).max(2.0).into()
}

/// Hooks that do nothing in the base class, with a flag for those that the class of an object overrides.
#[derive(Debug)]
struct Overridden {
    in_ack_event: bool,
    pkts_acked: bool,
    cwnd_event: bool,
}

impl Overridden {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Overridden> {
        let base = object.py().import("forebay._cc")?.getattr("CongestionControl")?;
        let class = object.get_type();
        let has = |hook: &str| PyResult::Ok(!class.getattr(hook)?.is(&base.getattr(hook)?));
        Ok(Overridden { in_ack_event: has("in_ack_event")?, pkts_acked: has("pkts_acked")?, cwnd_event: has("cwnd_event")? })
    }
}

/// The object of one connection.
#[derive(Debug)]
struct PyControl {
    object: Py<PyAny>,
    /// Argument of the hooks, reused.
    window: Py<Window>,
    /// Hooks that do something; the others are not called.
    overridden: Overridden,
    reduces_on_loss_after_ecn: bool,
    raised: Arc<Raised>,
}

impl PyControl {
    fn new(py: Python<'_>, object: Py<PyAny>, raised: Arc<Raised>) -> PyResult<PyControl> {
        let reduces_on_loss_after_ecn = object.getattr(py, "reduces_on_loss_after_ecn")?.extract(py)?;
        let window = Py::new(py, Window::new(1.0, f64::INFINITY))?;
        let overridden = Overridden::of(object.bind(py))?;
        Ok(PyControl { object, window, overridden, reduces_on_loss_after_ecn, raised })
    }

    /// Calls `work`, unless a hook has raised an exception.
    fn attached<T>(&self, work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.raised.failed() {
            return None;
        }
        self.raised.keep(Python::attach(work))
    }

    /// The argument of the hooks with the values of `w`.
    fn window(&self, py: Python<'_>, w: &cc::Window) -> PyResult<&Py<Window>> {
        self.window.bind(py).try_borrow_mut()?.take(w);
        Ok(&self.window)
    }

    /// Calls a hook that may change the window.
    fn change<A: for<'py> IntoPyObject<'py>>(&self, hook: &str, w: &mut cc::Window, fact: A) {
        let changed = self.attached(|py| {
            let window = self.window(py, w)?;
            self.object.call_method1(py, hook, (window, fact))?;
            window.bind(py).try_borrow()?.checked(hook)
        });
        if let Some(changed) = changed {
            *w = changed;
        }
    }

    /// Calls a hook that returns a number of segments.
    fn returned(&self, hook: &str, call: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>) -> Option<f64> {
        self.attached(|py| segments(call(py)?.extract(py)?, &format!("the result of `{hook}`")))
    }
}

impl Control for PyControl {
    fn in_ack_event(&mut self, w: &mut cc::Window, ack: &cc::Ack) {
        if self.overridden.in_ack_event {
            self.change("in_ack_event", w, Ack::from(ack));
        }
    }

    fn pkts_acked(&mut self, w: &mut cc::Window, ack: &cc::Ack) {
        if self.overridden.pkts_acked {
            self.change("pkts_acked", w, Ack::from(ack));
        }
    }

    fn cong_avoid(&mut self, w: &mut cc::Window, ack: &cc::Ack) {
        self.change("cong_avoid", w, Ack::from(ack));
    }

    fn ssthresh(&mut self, w: &cc::Window, cut: cc::Reduction) -> Threshold {
        let found =
            self.returned("ssthresh", |py| self.object.call_method1(py, "ssthresh", (self.window(py, w)?, Reduction::from(cut))));
        found.map_or_else(|| halve(cut), Threshold::at)
    }

    fn window_after_marks(&self, from: f64, threshold: Threshold) -> Threshold {
        let found = self.returned("window_after_marks", |py| {
            self.object.call_method1(py, "window_after_marks", (from, threshold.or_infinite()))
        });
        found.map_or(threshold, Threshold::at)
    }

    fn reduces_on_loss_after_ecn(&self) -> bool {
        self.reduces_on_loss_after_ecn
    }

    fn cwnd_event(&mut self, w: &mut cc::Window, event: cc::Event) {
        if self.overridden.cwnd_event
            && let Some(event) = Event::of(event)
        {
            self.change("cwnd_event", w, event);
        }
    }

    fn undo_cwnd(&mut self, w: &cc::Window, prior: f64) -> f64 {
        let found = self.returned("undo_cwnd", |py| self.object.call_method1(py, "undo_cwnd", (self.window(py, w)?, prior)));
        found.unwrap_or(w.cwnd)
    }

    fn alpha(&self) -> Option<f64> {
        self.attached(|py| self.object.call_method0(py, "alpha")?.extract(py)).flatten()
    }

    fn pacing_rate(&self, mss: u32) -> Rate {
        let rate = self.attached(|py| {
            let rate: f64 = self.object.call_method1(py, "pacing_rate", (mss,))?.extract(py)?;
            if rate >= 1.0 {
                return Ok(Rate(rate as u64));
            }
            Err(PyValueError::new_err(format!("the result of `pacing_rate` is {rate}; legal: bit/s, at least 1")))
        });
        rate.unwrap_or(Rate::MAX)
    }

    fn copy(&self) -> Box<dyn Control> {
        let copied = self.attached(|py| {
            let object = py.import("copy")?.call_method1("deepcopy", (&self.object,))?.unbind();
            PyControl::new(py, object, self.raised.clone())
        });
        copied.map_or_else(|| Box::new(Failed) as Box<dyn Control>, |copy| Box::new(copy))
    }
}
