//! Temporary directories: created exclusively, locked while they are used, removed by the next process if this one is killed.

use crate::files::file_use::{Lock, is_own, is_shared, lock, process_runs};
use crate::files::random;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};

/// Attempts to create a directory before another process removes or occupies it.
const ATTEMPTS: u32 = 100;

/// A directory `PREFIX-PID-RANDOM` that only this user can enter; removed when dropped.
#[derive(Debug)]
pub struct TempDir {
    path: PathBuf,
    /// Held until the directory is removed.
    _lock: Option<File>,
}

impl TempDir {
    /// Creates one in `parent`, after removing directories of the same prefix that killed processes of this user left.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn create(parent: &Path, prefix: &str) -> io::Result<TempDir> {
        remove_stale(parent, prefix, |_| {});
        let mut attempt = 0;
        loop {
            let path = parent.join(format!("{prefix}-{}-{:016x}", std::process::id(), random::number()));
            #[cfg_attr(not(unix), allow(unused_mut, reason = "only Unix has modes"))]
            let mut builder = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            let made = builder.create(&path);
            match made {
                // Another process may have taken it for a stale one before it was locked.
                Ok(()) => match lock(&path) {
                    Lock::Held(file) if path.exists() => return Ok(TempDir { path, _lock: Some(file) }),
                    Lock::Unsupported | Lock::Unknown => return Ok(TempDir { path, _lock: None }),
                    _ => {}
                },
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
            attempt += 1;
            if attempt >= ATTEMPTS {
                return Err(io::Error::other(format!("{}: no temporary directory can be created here", parent.display())));
            }
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // The lock is released after this. If removal fails, the next process removes the directory.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the directories of this prefix in `parent` that belong to this user and whose process ended without removing them. `before` is
/// called with each of them first, to end what still uses it.
///
/// In a directory that [other machines](is_shared) may use as well all of them stay. Failures are not reported: other processes may clean up at the
/// same time, and nothing depends on the result.
pub fn remove_stale(parent: &Path, prefix: &str, mut before: impl FnMut(&Path)) {
    if is_shared(parent) {
        return;
    }
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|n| n.strip_prefix(prefix)?.strip_prefix('-'));
        // PID-RANDOM, or PID-NUMBER in old folders.
        let number = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_hexdigit());
        let Some((digits, _)) = rest.and_then(|r| r.split_once('-')).filter(|(_, n)| number(n)) else { continue };
        let Ok(pid) = digits.parse::<u32>() else { continue };
        let path = entry.path();
        if !is_own_directory(&path) {
            continue;
        }
        match lock(&path) {
            Lock::Held(_held) => {
                // Folders without a random part have no lock.
                if rest.is_some_and(|r| r.len() < digits.len() + 17) && process_runs(pid) {
                    continue;
                }
                before(&path);
                let _ = fs::remove_dir_all(&path);
            }
            Lock::Unsupported if !process_runs(pid) => {
                before(&path);
                let _ = fs::remove_dir_all(&path);
            }
            Lock::Busy | Lock::Unsupported | Lock::Unknown => {}
        }
    }
}

/// Returns true if `path` is a directory, not a link, that belongs to the effective user.
fn is_own_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && is_own(&found))
}

#[cfg(all(test, unix))]
mod tests {
    use super::{TempDir, remove_stale};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn place() -> TempDir {
        TempDir::create(&std::env::temp_dir(), "forebay-test-temp").unwrap()
    }

    #[test]
    fn directory_is_private_and_removed() {
        let place = place();
        let dir = TempDir::create(place.path(), "a").unwrap();
        let path = dir.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o700);
        fs::write(path.join("file"), "x").unwrap();
        drop(dir);
        assert!(!path.exists());
    }

    #[test]
    fn stale_directories_are_removed_once() {
        let place = place();
        let used = TempDir::create(place.path(), "a").unwrap();
        // The directory of a killed process: its lock is not held.
        let left = place.path().join("a-1-00000000000000ff");
        fs::create_dir_all(left.join("below")).unwrap();
        let mut seen = Vec::new();
        remove_stale(place.path(), "a", |p| seen.push(p.to_owned()));
        assert_eq!(seen, std::slice::from_ref(&left));
        assert!(!left.exists() && used.path().exists(), "a directory in use stays");
    }

    #[test]
    fn foreign_names_and_links_stay() {
        let place = place();
        let target = place.path().join("target");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("file"), "x").unwrap();
        symlink(&target, place.path().join("a-1-00000000000000ff")).unwrap();
        for name in ["a", "a-", "a-1", "a-x-00", "a-1-z", "ab-1-00000000000000ff"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        let before = fs::read_dir(place.path()).unwrap().count();
        remove_stale(place.path(), "a", |p| panic!("{}", p.display()));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), before);
        assert!(target.join("file").exists());
    }

    #[test]
    fn directory_of_living_process_stays() {
        let place = place();
        // A name without a random part, which has no lock.
        let path = place.path().join(format!("a-{}-0", std::process::id()));
        fs::create_dir(&path).unwrap();
        remove_stale(place.path(), "a", |_| {});
        assert!(path.exists());
        let ended = place.path().join(format!("a-{}-0", u32::MAX));
        fs::create_dir(&ended).unwrap();
        remove_stale(place.path(), "a", |_| {});
        assert!(!ended.exists());
    }
}
