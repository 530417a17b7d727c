//! Network namespaces: identifies the namespace of an attachment, and runs work in it.

use crate::Error;
use forebay_platform::namespace::{self, EnterError};
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};

/// A network namespace by the number of its inode, as `/proc/self/ns/net` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NetNs(u64);

impl NetNs {
    /// The namespace of the calling thread.
    pub fn current() -> Result<NetNs, Error> {
        namespace::current().map(NetNs).map_err(|e| Error::io(namespace::CURRENT, &e))
    }

    /// The number of the inode.
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// Runs `work` in the namespace, on a separate thread, so that the caller stays in its own. `None` if it no longer exists.
    pub(crate) fn run<T: Send>(self, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<Option<T>, Error> {
        if NetNs::current()? == self {
            return work().map(Some);
        }
        let Some(file) = namespace::find(self.0).map(|p| File::open(&p).map_err(|e| Error::io(p.display(), &e))).transpose()?
        else {
            return Ok(None);
        };
        let guarded = || panic::catch_unwind(AssertUnwindSafe(work));
        match namespace::inside(&file, guarded) {
            Ok(Ok(done)) => done.map(Some),
            Ok(Err(_)) => Err(Error::new("the work in the other network namespace panicked")),
            Err(EnterError::Enter(e)) => Err(Error::io("entering the network namespace", &e)),
            Err(EnterError::Thread(e)) => Err(Error::io("a thread in the other network namespace", &e)),
        }
    }
}
