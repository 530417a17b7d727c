//! Backing file of long series: one unnamed file per run for all its series.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{OnceLock, PoisonError, RwLock};

/// Folder for the files, if set.
static FOLDER: RwLock<Option<PathBuf>> = RwLock::new(None);
/// Counter that makes file names unique within the process.
static FILES: AtomicU64 = AtomicU64::new(0);

/// Stores the rows of long series in files under `folder` from now on, usually that of the results. Without a folder, or if it is not writable, files
/// go to the system's temporary folder, which may be in memory.
pub fn keep_series_in(folder: PathBuf) {
    *FOLDER.write().unwrap_or_else(PoisonError::into_inner) = Some(folder);
}

/// File that is created by the first write. Several threads may write and read.
#[derive(Debug, Default)]
pub struct SeriesFile {
    /// `None` if no file can be created.
    file: OnceLock<Option<File>>,
    /// End of the allocated part, bytes.
    end: AtomicU64,
}

impl SeriesFile {
    /// Writes bytes and returns their offset.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<u64> {
        let file = self.file.get_or_init(|| unnamed().ok()).as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let at = self.end.fetch_add(bytes.len() as u64, Relaxed);
        write_at(file, bytes, at)?;
        Ok(at)
    }

    /// Reads bytes from an offset.
    pub(crate) fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let file = self.file.get().and_then(Option::as_ref).ok_or(io::ErrorKind::NotFound)?;
        read_at(file, bytes, at)
    }
}

/// Unlinked file, which the system deletes with its last descriptor.
fn unnamed() -> io::Result<File> {
    let name = format!("forebay-series-{}-{}", std::process::id(), FILES.fetch_add(1, Relaxed));
    let create = |folder: PathBuf| {
        let path = folder.join(&name);
        OpenOptions::new().read(true).write(true).create_new(true).open(&path).map(|file| (file, path))
    };
    let folder = FOLDER.read().unwrap_or_else(PoisonError::into_inner).clone();
    let wanted = folder.ok_or(io::Error::from(io::ErrorKind::NotFound)).and_then(create);
    let (file, path) = wanted.or_else(|_| create(std::env::temp_dir()))?;
    if cfg!(unix) {
        fs::remove_file(&path)?;
        return Ok(file);
    }
    // Other systems cannot unlink an open file: rows stay in memory.
    drop(file);
    fs::remove_file(&path)?;
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(not(unix))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
