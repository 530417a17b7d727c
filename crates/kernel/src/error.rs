//! Errors of kernel builds, with their fixes.

use std::fmt;
use std::io;
use std::path::Path;

/// Why there is no kernel.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    /// With that message: whole sentences that name what is wrong and what to do.
    pub fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }

    /// The machine refused something about a file.
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

/// Names the file in an error of the machine.
pub(crate) trait At<T> {
    /// The same, with the file's name in front of what went wrong.
    fn at(self, path: &Path) -> Result<T, Error>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, Error> {
        self.map_err(|e| Error::file(path, &e))
    }
}
