//! Atomic creation of files.

use crate::error::StoreError;
use crate::stale_files::is_result;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

/// Rejects a path whose file must not be replaced: a directory, a pipe, a device or a link.
///
/// # Errors
/// Names the kind of file at the path.
pub fn replaceable(path: &Path) -> Result<(), StoreError> {
    let kind = match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(StoreError::io("inspect", path)(e)),
        Ok(meta) => meta.file_type(),
    };
    if kind.is_file() {
        return Ok(());
    }
    Err(StoreError::NotPlain { path: path.to_owned(), is: what(kind) })
}

/// Description of a file that is not a plain file.
pub(crate) fn what(kind: fs::FileType) -> &'static str {
    if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_dir() {
        "a directory"
    } else {
        "a pipe, a socket or a device"
    }
}

/// Syncs files and directories in parallel. A journaling file system then commits once or twice instead of once per file.
pub(crate) fn sync_together(files: &[(PathBuf, File)]) -> Result<(), StoreError> {
    let sync = |(path, file): &(PathBuf, File)| file.sync_all().map_err(StoreError::io("sync", path));
    let Some((last, others)) = files.split_last() else { return Ok(()) };
    thread::scope(|scope| {
        let begun: Vec<_> =
            others.iter().map(|f| thread::Builder::new().spawn_scoped(scope, || sync(f)).map_err(|_| f)).collect();
        let mut outcome = sync(last);
        for thread in begun {
            let synced = match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // No more threads can be created.
                Err(file) => sync(file),
            };
            outcome = outcome.and(synced);
        }
        outcome
    })
}

/// Writes a file as [`write_atomic`], without a sync: its contents can be regenerated from other files.
///
/// # Errors
/// As there.
pub fn write_atomic_unsynced(path: &Path, contents: &[u8]) -> Result<(), StoreError> {
    replace(path, contents, false)
}

/// Writes a complete file to disk and then replaces the plain file at `path`, if any. A failure leaves the old file unchanged.
///
/// # Errors
/// When the path is not a plain file, and errors of the file system.
pub fn write_atomic(path: &Path, contents: &[u8]) -> Result<(), StoreError> {
    replace(path, contents, true)
}

/// Removes from a directory of results the temporary files that killed processes left in it.
pub fn remove_unfinished(folder: &Path) {
    forebay_platform::files::remove_unfinished(folder, is_result);
}

fn replace(path: &Path, contents: &[u8], sync: bool) -> Result<(), StoreError> {
    replaceable(path)?;
    remove_unfinished(path.parent().unwrap_or(Path::new("")));
    let options = forebay_platform::files::Options { mode: None, sync };
    forebay_platform::files::replace(path, contents, options).map_err(StoreError::io("write", path))
}
