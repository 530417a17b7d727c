//! Results: in memory after a run, or in a directory.

use crate::concat::concat_batches;
use crate::detach::detached;
use crate::errors;
use crate::table::ArrowTable;
use arrow_array::RecordBatch;
use forebay_store::{Format, Manifest, RunDir, RunTable, RunWriter, Target, pack, schema_of, unpack};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Rows per batch, as in `forebay run`: equal runs then give equal files.
const BATCH: usize = 1 << 16;

/// Tables as bytes, by name.
type PackedTables = Vec<(&'static str, Vec<u8>)>;

/// Results of one scenario.
#[pyclass(frozen)]
pub(crate) struct Results {
    manifest: Manifest,
    /// In the order of [`RunTable::ALL`].
    tables: Vec<Mutex<Rows>>,
    /// Directory that they were read from.
    dir: Option<RunDir>,
}

/// One table.
enum Rows {
    /// Not read yet.
    Unread,
    /// One batch per run.
    Parts(Vec<RecordBatch>),
    /// In one piece, after the first access.
    Whole(RecordBatch),
}

impl Results {
    /// Results of finished runs: one batch per run for each table.
    pub(crate) fn new(manifest: Manifest, tables: Vec<Vec<RecordBatch>>) -> Results {
        Results { manifest, tables: tables.into_iter().map(|parts| Mutex::new(Rows::Parts(parts))).collect(), dir: None }
    }

    /// A table in one piece.
    fn whole(&self, table: RunTable) -> PyResult<RecordBatch> {
        let mut rows = self.tables[table as usize].lock().unwrap_or_else(PoisonError::into_inner);
        let parts = match &mut *rows {
            Rows::Whole(batch) => return Ok(batch.clone()),
            Rows::Parts(parts) => std::mem::take(parts),
            Rows::Unread => match &self.dir {
                Some(dir) => dir.table(table.name()).map_err(|e| errors::store(&e))?,
                None => Vec::new(),
            },
        };
        let batch = concat_batches(&schema_of(table), &parts).map_err(errors::internal)?;
        *rows = Rows::Whole(batch.clone());
        Ok(batch)
    }

    /// A table in its present batches.
    fn parts(&self, table: RunTable) -> PyResult<Vec<RecordBatch>> {
        if let Rows::Parts(parts) = &*self.tables[table as usize].lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(parts.clone());
        }
        Ok(vec![self.whole(table)?])
    }

    /// Scenario of the results.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Directory that the results were read from.
    pub(crate) fn dir(&self) -> Option<&RunDir> {
        self.dir.as_ref()
    }

    /// Writes a run directory and returns its path.
    pub(crate) fn write(&self, target: Target, format: Format) -> PyResult<PathBuf> {
        let tables = RunTable::ALL.iter().map(|t| self.parts(*t)).collect::<PyResult<Vec<_>>>()?;
        let write = || {
            let mut writer = RunWriter::create(target, format)?;
            for (table, parts) in RunTable::ALL.into_iter().zip(tables) {
                for part in parts {
                    for start in (0..part.num_rows()).step_by(BATCH) {
                        writer.write(table, &part.slice(start, BATCH.min(part.num_rows() - start)))?;
                    }
                }
            }
            writer.finish(self.manifest.clone())
        };
        write().map_err(|e| errors::store(&e))
    }
}

#[pymethods]
impl Results {
    /// The manifest as JSON.
    fn manifest_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.manifest).map_err(errors::internal)
    }

    /// Directory that the results were read from.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.dir.as_ref().map(|d| d.path().to_owned())
    }

    /// The manifest as JSON and all tables as bytes, for another process.
    fn dump(&self, py: Python<'_>) -> PyResult<(String, PackedTables)> {
        let tables = detached(py, || {
            let one = |t: RunTable| Ok((t.name(), pack(&self.whole(t)?).map_err(|e| errors::store(&e))?));
            RunTable::ALL.into_iter().map(one).collect::<PyResult<Vec<_>>>()
        })??;
        Ok((self.manifest_json()?, tables))
    }

    /// Restores results from the bytes of [`Results::dump`].
    #[staticmethod]
    fn restore(py: Python<'_>, manifest: &str, tables: Vec<(String, Vec<u8>)>) -> PyResult<Results> {
        let manifest: Manifest = serde_json::from_str(manifest).map_err(errors::internal)?;
        let parts = detached(py, || {
            let of = |t: RunTable| {
                let bytes = tables.iter().find(|(name, _)| name == t.name()).map_or_else(Vec::new, |(_, bytes)| bytes.clone());
                if bytes.is_empty() { Ok(Vec::new()) } else { unpack(bytes).map_err(|e| errors::store(&e)) }
            };
            RunTable::ALL.into_iter().map(of).collect::<PyResult<Vec<_>>>()
        })??;
        Ok(Results::new(manifest, parts))
    }

    /// A table by its name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<ArrowTable> {
        let table = RunTable::of(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        Ok(ArrowTable::new(detached(py, || self.whole(table))??))
    }

    /// Writes a run directory and returns its path. `format` is `parquet` or `csv`.
    fn save(&self, py: Python<'_>, path: PathBuf, format: &str, force: bool) -> PyResult<PathBuf> {
        let format = match format {
            "parquet" => Format::Parquet,
            "csv" => Format::Csv,
            other => return Err(PyValueError::new_err(format!("`{other}` is not a format: legal are `parquet` and `csv`"))),
        };
        detached(py, || self.write(Target::Exact { path, force }, format))?
    }
}

/// Opens a finished run directory.
#[pyfunction]
pub(crate) fn open_run(path: PathBuf) -> PyResult<Results> {
    let dir = RunDir::open(&path).map_err(|e| errors::store(&e))?;
    let tables = RunTable::ALL.iter().map(|_| Mutex::new(Rows::Unread)).collect();
    Ok(Results { manifest: dir.manifest().clone(), tables, dir: Some(dir) })
}

/// Names of all tables.
#[pyfunction]
pub(crate) fn table_names() -> Vec<&'static str> {
    RunTable::ALL.map(RunTable::name).to_vec()
}
