//! Errors of reading and writing results, with remedies.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Failure to write or read results. The text names the path, the cause and a remedy.
#[derive(Debug)]
pub enum StoreError {
    /// The directory holds complete results and must not be replaced.
    Exists(PathBuf),
    /// The path exists and is not a run directory. It is never replaced.
    NotARun(PathBuf),
    /// A file in the directory is not one of its results. The directory is never replaced.
    ForeignFile(PathBuf),
    /// The page exists and is not a report of forebay. It is never replaced.
    ForeignReport(PathBuf),
    /// The path is neither a plain file nor a forebay directory. It is never replaced.
    NotPlain {
        /// The path.
        path: PathBuf,
        /// Kind of file.
        is: &'static str,
    },
    /// The results are complete, but no final name could be given.
    Unnamed {
        /// Path of the results.
        kept: PathBuf,
        /// Why.
        cause: Box<StoreError>,
    },
    /// The results were abandoned on request before the rename.
    Interrupted,
    /// The path has no results.
    NoResults(PathBuf),
    /// The sweep is incomplete.
    Unfinished(PathBuf),
    /// A result file has unexpected contents.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        message: String,
    },
    /// The system refused.
    Io {
        /// Failed operation, such as `write`.
        doing: &'static str,
        /// To which path.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Arrow or Parquet failed to encode a table.
    Encode {
        /// The file.
        path: PathBuf,
        /// The library's words.
        message: String,
    },
}

impl StoreError {
    /// Returns a function for `map_err`: an input/output error while `doing` something to `path`.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::Io { doing, path, source }
    }

    /// Remedy for the user.
    pub fn help(&self) -> String {
        match self {
            StoreError::Exists(_) => "add --force to replace it, or choose another directory with --out".into(),
            StoreError::NotARun(_) => "choose another directory with --out; --force replaces only forebay's own results".into(),
            StoreError::ForeignFile(_) => {
                "move it out of the directory, which --force would remove, or choose another directory with --out".into()
            }
            StoreError::ForeignReport(_) => "move the file, or choose another directory with --out".into(),
            StoreError::NotPlain { .. } => {
                "choose another path with --out; only plain files and forebay's own directories are replaced".into()
            }
            StoreError::Interrupted => "run it again".into(),
            StoreError::Unnamed { .. } => "move the directory to where you want it".into(),
            StoreError::NoResults(_) => {
                "`forebay run` prints the directory of its results at the end, such as out/quickstart-1".into()
            }
            StoreError::Unfinished(_) => "run the command of the sweep again: it continues where it stopped".into(),
            StoreError::Damaged { .. } => "run the scenario again; a single run replaces its results with --force".into(),
            StoreError::Encode { .. } => "this is a defect in forebay; please report it with the scenario".into(),
            StoreError::Io { source, .. } => match source.kind() {
                io::ErrorKind::FileTooLarge => {
                    "raise the limit on the size of files (ulimit -f), observe less, or choose a directory on another disk with --out"
                        .into()
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "free some space, observe less, or choose a directory on another disk with --out".into()
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "choose a directory you may write to with --out".into()
                }
                io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                    "a part of the path is a file; choose another directory with --out".into()
                }
                _ => "choose another directory with --out if the problem persists".into(),
            },
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Exists(path) => write!(f, "`{}` already holds results", path.display()),
            StoreError::NotARun(path) => write!(f, "`{}` exists and is not a forebay run directory", path.display()),
            StoreError::ForeignFile(path) => write!(f, "`{}` is not a file of the results", path.display()),
            StoreError::ForeignReport(path) => write!(f, "`{}` is not a report that forebay wrote", path.display()),
            StoreError::NotPlain { path, is } => write!(f, "`{}` is {is}", path.display()),
            StoreError::Unnamed { kept, cause } => write!(f, "the results are complete in `{}`, but {cause}", kept.display()),
            StoreError::Interrupted => f.write_str("interrupted; no results were kept"),
            StoreError::NoResults(path) => write!(f, "`{}` holds no results of forebay", path.display()),
            StoreError::Unfinished(path) => write!(f, "the sweep in `{}` is not finished", path.display()),
            StoreError::Damaged { path, message } => write!(f, "`{}` cannot be read: {message}", path.display()),
            StoreError::Io { doing, path, source } => write!(f, "cannot {doing} `{}`: {source}", path.display()),
            StoreError::Encode { path, message } => write!(f, "cannot encode `{}`: {message}", path.display()),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StoreError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_error_and_help() {
        let e = StoreError::io("write", Path::new("out/x/flows.parquet"))(io::Error::from(io::ErrorKind::StorageFull));
        assert!(e.to_string().contains("out/x/flows.parquet"), "{e}");
        assert!(e.help().contains("--out") && e.help().contains("space"), "{}", e.help());
        let e = StoreError::io("write", Path::new("out/x/flows.parquet"))(io::Error::from(io::ErrorKind::FileTooLarge));
        assert!(e.help().contains("ulimit -f") && !e.help().contains("space"), "{}", e.help());
    }
}
