//! Errors in imported files.

use std::error::Error;
use std::fmt;

/// An error in a file, with its place and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    file: String,
    line: Option<usize>,
    message: String,
}

impl FileError {
    /// An error in the line `line` of `file`, counted from 1.
    pub(crate) fn at(file: &str, line: usize, message: impl Into<String>) -> FileError {
        FileError { file: file.to_owned(), line: Some(line), message: message.into() }
    }

    /// An error of the whole file.
    pub(crate) fn of(file: &str, message: impl Into<String>) -> FileError {
        FileError { file: file.to_owned(), line: None, message: message.into() }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl Error for FileError {}
