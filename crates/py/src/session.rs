//! Queue of scenarios on one thread pool, with results from a store of units: the basis of paper reproductions.

use crate::concat::concat_batches;
use crate::detach::detached;
use crate::errors;
use crate::remote_units::keep;
use crate::scenario::Scenario;
use crate::table::ArrowTable;
use arrow_array::RecordBatch;
use forebay_runner::sweep::{self, Unit, UnitKey, UnitRecord, UnitStore};
use forebay_store::unit::{RunNames, summary};
use forebay_store::{RunTable, StoreError, combined_fingerprint, schema_of};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Polling interval for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);

/// Runs submitted scenarios, each different run once.
#[pyclass(frozen)]
pub(crate) struct Session {
    inner: Arc<sweep::Session>,
}

#[pymethods]
impl Session {
    /// Creates a pool of `threads` threads, with a folder of results.
    #[new]
    fn new(root: PathBuf, threads: usize) -> Session {
        Session { inner: Arc::new(sweep::Session::new(UnitStore::open(&root), threads)) }
    }

    /// Submits a scenario with the seeds 1 to `seeds`; the tables `keep` are kept of each run.
    fn submit(&self, py: Python<'_>, scenario: &Scenario, seeds: u32, keep: Vec<String>) -> PyResult<Runs> {
        if let Some(unknown) = keep.iter().find(|k| !forebay_scenario::KEEPABLE.contains(&k.as_str())) {
            return Err(PyKeyError::new_err(unknown.clone()));
        }
        let ticket = detached(py, || self.inner.submit(&scenario.inner, seeds, keep))?.map_err(|e| errors::sweep(&e))?;
        Ok(Runs { session: self.inner.clone(), ticket, records: OnceLock::new() })
    }

    /// The keys of the different runs of a scenario with the seeds 1 to `seeds`, in order, each with a flag for a missing result.
    fn units(&self, py: Python<'_>, scenario: &Scenario, seeds: u32, keep: Vec<String>) -> PyResult<(Vec<String>, Vec<String>)> {
        let plan = detached(py, || self.inner.plan(&scenario.inner, seeds, keep.clone()))?.map_err(|e| errors::sweep(&e))?;
        let store = self.inner.store();
        let all: Vec<UnitKey> = plan.units().iter().filter(|u| u.same_as().is_none()).map(|u| *u.key()).collect();
        let missing = detached(py, || all.iter().filter(|k| store.get(k, &keep).is_none()).map(UnitKey::to_string).collect())?;
        Ok((all.iter().map(UnitKey::to_string).collect(), missing))
    }

    /// Stores the result of a run that ran elsewhere: its tables by name, and its metrics.
    fn put(&self, py: Python<'_>, key: &str, tables: Vec<(String, PyBackedBytes)>, numbers: PyBackedBytes) -> PyResult<()> {
        keep(py, self.inner.store(), key, tables, &numbers)
    }

    /// Different runs requested so far, those that have ended, and those that were cached.
    fn counts(&self) -> (usize, usize, usize) {
        let c = self.inner.counts();
        (c.total, c.done, c.found)
    }

    /// Interrupts running units, discards queued ones, and returns when all threads have stopped.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.inner.stop())
    }
}

/// All variants of a scenario with all seeds. Access to results waits for them.
#[pyclass(frozen)]
pub(crate) struct Runs {
    session: Arc<sweep::Session>,
    ticket: sweep::Ticket,
    records: OnceLock<Vec<Arc<UnitRecord>>>,
}

#[pymethods]
impl Runs {
    /// Names of the variants, in order. Does not wait.
    fn variants(&self) -> Vec<String> {
        let plan = self.ticket.plan();
        plan.units().iter().filter(|u| u.run() == 0).map(|u| plan.names(u).variant.clone()).collect()
    }

    /// Waits until every run has ended. Raises the exception of the first failed run.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        self.get(py).map(|_| ())
    }

    /// Metrics of the runs of a seed, as JSON: a list with an object for each variant.
    fn facts(&self, py: Python<'_>, run: u32) -> PyResult<String> {
        let records = self.get(py)?;
        let facts = self.of_run(run).map(|(i, unit)| {
            let r = &records[i];
            serde_json::json!({
                "variant": self.ticket.plan().names(unit).variant,
                "run": 0,
                "seed": unit.seed(),
                "fingerprint": format!("{:016x}", r.fingerprint),
                "end_ns": r.end_ns,
                "measured_from_ns": r.measured_from_ns,
                "packet_hops": r.packet_hops,
            })
        });
        Ok(serde_json::Value::Array(facts.collect()).to_string())
    }

    /// Fingerprint of all variants with a seed, as of a run directory.
    fn fingerprint(&self, py: Python<'_>, run: u32) -> PyResult<String> {
        let records = self.get(py)?;
        let all: Vec<u64> = self.of_run(run).map(|(i, _)| records[i].fingerprint).collect();
        Ok(format!("{:016x}", combined_fingerprint(&all)))
    }

    /// Name, number of messages (rows of `flows`, 0 if they are not kept) and number of retransmission timeouts including those of SYNs, for each
    /// variant of a seed.
    fn counts(&self, py: Python<'_>, run: u32) -> PyResult<Vec<(String, u64, u64)>> {
        let records = self.get(py)?;
        let plan = self.ticket.plan();
        let one = |(i, unit): (usize, &Unit)| {
            let kept = self.session.store().kept(unit.key());
            let flows = kept.iter().find(|k| k.table == RunTable::Flows.name()).map_or(0, |k| k.rows);
            (plan.names(unit).variant.clone(), flows, records[i].timeouts())
        };
        detached(py, || self.of_run(run).map(one).collect())
    }

    /// A table with the rows of all variants of the first seed, then of the next. `columns` limits the columns.
    fn table(&self, py: Python<'_>, name: &str, columns: Option<Vec<String>>) -> PyResult<ArrowTable> {
        let table = RunTable::of(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let records = self.get(py)?;
        let columns: Option<Vec<&str>> = columns.as_ref().map(|c| c.iter().map(String::as_str).collect());
        let read = || self.read(table, columns.as_deref(), records);
        let batch = detached(py, read)?.map_err(|e| errors::store(&e))?;
        Ok(ArrowTable::new(batch))
    }
}

impl Runs {
    fn of_run(&self, run: u32) -> impl Iterator<Item = (usize, &Unit)> {
        self.ticket.plan().units().iter().enumerate().filter(move |(_, u)| u.run() == run)
    }

    fn get(&self, py: Python<'_>) -> PyResult<&Vec<Arc<UnitRecord>>> {
        if let Some(records) = self.records.get() {
            return Ok(records);
        }
        loop {
            match detached(py, || self.session.wait(&self.ticket, PATIENCE))? {
                Some(Ok(records)) => return Ok(self.records.get_or_init(|| records)),
                Some(Err(e)) => return Err(errors::sweep(&e)),
                None => py.check_signals()?,
            }
        }
    }

    fn read(&self, table: RunTable, columns: Option<&[&str]>, records: &[Arc<UnitRecord>]) -> Result<RecordBatch, StoreError> {
        let plan = self.ticket.plan();
        let fail = |e: arrow_schema::ArrowError| StoreError::Encode { path: table.name().into(), message: e.to_string() };
        let mut order: Vec<(usize, &Unit)> = plan.units().iter().enumerate().collect();
        order.sort_by_key(|(i, u)| (u.run(), *i));
        let named = |&(i, unit): &(usize, &'_ Unit)| RunNames {
            variant: &plan.names(unit).variant,
            run: unit.run(),
            groups: (&records[i].groups, &plan.names(unit).groups),
        };
        if table == RunTable::Summary {
            let rows: Vec<(&UnitRecord, RunNames)> = order.iter().map(|o| (&*records[o.0], named(o))).collect();
            let batch = summary(&rows).map_err(fail)?;
            return project(&batch, columns).map_err(fail);
        }
        let mut batches = Vec::new();
        for of in &order {
            for batch in self.session.store().table(of.1.key(), table.name(), columns)? {
                batches.push(named(of).apply(&batch).map_err(fail)?);
            }
        }
        concat_batches(&schema_of(table), &batches).map_err(fail)
    }
}

/// The columns called `names`, in the order of the batch.
fn project(batch: &RecordBatch, names: Option<&[&str]>) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let Some(names) = names else { return Ok(batch.clone()) };
    let wanted: Vec<usize> =
        (0..batch.num_columns()).filter(|i| names.contains(&batch.schema().field(*i).name().as_str())).collect();
    batch.project(&wanted)
}
