//! Network namespaces without names: each lives as long as this process holds it, so that nothing is left behind however the process ends.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::thread;

/// A network namespace of its own.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// A new one, in which there is nothing but a loopback device that is down.
    ///
    /// # Errors
    /// Mostly: no right to. It takes CAP_SYS_ADMIN, as root or in a user namespace of one's own.
    pub fn create() -> io::Result<Namespace> {
        // A thread of its own enters the namespace; the others stay where they are.
        in_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            Ok(Namespace(File::open("/proc/thread-self/ns/net")?))
        })
    }

    /// Runs `work` in the namespace. Sockets and devices that it opens stay in the namespace when other threads use them later.
    ///
    /// # Errors
    /// Errors of `work` and of setns(2).
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        in_thread(|| {
            setns(&self.0, CloneFlags::CLONE_NEWNET)?;
            work()
        })
    }
}

/// A host's place on the network.
#[derive(Debug)]
pub struct Interface {
    /// Namespace of the host's sockets.
    pub namespace: Namespace,
    /// Its address.
    pub address: Ipv4Addr,
}

fn in_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("namespace".into()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Sets `/proc/sys/<key>` of the namespace that the calling thread is in.
///
/// # Errors
/// The key, and why not.
pub fn sysctl(key: &str, value: &str) -> io::Result<()> {
    std::fs::write(format!("/proc/sys/{key}"), value)
        .map_err(|e| io::Error::new(e.kind(), format!("sysctl {} = {value}: {e}", key.replace('/', "."))))
}
