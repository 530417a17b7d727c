//! The files of a unit as bytes, for a store or for transfer to another process.

use super::codec::{decode, encode};
use super::key::{KeyHasher, UnitKey};
use super::record::UnitRecord;
use super::table_record::KeptTable;
use crate::error::StoreError;
use crate::parquet_file::ParquetFile;
use arrow_array::RecordBatch;

/// The files of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitFiles {
    /// The kept tables that have rows, by name.
    pub tables: Vec<(String, Vec<u8>)>,
    /// The numbers.
    pub numbers: Vec<u8>,
}

impl UnitFiles {
    /// The files of these numbers and tables.
    ///
    /// # Errors
    /// A table that cannot be written as a file.
    pub fn new(key: &UnitKey, record: &UnitRecord, tables: &[(&str, RecordBatch)]) -> Result<UnitFiles, StoreError> {
        let fail = |name: &str, e: &dyn std::fmt::Display| StoreError::Encode {
            path: format!("{key}.{name}").into(),
            message: e.to_string(),
        };
        let (mut kept, mut files) = (Vec::new(), Vec::new());
        for (name, batch) in tables {
            if batch.num_rows() == 0 {
                kept.push(KeptTable::empty(name));
                continue;
            }
            let bytes = ParquetFile::in_memory(batch).map_err(|e| fail(name, &e))?;
            kept.push(KeptTable {
                table: (*name).to_owned(),
                bytes: bytes.len() as u64,
                sum: KeyHasher::of(&bytes),
                rows: batch.num_rows() as u64,
            });
            files.push(((*name).to_owned(), bytes));
        }
        let numbers = encode(key, record, &kept).map_err(|e| fail("parquet", &e))?;
        Ok(UnitFiles { tables: files, numbers })
    }

    /// True if these are all files of this unit, unchanged.
    pub(super) fn is_whole(&self, key: &UnitKey) -> bool {
        let Some((_, kept)) = decode(key, self.numbers.clone()) else { return false };
        let with_rows: Vec<&KeptTable> = kept.iter().filter(|k| !k.is_empty()).collect();
        with_rows.len() == self.tables.len()
            && with_rows.iter().zip(&self.tables).all(|(k, (name, bytes))| k.table == *name && k.sum == KeyHasher::of(bytes))
    }
}
