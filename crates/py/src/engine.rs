//! One simulation whose messages the caller sends while it runs.

use crate::detach::detached;
use crate::errors;
use crate::scenario::Scenario;
use forebay_experiment::world::World;
use forebay_sim::program::{self, EngineError, Step};
use forebay_sim::world::Simulator;
use forebay_types::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Windows between two checks for Ctrl-C: some ten milliseconds in a large network.
const WINDOWS: u32 = 1000;

/// An engine; `forebay.Engine` uses it.
#[pyclass(frozen)]
pub(crate) struct Engine {
    inner: Mutex<program::Engine>,
}

fn raised(error: &EngineError) -> PyErr {
    match error {
        EngineError::Run(error) => errors::engine(&error.to_string()),
        EngineError::Argument(text) => PyValueError::new_err(text.clone()),
    }
}

#[pymethods]
impl Engine {
    /// Creates the network of a scenario.
    #[new]
    fn new(py: Python<'_>, scenario: &Scenario) -> PyResult<Engine> {
        let resolved = detached(py, || scenario.inner.resolve_for_program())?.map_err(|e| errors::scenario(&e))?;
        let experiment = resolved.for_program(Simulator.name()).map_err(PyValueError::new_err)?;
        let engine = detached(py, || program::Engine::new(experiment))?;
        Ok(Engine { inner: Mutex::new(engine.map_err(|e| raised(&e))?) })
    }

    /// Names of the hosts, in the order of their numbers.
    fn hosts(&self) -> Vec<String> {
        let engine = self.lock();
        (0..engine.hosts()).filter_map(|h| engine.name(h)).map(str::to_owned).collect()
    }

    /// Sends a message; returns its number and the time at which it begins, in picoseconds.
    fn send(&self, src: u32, dst: u32, bytes: u64) -> PyResult<(u64, u64)> {
        let (number, start) = self.lock().send(src, dst, bytes).map_err(|e| raised(&e))?;
        Ok((number, start.0))
    }

    /// Sets a timer that is due after this many picoseconds; returns its number.
    fn schedule(&self, delay: u64) -> u64 {
        let mut engine = self.lock();
        let time = engine.now().saturating_add(Time(delay));
        engine.schedule(time)
    }

    /// Simulated time in picoseconds.
    fn now(&self) -> u64 {
        self.lock().now().0
    }

    /// Messages that have not been delivered.
    fn open(&self) -> u64 {
        self.lock().open()
    }

    /// Packet transmissions so far.
    fn packet_hops(&self) -> u64 {
        self.lock().packet_hops()
    }

    /// Runs to the next event: "delivered" or "due" with its number, "idle" or "ended". Handles Ctrl-C.
    fn step(&self, py: Python<'_>) -> PyResult<(&'static str, u64)> {
        loop {
            match detached(py, || self.lock().step(WINDOWS))? {
                Step::Delivered(message) => return Ok(("delivered", message)),
                Step::Due(timer) => return Ok(("due", timer)),
                Step::Idle => return Ok(("idle", 0)),
                Step::Ended => return Ok(("ended", 0)),
                Step::Paused => py.check_signals()?,
            }
        }
    }
}

impl Engine {
    fn lock(&self) -> MutexGuard<'_, program::Engine> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
