//! Sweeps: many variants of a scenario, in a resumable directory.

use crate::concat::concat_batches;
use crate::detach::detached;
use crate::errors;
use crate::listener::Listener;
use crate::scenario::Scenario;
use crate::table::ArrowTable;
use arrow_array::RecordBatch;
use forebay_cli::report;
use forebay_runner::sweep::{Done, Plan, Request, Status, UnitRecord, Watcher, execute, read};
use forebay_store::sweep::{SweepDir, SweepManifest, SweepScenario};
use forebay_store::{Host, StoreError, pack, unpack};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A finished sweep.
#[pyclass(frozen)]
pub(crate) struct Sweep {
    manifest: SweepManifest,
    path: PathBuf,
    batch: RecordBatch,
}

#[pymethods]
impl Sweep {
    /// The manifest as JSON.
    fn manifest(&self) -> PyResult<String> {
        serde_json::to_string(&self.manifest).map_err(errors::internal)
    }

    /// Its directory.
    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    /// Writes its report.
    fn report(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = detached(py, || SweepDir::open(&self.path).and_then(|dir| report::write_sweep(&dir, &path)))?;
        written.map(|_| ()).map_err(|e| errors::store(&e))
    }

    /// The manifest as JSON, the directory, and the table as bytes, for another process.
    fn dump(&self) -> PyResult<(String, PathBuf, Vec<u8>)> {
        Ok((self.manifest()?, self.path.clone(), pack(&self.batch).map_err(|e| errors::store(&e))?))
    }

    /// Restores a sweep from the bytes of [`Sweep::dump`].
    #[staticmethod]
    fn restore(manifest: &str, path: PathBuf, bytes: Vec<u8>) -> PyResult<Sweep> {
        let parts = unpack(bytes).map_err(|e| errors::store(&e))?;
        let schema = parts.first().map(RecordBatch::schema).ok_or_else(|| errors::engine("a sweep without rows"))?;
        let batch = concat_batches(&schema, &parts).map_err(errors::internal)?;
        Ok(Sweep { manifest: serde_json::from_str(manifest).map_err(errors::internal)?, path, batch })
    }

    /// All numbers.
    fn table(&self) -> ArrowTable {
        ArrowTable::new(self.batch.clone())
    }
}

/// Runs the missing units of a scenario's sweep with further axes (`key=[..]`). `progress` is as for `run_all`.
#[pyfunction]
#[pyo3(signature = (scenario, axes, out, threads, progress: "object | None"))]
pub(crate) fn run_sweep(
    py: Python<'_>,
    scenario: &Scenario,
    axes: Vec<String>,
    out: Option<PathBuf>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Sweep> {
    let swept = with_axes(scenario, &axes)?;
    let request = request(scenario, &swept, axes, out, threads);
    let stop = AtomicBool::new(false);
    let mut watch = Watch { listener: Listener::new(progress, &stop), last: (0, 0) };
    let outcome = detached(py, || execute(request, &stop, &mut watch))?;
    let (done, total) = watch.last;
    watch.listener.end(py)?;
    let Some(finished) = outcome.map_err(|e| errors::sweep(&e))? else {
        return Err(errors::engine("the scenario has no [sweep], and no axes were given"));
    };
    watch.listener.notify(py, done, total, Some(1.0), finished.manifest.wall_s, finished.manifest.packet_hops)?;
    open_sweep(py, finished.dir.path().to_owned())
}

/// The scenario with further axes.
pub(crate) fn with_axes(scenario: &Scenario, axes: &[String]) -> PyResult<forebay_scenario::Scenario> {
    let mut swept = scenario.inner.clone();
    axes.iter().try_for_each(|axis| swept.add_axis(axis)).map_err(|e| errors::scenario(&e))?;
    Ok(swept)
}

/// Sweep to run and its target; `swept` is the scenario with the axes.
pub(crate) fn request<'a>(
    scenario: &Scenario,
    swept: &'a forebay_scenario::Scenario,
    axes: Vec<String>,
    out: Option<PathBuf>,
    threads: Option<usize>,
) -> Request<'a> {
    Request {
        scenario: swept,
        source: SweepScenario {
            file: scenario.file(),
            text: swept.text().to_owned(),
            overrides: scenario.overrides(),
            sweeps: axes,
        },
        dir: out,
        threads: threads.unwrap_or_else(|| Host::here().cpus),
        csv: false,
    }
}

/// Opens the directory of a finished sweep.
#[pyfunction]
pub(crate) fn open_sweep(py: Python<'_>, path: PathBuf) -> PyResult<Sweep> {
    let opened = detached(py, || {
        let (manifest, batches) = read(&path)?;
        let empty = || StoreError::Damaged { path: path.clone(), message: "a sweep without rows".into() };
        let schema = batches.first().map(RecordBatch::schema).ok_or_else(empty)?;
        let joined = concat_batches(&schema, &batches);
        joined.map(|batch| (manifest, batch)).map_err(|e| StoreError::Damaged { path: path.clone(), message: e.to_string() })
    })?;
    let (manifest, batch) = opened.map_err(|e| errors::store(&e))?;
    Ok(Sweep { manifest, path, batch })
}

/// Reports the progress.
struct Watch<'a> {
    listener: Listener<'a>,
    /// Units done, and all units.
    last: (usize, usize),
}

impl Watcher for Watch<'_> {
    fn checked(&mut self, _points: usize, _of: usize) {
        self.listener.signals();
    }

    fn begins(&mut self, plan: &Plan) {
        self.last = (0, plan.distinct().len());
        self.listener.tick(0, self.last.1, Some(0.0), Duration::ZERO, 0);
    }

    fn tick(&mut self, s: &Status) {
        self.last = (s.done, s.total);
        self.listener.tick(s.done, s.total, Some(s.fraction()), s.elapsed, s.hops);
    }

    fn done(&mut self, _: &Plan, _: usize, _: &UnitRecord, _: Done) {
        self.last.0 += 1;
    }
}
