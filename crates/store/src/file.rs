//! Files that appear when they are complete.

use crate::error::StoreError;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file that replaces what is at `path` when it is complete and on disk; a failure leaves that as it was.
///
/// # Errors
/// When the system refuses.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<(), StoreError> {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(format!(".tmp-{}", std::process::id()));
    let temporary: PathBuf = path.with_file_name(name);
    let write = || -> io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(contents)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|e| {
        // The first failure is the one to tell.
        let _ = fs::remove_file(&temporary);
        StoreError::io("write", path)(e)
    })
}
