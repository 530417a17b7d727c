//! Tables as Parquet.

use crate::seal::Summed;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io::{self, Write};

/// An open Parquet file.
pub(crate) struct ParquetFile {
    writer: ArrowWriter<Output>,
}

/// The file, until it is complete. `ArrowWriter::into_inner` returns the text of an error of the system, and not its number.
#[derive(Debug)]
struct Output(Option<Summed<File>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl ParquetFile {
    /// Starts the file.
    pub(crate) fn new(file: File, schema: SchemaRef) -> Result<ParquetFile, ParquetError> {
        Ok(ParquetFile { writer: ArrowWriter::try_new(Output(Some(Summed::new(file))), schema, Some(properties()))? })
    }

    /// A file of one batch, in memory.
    pub(crate) fn in_memory(batch: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties()))?;
        writer.write(batch)?;
        writer.into_inner()
    }

    /// Appends rows.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        self.writer.write(batch)
    }

    /// Writes the footer; returns the file, which is still to be synced, and its SHA-256.
    pub(crate) fn finish(mut self) -> Result<(File, String), ParquetError> {
        self.writer.finish()?;
        let file = self.writer.inner_mut().0.take();
        file.map(Summed::finish).ok_or_else(|| ParquetError::General("the file is complete already".into()))
    }
}

/// Rows per row group, which the writer keeps in memory until it is complete: less than ten megabytes of messages. Our choice.
const ROW_GROUP: usize = 1 << 17;

/// Maximum bytes of a column's dictionary; the writer also keeps a hash of each value. A column with more different values, such as times, is
/// written without a dictionary: a longer one takes more memory and larger files.
const DICTIONARY: usize = 1 << 17;

fn properties() -> WriterProperties {
    // Snappy: widely supported, pure Rust, and faster than the disk.
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_dictionary_page_size_limit(DICTIONARY)
        .set_created_by(concat!("forebay ", env!("CARGO_PKG_VERSION")).to_owned())
        .build()
}

/// Extracts the input/output error from a Parquet error, if there is one: a full disk is not a defect.
pub(crate) fn io_cause(error: ParquetError) -> Result<io::Error, String> {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(e) => Ok(*e),
            Err(other) => Err(other.to_string()),
        },
        other => Err(other.to_string()),
    }
}
