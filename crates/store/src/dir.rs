//! Target directory of results, and its atomic publication.

use crate::error::StoreError;
use crate::file::{sync_together, what};
use crate::stale_files;
use forebay_platform::files::Lock;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Results that took less time than this are not synced: a rerun is cheaper. The same limit applies to units of sweeps.
const CHEAP: Duration = Duration::from_millis(200);

/// New directories that other processes may lock first before one is used without a lock.
const BUSY: u32 = 100;

/// Longest name, in bytes, that [`file_name`] returns: file systems allow 255, and suffixes are added.
const MAX_NAME: usize = 100;

/// Final directory of the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// This one.
    Exact {
        /// Its path.
        path: PathBuf,
        /// Replace existing results.
        force: bool,
    },
    /// `parent/name-1`, or the next free number.
    Numbered {
        /// Directory that holds the runs; created if missing.
        parent: PathBuf,
        /// Stem of the name.
        name: String,
    },
}

impl Target {
    /// Rejects an unusable target before hours of simulation.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self {
            Target::Numbered { .. } => Ok(()),
            Target::Exact { path, force } => match occupant(path)? {
                Occupant::Nothing => Ok(()),
                Occupant::Run if *force => only_results(path),
                Occupant::Run => Err(StoreError::Exists(path.clone())),
                Occupant::Other => Err(StoreError::NotARun(path.clone())),
                Occupant::NotPlain(is) => Err(StoreError::NotPlain { path: path.clone(), is }),
            },
        }
    }

    /// Folder of the results and their final name in it, without a number.
    fn folder_and_name(&self) -> (PathBuf, OsString) {
        match self {
            Target::Numbered { parent, name } => (parent.clone(), OsString::from(name)),
            Target::Exact { path, .. } => {
                // `.` and `..` have no file name.
                let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                let parent = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
                (parent, path.file_name().map_or_else(|| OsString::from("forebay"), OsString::from))
            }
        }
    }

    /// Folder of the results.
    pub fn folder(&self) -> &Path {
        match self {
            Target::Numbered { parent, .. } => parent,
            Target::Exact { path, .. } => path.parent().unwrap_or(Path::new("")),
        }
    }

    /// Directories with complete results for this target under temporary names, whose process was killed before it renamed them. They are not
    /// removed.
    pub fn unnamed_results(&self) -> Vec<PathBuf> {
        let (folder, name) = self.folder_and_name();
        stale_files::complete(&folder, &name)
    }

    /// Path of the temporary sibling directory.
    fn staging(&self, attempt: u32) -> PathBuf {
        let (parent, name) = self.folder_and_name();
        let mut name = stale_files::temporary_name(&name);
        if attempt > 0 {
            name.push(format!("-{attempt}"));
        }
        parent.join(name)
    }
}

/// `name` reduced to letters, digits, `.`, `_` and `-`, which every file system accepts.
pub fn file_name(name: &str) -> String {
    let clean: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }).take(MAX_NAME).collect();
    let clean = clean.trim_matches(['.', '-']);
    if clean.is_empty() { "run".into() } else { clean.into() }
}

enum Occupant {
    Nothing,
    Run,
    Other,
    /// A link, a pipe or a device, with its description.
    NotPlain(&'static str),
}

/// Determines the kind of file at `path`. An empty directory counts as nothing: a rename may replace it without loss.
fn occupant(path: &Path) -> Result<Occupant, StoreError> {
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Occupant::Nothing),
        Err(e) => return Err(StoreError::io("inspect", path)(e)),
        Ok(m) if m.is_file() => return Ok(Occupant::Other),
        Ok(m) if !m.is_dir() => return Ok(Occupant::NotPlain(what(m.file_type()))),
        Ok(_) => {}
    }
    if fs::read_dir(path).map_err(StoreError::io("read", path))?.next().is_none() {
        return Ok(Occupant::Nothing);
    }
    Ok(if stale_files::is_complete(path) { Occupant::Run } else { Occupant::Other })
}

/// Rejects a directory of results that also has other files.
fn only_results(path: &Path) -> Result<(), StoreError> {
    match stale_files::first_foreign(path).map_err(StoreError::io("read", path))? {
        Some(foreign) => Err(StoreError::ForeignFile(foreign)),
        None => Ok(()),
    }
}

/// Removes a directory of results, one file after the other: a file that another process creates in it meanwhile stays.
fn remove_results(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        fs::remove_file(entry?.path())?;
    }
    fs::remove_dir(path)
}

/// A directory under construction, removed if dropped before [`Staging::publish`].
#[derive(Debug)]
pub(crate) struct Staging {
    path: PathBuf,
    target: Target,
    published: bool,
    since: Instant,
    /// Lock that shows other processes that the directory is in use.
    _lock: Option<File>,
}

impl Staging {
    /// Creates an empty sibling of the target.
    pub(crate) fn create(target: Target) -> Result<Staging, StoreError> {
        target.check()?;
        if let Some(parent) = target.staging(0).parent() {
            stale_files::remove_directories(parent);
        }
        let mut attempt = 0;
        loop {
            let path = target.staging(attempt);
            if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
                fs::create_dir_all(parent).map_err(StoreError::io("create", parent))?;
            }
            match fs::create_dir(&path) {
                Ok(()) => match forebay_platform::files::lock(&path) {
                    // Another process may have taken it for a left one, and removes it, before it was locked.
                    Lock::Busy if attempt < BUSY => attempt += 1,
                    Lock::Held(_) if !path.exists() => {}
                    Lock::Held(lock) => return Ok(Staging::new(path, target, Some(lock))),
                    Lock::Busy | Lock::Unsupported | Lock::Unknown => return Ok(Staging::new(path, target, None)),
                },
                // Process ids repeat after a crash or on another machine that shares the disk.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 1_000 => attempt += 1,
                Err(e) => return Err(StoreError::io("create", &path)(e)),
            }
        }
    }

    fn new(path: PathBuf, target: Target, lock: Option<File>) -> Staging {
        Staging { path, target, published: false, since: Instant::now(), _lock: lock }
    }

    /// Directory to write to.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs `files`, which are all files of the directory, renames the directory and returns its final path. A directory with the final name is
    /// therefore complete after any crash. For some seconds, a power cut may undo the renaming of results that took less than [`CHEAP`]. If the
    /// name exists meanwhile or the system refuses it, the next free `name-1`, `name-2` is used: complete results are never discarded.
    ///
    /// Before the rename, `commit` decides whether to publish.
    ///
    /// # Errors
    /// A file system that refuses all names (the directory stays where it was filled), and a `commit` that returns false (the directory is removed).
    pub(crate) fn publish(mut self, mut files: Vec<(PathBuf, File)>, commit: &dyn Fn() -> bool) -> Result<PathBuf, StoreError> {
        files.extend(opened_dir(&self.path)?);
        sync_together(&files)?;
        drop(files);
        if !commit() {
            return Err(StoreError::Interrupted);
        }
        let named = match &self.target {
            Target::Numbered { parent, name } => self.take_next_number(parent, name),
            Target::Exact { path, force } => self.take(path, *force).or_else(|e| {
                let (parent, name) = (self.path.parent().unwrap_or(Path::new("")), path.file_name());
                let name = name.map_or_else(|| "forebay".into(), |n| n.to_string_lossy());
                self.take_next_number(parent, &name).map_err(|_| e)
            }),
        };
        self.published = true;
        let path = named.map_err(|e| StoreError::Unnamed { kept: self.path.clone(), cause: Box::new(e) })?;
        let parent = self.path.parent().filter(|p| !p.as_os_str().is_empty());
        if let Some(parent) = parent.filter(|_| self.since.elapsed() >= CHEAP) {
            sync_together(opened_dir(parent)?.as_slice())?;
        }
        Ok(path)
    }

    /// Takes the name `path`, if it is free or replaceable.
    fn take(&self, path: &Path, force: bool) -> Result<PathBuf, StoreError> {
        self.target.check()?;
        if force && matches!(occupant(path)?, Occupant::Run) {
            self.replace(path)?;
        } else {
            self.rename_to(path)?;
        }
        Ok(path.to_owned())
    }

    fn rename_to(&self, path: &Path) -> Result<(), StoreError> {
        fs::rename(&self.path, path).map_err(StoreError::io("rename the finished results to", path))
    }

    /// Takes the first free number. A rename never replaces a directory with files, so runs that end at the same time get different numbers.
    fn take_next_number(&self, parent: &Path, name: &str) -> Result<PathBuf, StoreError> {
        let mut number = 1u64;
        loop {
            let path = parent.join(format!("{name}-{number}"));
            if !path.exists() {
                match fs::rename(&self.path, &path) {
                    Ok(()) => return Ok(path),
                    Err(e) if path.exists() && e.kind() != io::ErrorKind::StorageFull => {}
                    Err(e) => return Err(StoreError::io("rename the finished results to", &path)(e)),
                }
            }
            number += 1;
        }
    }

    /// Moves the old results aside before the new ones take their place. On failure the old results are restored.
    fn replace(&self, path: &Path) -> Result<(), StoreError> {
        let mut aside = self.path.clone().into_os_string();
        aside.push("-old");
        let aside = PathBuf::from(aside);
        // Other processes remove replaced results that are not locked.
        let _held = stale_files::lock(path);
        fs::rename(path, &aside).map_err(StoreError::io("replace", path))?;
        // Another process may have added a file since the target was checked.
        if let Err(e) = only_results(&aside).and_then(|()| self.rename_to(path)) {
            // The first error is reported; a second one has no remedy.
            let _ = fs::rename(&aside, path);
            return Err(e);
        }
        remove_results(&aside).map_err(StoreError::io("remove the replaced results", &aside))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.published {
            // An error or an interrupt is already being reported.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Opens a directory, to make its entries durable. Only Unix can open a directory as a file.
fn opened_dir(path: &Path) -> Result<Option<(PathBuf, File)>, StoreError> {
    let open = || File::open(path).map(|d| (path.to_owned(), d)).map_err(StoreError::io("sync", path));
    cfg!(unix).then(open).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_any_file_system() {
        assert_eq!(file_name("incast-40"), "incast-40");
        assert_eq!(file_name("../a b/ü"), "a-b");
        assert_eq!(file_name(""), "run");
        assert_eq!(file_name(&"x".repeat(500)).len(), MAX_NAME);
    }
}
