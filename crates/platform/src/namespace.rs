//! Network namespaces: their files, and threads that work in them.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread;

/// The file of the calling thread's network namespace.
pub const CURRENT: &str = "/proc/thread-self/ns/net";

/// Inode number of the calling thread's network namespace, which identifies it.
///
/// # Errors
/// Errors of reading [`CURRENT`].
pub fn current() -> io::Result<u64> {
    fs::metadata(CURRENT).map(|m| m.ino())
}

/// A file of the network namespace with this inode number: a named namespace of `ip netns`, or that of a process.
pub fn find(inode: u64) -> Option<PathBuf> {
    let names = fs::read_dir("/run/netns").into_iter().flatten().flatten().map(|e| e.path());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|e| e.path().join("ns/net"));
    names.chain(processes).find(|p| fs::metadata(p).is_ok_and(|m| m.ino() == inode))
}

/// Creates a network namespace, which exists while the file is open. The calling thread stays in its own.
///
/// # Errors
/// Usually EPERM: unshare(2) needs CAP_SYS_ADMIN, as root or in a private user namespace.
pub fn create() -> io::Result<File> {
    in_thread(|| {
        unshare(CloneFlags::CLONE_NEWNET)?;
        File::open(CURRENT)
    })?
}

/// Failure to run work in another namespace.
#[derive(Debug)]
pub enum EnterError {
    /// The thread did not start.
    Thread(io::Error),
    /// setns(2) failed.
    Enter(io::Error),
}

impl From<EnterError> for io::Error {
    fn from(e: EnterError) -> io::Error {
        match e {
            EnterError::Thread(e) | EnterError::Enter(e) => e,
        }
    }
}

/// Runs `work` in a network namespace, on a new thread, so that the calling thread stays in its own. A panic of `work` continues in the caller.
///
/// # Errors
/// `work` did not run.
pub fn inside<T: Send>(namespace: &File, work: impl FnOnce() -> T + Send) -> Result<T, EnterError> {
    let enter = || {
        setns(namespace, CloneFlags::CLONE_NEWNET).map_err(|e| EnterError::Enter(e.into()))?;
        Ok(work())
    };
    in_thread(enter).map_err(EnterError::Thread)?
}

fn in_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        // The number of threads is limited (`pids.max` of a cgroup).
        let thread = thread::Builder::new().name("namespace".into()).spawn_scoped(scope, work)?;
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use super::{current, find, in_thread};

    #[test]
    fn own_namespace_is_found() {
        let inode = current().unwrap();
        assert!(find(inode).is_some());
        assert_eq!(in_thread(current).unwrap().unwrap(), inode);
        assert_eq!(find(0), None);
    }
}
