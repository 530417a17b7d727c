//! An error and its fix.

use std::fmt;
use std::io;

/// An error that a person at a terminal can act on.
#[derive(Debug)]
pub struct Error {
    what: String,
    fix: Option<String>,
}

impl Error {
    /// With nothing to advise.
    pub fn new(what: impl Into<String>) -> Error {
        Error { what: what.into(), fix: None }
    }

    /// Adds the fix.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Error {
        self.fix = Some(fix.into());
        self
    }

    /// Adds a fix if it has none.
    #[must_use]
    pub(crate) fn or_fix(mut self, fix: impl Into<String>) -> Error {
        self.fix.get_or_insert_with(|| fix.into());
        self
    }

    /// Adds a second part to the text.
    #[must_use]
    pub(crate) fn and_also(mut self, more: &str) -> Error {
        self.what = format!("{}; {more}", self.what);
        self
    }

    /// The error without the fix.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// Error of a system call, about `subject`.
    pub fn io(subject: impl fmt::Display, e: &io::Error) -> Error {
        let error = Error::new(format!("{subject}: {e}"));
        match e.kind() {
            io::ErrorKind::PermissionDenied => error.fix("run it as root (SECURITY.md lists the capabilities that it needs)"),
            _ => error,
        }
    }

    /// Error of libbpf, about `subject`.
    pub(crate) fn bpf(subject: impl fmt::Display, e: &libbpf_rs::Error) -> Error {
        let error = Error::new(format!("{subject}: {e}"));
        match e.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => {
                error.fix("run it as root (SECURITY.md lists the capabilities that it needs)")
            }
            _ => error,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        match &self.fix {
            Some(fix) => write!(f, "\n  fix: {fix}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
