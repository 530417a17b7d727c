//! Lease of a guard: `/run/forebay/NAME.lease`, locked as long as the guard lives and renewed as long as it judges. An attachment whose
//! lease has ended is undone by the next command that takes the lock of the folder (`Lock::tidy`).

use crate::Error;
use forebay_platform::clock;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time without a renewal after which a lease has ended.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// The lease of a guard, in its own process.
#[derive(Debug)]
pub(crate) struct Lease {
    path: PathBuf,
    file: File,
}

impl Lease {
    /// Takes the lease that has this file. The caller holds the lock of the folder, and the attachment has no guard.
    pub(crate) fn take(path: PathBuf) -> Result<Lease, Error> {
        remove(&path)?;
        let open = || -> io::Result<File> {
            let file = forebay_platform::files::create(&path, Some(0o600))?;
            file.lock()?;
            Ok(file)
        };
        let file = open().map_err(|e| Error::io(path.display(), &e))?;
        let lease = Lease { path, file };
        lease.renew()?;
        Ok(lease)
    }

    /// Renews it.
    pub(crate) fn renew(&self) -> Result<(), Error> {
        // One write of constant length: a reader sees the old time or the new one.
        let text = format!("{:020}\n", clock::monotonic_ns());
        self.file.write_all_at(text.as_bytes(), 0).map_err(|e| Error::io(self.path.display(), &e))
    }

    /// Gives it back. The file stays if another guard has created it since.
    pub(crate) fn give_back(self) {
        let number = |m: io::Result<fs::Metadata>| m.ok().map(|m| m.ino());
        if number(fs::symlink_metadata(&self.path)) == number(self.file.metadata()) {
            // If removal fails, the next attach of that name removes the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the lease of an attachment that has been undone.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io(path.display(), &e)),
        _ => Ok(()),
    }
}

/// Time since the guard renewed its lease; `None` if there is none or the caller may not read it.
pub(crate) fn age(path: &Path) -> Option<Duration> {
    let renewed: u64 = fs::read_to_string(path).ok()?.trim().parse().ok()?;
    Some(Duration::from_nanos(clock::monotonic_ns().saturating_sub(renewed)))
}

/// Returns true if the lease of a guard has ended: its process has ended, hangs or is stopped. False for callers that may not open the file.
pub(crate) fn has_ended(path: &Path) -> bool {
    match File::open(path) {
        // The guard holds the exclusive lock until its process ends.
        Ok(file) => file.try_lock_shared().is_ok() || age(path).is_none_or(|a| a > LEASE),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_ends_with_process_or_time() {
        let path = std::env::temp_dir().join(format!("forebay-lease-{}", std::process::id()));
        assert!(has_ended(&path));
        let lease = Lease::take(path.clone()).unwrap();
        assert!(!has_ended(&path) && age(&path).is_some_and(|a| a < LEASE));
        // As if the last renewal had been at the start of the machine.
        lease.file.write_all_at(b"00000000000000000001\n", 0).unwrap();
        assert_eq!(has_ended(&path), age(&path).is_some_and(|a| a > LEASE));
        lease.renew().unwrap();
        assert!(!has_ended(&path));
        drop(lease);
        assert!(has_ended(&path) && path.exists());
        let (first, second) = (Lease::take(path.clone()).unwrap(), Lease::take(path.clone()).unwrap());
        // The file is the second one's.
        first.give_back();
        assert!(path.exists());
        second.give_back();
        assert!(!path.exists());
    }
}
