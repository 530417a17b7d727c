//! Columns as memory that NumPy reads in place.

use arrow_array::{Array, ArrayRef};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Values of one column: read-only memory that lives as long as this object.
#[pyclass(frozen)]
pub(crate) struct Buffer {
    address: usize,
    len: usize,
    /// Type name in NumPy, such as `<i8`.
    #[pyo3(get)]
    typestr: &'static str,
    /// Owner of the memory.
    _owner: Owner,
}

enum Owner {
    /// An array of a table, without a copy.
    Array(#[allow(dead_code, reason = "kept alive")] ArrayRef),
    /// Values that had to be converted.
    Bytes(#[allow(dead_code, reason = "kept alive")] Vec<u8>),
    Floats(#[allow(dead_code, reason = "kept alive")] Vec<f64>),
    Indices(#[allow(dead_code, reason = "kept alive")] Vec<i32>),
}

impl Buffer {
    /// Wraps the memory `values` of `array`, with the NumPy type `typestr`.
    pub(crate) fn view<T>(array: &dyn Array, owner: ArrayRef, values: &[T], typestr: &'static str) -> Buffer {
        debug_assert_eq!(array.len(), values.len());
        Buffer { address: values.as_ptr() as usize, len: values.len(), typestr, _owner: Owner::Array(owner) }
    }

    /// Booleans, one byte each.
    pub(crate) fn bools(values: Vec<u8>) -> Buffer {
        Buffer { address: values.as_ptr() as usize, len: values.len(), typestr: "|b1", _owner: Owner::Bytes(values) }
    }

    /// Indices of names.
    pub(crate) fn indices(values: Vec<i32>) -> Buffer {
        Buffer { address: values.as_ptr() as usize, len: values.len(), typestr: "<i4", _owner: Owner::Indices(values) }
    }

    /// Numbers with NaN for null.
    pub(crate) fn floats(values: Vec<f64>) -> Buffer {
        Buffer { address: values.as_ptr() as usize, len: values.len(), typestr: "<f8", _owner: Owner::Floats(values) }
    }
}

#[pymethods]
impl Buffer {
    /// NumPy's array interface, version 3: <https://numpy.org/doc/stable/reference/arrays.interface.html>. The buffer protocol proper
    /// is in the limited API only from Python 3.11 on.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let d = PyDict::new(py);
        d.set_item("version", 3)?;
        d.set_item("shape", (self.len,))?;
        d.set_item("typestr", self.typestr)?;
        d.set_item("data", (self.address, true))?;
        Ok(d.into_any())
    }

    fn __len__(&self) -> usize {
        self.len
    }
}
