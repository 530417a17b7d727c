//! Definition of result tables: named, typed, documented columns, each with the function that reads it from a row.

use crate::run_info::RunInfo;
use forebay_experiment::cc_state::{CcState, CcValue};
use forebay_experiment::shim_row::{ShimRow, ShimValue};

/// Function that reads a column's value from a row `R` and its run. The variant is the column's type.
#[derive(Debug)]
pub enum Get<R> {
    /// Whole number; `None` is null.
    Int(fn(&R, &RunInfo) -> Option<i64>),
    /// Non-negative whole number that needs all 64 bits.
    Unsigned(fn(&R, &RunInfo) -> u64),
    /// Real number; `None` is null.
    Float(fn(&R, &RunInfo) -> Option<f64>),
    /// Boolean; `None` is null.
    Bool(fn(&R, &RunInfo) -> Option<bool>),
    /// Text, stored as a dictionary because names repeat in every row.
    Text(for<'a> fn(&'a R, &'a RunInfo) -> &'a str),
    /// Text as above; `None` is null.
    Name(for<'a> fn(&'a R, &'a RunInfo) -> Option<&'a str>),
    /// Value that a shim sets in the column of this name. The second field is the default, which also defines the type.
    Shim(for<'a> fn(&'a R) -> Option<&'a ShimRow>, ShimValue),
    /// Value that a congestion control sets in the column of this name, with its type.
    Cc(for<'a> fn(&'a R) -> &'a CcState, CcValue),
}

/// One column of a table.
#[derive(Debug)]
pub struct Column<R> {
    /// Name, unique in its table.
    pub name: &'static str,
    /// Unit: `ns`, `B`, `packets`, `segments`; `1` for ratios and counts without a unit; empty for names and booleans.
    pub unit: &'static str,
    /// One sentence: the meaning, and when the value is null.
    pub doc: &'static str,
    /// Type and value.
    pub get: Get<R>,
}

impl<R> Column<R> {
    /// Name of the type in the documentation.
    pub fn type_name(&self) -> &'static str {
        match self.get {
            Get::Int(_) | Get::Shim(_, ShimValue::Int(_)) | Get::Cc(_, CcValue::Whole) => "int64",
            Get::Unsigned(_) => "uint64",
            Get::Float(_) | Get::Cc(_, CcValue::Real) => "float64",
            Get::Bool(_) => "bool",
            Get::Text(_) | Get::Name(_) | Get::Shim(_, ShimValue::Text(_)) | Get::Cc(_, CcValue::State) => "utf8",
        }
    }
}

/// Definition of a table: its columns and the meaning of a row.
#[derive(Debug)]
pub struct TableSchema<R: 'static> {
    /// Name, and stem of the file.
    pub name: &'static str,
    /// Version of the columns. Raised when a column changes its meaning, type or name or is removed; new columns do not raise it.
    pub version: u32,
    /// Meaning of a row, one sentence.
    pub doc: &'static str,
    /// The columns in file order.
    pub columns: &'static [Column<R>],
}
