//! Writes a run directory.

use crate::batch::{arrow_schema, batch};
use crate::column::Table;
use crate::csv_file::CsvFile;
use crate::dir::{Staging, Target};
use crate::error::StoreError;
use crate::manifest::{Manifest, TableRecord};
use crate::parquet_file::{ParquetFile, io_cause};
use crate::read::RunDir;
use crate::run_info::RunInfo;
use crate::schema;
use crate::summary::Summary;
use crate::summary_table;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use forebay_sim::run::Report;
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

/// Rows turned into arrays at a time: bounds the memory of the conversion, not the row group.
const BATCH: usize = 1 << 16;

/// A run directory being written. Dropped before [`RunWriter::finish`], it leaves nothing behind.
pub struct RunWriter {
    // Before `staging`: files are closed before their directory is removed.
    flows: TableFile,
    ports: TableFile,
    queue: TableFile,
    tcp: TableFile,
    queries: TableFile,
    timeouts: TableFile,
    summary: TableFile,
    staging: Staging,
}

impl RunWriter {
    /// Opens all tables in a sibling of `target`.
    ///
    /// # Errors
    /// When the target is taken, or the system refuses.
    pub fn create(target: Target, format: Format) -> Result<RunWriter, StoreError> {
        let staging = Staging::create(target)?;
        let dir = staging.path();
        Ok(RunWriter {
            flows: TableFile::of(dir, &schema::FLOWS, format)?,
            ports: TableFile::of(dir, &schema::PORTS, format)?,
            queue: TableFile::of(dir, &schema::QUEUE, format)?,
            tcp: TableFile::of(dir, &schema::TCP, format)?,
            queries: TableFile::of(dir, &schema::QUERIES, format)?,
            timeouts: TableFile::of(dir, &schema::TIMEOUTS, format)?,
            summary: TableFile::create(dir, "summary", summary_table::VERSION, summary_table::arrow_schema(), format)?,
            staging,
        })
    }

    /// Where the results are until they are complete: what a process that must end at once has to remove.
    pub fn staging(&self) -> &Path {
        self.staging.path()
    }

    /// Appends the rows of one run. Call in the order of variants and repetitions, whatever order they finished in: equal runs
    /// then give equal files.
    ///
    /// # Errors
    /// When the system refuses, such as on a full disk.
    pub fn add(&mut self, info: &RunInfo, report: &Report, summary: &Summary) -> Result<(), StoreError> {
        self.flows.write_rows(&schema::FLOWS, &report.flows, info)?;
        self.ports.write_rows(&schema::PORTS, &report.ports, info)?;
        self.queue.write_rows(&schema::QUEUE, &report.queue, info)?;
        self.tcp.write_rows(&schema::TCP, &report.tcp, info)?;
        self.queries.write_rows(&schema::QUERIES, &report.queries, info)?;
        self.timeouts.write_rows(&schema::TIMEOUTS, &report.timeouts, info)?;
        let batch = summary_table::batch(&[(info, summary)]).map_err(|e| encode_error(&self.summary.path, e.into()))?;
        self.summary.write(&batch)
    }

    /// Completes the tables and fills in the list of them in `manifest`.
    ///
    /// # Errors
    /// When the system refuses; nothing is left behind then.
    pub fn close(self, mut manifest: Manifest) -> Result<Closed, StoreError> {
        manifest.kind = Manifest::KIND.into();
        manifest.manifest_version = Manifest::VERSION;
        manifest.tables.clear();
        for table in [self.flows, self.ports, self.queue, self.tcp, self.queries, self.timeouts, self.summary] {
            manifest.tables.push(table.finish()?);
        }
        let results = RunDir::unfinished(self.staging.path().to_owned(), manifest);
        Ok(Closed { results, staging: self.staging })
    }

    /// Completes the tables and publishes the directory: [`RunWriter::close`] without anything beside the tables.
    ///
    /// # Errors
    /// As there.
    pub fn finish(self, manifest: Manifest) -> Result<PathBuf, StoreError> {
        self.close(manifest)?.publish()
    }
}

/// A directory whose tables are complete and can be read, and that is still under its temporary name: time to write what is made from
/// the tables. Dropped before [`Closed::publish`], it leaves nothing behind.
pub struct Closed {
    results: RunDir,
    staging: Staging,
}

impl Closed {
    /// The results, for reading.
    pub fn results(&self) -> &RunDir {
        &self.results
    }

    /// Writes a further file beside the tables.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn add_file(&self, name: &str, contents: &[u8]) -> Result<(), StoreError> {
        let path = self.staging.path().join(name);
        let write = || -> io::Result<()> {
            let mut file = File::create(&path)?;
            file.write_all(contents)?;
            file.sync_all()
        };
        write().map_err(StoreError::io("write", &path))
    }

    /// Writes the manifest and gives the directory its final name, which is returned.
    ///
    /// # Errors
    /// When the system refuses; nothing is left behind then.
    pub fn publish(self) -> Result<PathBuf, StoreError> {
        let mut text = serde_json::to_string_pretty(self.results.manifest())
            .map_err(|e| StoreError::Encode { path: self.results.path().join(Manifest::FILE), message: e.to_string() })?;
        text.push('\n');
        self.add_file(Manifest::FILE, text.as_bytes())?;
        self.staging.publish()
    }
}

enum Encoder {
    Parquet(Box<ParquetFile>),
    Csv(CsvFile),
}

/// One open table.
struct TableFile {
    name: &'static str,
    version: u32,
    path: PathBuf,
    rows: u64,
    schema: SchemaRef,
    encoder: Encoder,
}

impl TableFile {
    fn of<R>(dir: &Path, table: &Table<R>, format: Format) -> Result<TableFile, StoreError> {
        TableFile::create(dir, table.name, table.version, arrow_schema(table), format)
    }

    fn create(dir: &Path, name: &'static str, version: u32, schema: SchemaRef, format: Format) -> Result<TableFile, StoreError> {
        let path = dir.join(format!("{name}.{}", format.extension()));
        let file = File::create(&path).map_err(StoreError::io("create", &path))?;
        let encoder = match format {
            Format::Parquet => {
                Encoder::Parquet(Box::new(ParquetFile::new(file, schema.clone()).map_err(|e| encode_error(&path, e))?))
            }
            Format::Csv => Encoder::Csv(CsvFile::new(file, &schema).map_err(StoreError::io("write", &path))?),
        };
        Ok(TableFile { name, version, path, rows: 0, schema, encoder })
    }

    fn write_rows<R>(&mut self, table: &Table<R>, rows: &[R], info: &RunInfo) -> Result<(), StoreError> {
        for chunk in rows.chunks(BATCH) {
            let batch = batch(table, &self.schema, chunk, info).map_err(|e| encode_error(&self.path, e.into()))?;
            self.write(&batch)?;
        }
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        self.rows += batch.num_rows() as u64;
        match &mut self.encoder {
            Encoder::Parquet(p) => p.write(batch).map_err(|e| encode_error(&self.path, e)),
            Encoder::Csv(c) => c.write(batch).map_err(StoreError::io("write", &self.path)),
        }
    }

    fn finish(self) -> Result<TableRecord, StoreError> {
        match self.encoder {
            Encoder::Parquet(p) => p.finish().map_err(|e| encode_error(&self.path, e))?,
            Encoder::Csv(c) => c.finish().map_err(StoreError::io("write", &self.path))?,
        }
        let file = self.path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Ok(TableRecord { name: self.name.into(), file, rows: self.rows, schema_version: self.version })
    }
}

/// What a failure to encode a table was.
pub(crate) fn encode_error(path: &Path, error: parquet::errors::ParquetError) -> StoreError {
    match io_cause(error) {
        Ok(e) => StoreError::io("write", path)(e),
        Err(message) => StoreError::Encode { path: path.to_owned(), message },
    }
}
