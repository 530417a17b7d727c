//! Renaming of a unit's rows to the names of the current comparison, which may differ from those of the run that computed it.

use super::record::UnitRecord;
use crate::arrow_fields::texts;
use crate::summary_table::{Row, arrays, arrow_schema};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch};
use arrow_schema::ArrowError;
use forebay_types::{GroupId, IndexVec};
use std::sync::Arc;

/// Names of a run and its transport groups.
#[derive(Debug, Clone, Copy)]
pub struct RunNames<'a> {
    /// Name of the variant.
    pub variant: &'a str,
    /// Repetition, from 0.
    pub run: u32,
    /// The groups in order: their names in the run that computed the unit, and their current names.
    pub groups: (&'a IndexVec<GroupId, String>, &'a IndexVec<GroupId, String>),
}

impl RunNames<'_> {
    /// The same rows under these names. Columns that the batch lacks are skipped.
    ///
    /// # Errors
    /// None for a batch of a table of this version.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let rows = batch.num_rows();
        let column = |(field, array): (&Arc<arrow_schema::Field>, &ArrayRef)| -> Result<ArrayRef, ArrowError> {
            match field.name().as_str() {
                "variant" => texts(std::iter::repeat_n(self.variant, rows)),
                "run" => Ok(Arc::new(Int64Array::from(vec![i64::from(self.run); rows]))),
                "transport" => self.transport(array),
                _ => Ok(array.clone()),
            }
        };
        let columns = batch.schema().fields().iter().zip(batch.columns()).map(column).collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(batch.schema(), columns)
    }

    fn transport(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let (old, new) = self.groups;
        let Some(codes) = array.as_dictionary_opt::<Int32Type>() else { return Ok(array.clone()) };
        let name = |n: &'_ str| old.position(|o| o == n).and_then(|id| new.get(id)).map_or_else(|| n.to_owned(), Clone::clone);
        let names: Vec<String> = codes.values().as_string::<i32>().iter().map(|n| name(n.unwrap_or(""))).collect();
        let values = arrow_array::StringArray::from(names);
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(codes.keys().clone(), Arc::new(values))?))
    }
}

/// The `summary` rows of these units, each under its current names.
///
/// # Errors
/// None, short of more than 2^31 different names.
pub fn summary(units: &[(&UnitRecord, RunNames)]) -> Result<RecordBatch, ArrowError> {
    let mut rows = Vec::new();
    for (record, names) in units {
        for row in record.rows() {
            let group = record.groups.position(|name| name == row.transport);
            let transport = group.and_then(|g| names.groups.1.get(g)).map_or(row.transport, String::as_str);
            rows.push(Row { variant: names.variant, run: names.run, transport, ..row });
        }
    }
    RecordBatch::try_new(arrow_schema(), arrays(&rows)?)
}
