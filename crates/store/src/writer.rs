//! Writer of run directories.

use crate::batch::{each_batch, row_count, schema_of};
use crate::csv_file::CsvFile;
use crate::dir::{Staging, Target};
use crate::error::StoreError;
use crate::manifest::{CaptureRecord, Manifest, TableRecord};
use crate::parquet_file::{ParquetFile, io_cause};
use crate::run_info::RunInfo;
use crate::run_table::RunTable;
use crate::seal::{Summed, seal};
use crate::summary::Summary;
use arrow_array::RecordBatch;
use forebay_experiment::report::Report;
use forebay_experiment::series_file::keep_series_in;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// File format of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Apache Parquet.
    #[default]
    Parquet,
    /// Comma-separated text.
    Csv,
}

impl Format {
    /// Extension of the files.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Csv => "csv",
        }
    }
}

/// A run directory being written. If dropped before [`RunWriter::finish`], it is removed.
pub struct RunWriter {
    /// In the order of [`RunTable::ALL`].
    // Before `staging`: files are closed before their directory is removed.
    tables: Vec<TableFile>,
    /// Files with captured packets.
    captures: Vec<(CaptureRecord, PathBuf, File)>,
    staging: Staging,
}

impl RunWriter {
    /// Opens all tables in a sibling of `target`.
    ///
    /// # Errors
    /// When the target is taken, or the system refuses.
    pub fn create(target: Target, format: Format) -> Result<RunWriter, StoreError> {
        let staging = Staging::create(target)?;
        keep_series_in(staging.path().to_owned());
        let create = |table| TableFile::create(staging.path(), table, format);
        let tables = RunTable::ALL.into_iter().map(create).collect::<Result<_, _>>()?;
        Ok(RunWriter { tables, captures: Vec::new(), staging })
    }

    /// Temporary directory of the results, which a process that must end at once has to remove.
    pub fn staging(&self) -> &Path {
        self.staging.path()
    }

    /// Appends the rows of one run. Call in the order of variants and repetitions, so that equal runs give equal files.
    ///
    /// # Errors
    /// Errors of the file system, such as a full disk.
    pub fn add(&mut self, info: &RunInfo, report: &Report, summary: &Summary) -> Result<(), StoreError> {
        self.add_paced((info, report, summary), &mut || Pace::Continue).map(|_| ())
    }

    /// As [`RunWriter::add`], but calls `pace` before every few thousand rows. Summary tables are written first, samples last. Returns the
    /// truncated tables.
    ///
    /// # Errors
    /// As there, and [`StoreError::Interrupted`] when `pace` abandons the results.
    pub fn add_paced(
        &mut self,
        (info, report, summary): (&RunInfo, &Report, &Summary),
        pace: &mut dyn FnMut() -> Pace,
    ) -> Result<Vec<TruncatedTable>, StoreError> {
        let mut cut = Vec::new();
        for table in WRITING_ORDER {
            let file = &mut self.tables[table as usize];
            let before = file.rows;
            let written = each_batch(table, (info, report, summary), &mut |batch| {
                match pace() {
                    Pace::Abandon => return Err(Stopped::Store(StoreError::Interrupted)),
                    Pace::Truncate if !NEVER_TRUNCATED.contains(&table) => return Err(Stopped::Truncated),
                    Pace::Truncate | Pace::Continue => {}
                }
                let batch = batch.map_err(|e| Stopped::Store(encode_error(&file.path, e.into())))?;
                file.write(&batch).map_err(Stopped::Store)
            });
            match written {
                Ok(()) => {}
                Err(Stopped::Store(e)) => return Err(e),
                Err(Stopped::Truncated) => {
                    cut.push(TruncatedTable { table, written: file.rows - before, rows: row_count(table, report).unwrap_or(0) });
                }
            }
        }
        Ok(cut)
    }

    /// Appends rows to a table. Call in the order of variants and repetitions, as [`RunWriter::add`].
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write(&mut self, table: RunTable, batch: &RecordBatch) -> Result<(), StoreError> {
        self.tables[table as usize].write(batch)
    }

    /// Creates a file for captured packets and calls `write` with it. Its sum is made of the bytes as they are written, and goes into the manifest.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn add_capture(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), StoreError> {
        let path = self.staging.path().join(name);
        let mut file = Summed::new(File::create(&path).map_err(StoreError::io("create", &path))?);
        write(&mut file).map_err(StoreError::io("write", &path))?;
        let (file, sha256) = file.finish();
        self.captures.push((CaptureRecord { file: name.to_owned(), sha256 }, path, file));
        Ok(())
    }

    /// Completes the tables, writes `manifest` (its lists of files are filled in here) and gives the directory its final name.
    ///
    /// # Errors
    /// Errors of the file system; the directory is removed then.
    pub fn finish(self, manifest: Manifest) -> Result<PathBuf, StoreError> {
        self.finish_if(manifest, &|| true)
    }

    /// As [`RunWriter::finish`]. Once everything is on disk, `commit` decides whether to rename the directory.
    ///
    /// # Errors
    /// As there, and [`StoreError::Interrupted`] when `commit` returns false.
    pub fn finish_if(self, mut manifest: Manifest, commit: &dyn Fn() -> bool) -> Result<PathBuf, StoreError> {
        manifest.kind = Manifest::KIND.into();
        manifest.manifest_version = Manifest::VERSION;
        manifest.tables.clear();
        let (captures, mut files): (Vec<_>, Vec<_>) =
            self.captures.into_iter().map(|(record, path, file)| (record, (path, file))).unzip();
        manifest.captures = captures;
        for table in self.tables {
            let (record, file) = table.finish()?;
            files.push((self.staging.path().join(&record.file), file));
            manifest.tables.push(record);
        }
        let path = self.staging.path().join(Manifest::FILE);
        let text = serde_json::to_string_pretty(&manifest)
            .map_err(|e| StoreError::Encode { path: path.clone(), message: e.to_string() })?;
        let write = || -> io::Result<File> {
            let mut file = File::create(&path)?;
            file.write_all(seal(&text).as_bytes())?;
            Ok(file)
        };
        let file = write().map_err(StoreError::io("write", &path))?;
        files.push((path, file));
        self.staging.publish(files, commit)
    }
}

/// Decision about the remaining rows of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Write the next rows.
    Continue,
    /// Write no more rows, except of small tables: summary, ports, events and goodput.
    Truncate,
    /// Remove the results.
    Abandon,
}

/// A table that lacks rows of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TruncatedTable {
    /// The table.
    pub table: RunTable,
    /// Number of rows written, from the first one.
    pub written: u64,
    /// Number of rows in total.
    pub rows: u64,
}

/// Reason why a table was not written completely.
enum Stopped {
    Truncated,
    Store(StoreError),
}

/// Tables in the order in which the rows of a run are written: samples come last, because they may be the largest.
const WRITING_ORDER: [RunTable; 9] = [
    RunTable::Summary,
    RunTable::Ports,
    RunTable::Events,
    RunTable::Goodput,
    RunTable::Queries,
    RunTable::Flows,
    RunTable::Timeouts,
    RunTable::Tcp,
    RunTable::Queue,
];

/// Small tables, which are never truncated.
const NEVER_TRUNCATED: [RunTable; 4] = [RunTable::Summary, RunTable::Ports, RunTable::Events, RunTable::Goodput];

enum Encoder {
    Parquet(Box<ParquetFile>),
    Csv(CsvFile),
}

/// One open table.
struct TableFile {
    table: RunTable,
    version: u32,
    path: PathBuf,
    rows: u64,
    encoder: Encoder,
}

impl TableFile {
    fn create(dir: &Path, table: RunTable, format: Format) -> Result<TableFile, StoreError> {
        let schema = schema_of(table);
        let path = dir.join(format!("{}.{}", table.name(), format.extension()));
        let file = File::create(&path).map_err(StoreError::io("create", &path))?;
        let version = schema.metadata().get("forebay.schema_version").and_then(|v| v.parse().ok()).unwrap_or(0);
        let encoder = match format {
            Format::Parquet => Encoder::Parquet(Box::new(ParquetFile::new(file, schema).map_err(|e| encode_error(&path, e))?)),
            Format::Csv => Encoder::Csv(CsvFile::new(file, &schema).map_err(StoreError::io("write", &path))?),
        };
        Ok(TableFile { table, version, path, rows: 0, encoder })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        self.rows += batch.num_rows() as u64;
        match &mut self.encoder {
            Encoder::Parquet(p) => p.write(batch).map_err(|e| encode_error(&self.path, e)),
            Encoder::Csv(c) => c.write(batch).map_err(StoreError::io("write", &self.path)),
        }
    }

    /// Completes the file, which is still to be synced.
    fn finish(self) -> Result<(TableRecord, File), StoreError> {
        let (written, sha256) = match self.encoder {
            Encoder::Parquet(p) => p.finish().map_err(|e| encode_error(&self.path, e))?,
            Encoder::Csv(c) => c.finish().map_err(StoreError::io("write", &self.path))?,
        };
        let file = self.path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let record = TableRecord { name: self.table.name().into(), file, sha256, rows: self.rows, schema_version: self.version };
        Ok((record, written))
    }
}

/// Converts an encoding failure of a table.
pub(crate) fn encode_error(path: &Path, error: parquet::errors::ParquetError) -> StoreError {
    match io_cause(error) {
        Ok(e) => StoreError::io("write", path)(e),
        Err(message) => StoreError::Encode { path: path.to_owned(), message },
    }
}
