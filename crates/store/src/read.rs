//! Reader of finished run directories, in any format.

use crate::batch::schema_of;
use crate::column_places;
use crate::error::StoreError;
use crate::file::what;
use crate::listed_file::{check_sum, plain_file};
use crate::manifest::{CaptureRecord, Manifest, TableRecord};
use crate::run_table::RunTable;
use crate::seal::check_seal;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringDictionaryBuilder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::ChunkReader;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A directory that holds complete results.
#[derive(Debug, Clone)]
pub struct RunDir {
    path: PathBuf,
    manifest: Manifest,
    /// Tables whose sum was checked, in the order of the manifest.
    checked: Arc<[AtomicBool]>,
}

impl RunDir {
    /// Opens a directory that `forebay run` wrote, by its manifest.
    ///
    /// # Errors
    /// A path that is not such a directory, a manifest with another sum than its own, and a layout of another version.
    pub fn open(path: &Path) -> Result<RunDir, StoreError> {
        let manifest: Manifest = read_manifest(path, Manifest::KIND, Manifest::VERSION)?;
        let checked = manifest.tables.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(RunDir { path: path.to_owned(), manifest, checked })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// A whole table by its name in the manifest, one of [`RunTable`], in the order of the file. Empty when the directory has no such table.
    ///
    /// # Errors
    /// A file that is missing or damaged.
    pub fn table(&self, name: &str) -> Result<Vec<RecordBatch>, StoreError> {
        self.read(name, None)
    }

    /// As [`RunDir::table`], limited to the columns in `names` that the file has, in the file's order. Other columns are not read.
    ///
    /// # Errors
    /// As there.
    pub fn columns(&self, name: &str, names: &[&str]) -> Result<Vec<RecordBatch>, StoreError> {
        self.read(name, Some(names))
    }

    /// As [`RunDir::columns`], one batch at a time: only one batch is in memory.
    ///
    /// # Errors
    /// As there, possibly after some batches.
    pub fn each(&self, name: &str, names: &[&str], f: &mut dyn FnMut(&RecordBatch)) -> Result<(), StoreError> {
        self.walk(name, Some(names), &mut |batch| f(&batch))
    }

    fn read(&self, name: &str, columns: Option<&[&str]>) -> Result<Vec<RecordBatch>, StoreError> {
        let mut batches = Vec::new();
        self.walk(name, columns, &mut |batch| batches.push(batch))?;
        Ok(batches)
    }

    /// Checks the sum of every table and capture, and the version of every table.
    ///
    /// # Errors
    /// The first file that is missing, damaged, or has another version.
    pub fn check_files(&self) -> Result<(), StoreError> {
        for (record, checked) in self.manifest.tables.iter().zip(self.checked.iter()) {
            self.file(record, checked)?;
        }
        self.captures().map(|_| ())
    }

    /// Names and paths of the files with captured packets, after a check of their sums.
    ///
    /// # Errors
    /// The first file that is missing or damaged.
    pub fn captures(&self) -> Result<Vec<(String, PathBuf)>, StoreError> {
        let checked = |c: &CaptureRecord| {
            let path = plain_file(&self.path, &c.file)?;
            check_sum(&path, &c.sha256)?;
            Ok((c.file.clone(), path))
        };
        self.manifest.captures.iter().map(checked).collect()
    }

    /// Path of a table with the version of this program and the sum in the manifest.
    fn file(&self, record: &TableRecord, checked: &AtomicBool) -> Result<PathBuf, StoreError> {
        let path = plain_file(&self.path, &record.file)?;
        if let Some(table) = RunTable::of(&record.name) {
            check_version(&path, record, schema_version(&schema_of(table)))?;
        }
        if !checked.load(Ordering::Relaxed) {
            check_sum(&path, &record.sha256)?;
            checked.store(true, Ordering::Relaxed);
        }
        Ok(path)
    }

    fn walk(&self, name: &str, columns: Option<&[&str]>, f: &mut dyn FnMut(RecordBatch)) -> Result<(), StoreError> {
        let mut tables = self.manifest.tables.iter().zip(self.checked.iter());
        let Some((record, checked)) = tables.find(|(t, _)| t.name == name) else { return Ok(()) };
        let path = self.file(record, checked)?;
        let damaged = |message: String| StoreError::Damaged { path: path.clone(), message };
        // Rows of a batch without columns are not counted.
        let (mut rows, mut counted) = (0, false);
        let mut see = |batch: RecordBatch| {
            rows += batch.num_rows() as u64;
            counted |= batch.num_columns() > 0;
            f(batch);
        };
        if record.file.ends_with(".csv") {
            see(csv(&path, record, columns)?);
        } else {
            parquet_each(&path, columns, &mut see)?;
        }
        if counted && rows != record.rows {
            return Err(damaged(format!("it has {rows} rows instead of the {} of the manifest", record.rows)));
        }
        Ok(())
    }
}

/// Largest manifest that is read: the text of a scenario is limited, and a run takes a few hundred bytes.
const MAX_MANIFEST: u64 = 256_000_000;

/// The manifest in a directory, of this kind, in this version of its layout and with its own sum.
pub(crate) fn read_manifest<T: DeserializeOwned>(dir: &Path, kind: &str, layout: u32) -> Result<T, StoreError> {
    let text = manifest_text(dir)?;
    let fail = |message: String| StoreError::Damaged { path: dir.join(Manifest::FILE), message };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|e| fail(e.to_string()))?;
    if value["kind"] != kind {
        return Err(StoreError::NoResults(dir.to_owned()));
    }
    match value["manifest_version"].as_u64().unwrap_or(0).cmp(&u64::from(layout)) {
        std::cmp::Ordering::Equal => {}
        order => {
            let age = if order.is_gt() { "newer" } else { "older" };
            return Err(fail(format!(
                "its layout {} is {age} than the one that this program reads ({layout})",
                value["manifest_version"]
            )));
        }
    }
    check_seal(&text).map_err(fail)?;
    serde_json::from_value(value).map_err(|e| fail(e.to_string()))
}

/// The text of the manifest in a directory, if it is a plain file.
fn manifest_text(dir: &Path) -> Result<String, StoreError> {
    let file = dir.join(Manifest::FILE);
    let fail = |e: io::Error| match e.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => StoreError::NoResults(dir.to_owned()),
        _ => StoreError::io("read", &file)(e),
    };
    let meta = fs::metadata(&file).map_err(fail)?;
    let damaged = |message: String| StoreError::Damaged { path: file.clone(), message };
    if !meta.is_file() {
        return Err(damaged(format!("it is {}, not a manifest", what(meta.file_type()))));
    }
    if meta.len() > MAX_MANIFEST {
        return Err(damaged(format!("it has {} bytes; a manifest has at most {MAX_MANIFEST}", meta.len())));
    }
    fs::read_to_string(&file).map_err(fail)
}

/// Refuses a table whose columns have another version than the one that this program writes: a column of the same name may have another meaning.
pub(crate) fn check_version(path: &Path, record: &TableRecord, supported: u32) -> Result<(), StoreError> {
    let age = match record.schema_version.cmp(&supported) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Greater => "newer",
        std::cmp::Ordering::Less => "older",
    };
    let version = record.schema_version;
    let message = format!("version {version} of its columns is {age} than the one that this program reads ({supported})");
    Err(StoreError::Damaged { path: path.to_owned(), message })
}

/// Version of a table's columns that this program writes.
fn schema_version(schema: &arrow_schema::Schema) -> u32 {
    schema.metadata().get("forebay.schema_version").and_then(|v| v.parse().ok()).unwrap_or(0)
}

/// All rows of a file, limited to the columns in `columns` if given.
pub(crate) fn parquet(path: &Path, columns: Option<&[&str]>) -> Result<Vec<RecordBatch>, StoreError> {
    let mut batches = Vec::new();
    parquet_each(path, columns, &mut |batch| batches.push(batch))?;
    Ok(batches)
}

fn parquet_each(path: &Path, columns: Option<&[&str]>, f: &mut dyn FnMut(RecordBatch)) -> Result<(), StoreError> {
    let file = File::open(path).map_err(StoreError::io("open", path))?;
    if file.metadata().map_err(StoreError::io("read", path))?.len() > SMALL {
        return each_of(path, file, columns, f);
    }
    let bytes = fs::read(path).map_err(StoreError::io("read", path))?;
    each_of(path, bytes::Bytes::from(bytes), columns, f)
}

/// Files up to this size are read in one call. The Parquet reader makes four system calls per column, and the tables of a short run have 120
/// columns.
const SMALL: u64 = 1 << 20;

/// As [`parquet`], for an open file or bytes in memory; `path` is used in errors.
pub(crate) fn parquet_of(
    path: &Path,
    file: impl ChunkReader + 'static,
    columns: Option<&[&str]>,
) -> Result<Vec<RecordBatch>, StoreError> {
    let mut batches = Vec::new();
    each_of(path, file, columns, &mut |batch| batches.push(batch))?;
    Ok(batches)
}

fn each_of(
    path: &Path,
    file: impl ChunkReader + 'static,
    columns: Option<&[&str]>,
    f: &mut dyn FnMut(RecordBatch),
) -> Result<(), StoreError> {
    let damaged = |message: String| StoreError::Damaged { path: path.to_owned(), message };
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|builder| {
        column_places::check(builder.metadata())?;
        let mask = match columns {
            Some(names) => ProjectionMask::columns(builder.parquet_schema(), names.iter().copied()),
            None => ProjectionMask::all(),
        };
        builder.with_projection(mask).with_batch_size(1 << 16).build()
    });
    for batch in reader.map_err(|e| damaged(e.to_string()))? {
        f(batch.map_err(|e| damaged(e.to_string()))?);
    }
    Ok(())
}

fn csv(path: &Path, record: &TableRecord, columns: Option<&[&str]>) -> Result<RecordBatch, StoreError> {
    let damaged = |message: String| StoreError::Damaged { path: path.to_owned(), message };
    let table = RunTable::of(&record.name).ok_or_else(|| damaged(format!("no table is called `{}`", record.name)))?;
    let schema = schema_of(table);
    let file = File::open(path).map_err(StoreError::io("open", path))?;
    let mut reader = csv::Reader::from_reader(file);
    let heads = reader.headers().map_err(|e| damaged(e.to_string()))?.clone();
    // Columns are found by name: a version may gain columns, and their order may change.
    let wanted = |name: &str| columns.is_none_or(|list| list.contains(&name));
    let known: Vec<(usize, usize)> = heads
        .iter()
        .enumerate()
        .filter(|(_, name)| wanted(name))
        .filter_map(|(i, name)| Some((i, schema.index_of(name).ok()?)))
        .collect();
    let fields: Vec<&Field> = known.iter().map(|&(_, f)| schema.field(f)).collect();
    let mut builders: Vec<Builder> = fields.iter().map(|f| Builder::new(f)).collect();
    for row in reader.records() {
        let row = row.map_err(|e| damaged(e.to_string()))?;
        for (&(index, _), (builder, field)) in known.iter().zip(builders.iter_mut().zip(&fields)) {
            let text = row.get(index).unwrap_or("");
            builder.push(text).map_err(|()| {
                let line = row.position().map_or(0, csv::Position::line);
                damaged(format!("line {line}: `{text}` in column `{}` is not of type {}", field.name(), field.data_type()))
            })?;
        }
    }
    let arrays: Vec<ArrayRef> = builders.into_iter().map(Builder::finish).collect();
    let schema: SchemaRef =
        schema.project(&known.iter().map(|k| k.1).collect::<Vec<_>>()).map(Arc::new).map_err(|e| damaged(e.to_string()))?;
    RecordBatch::try_new(schema, arrays).map_err(|e| damaged(e.to_string()))
}

/// A column under construction, parsed from text.
enum Builder {
    Int(Int64Builder),
    Unsigned(UInt64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
    Text(Box<StringDictionaryBuilder<Int32Type>>, bool),
}

impl Builder {
    fn new(field: &Field) -> Builder {
        match field.data_type() {
            DataType::Int64 => Builder::Int(Int64Builder::new()),
            DataType::UInt64 => Builder::Unsigned(UInt64Builder::new()),
            DataType::Float64 => Builder::Float(Float64Builder::new()),
            DataType::Boolean => Builder::Bool(BooleanBuilder::new()),
            _ => Builder::Text(Box::new(StringDictionaryBuilder::new()), field.is_nullable()),
        }
    }

    /// Appends a field. An empty field is null, except in text columns that are never null.
    fn push(&mut self, text: &str) -> Result<(), ()> {
        fn parse<T: FromStr>(text: &str) -> Result<Option<T>, ()> {
            if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(|_| ()) }
        }
        match self {
            Builder::Int(b) => b.append_option(parse(text)?),
            Builder::Unsigned(b) => b.append_option(parse(text)?),
            Builder::Float(b) => b.append_option(parse(text)?),
            Builder::Bool(b) => b.append_option(parse(text)?),
            Builder::Text(b, true) if text.is_empty() => b.append_null(),
            Builder::Text(b, _) => {
                b.append(text).map_err(|_| ())?;
            }
        }
        Ok(())
    }

    fn finish(self) -> ArrayRef {
        match self {
            Builder::Int(mut b) => Arc::new(b.finish()),
            Builder::Unsigned(mut b) => Arc::new(b.finish()),
            Builder::Float(mut b) => Arc::new(b.finish()),
            Builder::Bool(mut b) => Arc::new(b.finish()),
            Builder::Text(mut b, _) => Arc::new(b.finish()),
        }
    }
}
