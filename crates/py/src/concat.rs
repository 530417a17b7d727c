//! Concatenation of batches: NumPy needs the values of a column in one piece.

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::concat::concat;
use std::collections::HashMap;
use std::sync::Arc;

/// The rows of all batches in one; `schema` is their schema, and that of an empty result.
pub(crate) fn concat_batches(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let schema = batches.first().map_or_else(|| schema.clone(), RecordBatch::schema);
    match batches {
        [] => Ok(RecordBatch::new_empty(schema)),
        [one] => Ok(one.clone()),
        many => {
            let columns = (0..schema.fields().len()).map(|i| {
                let parts: Vec<&ArrayRef> = many.iter().map(|b| b.column(i)).collect();
                match schema.field(i).data_type() {
                    DataType::Dictionary(..) => names(&parts),
                    _ => concat(&parts.iter().map(|a| a.as_ref()).collect::<Vec<_>>()),
                }
            });
            RecordBatch::try_new(schema.clone(), columns.collect::<Result<_, _>>()?)
        }
    }
}

/// Joins columns of names. Arrow's own function may leave a name in the dictionary more than once, which pandas refuses.
fn names(parts: &[&ArrayRef]) -> Result<ArrayRef, ArrowError> {
    let mut numbers: HashMap<&str, i32> = HashMap::new();
    let mut values = StringBuilder::new();
    let mut keys: Vec<Option<i32>> = Vec::with_capacity(parts.iter().map(|a| a.len()).sum());
    for part in parts {
        let part = part.as_dictionary::<Int32Type>();
        let new: Vec<i32> = (part.values().as_string::<i32>().iter())
            .map(|name| {
                let next = numbers.len() as i32;
                *numbers.entry(name.unwrap_or("")).or_insert_with(|| {
                    values.append_value(name.unwrap_or(""));
                    next
                })
            })
            .collect();
        keys.extend(part.keys().iter().map(|k| new.get(k? as usize).copied()));
    }
    let array = DictionaryArray::try_new(Int32Array::from(keys), Arc::new(values.finish()) as ArrayRef)?;
    Ok(Arc::new(array))
}
