//! Record of a kept table in the file of a unit.

use super::key::{KeyHasher, UnitKey};
use std::fmt;
use std::str::FromStr;

/// A table that is kept beside the metrics of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTable {
    /// Its name, such as `flows`.
    pub table: String,
    /// Length of the file, bytes; 0 for a table without rows, which has no file.
    pub bytes: u64,
    /// Hash of the file.
    pub sum: UnitKey,
    /// Number of rows.
    pub rows: u64,
}

impl KeptTable {
    /// A table without rows, which needs no file.
    pub(super) fn empty(table: &str) -> KeptTable {
        KeptTable { table: table.to_owned(), bytes: 0, sum: KeyHasher::of(&[]), rows: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl fmt::Display for KeptTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.table, self.bytes, self.sum, self.rows)
    }
}

impl FromStr for KeptTable {
    type Err = ();

    fn from_str(text: &str) -> Result<KeptTable, ()> {
        let parts: Vec<&str> = text.split(' ').collect();
        let [table, bytes, sum, rows] = parts.as_slice() else { return Err(()) };
        let number = |text: &str| text.parse().map_err(|_| ());
        Ok(KeptTable { table: (*table).to_owned(), bytes: number(bytes)?, sum: sum.parse()?, rows: number(rows)? })
    }
}
