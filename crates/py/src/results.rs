//! Results: in memory after a run, or in a directory.

use crate::concat::concat_batches;
use crate::detach::detached;
use crate::errors;
use crate::table::ArrowTable;
use arrow_array::RecordBatch;
use forebay_store::{Format, Manifest, RunDir, RunTable, RunWriter, StoreError, Target, pack, schema_of, unpack};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Rows per batch, as in `forebay run`: equal runs then give equal files.
const BATCH: usize = 1 << 16;

/// Tables as bytes, by name.
type PackedTables = Vec<(&'static str, Vec<u8>)>;

/// Names and contents of files with captured packets.
pub(crate) type Captures = Vec<(String, Vec<u8>)>;

/// Results of one scenario.
#[pyclass(frozen)]
pub(crate) struct Results {
    manifest: Manifest,
    /// In the order of [`RunTable::ALL`].
    tables: Vec<Mutex<Rows>>,
    /// Files with the captured packets of runs; empty for results from a directory.
    captures: Captures,
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
    pub(crate) fn new(manifest: Manifest, tables: Vec<Vec<RecordBatch>>, captures: Captures) -> Results {
        Results {
            manifest,
            tables: tables.into_iter().map(|parts| Mutex::new(Rows::Parts(parts))).collect(),
            captures,
            dir: None,
        }
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

    /// Files with captured packets in the directory that the results were read from, checked.
    fn capture_files(&self) -> PyResult<Vec<(String, PathBuf)>> {
        self.dir.as_ref().map_or_else(|| Ok(Vec::new()), |d| d.captures().map_err(|e| errors::store(&e)))
    }

    /// Writes a run directory without captured packets, for a report, and returns its path.
    pub(crate) fn write_tables(&self, target: Target, format: Format) -> PyResult<PathBuf> {
        self.write(target, format, |_| Ok(()))
    }

    /// Writes a run directory with its captured packets and returns its path.
    fn write_all(&self, target: Target, format: Format) -> PyResult<PathBuf> {
        let files = self.capture_files()?;
        self.write(target, format, |writer| {
            for (name, bytes) in &self.captures {
                writer.add_capture(name, |out| out.write_all(bytes))?;
            }
            for (name, path) in &files {
                writer.add_capture(name, |out| io::copy(&mut File::open(path)?, out).map(|_| ()))?;
            }
            Ok(())
        })
    }

    fn write(
        &self,
        target: Target,
        format: Format,
        add_captures: impl FnOnce(&mut RunWriter) -> Result<(), StoreError>,
    ) -> PyResult<PathBuf> {
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
            add_captures(&mut writer)?;
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

    /// The manifest as JSON, all tables as bytes, and the files with captured packets, for another process.
    fn dump(&self, py: Python<'_>) -> PyResult<(String, PackedTables, Captures)> {
        let (tables, captures) = detached(py, || {
            let one = |t: RunTable| Ok((t.name(), pack(&self.whole(t)?).map_err(|e| errors::store(&e))?));
            let tables = RunTable::ALL.into_iter().map(one).collect::<PyResult<Vec<_>>>()?;
            let mut captures = self.captures.clone();
            for (name, path) in self.capture_files()? {
                captures.push((name, fs::read(path)?));
            }
            PyResult::Ok((tables, captures))
        })??;
        Ok((self.manifest_json()?, tables, captures))
    }

    /// Restores results from the bytes of [`Results::dump`].
    #[staticmethod]
    fn restore(py: Python<'_>, manifest: &str, tables: Vec<(String, Vec<u8>)>, captures: Captures) -> PyResult<Results> {
        let manifest: Manifest = serde_json::from_str(manifest).map_err(errors::internal)?;
        let parts = detached(py, || {
            let of = |t: RunTable| {
                let bytes = tables.iter().find(|(name, _)| name == t.name()).map_or_else(Vec::new, |(_, bytes)| bytes.clone());
                if bytes.is_empty() { Ok(Vec::new()) } else { unpack(bytes).map_err(|e| errors::store(&e)) }
            };
            RunTable::ALL.into_iter().map(of).collect::<PyResult<Vec<_>>>()
        })??;
        Ok(Results::new(manifest, parts, captures))
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
        detached(py, || self.write_all(Target::Exact { path, force }, format))?
    }
}

/// Opens a finished run directory.
#[pyfunction]
pub(crate) fn open_run(path: PathBuf) -> PyResult<Results> {
    let dir = RunDir::open(&path).map_err(|e| errors::store(&e))?;
    let tables = RunTable::ALL.iter().map(|_| Mutex::new(Rows::Unread)).collect();
    Ok(Results { manifest: dir.manifest().clone(), tables, captures: Vec::new(), dir: Some(dir) })
}

/// Names of all tables.
#[pyfunction]
pub(crate) fn table_names() -> Vec<&'static str> {
    RunTable::ALL.map(RunTable::name).to_vec()
}
