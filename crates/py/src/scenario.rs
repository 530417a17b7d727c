//! Scenarios: a text, its changes, and the checked result.

use crate::control::Controls;
use crate::detach::detached;
use crate::errors;
use forebay_experiment::worlds::Worlds;
use forebay_model::backend::{Header, evaluate};
use forebay_runner::sweep::explain;
use forebay_scenario::Resolved;
use forebay_store::Host;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// A scenario as written, with its changes. It is immutable.
#[pyclass(frozen)]
pub(crate) struct Scenario {
    pub(crate) inner: forebay_scenario::Scenario,
    /// Name for errors; a path for a file.
    #[pyo3(get)]
    name: String,
    base: PathBuf,
    /// Changes in the form `key=value`.
    #[pyo3(get)]
    sets: Vec<String>,
    /// Seed of the first run, if it is not the text's.
    #[pyo3(get)]
    seed: Option<u64>,
    /// Checked on first use.
    resolved: OnceLock<Arc<Resolved>>,
}

#[pymethods]
impl Scenario {
    /// A scenario from a text; its files are relative to `base`, and `name` is used in errors.
    #[staticmethod]
    fn from_text(text: &str, name: String, base: PathBuf, sets: Vec<String>, seed: Option<u64>) -> PyResult<Scenario> {
        Scenario::read(forebay_backends::all(), text, name, base, sets, seed)
    }

    /// A scenario from a file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Scenario> {
        let inner = forebay_scenario::load(forebay_backends::all(), &path, &[], None).map_err(|e| errors::scenario(&e))?;
        let name = path.display().to_string();
        Ok(Scenario { inner, name, base: PathBuf::new(), sets: Vec::new(), seed: None, resolved: OnceLock::new() })
    }

    /// The same scenario with further changes; a seed of `None` leaves it.
    fn changed(&self, sets: Vec<String>, seed: Option<u64>) -> PyResult<Scenario> {
        let sets = self.sets.iter().cloned().chain(sets).collect();
        Scenario::from_text(self.text(), self.name.clone(), self.base.clone(), sets, seed.or(self.seed))
    }

    /// The same scenario, which may name the congestion controls of the caller.
    fn with_controls(&self, controls: &Controls) -> PyResult<Scenario> {
        Scenario::read(controls.worlds, self.text(), self.name.clone(), self.base.clone(), self.sets.clone(), self.seed)
    }

    /// The text as it was read.
    #[getter]
    fn text(&self) -> &str {
        self.inner.text()
    }

    /// Folder that `name` is relative to; empty when `name` is the path of a file.
    #[getter]
    fn base(&self) -> &Path {
        &self.base
    }

    /// The document with its changes, as JSON.
    fn document(&self) -> String {
        self.inner.document().to_string()
    }

    /// Name of the run.
    fn title(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.resolve(py)?.name.clone())
    }

    /// Names of the variants.
    fn labels(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.resolve(py)?.variants.iter().map(|v| v.label.clone()).collect())
    }

    /// Notes on the reading of the scenario.
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.resolve(py)?.notes.clone())
    }

    /// Description of the runs as text; all points of a sweep are checked.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        if !self.is_sweep()? {
            return Ok(self.resolve(py)?.explain());
        }
        let explained = detached(py, || explain(&self.inner, Host::here().cpus, &AtomicBool::new(false)))?;
        explained.map(|e| e.1).map_err(|e| errors::sweep(&e))
    }

    /// Predictions of the analytic models, as `forebay compare --worlds model --models --format json` prints them.
    fn models_json(&self, py: Python<'_>) -> PyResult<String> {
        let resolved = self.resolve(py)?;
        detached(py, || {
            let labels: Vec<&str> = resolved.variants.iter().map(|v| v.label.as_str()).collect();
            let experiments: Vec<_> = resolved.variants.iter().map(|v| &v.config).collect();
            let head = Header { name: &resolved.name, seed: resolved.seed, runs: 0, notes: &resolved.notes, labels: &labels };
            evaluate(head, &experiments).to_string()
        })
    }

    /// True if the scenario has a sweep.
    fn is_sweep(&self) -> PyResult<bool> {
        self.inner.sweep().map(|s| s.is_some()).map_err(|e| errors::scenario(&e))
    }

    /// Every variant with all defaults filled in, as JSON.
    fn resolved_json(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.resolve(py)?.variants.iter().map(|v| v.echo.to_string()).collect())
    }

    /// Every variant with all defaults filled in, as TOML.
    fn resolved_toml(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.resolve(py)?.variants.iter().map(forebay_scenario::Variant::toml).collect())
    }
}

impl Scenario {
    /// A scenario from a text, which may name entries of `worlds`.
    fn read(
        worlds: &'static Worlds,
        text: &str,
        name: String,
        base: PathBuf,
        sets: Vec<String>,
        seed: Option<u64>,
    ) -> PyResult<Scenario> {
        let inner =
            forebay_scenario::Scenario::from_text(worlds, text, &name, &base, &sets, seed).map_err(|e| errors::scenario(&e))?;
        Ok(Scenario { inner, name, base, sets, seed, resolved: OnceLock::new() })
    }

    /// The checked scenario.
    pub(crate) fn resolve(&self, py: Python<'_>) -> PyResult<Arc<Resolved>> {
        if let Some(resolved) = self.resolved.get() {
            return Ok(resolved.clone());
        }
        let resolved = detached(py, || self.inner.resolve())?.map_err(|e| errors::scenario(&e))?;
        // Two threads may both have checked it, with the same result.
        Ok(self.resolved.get_or_init(|| Arc::new(resolved)).clone())
    }

    /// Path of the file, empty for a scenario without a file.
    pub(crate) fn file(&self) -> String {
        if self.base.as_os_str().is_empty() { self.name.clone() } else { String::new() }
    }

    /// The changes as options of the command line.
    pub(crate) fn overrides(&self) -> Vec<String> {
        self.sets.iter().cloned().chain(self.seed.map(|n| format!("seed={n}"))).collect()
    }
}
