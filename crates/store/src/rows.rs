//! Typed access to columns by name, without Arrow types.
//!
//! A column that the file lacks reads as null in every row.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};

/// Some rows of a table.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a>(&'a RecordBatch);

impl<'a> Rows<'a> {
    /// The rows of a batch, see [`crate::RunDir::columns`].
    pub fn new(batch: &'a RecordBatch) -> Rows<'a> {
        Rows(batch)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.0.num_rows()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn column(&self, name: &str) -> Option<&'a ArrayRef> {
        self.0.column_by_name(name)
    }

    /// A column of integers, signed or unsigned 64 bit.
    pub fn int(&self, name: &str) -> Ints<'a> {
        let column = self.column(name);
        let unsigned = column.and_then(|c| c.as_any().downcast_ref());
        Ints { signed: column.and_then(|c| c.as_any().downcast_ref()), unsigned }
    }

    /// A column of real numbers.
    pub fn float(&self, name: &str) -> Floats<'a> {
        Floats(self.column(name).and_then(|c| c.as_any().downcast_ref()))
    }

    /// A column of booleans.
    pub fn bool(&self, name: &str) -> Bools<'a> {
        Bools(self.column(name).and_then(|c| c.as_any().downcast_ref()))
    }

    /// A column of names, each converted to a `T` once.
    pub fn text<T>(&self, name: &str, of: impl FnMut(&'a str) -> T) -> Texts<'a, T> {
        let codes: Option<&DictionaryArray<Int32Type>> = self.column(name).and_then(|c| c.as_dictionary_opt());
        let values: Option<&StringArray> = codes.and_then(|c| c.values().as_string_opt());
        Texts { codes, values: values.map_or_else(Vec::new, |v| v.iter().map(|t| t.unwrap_or("")).map(of).collect()) }
    }
}

/// A column of integers.
#[derive(Debug, Clone, Copy)]
pub struct Ints<'a> {
    signed: Option<&'a Int64Array>,
    unsigned: Option<&'a UInt64Array>,
}

impl Ints<'_> {
    /// The value in a row; `None` for null.
    pub fn get(&self, row: usize) -> Option<i64> {
        match (self.signed, self.unsigned) {
            (Some(a), _) => a.is_valid(row).then(|| a.value(row)),
            (None, Some(a)) => a.is_valid(row).then(|| a.value(row)).and_then(|v| i64::try_from(v).ok()),
            (None, None) => None,
        }
    }

    /// The value in a row as a count; 0 for null and negative values.
    pub fn count(&self, row: usize) -> u64 {
        self.get(row).and_then(|v| u64::try_from(v).ok()).unwrap_or(0)
    }
}

/// A column of real numbers.
#[derive(Debug, Clone, Copy)]
pub struct Floats<'a>(Option<&'a Float64Array>);

impl Floats<'_> {
    /// The value in a row; `None` for null.
    pub fn get(&self, row: usize) -> Option<f64> {
        self.0.and_then(|a| a.is_valid(row).then(|| a.value(row)))
    }
}

/// A column of booleans.
#[derive(Debug, Clone, Copy)]
pub struct Bools<'a>(Option<&'a BooleanArray>);

impl Bools<'_> {
    /// The value in a row; `None` for null.
    pub fn get(&self, row: usize) -> Option<bool> {
        self.0.and_then(|a| a.is_valid(row).then(|| a.value(row)))
    }
}

/// A column of names.
#[derive(Debug, Clone)]
pub struct Texts<'a, T> {
    codes: Option<&'a DictionaryArray<Int32Type>>,
    values: Vec<T>,
}

impl<T> Texts<'_, T> {
    /// The converted name in a row; `None` where the file has no such column.
    pub fn get(&self, row: usize) -> Option<&T> {
        let codes = self.codes.filter(|c| c.is_valid(row))?;
        self.values.get(usize::try_from(codes.keys().value(row)).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunInfo, arrow_schema, batch, schema};
    use forebay_experiment::rows::FlowRow;
    use forebay_types::Time;

    #[test]
    fn missing_columns_read_as_null() {
        let rows = [FlowRow::default(), FlowRow { end: Time(2_000).into(), rtos: 3, ..FlowRow::default() }];
        let mut info = RunInfo::default();
        (info.variant, info.seed) = ("v".into(), 7);
        let batch = batch(&schema::FLOWS, &arrow_schema(&schema::FLOWS), &rows, &info).unwrap();
        let r = Rows::new(&batch);
        assert_eq!((r.len(), r.is_empty()), (2, false));
        assert_eq!((r.int("fct_ns").get(0), r.int("fct_ns").get(1)), (None, Some(2)));
        assert_eq!((r.int("rtos").count(1), r.int("seed").get(0), r.int("fct_ns").count(0)), (3, Some(7), 0));
        assert_eq!((r.bool("completed").get(0), r.float("cwnd_max").get(1)), (Some(false), Some(0.0)));
        assert_eq!(r.text("variant", str::len).get(1), Some(&1));
        assert_eq!((r.int("nonsense").get(0), r.float("nonsense").get(0), r.bool("nonsense").get(0)), (None, None, None));
        assert_eq!(r.text("nonsense", str::len).get(0), None);
    }
}
