//! Network namespaces: which one this thread is in, and how to enter the one that an attachment belongs to.

use crate::Error;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A network namespace by the number of its inode, as `/proc/self/ns/net` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NetNs(u64);

impl NetNs {
    /// That of the calling thread.
    pub fn current() -> Result<NetNs, Error> {
        let path = "/proc/thread-self/ns/net";
        fs::metadata(path).map(|m| NetNs(m.ino())).map_err(|e| Error::io(path, &e))
    }

    /// The number of the inode.
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// Runs `work` in the namespace, on a thread of its own, so that the caller stays where it is. `None` where it no longer exists.
    pub(crate) fn run<T: Send>(self, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<Option<T>, Error> {
        if NetNs::current()? == self {
            return work().map(Some);
        }
        let Some(file) = self.find().map(|p| File::open(&p).map_err(|e| Error::io(p.display(), &e))).transpose()? else {
            return Ok(None);
        };
        std::thread::scope(|scope| {
            let inside = || {
                // SAFETY: a plain system call on an open file; it changes this thread only.
                if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
                    return Err(Error::io("entering the network namespace", &std::io::Error::last_os_error()));
                }
                work().map(Some)
            };
            // Threads are limited (`pids.max` of a cgroup that others are in as well).
            let thread = std::thread::Builder::new().spawn_scoped(scope, inside);
            let thread = thread.map_err(|e| Error::io("a thread in the other network namespace", &e))?;
            thread.join().unwrap_or_else(|_| Err(Error::new("the work in the other network namespace panicked")))
        })
    }

    /// A file that stands for it: a named namespace of `ip netns`, or that of a process.
    fn find(self) -> Option<PathBuf> {
        let is = |p: &Path| fs::metadata(p).is_ok_and(|m| m.ino() == self.0);
        let names = fs::read_dir("/run/netns").into_iter().flatten().flatten().map(|e| e.path());
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|e| e.path().join("ns/net"));
        names.chain(processes).find(|p| is(p))
    }
}
