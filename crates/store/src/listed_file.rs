//! Files that a manifest lists, checked before they are read.

use crate::error::StoreError;
use crate::file::what;
use crate::seal::file_sum;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Description of a file that is not the one that was written.
const OTHER_SUM: &str = "it was changed: its SHA-256 differs from the one in the manifest";

/// Path of the file `name` in `dir`, which must be a plain file in that directory itself.
///
/// Results may be untrusted: no file outside of their directory is read, and no pipe that could block.
pub(crate) fn plain_file(dir: &Path, name: &str) -> Result<PathBuf, StoreError> {
    let path = dir.join(name);
    let damaged = |message: String| StoreError::Damaged { path: path.clone(), message };
    let mut parts = Path::new(name).components();
    if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
        return Err(damaged("the manifest names a file outside of the directory".into()));
    }
    let meta = fs::symlink_metadata(&path).map_err(StoreError::io("open", &path))?;
    if !meta.is_file() {
        return Err(damaged(format!("it is {}, not a file of results", what(meta.file_type()))));
    }
    Ok(path)
}

/// Compares the SHA-256 of a file with the one in the manifest. The file is read once, which takes about a second for each gigabyte.
pub(crate) fn check_sum(path: &Path, sha256: &str) -> Result<(), StoreError> {
    if file_sum(path)? == sha256 {
        return Ok(());
    }
    Err(StoreError::Damaged { path: path.to_owned(), message: OTHER_SUM.into() })
}
