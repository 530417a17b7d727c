//! Columns of the tables of a run.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, BooleanArray, PrimitiveArray, RecordBatch};

/// Column of integers or flags. A column that the table lacks has null in every row.
pub(crate) enum Column {
    Ints(PrimitiveArray<Int64Type>),
    Flags(BooleanArray),
    Missing,
}

impl Column {
    pub(crate) fn of(batch: &RecordBatch, name: &str) -> Column {
        let Some(array) = batch.column_by_name(name) else { return Column::Missing };
        if let Some(ints) = array.as_primitive_opt::<Int64Type>() {
            return Column::Ints(ints.clone());
        }
        array.as_boolean_opt().map_or(Column::Missing, |flags| Column::Flags(flags.clone()))
    }

    pub(crate) fn int(&self, row: usize) -> Option<i64> {
        match self {
            Column::Ints(a) => (!a.is_null(row)).then(|| a.value(row)),
            Column::Flags(_) | Column::Missing => None,
        }
    }

    pub(crate) fn flag(&self, row: usize) -> Option<bool> {
        match self {
            Column::Flags(a) => (!a.is_null(row)).then(|| a.value(row)),
            Column::Ints(_) | Column::Missing => None,
        }
    }
}

/// Column of names, one text per row.
pub(crate) fn texts(batch: &RecordBatch, column: &str) -> Vec<String> {
    let Some(array) = batch.column_by_name(column) else { return Vec::new() };
    if let Some(codes) = array.as_dictionary_opt::<Int32Type>() {
        let names = codes.values().as_string::<i32>();
        return codes.keys().iter().map(|k| k.map_or_else(String::new, |k| names.value(k as usize).to_owned())).collect();
    }
    array.as_string_opt::<i32>().map_or_else(Vec::new, |a| a.iter().map(|t| t.unwrap_or("").to_owned()).collect())
}
