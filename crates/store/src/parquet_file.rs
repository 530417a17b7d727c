//! Tables as Parquet. Units and descriptions travel as Arrow field metadata, and names as dictionaries.

use crate::column::{Column, Get, Table};
use crate::run_info::RunInfo;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Rows turned into arrays at a time: bounds the memory of the conversion, not the row group.
const BATCH: usize = 1 << 16;

/// An open Parquet file.
pub(crate) struct ParquetFile {
    writer: ArrowWriter<File>,
    schema: SchemaRef,
}

impl ParquetFile {
    /// Starts the file.
    pub(crate) fn new<R>(file: File, table: &Table<R>) -> Result<ParquetFile, ParquetError> {
        let schema = arrow_schema(table);
        // Snappy: read by everything, pure Rust, and faster than the disk.
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("forebay ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        Ok(ParquetFile { writer: ArrowWriter::try_new(file, schema.clone(), Some(properties))?, schema })
    }

    /// Appends the rows of one run.
    pub(crate) fn write<R>(&mut self, table: &Table<R>, rows: &[R], info: &RunInfo) -> Result<(), ParquetError> {
        for chunk in rows.chunks(BATCH) {
            let arrays = table.columns.iter().map(|c| array(c, chunk, info)).collect::<Result<Vec<_>, _>>()?;
            self.writer.write(&RecordBatch::try_new(self.schema.clone(), arrays)?)?;
        }
        Ok(())
    }

    /// Writes the footer and syncs.
    pub(crate) fn finish(self) -> Result<(), ParquetError> {
        self.writer.into_inner()?.sync_all()?;
        Ok(())
    }
}

/// The input/output error behind a Parquet error, if there is one: full disks must be told apart from defects.
pub(crate) fn io_cause(error: ParquetError) -> Result<io::Error, String> {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(e) => Ok(*e),
            Err(other) => Err(other.to_string()),
        },
        other => Err(other.to_string()),
    }
}

fn arrow_schema<R>(table: &Table<R>) -> SchemaRef {
    let fields: Vec<Field> = table
        .columns
        .iter()
        .map(|c| {
            let (data_type, nullable) = match c.get {
                Get::Int(_) => (DataType::Int64, true),
                Get::Unsigned(_) => (DataType::UInt64, false),
                Get::Float(_) => (DataType::Float64, true),
                Get::Bool(_) => (DataType::Boolean, true),
                Get::Text(_) => (DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)), false),
            };
            Field::new(c.name, data_type, nullable).with_metadata([("unit", c.unit), ("description", c.doc)])
        })
        .collect();
    let version = table.version.to_string();
    let metadata = [("forebay.table", table.name), ("forebay.schema_version", version.as_str()), ("description", table.doc)];
    Arc::new(Schema::new(fields).with_metadata(metadata))
}

fn array<R>(column: &Column<R>, rows: &[R], info: &RunInfo) -> Result<ArrayRef, ParquetError> {
    Ok(match column.get {
        Get::Int(get) => Arc::new(rows.iter().map(|r| get(r, info)).collect::<Int64Array>()),
        Get::Unsigned(get) => Arc::new(rows.iter().map(|r| Some(get(r, info))).collect::<UInt64Array>()),
        Get::Float(get) => Arc::new(rows.iter().map(|r| get(r, info)).collect::<Float64Array>()),
        Get::Bool(get) => Arc::new(rows.iter().map(|r| get(r, info)).collect::<BooleanArray>()),
        Get::Text(get) => {
            let mut names = StringDictionaryBuilder::<Int32Type>::new();
            for row in rows {
                names.append(get(row, info))?;
            }
            Arc::new(names.finish())
        }
    })
}
