//! Places of columns in the footer of a Parquet file. The library panics at a negative one, which no writer makes but a damaged file may have.

use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;

/// Checks that each column begins in the file and has a length.
///
/// # Errors
/// The first column with a negative number.
pub(crate) fn check(metadata: &ParquetMetaData) -> Result<()> {
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        if begin < 0 || column.compressed_size() < 0 {
            return Err(ParquetError::General(format!("the place of column `{}` is negative", column.column_path())));
        }
    }
    Ok(())
}
