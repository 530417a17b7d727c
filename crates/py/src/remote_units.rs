//! Sweeps whose units run in other processes: the coordinator, which lists missing units and stores results, and the worker, which runs units.

use crate::detach::detached;
use crate::errors;
use crate::listener::Listener;
use crate::scenario::Scenario;
use crate::sweep::{request, with_axes};
use forebay_runner::sweep::{
    Plan, PreparedSweep, Status, UnitFiles, UnitKey, UnitRecord, UnitStore, Watcher, begin, run_batch as run_keys,
    run_once as run_keys_once,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// A started sweep: its points are checked, and its directory exists.
#[pyclass(frozen)]
pub(crate) struct BegunSweep {
    plan: Plan,
    store: UnitStore,
    path: PathBuf,
}

#[pymethods]
impl BegunSweep {
    /// Checks the points of a scenario's sweep with further axes (`key=[..]`), and creates the directory.
    #[new]
    fn new(py: Python<'_>, scenario: &Scenario, axes: Vec<String>, out: Option<PathBuf>) -> PyResult<BegunSweep> {
        let swept = with_axes(scenario, &axes)?;
        let request = request(scenario, &swept, axes, out, None);
        let stop = AtomicBool::new(false);
        let mut watch = Checking(Listener::new(None, &stop));
        let begun = detached(py, || begin(request, &stop, &mut watch))?;
        watch.0.end(py)?;
        match begun.map_err(|e| errors::sweep(&e))? {
            Some(PreparedSweep { plan, dir, .. }) => Ok(BegunSweep { plan, store: dir.units(), path: dir.path().to_owned() }),
            None => Err(errors::engine("the scenario has no [sweep], and no axes were given")),
        }
    }

    /// Its directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Number of different units of the sweep.
    fn total(&self) -> usize {
        self.plan.distinct().len()
    }

    /// The units without results, in order: the number of the point, and the key.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<(u32, String)>> {
        let keep = self.plan.sweep().keep();
        let units = || self.plan.units().iter().filter(|u| u.same_as().is_none() && self.store.get(u.key(), keep).is_none());
        detached(py, || units().map(|u| (u.point(), u.key().to_string())).collect())
    }

    /// Stores the result of a unit that ran elsewhere: its tables by name, and its metrics.
    fn put(&self, py: Python<'_>, key: &str, tables: Vec<(String, PyBackedBytes)>, numbers: PyBackedBytes) -> PyResult<()> {
        keep(py, &self.store, key, tables, &numbers)
    }
}

/// Stores the result of a unit that ran elsewhere.
pub(crate) fn keep(
    py: Python<'_>,
    store: &UnitStore,
    key: &str,
    tables: Vec<(String, PyBackedBytes)>,
    numbers: &PyBackedBytes,
) -> PyResult<()> {
    let key = parsed(key)?;
    let tables = tables.into_iter().map(|(name, bytes)| (name, bytes.to_vec())).collect();
    let packed = UnitFiles { tables, numbers: numbers.to_vec() };
    detached(py, || store.put_files(&key, &packed, false))?.map_err(|e| errors::store(&e))
}

/// The files of a unit: its tables by name, and its metrics.
type Files<'py> = (Vec<(String, Bound<'py, PyBytes>)>, Bound<'py, PyBytes>);

/// Runs the units with these keys at these points, one after the other. Returns the tables by name and the metrics of each.
#[pyfunction]
pub(crate) fn run_batch<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    axes: Vec<String>,
    points: Vec<u32>,
    keys: Vec<String>,
) -> PyResult<Vec<Files<'py>>> {
    let swept = with_axes(scenario, &axes)?;
    let keys: Vec<UnitKey> = keys.iter().map(|k| parsed(k)).collect::<PyResult<_>>()?;
    let stop = AtomicBool::new(false);
    let made = detached(py, || run_keys(&swept, &points, &keys, &stop))?.map_err(|e| errors::sweep(&e))?;
    Ok(files(py, &made))
}

/// Runs units of a scenario without a sweep, with the seeds 1 to `seeds`, keeping the tables `keep` of each.
#[pyfunction]
pub(crate) fn run_once<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    seeds: u32,
    keep: Vec<String>,
    keys: Vec<String>,
) -> PyResult<Vec<Files<'py>>> {
    let keys: Vec<UnitKey> = keys.iter().map(|k| parsed(k)).collect::<PyResult<_>>()?;
    let stop = AtomicBool::new(false);
    let made = detached(py, || run_keys_once(&scenario.inner, seeds, keep, &keys, &stop))?.map_err(|e| errors::sweep(&e))?;
    Ok(files(py, &made))
}

fn files<'py>(py: Python<'py>, made: &[UnitFiles]) -> Vec<Files<'py>> {
    let bytes = |b: &[u8]| PyBytes::new(py, b);
    made.iter().map(|p| (p.tables.iter().map(|(n, b)| (n.clone(), bytes(b))).collect(), bytes(&p.numbers))).collect()
}

fn parsed(key: &str) -> PyResult<UnitKey> {
    key.parse().map_err(|()| errors::engine("a key of a run has 32 hexadecimal digits"))
}

/// Handles Ctrl-C while points are checked.
struct Checking<'a>(Listener<'a>);

impl Watcher for Checking<'_> {
    fn checked(&mut self, _points: usize, _of: usize) {
        self.0.signals();
    }

    fn tick(&mut self, _: &Status) {}

    fn done(&mut self, _: &Plan, _: usize, _: &UnitRecord, _: forebay_runner::sweep::Done) {}
}
