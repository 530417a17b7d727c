//! Result tables, exposed through Arrow and as memory for NumPy.

use crate::buffer::Buffer;
use crate::concat::concat_batches;
use crate::errors;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, BooleanArray, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field};
use arrow_select::filter::filter_record_batch;
use forebay_store::{pack, unpack};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table in one piece.
#[pyclass(frozen, name = "Table")]
pub(crate) struct ArrowTable {
    batch: RecordBatch,
}

/// One column: name, type, nullability, unit, description.
type ColumnInfo = (String, &'static str, bool, String, String);

impl ArrowTable {
    pub(crate) fn new(batch: RecordBatch) -> ArrowTable {
        ArrowTable { batch }
    }

    fn column(&self, name: &str) -> PyResult<&arrow_array::ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}

#[pymethods]
impl ArrowTable {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Meaning of a row.
    #[getter]
    fn description(&self) -> String {
        self.batch.schema().metadata().get("description").map_or_else(String::new, ToString::to_string)
    }

    /// The columns.
    fn columns(&self) -> Vec<ColumnInfo> {
        let info = |f: &Field| {
            let text = |key: &str| f.metadata().get(key).map_or_else(String::new, ToString::to_string);
            (f.name().clone(), type_name(f.data_type()), f.is_nullable(), text("unit"), text("description"))
        };
        self.batch.schema().fields().iter().map(|f| info(f)).collect()
    }

    /// The table as bytes, for another process.
    fn dump(&self) -> PyResult<Vec<u8>> {
        pack(&self.batch).map_err(|e| errors::store(&e))
    }

    /// Restores a table from the bytes of [`ArrowTable::dump`].
    #[staticmethod]
    fn restore(bytes: Vec<u8>) -> PyResult<ArrowTable> {
        let parts = unpack(bytes).map_err(|e| errors::store(&e))?;
        let schema = parts.first().map(RecordBatch::schema);
        let schema = schema.ok_or_else(|| PyValueError::new_err("a table without rows"))?;
        Ok(ArrowTable { batch: concat_batches(&schema, &parts).map_err(errors::internal)? })
    }

    /// Values of a column of numbers or booleans: the table's own memory if possible, else a converted copy, in which null is NaN.
    fn values(&self, name: &str) -> PyResult<Buffer> {
        let array = self.column(name)?;
        let nan = |valid: usize, value: f64| if array.is_null(valid) { f64::NAN } else { value };
        let nulls = array.null_count() > 0;
        Ok(match array.data_type() {
            DataType::Int64 => {
                let a = array.as_primitive::<Int64Type>();
                if nulls {
                    Buffer::floats(a.values().iter().enumerate().map(|(i, v)| nan(i, *v as f64)).collect())
                } else {
                    Buffer::view(a, array.clone(), a.values(), "<i8")
                }
            }
            DataType::UInt64 => {
                let a = array.as_primitive::<UInt64Type>();
                if nulls {
                    Buffer::floats(a.values().iter().enumerate().map(|(i, v)| nan(i, *v as f64)).collect())
                } else {
                    Buffer::view(a, array.clone(), a.values(), "<u8")
                }
            }
            DataType::Float64 => {
                let a = array.as_primitive::<Float64Type>();
                if nulls {
                    Buffer::floats(a.values().iter().enumerate().map(|(i, v)| nan(i, *v)).collect())
                } else {
                    Buffer::view(a, array.clone(), a.values(), "<f8")
                }
            }
            DataType::Boolean => {
                let a = array.as_boolean();
                if nulls {
                    Buffer::floats(a.values().iter().enumerate().map(|(i, v)| nan(i, f64::from(u8::from(v)))).collect())
                } else {
                    Buffer::bools(a.values().iter().map(u8::from).collect())
                }
            }
            other => return Err(PyValueError::new_err(format!("column `{name}` of type {other} has no numbers"))),
        })
    }

    /// A column of names: for each row an index (-1: no name), and the names. Without nulls, the indices are the table's own memory.
    fn names(&self, name: &str) -> PyResult<(Buffer, Vec<String>)> {
        let array = self.column(name)?;
        let Some(dictionary) = array.as_dictionary_opt::<Int32Type>() else {
            return Err(PyValueError::new_err(format!("column `{name}` has no names")));
        };
        let keys = dictionary.keys();
        let names = dictionary.values().as_string::<i32>().iter().map(|n| n.unwrap_or("").to_owned()).collect();
        let indices = if keys.null_count() > 0 {
            Buffer::indices(keys.iter().map(|k| k.unwrap_or(-1)).collect())
        } else {
            Buffer::view(keys, array.clone(), keys.values(), "<i4")
        };
        Ok((indices, names))
    }

    /// Rows `offset` to `offset + length`, without a copy, limited to the existing rows.
    fn slice(&self, offset: usize, length: usize) -> ArrowTable {
        let offset = offset.min(self.batch.num_rows());
        ArrowTable { batch: self.batch.slice(offset, length.min(self.batch.num_rows() - offset)) }
    }

    /// The rows whose byte in `mask` is not 0.
    fn filter(&self, py: Python<'_>, mask: &[u8]) -> PyResult<ArrowTable> {
        if mask.len() != self.batch.num_rows() {
            let rows = self.batch.num_rows();
            return Err(PyValueError::new_err(format!("the mask has {} values for {rows} rows", mask.len())));
        }
        let mask: BooleanArray = mask.iter().map(|&b| Some(b != 0)).collect();
        let batch = py.detach(|| filter_record_batch(&self.batch, &mask)).map_err(errors::internal)?;
        Ok(ArrowTable { batch })
    }

    /// Arrow's PyCapsule interface: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.
    #[pyo3(signature = () -> "object")]
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(errors::internal)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows, in one batch and without a copy. A requested schema is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema: "object | None" = None) -> "object")]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

/// Types under the names of the table documentation.
fn type_name(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Int64 => "int64",
        DataType::UInt64 => "uint64",
        DataType::Float64 => "float64",
        DataType::Boolean => "bool",
        _ => "utf8",
    }
}
