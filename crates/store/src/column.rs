//! What a result table is: named, typed, documented columns, each with the function that reads it from a row.

use crate::run_info::RunInfo;
use forebay_experiment::shim_row::{ShimRow, ShimValue};

/// How a column's value is read from a row `R` and the run the row belongs to; the variant is the column's type.
#[derive(Debug)]
pub enum Get<R> {
    /// Whole number; `None` is null.
    Int(fn(&R, &RunInfo) -> Option<i64>),
    /// Non-negative whole number that needs all 64 bits.
    Unsigned(fn(&R, &RunInfo) -> u64),
    /// Real number; `None` is null.
    Float(fn(&R, &RunInfo) -> Option<f64>),
    /// Truth value; `None` is null.
    Bool(fn(&R, &RunInfo) -> Option<bool>),
    /// Text, stored with a dictionary: names repeat in every row.
    Text(for<'a> fn(&'a R, &'a RunInfo) -> &'a str),
    /// Text as above; `None` is null.
    Name(for<'a> fn(&'a R, &'a RunInfo) -> Option<&'a str>),
    /// What a shim says in the column of this name; the second is what rows have of which it says nothing, and gives the type.
    Shim(for<'a> fn(&'a R) -> Option<&'a ShimRow>, ShimValue),
}

/// One column of a table.
#[derive(Debug)]
pub struct Column<R> {
    /// Name, unique in its table.
    pub name: &'static str,
    /// Unit: `ns`, `B`, `packets`, `segments`, `1` for ratios and counts without a unit, empty for names and truth values.
    pub unit: &'static str,
    /// One sentence: what it means, and when it is null.
    pub doc: &'static str,
    /// Type and value.
    pub get: Get<R>,
}

impl<R> Column<R> {
    /// Name of the type, as the documentation shows it.
    pub fn type_name(&self) -> &'static str {
        match self.get {
            Get::Int(_) | Get::Shim(_, ShimValue::Int(_)) => "int64",
            Get::Unsigned(_) => "uint64",
            Get::Float(_) => "float64",
            Get::Bool(_) => "bool",
            Get::Text(_) | Get::Name(_) | Get::Shim(_, ShimValue::Text(_)) => "utf8",
        }
    }
}

/// What a result table is: its columns, and what a row of it is.
#[derive(Debug)]
pub struct TableSchema<R: 'static> {
    /// Name, and stem of the file.
    pub name: &'static str,
    /// Raised whenever a column changes its meaning, type or name or goes away; new columns do not raise it.
    pub version: u32,
    /// One sentence about what a row is.
    pub doc: &'static str,
    /// The columns in file order.
    pub columns: &'static [Column<R>],
}
