//! Summary of a sweep: the `summary` rows of its runs, with leading columns for the point, its values and the unit's key.

use crate::arrow_fields::{field, optional_texts, text_type, texts, with_metadata};
use crate::csv_file::CsvFile;
use crate::error::StoreError;
use crate::manifest::TableRecord;
use crate::parquet_file::ParquetFile;
use crate::summary_table::{self, Row};
use crate::unit::{UnitKey, UnitRecord};
use crate::writer::{Format, encode_error};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use forebay_types::{GroupId, IndexVec};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

/// Raised when a column changes its meaning, type or name or is removed.
pub(super) const VERSION: u32 = 2;
const DOC: &str = "One row per point, variant, seed and transport group of a sweep, in that order.";
/// Rows per batch. Fixed, so that equal rows give equal bytes.
const BATCH: usize = 1 << 14;

/// Leading column: the value of an axis at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyColumn {
    /// Name.
    pub name: String,
    /// Unit, as for other columns.
    pub unit: String,
    /// Name of the key.
    pub doc: String,
    /// The different values.
    pub values: KeyValues,
}

/// Values of a [`KeyColumn`].
#[derive(Debug, Clone, PartialEq)]
pub enum KeyValues {
    /// Whole numbers.
    Int(Vec<i64>),
    /// Real numbers.
    Float(Vec<f64>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Texts.
    Text(Vec<String>),
}

/// The rows of one unit.
#[derive(Debug)]
pub struct SweepRow<'a> {
    /// Number of the point.
    pub point: usize,
    /// Index of the value for each [`KeyColumn`]; `None`: null.
    pub keys: &'a [Option<usize>],
    /// The unit.
    pub unit: UnitKey,
    /// Name of the variant in this sweep.
    pub variant: &'a str,
    /// Number of the repetition in this sweep.
    pub run: u32,
    /// Names of the transport groups in this sweep.
    pub groups: &'a IndexVec<GroupId, String>,
    /// Its numbers.
    pub record: &'a UnitRecord,
}

/// Writer of the table; equal rows give equal bytes.
#[derive(Debug)]
pub struct SweepTable {
    /// Leading columns, each with its index among those of the rows.
    columns: Vec<(usize, KeyColumn)>,
    schema: SchemaRef,
}

impl SweepTable {
    /// A table with these leading columns. A sweep over backends needs no extra column: `world` is a column of the summary.
    pub fn new(columns: Vec<KeyColumn>) -> SweepTable {
        let summary = summary_table::arrow_schema();
        let mut fields = vec![field("point", DataType::Int64, false, "1", "number of the point, from 0")];
        let columns: Vec<_> = columns.into_iter().enumerate().filter(|(_, c)| c.name != "world").collect();
        for (_, c) in &columns {
            let data_type = match c.values {
                KeyValues::Int(_) => DataType::Int64,
                KeyValues::Float(_) => DataType::Float64,
                KeyValues::Bool(_) => DataType::Boolean,
                KeyValues::Text(_) => text_type(),
            };
            fields.push(field(&c.name, data_type, true, &c.unit, &c.doc));
        }
        fields.push(field("unit", text_type(), false, "", "key of the run's results in the folder `units`"));
        fields.extend(summary.fields().iter().map(|f| Field::clone(f)));
        SweepTable { columns, schema: with_metadata(fields, "summary", VERSION, DOC) }
    }

    /// Writes `rows` to `dir/summary.parquet` or `.csv`, atomically and synced.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write<'a>(
        &self,
        dir: &Path,
        format: Format,
        rows: impl Iterator<Item = SweepRow<'a>>,
    ) -> Result<TableRecord, StoreError> {
        let name = format!("summary.{}", format.extension());
        let path = dir.join(&name);
        crate::file::remove_unfinished(dir);
        let (file, temporary) = forebay_platform::files::create_beside(&path, None).map_err(StoreError::io("create", &path))?;
        let written = self.write_to(file, &temporary, format, rows);
        let written = written.and_then(|done| {
            fs::rename(&temporary, &path).map_err(StoreError::io("rename the finished table to", &path))?;
            Ok(done)
        });
        let (rows, sha256) = written.inspect_err(|_| {
            // The first error is reported.
            let _ = fs::remove_file(&temporary);
        })?;
        Ok(TableRecord { name: "summary".into(), file: name, sha256, rows, schema_version: VERSION })
    }

    fn write_to<'a>(
        &self,
        file: File,
        path: &Path,
        format: Format,
        rows: impl Iterator<Item = SweepRow<'a>>,
    ) -> Result<(u64, String), StoreError> {
        let mut out = match format {
            Format::Parquet => {
                Out::Parquet(Box::new(ParquetFile::new(file, self.schema.clone()).map_err(|e| encode_error(path, e))?))
            }
            Format::Csv => Out::Csv(CsvFile::new(file, &self.schema).map_err(StoreError::io("write", path))?),
        };
        let mut chunk: Vec<SweepRow<'a>> = Vec::new();
        let mut written = 0;
        let mut rows = rows.peekable();
        while let Some(row) = rows.next() {
            chunk.push(row);
            if chunk.len() < BATCH && rows.peek().is_some() {
                continue;
            }
            let batch = self.batch(&chunk).map_err(|e| encode_error(path, e.into()))?;
            chunk.clear();
            written += batch.num_rows() as u64;
            match &mut out {
                Out::Parquet(p) => p.write(&batch).map_err(|e| encode_error(path, e))?,
                Out::Csv(c) => c.write(&batch).map_err(StoreError::io("write", path))?,
            }
        }
        let (file, sha256) = match out {
            Out::Parquet(p) => p.finish().map_err(|e| encode_error(path, e))?,
            Out::Csv(c) => c.finish().map_err(StoreError::io("write", path))?,
        };
        file.sync_all().map_err(StoreError::io("sync", path))?;
        Ok((written, sha256))
    }

    /// These rows as arrays.
    ///
    /// # Errors
    /// None, short of more than 2^31 different names.
    pub fn batch(&self, units: &[SweepRow<'_>]) -> Result<RecordBatch, ArrowError> {
        let keys: Vec<String> = units.iter().map(|u| u.unit.to_string()).collect();
        // One entry per row: the unit, its key, and its names in this sweep.
        let mut of: Vec<(&SweepRow, &str)> = Vec::new();
        let mut rows: Vec<Row> = Vec::new();
        for (unit, key) in units.iter().zip(&keys) {
            for row in unit.record.rows() {
                let group = unit.record.groups.position(|name| name == row.transport);
                let transport = group.and_then(|g| unit.groups.get(g)).map_or(row.transport, String::as_str);
                rows.push(Row { variant: unit.variant, run: unit.run, transport, ..row });
                of.push((unit, key));
            }
        }
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(of.iter().map(|(u, _)| Some(u.point as i64)).collect::<Int64Array>())];
        for (i, column) in &self.columns {
            let picks = of.iter().map(|(u, _)| u.keys.get(*i).copied().flatten());
            arrays.push(match &column.values {
                KeyValues::Int(v) => Arc::new(picks.map(|p| v.get(p?).copied()).collect::<Int64Array>()),
                KeyValues::Float(v) => Arc::new(picks.map(|p| v.get(p?).copied()).collect::<Float64Array>()),
                KeyValues::Bool(v) => Arc::new(picks.map(|p| v.get(p?).copied()).collect::<BooleanArray>()),
                KeyValues::Text(v) => optional_texts(picks.map(|p| v.get(p?).map(String::as_str)))?,
            });
        }
        arrays.push(texts(of.iter().map(|(_, key)| *key))?);
        arrays.extend(summary_table::arrays(&rows)?);
        RecordBatch::try_new(self.schema.clone(), arrays)
    }
}

enum Out {
    Parquet(Box<ParquetFile>),
    Csv(CsvFile),
}
