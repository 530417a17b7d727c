//! Errors of an input file: the file, the place in it, and the reason.

use std::fmt;

/// A file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    file: String,
    place: Place,
    message: String,
}

/// Place of an error in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Whole,
    /// A record, from 1, and the offset of its first byte.
    Record(u64, u64),
    /// A line, from 1.
    Line(u64),
}

impl Error {
    /// An error about the whole file.
    pub fn file(file: impl Into<String>, message: impl Into<String>) -> Error {
        Error { file: file.into(), place: Place::Whole, message: message.into() }
    }

    /// An error in a record, with the byte offset of its first byte; records count from 1.
    pub(crate) fn record(file: impl Into<String>, record: u64, offset: u64, message: impl Into<String>) -> Error {
        Error { file: file.into(), place: Place::Record(record, offset), message: message.into() }
    }

    /// An error in a line, from 1.
    pub(crate) fn line(file: impl Into<String>, line: u64, message: impl Into<String>) -> Error {
        Error { file: file.into(), place: Place::Line(line), message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Record(record, offset) => {
                write!(f, "`{}`, record {record} at byte {offset}: {}", self.file, self.message)
            }
            Place::Line(line) => write!(f, "`{}`, line {line}: {}", self.file, self.message),
            Place::Whole => write!(f, "`{}`: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for Error {}
