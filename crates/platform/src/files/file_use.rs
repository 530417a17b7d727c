//! Detects whether a process still uses a temporary file or directory that it created: by its lock, or by its process ID.

use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::path::Path;

/// Outcome of an attempt to lock a file or a directory.
#[derive(Debug)]
pub enum Lock {
    /// The lock is held until the file is dropped. Programs that are executed do not inherit it.
    Held(File),
    /// Another process holds it, or the path is gone.
    Busy,
    /// The file system has no locks, or the system cannot open a directory.
    Unsupported,
    /// The system refused for another reason: whether the path is in use is unknown.
    Unknown,
}

/// Locks a plain file or a directory without waiting. The open of a pipe would block: check the type first.
pub fn lock(path: &Path) -> Lock {
    let Ok(file) = File::open(path) else {
        return if cfg!(unix) { Lock::Busy } else { Lock::Unsupported };
    };
    match file.try_lock() {
        Ok(()) => Lock::Held(file),
        Err(TryLockError::WouldBlock) => Lock::Busy,
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => Lock::Unsupported,
        Err(TryLockError::Error(_)) => Lock::Unknown,
    }
}

/// Takes the temporary file or directory of another process, if no process uses it; the caller removes it before it drops the value. The process ID
/// decides only where there are no locks: in a container the ID of a process that was killed is often that of another one. The open of a pipe would
/// block: check the type first.
pub fn claim(path: &Path, pid: u32) -> Option<Lock> {
    match lock(path) {
        held @ Lock::Held(_) => Some(held),
        Lock::Unsupported if !process_runs(pid) => Some(Lock::Unsupported),
        Lock::Busy | Lock::Unsupported | Lock::Unknown => None,
    }
}

/// Returns true if a process with this ID runs on this machine, or if that cannot be determined.
pub fn process_runs(pid: u32) -> bool {
    let processes = Path::new("/proc");
    !processes.join("self").exists() || processes.join(pid.to_string()).exists()
}

/// Returns true if a file belongs to the effective user. Systems without users have one only.
pub fn is_own(found: &Metadata) -> bool {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt;
        found.uid() == rustix::process::geteuid().as_raw()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = found;
        true
    }
}

/// File systems that several machines may mount (`linux/magic.h`): 9p, AFS, BeeGFS, Ceph, CIFS, Coda, FUSE, GFS2, GPFS, Lustre, NFS, OCFS2, PanFS,
/// SMB, SMB2, VirtualBox folders. On most of them a lock on a directory holds on one machine only: `nfs_dir_operations`,
/// `cifs_dir_ops` and `v9fs_dir_operations` have no `flock`.
#[cfg(target_os = "linux")]
const NETWORK: [u64; 16] = [
    0x0102_1997,
    0x5346_414f,
    0x1983_0326,
    0x00c3_6400,
    0xff53_4d42,
    0x7375_7245,
    0x6573_5546,
    0x0116_1970,
    0x4750_4653,
    0x0bd0_0bd0,
    0x6969,
    0x7461_636f,
    0xaad7_aaea,
    0x517b,
    0xfe53_4d42,
    0x786f_4256,
];

/// Returns true if other machines may also use this directory. The locks of directories and the process IDs of this machine do not show their
/// processes, so that nothing in the directory may be treated as a leftover.
pub fn is_shared(dir: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        // The type of the field differs between architectures.
        #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast, reason = "it is i64 here and u32 elsewhere")]
        rustix::fs::statfs(dir).map_or(true, |s| NETWORK.contains(&(s.f_type as u64 & 0xffff_ffff)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = dir;
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Lock, claim, is_shared, lock, process_runs};
    use crate::files::TempDir;
    use std::path::Path;

    #[test]
    fn local_file_systems_are_not_shared() {
        for dir in ["/proc", "/dev"] {
            assert!(!is_shared(Path::new(dir)), "{dir}");
        }
        assert!(is_shared(Path::new("/nowhere/at all")), "unknown is shared");
    }

    #[test]
    fn locks_exclude_each_other() {
        let dir = TempDir::create(&std::env::temp_dir(), "forebay-test-lock").unwrap();
        let path = dir.path().join("x");
        std::fs::create_dir(&path).unwrap();
        let Lock::Held(first) = lock(&path) else { panic!("it is free") };
        assert!(matches!(lock(&path), Lock::Busy));
        drop(first);
        assert!(matches!(lock(&path), Lock::Held(_)));
        assert!(matches!(lock(&dir.path().join("missing")), Lock::Busy));
    }

    #[test]
    fn lock_decides_before_process_id() {
        let dir = TempDir::create(&std::env::temp_dir(), "forebay-test-claim").unwrap();
        let path = dir.path().join("x");
        std::fs::create_dir(&path).unwrap();
        for pid in [1, std::process::id(), u32::MAX] {
            let claimed = claim(&path, pid);
            assert!(claimed.is_some() && claim(&path, pid).is_none(), "{pid}");
        }
    }

    #[test]
    fn own_process_runs() {
        assert!(process_runs(std::process::id()) && !process_runs(u32::MAX));
    }
}
