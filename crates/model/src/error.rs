//! Errors of arguments outside a model's domain.

use std::fmt;

/// An argument outside the domain of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// Name of the argument, as in the documentation of the function.
    pub argument: &'static str,
    /// The value and the legal values.
    pub message: String,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.argument, self.message)
    }
}

impl std::error::Error for ModelError {}

impl ModelError {
    pub(crate) fn new(argument: &'static str, message: impl Into<String>) -> ModelError {
        ModelError { argument, message: message.into() }
    }
}

/// An integer in `low..=high`.
pub(crate) fn integer(argument: &'static str, value: u64, low: u64, high: u64) -> Result<u64, ModelError> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(ModelError::new(argument, format!("is {value}; legal: {low} to {high}")))
}

/// A number from `low` to `high`, both included; NaN is in no interval.
pub(crate) fn closed(argument: &'static str, value: f64, low: f64, high: f64) -> Result<f64, ModelError> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(ModelError::new(argument, format!("is {value}; legal: {low} to {high}")))
}

/// A number above `low` and at most `high`.
pub(crate) fn above(argument: &'static str, value: f64, low: f64, high: f64) -> Result<f64, ModelError> {
    if value > low && value <= high {
        return Ok(value);
    }
    Err(ModelError::new(argument, format!("is {value}; legal: above {low}, at most {high}")))
}
