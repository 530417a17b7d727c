//! Where rows of series are kept that are more than memory should hold: one file of a run, without a name, for all its series.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{OnceLock, PoisonError, RwLock};

/// Where files go, if anybody has said so.
static FOLDER: RwLock<Option<PathBuf>> = RwLock::new(None);
/// Makes names of files unique within the process.
static FILES: AtomicU64 = AtomicU64::new(0);

/// Keeps the rows of long series in files under `folder` from now on, where results go too; otherwise, and where none can be made there, in the
/// system's folder for temporary files, which may lie in memory.
pub fn keep_series_in(folder: PathBuf) {
    *FOLDER.write().unwrap_or_else(PoisonError::into_inner) = Some(folder);
}

/// A file that is made when the first rows are written. Several threads may write and read.
#[derive(Debug, Default)]
pub struct SeriesFile {
    /// `None` where none can be had.
    file: OnceLock<Option<File>>,
    /// Bytes that have been given out.
    end: AtomicU64,
}

impl SeriesFile {
    /// Writes bytes, and returns where they are.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<u64> {
        let file = self.file.get_or_init(|| unnamed().ok()).as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let at = self.end.fetch_add(bytes.len() as u64, Relaxed);
        write_at(file, bytes, at)?;
        Ok(at)
    }

    /// Reads what was written there.
    pub(crate) fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let file = self.file.get().and_then(Option::as_ref).ok_or(io::ErrorKind::NotFound)?;
        read_at(file, bytes, at)
    }
}

/// A file without a name, which goes away with the last who has it open.
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
    // Elsewhere a file that is open cannot be removed: rows stay in memory.
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
