//! Tables as bytes, for transfer to another process.

use crate::column_places;
use crate::error::StoreError;
use crate::parquet_file::ParquetFile;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Stands for the file name in errors.
const NAME: &str = "a table in memory";

/// A table as the bytes of a Parquet file.
///
/// # Errors
/// None, short of a table that no file could hold.
pub fn pack(batch: &RecordBatch) -> Result<Vec<u8>, StoreError> {
    ParquetFile::in_memory(batch).map_err(|e| StoreError::Encode { path: NAME.into(), message: e.to_string() })
}

/// The table of bytes from [`pack`], in batches; a table without rows is one batch.
///
/// # Errors
/// Bytes that are not such a table.
pub fn unpack(bytes: Vec<u8>) -> Result<Vec<RecordBatch>, StoreError> {
    let damaged = |message: String| StoreError::Damaged { path: NAME.into(), message };
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).map_err(|e| damaged(e.to_string()))?;
    column_places::check(builder.metadata()).map_err(|e| damaged(e.to_string()))?;
    // The schema of the reader's batches lacks the metadata of the table.
    let schema = builder.schema().clone();
    let reader = builder.with_batch_size(1 << 16).build().map_err(|e| damaged(e.to_string()))?;
    let piece = |batch: Result<RecordBatch, ArrowError>| {
        let whole = batch.and_then(|b| RecordBatch::try_new(schema.clone(), b.columns().to_vec()));
        whole.map_err(|e| damaged(e.to_string()))
    };
    let mut pieces = reader.map(piece).collect::<Result<Vec<_>, _>>()?;
    if pieces.is_empty() {
        pieces.push(RecordBatch::new_empty(schema));
    }
    Ok(pieces)
}
