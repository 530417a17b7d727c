//! Tables as bytes, for whoever hands them to another process.

use crate::error::StoreError;
use crate::parquet_file::ParquetFile;
use arrow_array::{RecordBatch, RecordBatchReader};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// What stands in errors in the place of a file.
const NAME: &str = "a table in memory";

/// A table as the bytes of a Parquet file.
///
/// # Errors
/// None, short of a table that no file could hold.
pub fn pack(batch: &RecordBatch) -> Result<Vec<u8>, StoreError> {
    ParquetFile::in_memory(batch).map_err(|e| StoreError::Encode { path: NAME.into(), message: e.to_string() })
}

/// The table that [`pack`] made bytes of, in pieces; one without rows is one piece.
///
/// # Errors
/// Bytes that are no such table.
pub fn unpack(bytes: Vec<u8>) -> Result<Vec<RecordBatch>, StoreError> {
    let damaged = |message: String| StoreError::Damaged { path: NAME.into(), message };
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).and_then(|b| b.with_batch_size(1 << 16).build());
    let reader = reader.map_err(|e| damaged(e.to_string()))?;
    let schema = reader.schema();
    let mut pieces = reader.map(|batch| batch.map_err(|e| damaged(e.to_string()))).collect::<Result<Vec<_>, _>>()?;
    if pieces.is_empty() {
        pieces.push(RecordBatch::new_empty(schema));
    }
    Ok(pieces)
}
