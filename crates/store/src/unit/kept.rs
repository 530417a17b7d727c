//! What the file of a unit says of a table that was kept beside it.

use super::key::UnitKey;
use std::fmt;
use std::str::FromStr;

/// A table that was kept beside the numbers of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its name, such as `flows`.
    pub table: String,
    /// Length of the file, bytes.
    pub bytes: u64,
    /// Hash of the file.
    pub sum: UnitKey,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.table, self.bytes, self.sum)
    }
}

impl FromStr for Kept {
    type Err = ();

    fn from_str(text: &str) -> Result<Kept, ()> {
        let parts: Vec<&str> = text.split(' ').collect();
        let [table, bytes, sum] = parts.as_slice() else { return Err(()) };
        Ok(Kept { table: (*table).to_owned(), bytes: bytes.parse().map_err(|_| ())?, sum: sum.parse()? })
    }
}
