//! Dimensions of displayed numbers, serialized by name.

pub use forebay_experiment::dimension::Dimension;
use serde::Serializer;

/// Serializes a dimension by its name.
///
/// # Errors
/// Errors of the serializer.
pub fn by_name<S: Serializer>(unit: &Dimension, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_str(unit.name())
}
