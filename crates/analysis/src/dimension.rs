//! Dimensions of the numbers that are shown, for those who read them as JSON.

pub use forebay_experiment::dimension::Dimension;
use serde::Serializer;

/// Writes a dimension by its name.
///
/// # Errors
/// Those of the serializer.
pub fn by_name<S: Serializer>(unit: &Dimension, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_str(unit.name())
}
