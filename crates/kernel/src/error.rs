//! Errors of kernel builds, with their fixes.

use std::fmt;
use std::io;
use std::path::Path;

/// Error of a kernel build.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    /// Creates an error with a message that names the problem and the remedy.
    pub fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }

    /// Creates an error of the system about a file.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Error {
        Error(format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Adds the name of a file to an error of the system.
pub(crate) trait At<T> {
    /// Puts the name of the file before the message.
    fn at(self, path: &Path) -> Result<T, Error>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, Error> {
        self.map_err(|e| Error::file(path, &e))
    }
}
