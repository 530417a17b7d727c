//! Errors of a capture file: the file, the byte offset, the record, and the reason.

use std::fmt;

/// A capture that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    file: String,
    place: Option<(u64, u64)>,
    message: String,
}

impl Error {
    /// An error about the whole file.
    pub fn file(file: impl Into<String>, message: impl Into<String>) -> Error {
        Error { file: file.into(), place: None, message: message.into() }
    }

    /// An error in a record, with the byte offset of its first byte; records count from 1.
    pub(crate) fn record(file: impl Into<String>, record: u64, offset: u64, message: impl Into<String>) -> Error {
        Error { file: file.into(), place: Some((record, offset)), message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((record, offset)) => write!(f, "`{}`, record {record} at byte {offset}: {}", self.file, self.message),
            None => write!(f, "`{}`: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for Error {}
