//! Tables as CSV (RFC 4180): a header line, empty fields for null, floats in the shortest form that reads back exactly.

use crate::seal::Summed;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// An open CSV file.
pub(crate) struct CsvFile {
    out: BufWriter<Summed<File>>,
}

impl CsvFile {
    /// Writes the header line.
    pub(crate) fn new(file: File, schema: &Schema) -> io::Result<CsvFile> {
        let mut out = BufWriter::new(Summed::new(file));
        for (index, field) in schema.fields().iter().enumerate() {
            if index > 0 {
                out.write_all(b",")?;
            }
            text(&mut out, field.name())?;
        }
        out.write_all(b"\n")?;
        Ok(CsvFile { out })
    }

    /// Appends rows.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        for row in 0..batch.num_rows() {
            for (index, column) in batch.columns().iter().enumerate() {
                if index > 0 {
                    self.out.write_all(b",")?;
                }
                if !column.is_null(row) {
                    value(&mut self.out, column, row)?;
                }
            }
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Flushes; returns the file, which is still to be synced, and its SHA-256.
    pub(crate) fn finish(self) -> io::Result<(File, String)> {
        self.out.into_inner().map(Summed::finish).map_err(io::IntoInnerError::into_error)
    }
}

fn value(out: &mut impl Write, column: &ArrayRef, row: usize) -> io::Result<()> {
    match column.data_type() {
        DataType::Int64 => write!(out, "{}", column.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => write!(out, "{}", column.as_primitive::<UInt64Type>().value(row)),
        DataType::Float64 => write!(out, "{}", column.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => write!(out, "{}", column.as_boolean().value(row)),
        DataType::Dictionary(..) => {
            let names = column.as_dictionary::<Int32Type>();
            let key = names.keys().value(row) as usize;
            text(out, names.values().as_string::<i32>().value(key))
        }
        // The tables have no other types.
        other => Err(io::Error::other(format!("no CSV form for {other}"))),
    }
}

fn text(out: &mut impl Write, value: &str) -> io::Result<()> {
    if value.contains([',', '"', '\n', '\r']) {
        write!(out, "\"{}\"", value.replace('"', "\"\""))
    } else {
        out.write_all(value.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_only_where_needed() {
        let mut out = Vec::new();
        text(&mut out, "leaf0->h3").unwrap();
        out.push(b',');
        text(&mut out, "a \"b\", c").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "leaf0->h3,\"a \"\"b\"\", c\"");
    }
}
