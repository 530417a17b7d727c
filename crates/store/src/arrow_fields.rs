//! Arrow fields with units and columns of names, shared by rows, summaries and sweeps.

use arrow_array::ArrayRef;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// Type of name columns. Names repeat in every row, hence the dictionary.
pub(crate) fn text_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

pub(crate) fn field(name: &str, data_type: DataType, nullable: bool, unit: &str, doc: &str) -> Field {
    Field::new(name, data_type, nullable).with_metadata([("unit", unit), ("description", doc)])
}

pub(crate) fn with_metadata(fields: Vec<Field>, name: &str, version: u32, doc: &str) -> SchemaRef {
    let version = version.to_string();
    let metadata = [("forebay.table", name), ("forebay.schema_version", version.as_str()), ("description", doc)];
    Arc::new(Schema::new(fields).with_metadata(metadata))
}

/// Names as a dictionary.
pub(crate) fn texts<'a>(values: impl Iterator<Item = &'a str>) -> Result<ArrayRef, ArrowError> {
    let mut names = StringDictionaryBuilder::<Int32Type>::new();
    for value in values {
        names.append(value)?;
    }
    Ok(Arc::new(names.finish()))
}

/// Names as a dictionary, with nulls.
pub(crate) fn optional_texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Result<ArrayRef, ArrowError> {
    let mut names = StringDictionaryBuilder::<Int32Type>::new();
    for value in values {
        match value {
            Some(v) => {
                names.append(v)?;
            }
            None => names.append_null(),
        }
    }
    Ok(Arc::new(names.finish()))
}
